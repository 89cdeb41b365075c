// Tensors by way of Python: what an extension asks of a torch::Tensor, and how it makes one.
#include "python.h"

#include <string>

#include "foretell/indexing.h"

namespace foretell {

namespace {

const std::vector<int64_t>& integers_into(std::vector<int64_t>& out, PyObject* sequence) {
  Reference items = owned(PySequence_Fast(sequence, "sizes are not a sequence"));
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
  out.resize(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    out[static_cast<size_t>(i)] = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items.get(), i));
    if (PyErr_Occurred()) throw_python_error();
  }
  return out;
}

// torch.<name>(first, dtype=, device=, memory_format=), with what is unsaid left out.
at::Tensor create(const char* name, PyObject* first, const at::TensorOptions& options, bool like,
                  std::optional<at::MemoryFormat> format) {
  PyObject* arguments[6] = {nullptr, first};
  PyObject* names[4];
  size_t named = 0;
  Reference format_object;
  const auto add = [&](const char* key, PyObject* value) {
    arguments[2 + named] = value;
    names[named++] = interned(key);
  };
  if (options.dtype_opt()) add("dtype", dtype_object(*options.dtype_opt()));
  if (options.device_opt()) add("device", device_object(options.device_opt()->type(), options.device_opt()->index()));
  else if (!like) add("device", device_object(c10::kCPU, -1));  // and not what a Python context says
  if (options.memory_format_opt()) format = options.memory_format_opt();
  if (format) {
    format_object = to_object(Value(*format));
    add("memory_format", format_object.get());
  }
  if (options.requires_grad()) add("requires_grad", Py_True);
  Reference keywords(named ? checked(PyTuple_New(static_cast<Py_ssize_t>(named))) : nullptr);
  for (size_t i = 0; i < named; ++i) PyTuple_SET_ITEM(keywords.get(), i, Py_NewRef(names[i]));
  return tensor_of_object(checked(PyObject_Vectorcall(torch_attribute(name), arguments + 1,
                                                      1 | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords.get())));
}

at::Tensor create(const char* name, c10::IntArrayRef size, const at::TensorOptions& options,
                  std::optional<at::MemoryFormat> format = std::nullopt) {
  return create(name, integer_list(size.data(), size.size()).get(), options, false, format);
}

Reference index_object(const torch::indexing::TensorIndex* indices, size_t count) {
  using torch::indexing::TensorIndex;
  const auto bound = [](const std::optional<int64_t>& n) {
    return n ? owned(PyLong_FromLongLong(*n)) : Reference(Py_NewRef(Py_None));
  };
  Reference tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) {
    const TensorIndex& one = indices[i];
    PyObject* item = nullptr;
    switch (one.kind) {
      case TensorIndex::none: item = Py_NewRef(Py_None); break;
      case TensorIndex::ellipsis: item = Py_NewRef(Py_Ellipsis); break;
      case TensorIndex::integer: item = checked(PyLong_FromLongLong(one.number)); break;
      case TensorIndex::boolean: item = PyBool_FromLong(one.number != 0); break;
      case TensorIndex::tensor: item = Py_NewRef(object_of(one.indices)); break;
      case TensorIndex::slice:
        item = checked(PySlice_New(bound(one.range.start).get(), bound(one.range.stop).get(), bound(one.range.step).get()));
    }
    PyTuple_SET_ITEM(tuple.get(), i, item);
  }
  return tuple;
}

}  // namespace

at::Tensor get_item(const at::Tensor& self, const torch::indexing::TensorIndex* indices, size_t count) {
  return tensor_of_object(checked(PyObject_GetItem(object_of(self), index_object(indices, count).get())));
}
void set_item(const at::Tensor& self, const torch::indexing::TensorIndex* indices, size_t count, const Value& value) {
  if (PyObject_SetItem(object_of(self), index_object(indices, count).get(), to_object(value).get()) < 0)
    throw_python_error();
}

}  // namespace foretell

namespace at {
using namespace foretell;

bool Tensor::is_same(const Tensor& other) const {
  return box_ == other.box_ || (box_ && other.box_ && box_->object == other.box_->object);
}
int64_t Tensor::use_count() const { return box_ ? Py_REFCNT(box_->object) : 0; }
int64_t Tensor::dim() const { return as_integer(method(object_of(*this), "dim")); }
int64_t Tensor::numel() const { return as_integer(method(object_of(*this), "numel")); }
IntArrayRef Tensor::sizes() const { return integers_into(box_->sizes, attribute(object_of(*this), "shape").get()); }
IntArrayRef Tensor::strides() const { return integers_into(box_->strides, method(object_of(*this), "stride").get()); }
int64_t Tensor::size(int64_t dim) const {
  return as_integer(method(object_of(*this), "size", owned(PyLong_FromLongLong(dim)).get()));
}
int64_t Tensor::stride(int64_t dim) const {
  return as_integer(method(object_of(*this), "stride", owned(PyLong_FromLongLong(dim)).get()));
}
int64_t Tensor::storage_offset() const { return as_integer(method(object_of(*this), "storage_offset")); }
ScalarType Tensor::scalar_type() const { return dtype_of_object(attribute(object_of(*this), "dtype").get()); }
Device Tensor::device() const {
  Reference device = attribute(object_of(*this), "device");
  Reference type = attribute(device.get(), "type"), index = attribute(device.get(), "index");
  const char* name = PyUnicode_AsUTF8(checked(type.get()));
  return Device(Device(name).type(), index.get() == Py_None ? -1 : static_cast<DeviceIndex>(as_integer(index)));
}
bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::Contiguous) return as_boolean(method(object_of(*this), "is_contiguous"));
  PyObject* arguments[] = {object_of(*this), nullptr};
  Reference value = to_object(Value(format));
  arguments[1] = value.get();
  Reference names = owned(PyTuple_Pack(1, interned("memory_format")));
  return as_boolean(owned(PyObject_VectorcallMethod(interned("is_contiguous"), arguments, 1, names.get())));
}
bool Tensor::requires_grad() const { return as_boolean(attribute(object_of(*this), "requires_grad")); }
Tensor& Tensor::set_requires_grad(bool wanted) {
  requires_grad_(wanted);
  return *this;
}
const Tensor& Tensor::requires_grad_(bool wanted) const {
  method(object_of(*this), "requires_grad_", wanted ? Py_True : Py_False);
  return *this;
}

void* Tensor::data_ptr() const {
  static PyObject* const usual = hook("real_address");
  static PyObject* const plain = torch_attribute("Tensor");
  static PyObject* const parameter = attribute(torch_attribute("nn"), "Parameter").release();
  PyObject* self = object_of(*this);
  PyObject* address_of = hook("address_of");
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(self));
  if (hook("recorder") != nullptr) {  // which must know again what lies at the address
    static PyObject* const recording = checked(PyImport_ImportModule("foretell.kernels.languages.extension.products"));
    Reference address = owned(PyObject_CallMethod(recording, "address", "O", self));
    return reinterpret_cast<void*>(PyLong_AsUnsignedLongLongMask(address.get()));
  }
  const bool direct = address_of == nullptr || (address_of == usual && (type == plain || type == parameter));
  Reference address = direct ? method(self, "data_ptr") : owned(PyObject_CallOneArg(address_of, self));
  void* pointer = PyLong_AsVoidPtr(address.get());
  if (pointer == nullptr && PyErr_Occurred()) throw_python_error();
  return pointer;
}
void* Tensor::checked_address(ScalarType expected) const {
  const ScalarType type = scalar_type();
  if (type != expected)
    throw Error(std::string("expected scalar type ") + c10::toString(expected) + " but found " +
                c10::toString(type));
  return data_ptr();
}
Tensor Tensor::variable_data() const { return tensor_of_object(attribute(object_of(*this), "data").release()); }
Tensor Tensor::detach() const { return tensor_of_object(method(object_of(*this), "detach").release()); }
Tensor Tensor::contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::Contiguous)
    return tensor_of_object(method(object_of(*this), "contiguous").release());
  const Value values[] = {*this, Value("memory_format", format)};
  return take_tensor(call("contiguous", "", values, 2));
}
Tensor Tensor::clone(std::optional<MemoryFormat> format) const {
  const Value values[] = {*this, Value("memory_format", format)};
  return take_tensor(call("clone", "", values, 2));
}
Tensor Tensor::to(const TensorOptions& options, bool non_blocking, bool copy, std::optional<MemoryFormat> format) const {
  if (options.memory_format_opt()) format = options.memory_format_opt();
  const Value values[] = {*this,
                          Value("dtype", options.dtype_opt()),
                          Value("layout", options.layout_opt()),
                          Value("device", options.device_opt()),
                          Value("non_blocking", non_blocking),
                          Value("copy", copy),
                          Value("memory_format", format)};
  return take_tensor(call("to", "dtype_layout", values, 7));
}
Scalar Tensor::item() const { return take_scalar(method(object_of(*this), "item").release()); }
Tensor Tensor::operator[](int64_t index) const {
  const Value values[] = {*this, int64_t(0), index};
  return take_tensor(call("select", "int", values, 3));
}
Tensor Tensor::operator[](const Tensor& index) const {
  return tensor_of_object(checked(PyObject_GetItem(object_of(*this), object_of(index))));
}
Tensor& Tensor::copy_into(const Tensor& other) {
  method(object_of(*this), "copy_", object_of(other));
  return *this;
}
Tensor& Tensor::fill_with(const Scalar& value) {
  method(object_of(*this), "fill_", to_object(value).get());
  return *this;
}

namespace {
Tensor binary(PyObject* (*operation)(PyObject*, PyObject*), const Value& a, const Value& b) {
  return tensor_of_object(checked(operation(to_object(a).get(), to_object(b).get())));
}
PyObject* divide(PyObject* a, PyObject* b) { return PyNumber_TrueDivide(a, b); }
Tensor compare(const Value& a, const Value& b, int how) {
  return tensor_of_object(checked(PyObject_RichCompare(to_object(a).get(), to_object(b).get(), how)));
}
}  // namespace
#define FORETELL_ARITHMETIC(op, function, in_place)                                                \
  Tensor operator op(const Tensor& a, const Tensor& b) { return binary(function, a, b); }          \
  Tensor operator op(const Tensor& a, const Scalar& b) { return binary(function, a, b); }          \
  Tensor operator op(const Scalar& a, const Tensor& b) { return binary(function, a, b); }          \
  Tensor& Tensor::operator op##=(const Tensor& b) {                                                \
    method(object_of(*this), in_place, object_of(b));                                              \
    return *this;                                                                                  \
  }                                                                                                \
  Tensor& Tensor::operator op##=(const Scalar& b) {                                                \
    method(object_of(*this), in_place, to_object(b).get());                                        \
    return *this;                                                                                  \
  }
FORETELL_ARITHMETIC(+, PyNumber_Add, "add_")
FORETELL_ARITHMETIC(-, PyNumber_Subtract, "sub_")
FORETELL_ARITHMETIC(*, PyNumber_Multiply, "mul_")
FORETELL_ARITHMETIC(/, divide, "div_")
Tensor Tensor::operator-() const { return tensor_of_object(checked(PyNumber_Negative(object_of(*this)))); }
Tensor Tensor::operator~() const { return tensor_of_object(checked(PyNumber_Invert(object_of(*this)))); }
#define FORETELL_COMPARE(op, how)                                                       \
  Tensor operator op(const Tensor& a, const Tensor& b) { return compare(a, b, how); }   \
  Tensor operator op(const Tensor& a, const Scalar& b) { return compare(a, b, how); }
FORETELL_COMPARE(<, Py_LT) FORETELL_COMPARE(<=, Py_LE) FORETELL_COMPARE(>, Py_GT)
FORETELL_COMPARE(>=, Py_GE) FORETELL_COMPARE(==, Py_EQ) FORETELL_COMPARE(!=, Py_NE)
Tensor operator&(const Tensor& a, const Tensor& b) { return binary(PyNumber_And, a, b); }
Tensor operator&(const Tensor& a, const Scalar& b) { return binary(PyNumber_And, a, b); }
Tensor operator|(const Tensor& a, const Tensor& b) { return binary(PyNumber_Or, a, b); }
Tensor operator|(const Tensor& a, const Scalar& b) { return binary(PyNumber_Or, a, b); }

Tensor empty(IntArrayRef size, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return create("empty", size, options, format);
}
Tensor zeros(IntArrayRef size, const TensorOptions& options) { return create("zeros", size, options); }
Tensor ones(IntArrayRef size, const TensorOptions& options) { return create("ones", size, options); }
Tensor empty_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return create("empty_like", object_of(self), options, true, format);
}
Tensor zeros_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return create("zeros_like", object_of(self), options, true, format);
}
Tensor ones_like(const Tensor& self, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return create("ones_like", object_of(self), options, true, format);
}
static Tensor tensor_from(const Value& values, const TensorOptions& options) {
  // Made on the host and then moved: fake tensors can follow that.
  const Tensor made = create("tensor", to_object(values).get(), options.device(kCPU), false, std::nullopt);
  return options.device().is_cpu() ? made : made.to(TensorOptions(options.device()));
}
Tensor tensor_of(ArrayRef<double> values, const TensorOptions& options) { return tensor_from(values, options); }
Tensor tensor_of(ArrayRef<int64_t> values, const TensorOptions& options) { return tensor_from(values, options); }
Tensor tensor_of(const Scalar& value, const TensorOptions& options) { return tensor_from(value, options); }
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return from_blob(data, sizes, strides, options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  Reference maker = owned(PyObject_GetAttrString(
      owned(PyImport_ImportModule("foretell.kernels.languages.extension.blobs")).get(), "from_blob"));
  Reference arguments[] = {owned(PyLong_FromVoidPtr(data)), to_object(Value(sizes)), to_object(Value(strides)),
                           to_object(Value(options.dtype_opt().value_or(kFloat))), to_object(Value(options.device()))};
  PyObject* borrowed[5];
  for (int i = 0; i < 5; ++i) borrowed[i] = arguments[i].get();
  return tensor_of_object(checked(PyObject_Vectorcall(maker.get(), borrowed, 5, nullptr)));
}
}  // namespace at

namespace torch {
NoGradGuard::NoGradGuard() {
  using namespace foretell;
  before_ = as_boolean(owned(PyObject_CallNoArgs(torch_attribute("is_grad_enabled"))));
  owned(PyObject_CallMethod(torch_attribute("_C"), "_set_grad_enabled", "O", Py_False));
}
NoGradGuard::~NoGradGuard() {
  Py_XDECREF(PyObject_CallMethod(foretell::torch_attribute("_C"), "_set_grad_enabled", "O", before_ ? Py_True : Py_False));
}
}  // namespace torch

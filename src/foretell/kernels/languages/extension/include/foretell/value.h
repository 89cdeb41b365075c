// What passes between an extension and torch: arguments of an operator, and what comes back.
//
// An extension's tensors are Python objects, and every operator it calls is called through Python: whatever watches
// torch there (a dispatch mode, fake tensors) sees calls from C++ as it sees those from Python.
#pragma once

#include "foretell/core.h"

struct _object;  // PyObject, without Python's headers

namespace at {
class Tensor;
}

namespace foretell {

using Object = ::_object;

// A Python exception on its way through C++ code; the module's entry hands it back to Python as it was.
class PythonError : public c10::Error {
 public:
  explicit PythonError(std::string text) : c10::Error(std::move(text)) {}
};

// One argument of an operator. It refers to the caller's value, which outlives the call.
struct Value {
  enum Kind : char {
    none, tensor, integer, real, boolean, integers, reals, tensors, optional_tensors, text, dtype, device, layout,
    memory_format, object
  };
  Kind kind = none;
  const char* keyword = nullptr;
  union {
    int64_t integer_ = 0;
    double real_;
    const void* data_;
  };
  size_t size = 0;
  signed char index = 0;

  Value() = default;
  Value(std::nullopt_t) {}
  Value(const at::Tensor& value) : kind(tensor), data_(&value) {}
  Value(int64_t value) : kind(integer), integer_(value) {}
  Value(int value) : Value(static_cast<int64_t>(value)) {}
  Value(double value) : kind(real), real_(value) {}
  Value(bool value) : kind(boolean), integer_(value) {}
  Value(c10::IntArrayRef value) : kind(integers), data_(value.data()), size(value.size()) {}
  Value(c10::ArrayRef<double> value) : kind(reals), data_(value.data()), size(value.size()) {}
  Value(c10::ArrayRef<at::Tensor> value) : kind(tensors), data_(value.data()), size(value.size()) {}
  Value(c10::ArrayRef<std::optional<at::Tensor>> value)
      : kind(optional_tensors), data_(value.data()), size(value.size()) {}
  Value(const c10::OptionalIntArrayRef& value) { if (value.has_value()) *this = Value(value.value()); }
  Value(std::string_view value) : kind(text), data_(value.data()), size(value.size()) {}
  Value(c10::ScalarType value) : kind(dtype), integer_(static_cast<int64_t>(value)) {}
  Value(c10::Layout value) : kind(layout), integer_(static_cast<int64_t>(value)) {}
  Value(c10::MemoryFormat value) : kind(memory_format), integer_(static_cast<int64_t>(value)) {}
  Value(const c10::Device& value) : kind(device), integer_(static_cast<int64_t>(value.type())), index(value.index()) {}
  Value(const c10::Scalar& value) {
    if (value.isFloatingPoint()) *this = Value(value.toDouble());
    else if (value.isBoolean()) *this = Value(value.toBool());
    else *this = Value(value.toLong());
  }
  template <class T> Value(const std::optional<T>& value) { if (value) *this = Value(*value); }
  template <class T> Value(const char* name, const T& value) : Value(value) { keyword = name; }
};

// Calls torch.ops.aten.<name>.<overload>; the result is a new reference. Throws PythonError.
Object* call(const char* name, const char* overload, const Value* values, size_t count);

// Takes over a new reference and turns it into a C++ value.
at::Tensor take_tensor(Object* object);
int64_t take_integer(Object* object);
double take_real(Object* object);
bool take_boolean(Object* object);
c10::Scalar take_scalar(Object* object);
std::vector<at::Tensor> take_tensors(Object* object);
void drop(Object* object);
Object* item_of(Object* tuple, size_t index);  // a new reference

template <class T> struct Result;
template <> struct Result<void> { static void take(Object* o) { drop(o); } };
template <> struct Result<int64_t> { static int64_t take(Object* o) { return take_integer(o); } };
template <> struct Result<double> { static double take(Object* o) { return take_real(o); } };
template <> struct Result<bool> { static bool take(Object* o) { return take_boolean(o); } };
template <> struct Result<c10::Scalar> { static c10::Scalar take(Object* o) { return take_scalar(o); } };

}  // namespace foretell

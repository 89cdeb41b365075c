// Calls of torch through Python: values there and back, and errors.
#include "python.h"

#include <map>
#include <string>

namespace foretell {

namespace {

struct Pending {  // the Python exception that is travelling as a PythonError
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
} pending;

const char* const kDtypes[] = {
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
    "complex128", "bool", nullptr, nullptr, nullptr, "bfloat16", nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
    nullptr, "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "uint16", "uint32", "uint64"};
constexpr int kDtypeCount = sizeof kDtypes / sizeof *kDtypes;

PyObject* operator_object(const char* name, const char* overload) {
  static std::map<std::string, PyObject*> known;
  PyObject*& found = known[std::string(name) + "." + overload];
  if (found == nullptr) {
    static PyObject* aten = attribute(torch_attribute("ops"), "aten").release();
    Reference packet = attribute(aten, name);
    found = attribute(packet.get(), *overload ? overload : "default").release();
  }
  return found;
}

}  // namespace

PyObject* dtype_object(c10::ScalarType type) {
  static PyObject* known[kDtypeCount] = {};
  const int i = static_cast<int>(type);
  if (i < 0 || i >= kDtypeCount || kDtypes[i] == nullptr) throw c10::Error("an extension asked for an unknown dtype");
  if (known[i] == nullptr) known[i] = torch_attribute(kDtypes[i]);
  return known[i];
}

PyObject* device_object(c10::DeviceType type, int index) {
  static std::map<std::pair<int, int>, PyObject*> known;
  PyObject*& made = known[{static_cast<int>(type), index}];
  if (made == nullptr) {
    const std::string text = c10::Device(type, static_cast<c10::DeviceIndex>(index)).str();
    made = checked(PyObject_CallFunction(torch_attribute("device"), "s", text.c_str()));
  }
  return made;
}

PyObject* interned(const char* name) {
  static std::map<std::string, PyObject*> names;
  PyObject*& text = names[name];
  if (text == nullptr) text = checked(PyUnicode_InternFromString(name));
  return text;
}

Reference attribute(PyObject* object, const char* name) { return owned(PyObject_GetAttr(object, interned(name))); }

Reference method(PyObject* object, const char* name) {
  PyObject* arguments[] = {object};
  return owned(PyObject_VectorcallMethod(interned(name), arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

Reference method(PyObject* object, const char* name, PyObject* argument) {
  PyObject* arguments[] = {object, argument};
  return owned(PyObject_VectorcallMethod(interned(name), arguments, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

Reference integer_list(const int64_t* items, size_t count) {
  Reference list = owned(PyList_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) PyList_SET_ITEM(list.get(), i, checked(PyLong_FromLongLong(items[i])));
  return list;
}

int64_t as_integer(const Reference& object) {
  const int64_t value = PyLong_AsLongLong(object.get());
  if (value == -1 && PyErr_Occurred()) throw_python_error();
  return value;
}

bool as_boolean(const Reference& object) {
  const int value = PyObject_IsTrue(object.get());
  if (value < 0) throw_python_error();
  return value != 0;
}

void throw_python_error() {
  PyErr_Fetch(&pending.type, &pending.value, &pending.traceback);
  PyErr_NormalizeException(&pending.type, &pending.value, &pending.traceback);
  std::string text = "a Python error";
  if (pending.value != nullptr) {
    PyObject* words = PyObject_Str(pending.value);
    if (words != nullptr) {
      const char* utf8 = PyUnicode_AsUTF8(words);
      if (utf8 != nullptr) text = utf8;
      Py_DECREF(words);
    }
    PyErr_Clear();
  }
  throw PythonError(text);
}

PyObject* raise_to_python() noexcept {
  try {
    throw;
  } catch (const PythonError& error) {
    if (pending.type != nullptr) {
      PyErr_Restore(std::exchange(pending.type, nullptr), std::exchange(pending.value, nullptr),
                    std::exchange(pending.traceback, nullptr));
    } else {
      PyErr_SetString(PyExc_RuntimeError, error.what());
    }
  } catch (const c10::IndexError& error) {
    PyErr_SetString(PyExc_IndexError, error.what());
  } catch (const c10::ValueError& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const c10::TypeError& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (const c10::NotImplementedError& error) {
    PyErr_SetString(PyExc_NotImplementedError, error.what());
  } catch (const std::bad_alloc& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (const std::out_of_range& error) {
    PyErr_SetString(PyExc_IndexError, error.what());
  } catch (const std::overflow_error& error) {
    PyErr_SetString(PyExc_OverflowError, error.what());
  } catch (const std::range_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::domain_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::length_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "the extension threw something that is not an exception");
  }
  return nullptr;
}

c10::ScalarType dtype_of_object(PyObject* dtype) {
  static std::map<PyObject*, int> known;
  if (known.empty())
    for (int i = 0; i < kDtypeCount; ++i)
      if (kDtypes[i] != nullptr)
        if (PyObject* found = PyDict_GetItemString(torch_attribute("__dict__"), kDtypes[i])) known[found] = i;
  const auto found = known.find(dtype);
  return found == known.end() ? c10::ScalarType::Undefined : static_cast<c10::ScalarType>(found->second);
}

void retain(Box* box) { ++box->count; }

void release(Box* box) {
  if (--box->count > 0) return;
  if (Py_IsInitialized()) {  // a tensor kept in a static variable may outlive Python
    Gil gil;
    Py_DECREF(box->object);
  }
  delete box;
}

PyObject* object_of(const at::Tensor& tensor) {
  if (!tensor.defined()) throw c10::Error("the extension used a tensor that is not defined");
  return tensor.box()->object;
}

at::Tensor tensor_of_object(PyObject* object) {
  checked(object);
  if (object == Py_None) {
    Py_DECREF(object);
    return at::Tensor();
  }
  return at::Tensor(new Box{1, object, {}, {}});
}

PyObject* torch_attribute(const char* name) {
  static PyObject* torch = checked(PyImport_ImportModule("torch"));
  static std::map<std::string, PyObject*> known;
  PyObject*& found = known[name];
  if (found == nullptr) found = checked(PyObject_GetAttrString(torch, name));
  return found;
}

PyObject* hook(const char* name) {
  static PyObject* names = checked(PyModule_GetDict(checked(PyImport_ImportModule("foretell.kernels.languages.extension"))));
  PyObject* found = PyDict_GetItem(names, interned(name));
  return found == Py_None ? nullptr : found;
}

Reference to_object(const Value& value) {
  switch (value.kind) {
    case Value::none: return Reference(Py_NewRef(Py_None));
    case Value::tensor: {
      const auto& tensor = *static_cast<const at::Tensor*>(value.data_);
      return Reference(Py_NewRef(tensor.defined() ? object_of(tensor) : Py_None));
    }
    case Value::integer: return owned(PyLong_FromLongLong(value.integer_));
    case Value::real: return owned(PyFloat_FromDouble(value.real_));
    case Value::boolean: return Reference(PyBool_FromLong(value.integer_ != 0));
    case Value::integers: return integer_list(static_cast<const int64_t*>(value.data_), value.size);
    case Value::text:
      return owned(PyUnicode_FromStringAndSize(static_cast<const char*>(value.data_), static_cast<Py_ssize_t>(value.size)));
    case Value::dtype: return Reference(Py_NewRef(dtype_object(static_cast<c10::ScalarType>(value.integer_))));
    case Value::device:
      return Reference(Py_NewRef(device_object(static_cast<c10::DeviceType>(value.integer_), value.index)));
    case Value::layout: return Reference(Py_NewRef(torch_attribute("strided")));
    case Value::memory_format: {
      static const char* const names[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};
      return Reference(Py_NewRef(torch_attribute(names[value.integer_])));
    }
    case Value::object: return Reference(Py_NewRef(static_cast<PyObject*>(const_cast<void*>(value.data_))));
    default: break;
  }
  Reference list = owned(PyList_New(static_cast<Py_ssize_t>(value.size)));
  for (size_t i = 0; i < value.size; ++i) {
    PyObject* item;
    if (value.kind == Value::reals) {
      item = checked(PyFloat_FromDouble(static_cast<const double*>(value.data_)[i]));
    } else if (value.kind == Value::tensors) {
      item = to_object(Value(static_cast<const at::Tensor*>(value.data_)[i])).release();
    } else {
      item = to_object(Value(static_cast<const std::optional<at::Tensor>*>(value.data_)[i])).release();
    }
    PyList_SET_ITEM(list.get(), i, item);
  }
  return list;
}

PyObject* call(const char* name, const char* overload, const Value* values, size_t count) {
  std::vector<Reference> kept;
  std::vector<PyObject*> arguments(1 + count);
  Reference keywords;
  size_t positional = 0;
  for (; positional < count && values[positional].keyword == nullptr; ++positional) {}
  if (positional < count) keywords = owned(PyTuple_New(static_cast<Py_ssize_t>(count - positional)));
  for (size_t i = 0; i < count; ++i) {
    kept.push_back(to_object(values[i]));
    arguments[1 + i] = kept.back().get();
    if (i >= positional) PyTuple_SET_ITEM(keywords.get(), i - positional, Py_NewRef(interned(values[i].keyword)));
  }
  return checked(PyObject_Vectorcall(operator_object(name, overload), arguments.data() + 1,
                                     positional | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords.get()));
}

at::Tensor take_tensor(PyObject* object) { return tensor_of_object(object); }
int64_t take_integer(PyObject* object) { return as_integer(owned(object)); }
bool take_boolean(PyObject* object) { return as_boolean(owned(object)); }
double take_real(PyObject* object) {
  const double value = PyFloat_AsDouble(owned(object).get());
  if (value == -1.0 && PyErr_Occurred()) throw_python_error();
  return value;
}
c10::Scalar take_scalar(PyObject* object) {
  Reference number = owned(object);
  if (PyBool_Check(number.get())) return c10::Scalar(number.get() == Py_True);
  if (PyLong_Check(number.get())) return c10::Scalar(as_integer(number));
  return c10::Scalar(take_real(number.release()));
}
std::vector<at::Tensor> take_tensors(PyObject* object) {
  Reference items = owned(PySequence_Fast(owned(object).get(), "not a sequence of tensors"));
  std::vector<at::Tensor> made;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    made.push_back(tensor_of_object(Py_NewRef(PySequence_Fast_GET_ITEM(items.get(), i))));
  return made;
}
void drop(PyObject* object) { Py_XDECREF(object); }
PyObject* item_of(PyObject* tuple, size_t index) {
  return checked(PySequence_GetItem(tuple, static_cast<Py_ssize_t>(index)));
}

}  // namespace foretell

namespace c10 {
void warn(const std::string& text) {
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) foretell::throw_python_error();
}
}  // namespace c10

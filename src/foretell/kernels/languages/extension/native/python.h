// What the native sources share: owned references to Python objects, and errors on their way to C++ and back.
#pragma once

#include <Python.h>

#include <utility>

#include "foretell/tensor.h"

namespace foretell {

struct Box {
  long count;
  PyObject* object;
  std::vector<int64_t> sizes, strides;
};

// An owned reference; null is a Python error, which `checked` turns into a C++ one.
class Reference {
 public:
  Reference() = default;
  explicit Reference(PyObject* object) : object_(object) {}
  Reference(Reference&& other) noexcept : object_(other.release()) {}
  Reference& operator=(Reference&& other) noexcept { std::swap(object_, other.object_); return *this; }
  Reference(const Reference&) = delete;
  ~Reference() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

struct Gil {
  PyGILState_STATE state = PyGILState_Ensure();
  ~Gil() { PyGILState_Release(state); }
};

[[noreturn]] void throw_python_error();
inline PyObject* checked(PyObject* object) {
  if (object == nullptr) throw_python_error();
  return object;
}
inline Reference owned(PyObject* object) { return Reference(checked(object)); }
// Hands the exception being handled to Python; call in a catch block. Returns null.
PyObject* raise_to_python() noexcept;

PyObject* object_of(const at::Tensor& tensor);  // borrowed; throws for an undefined tensor
at::Tensor tensor_of_object(PyObject* new_reference);
PyObject* torch_attribute(const char* name);    // borrowed, of the module torch, kept
PyObject* hook(const char* name);               // borrowed, of foretell.kernels.languages.extension; null if it is None
PyObject* dtype_object(c10::ScalarType type);   // borrowed
PyObject* device_object(c10::DeviceType type, int index);
PyObject* interned(const char* text);
Reference to_object(const Value& value);
Reference integer_list(const int64_t* items, size_t count);
Reference attribute(PyObject* object, const char* name);
Reference method(PyObject* object, const char* name);
Reference method(PyObject* object, const char* name, PyObject* argument);
int64_t as_integer(const Reference& object);
bool as_boolean(const Reference& object);
c10::ScalarType dtype_of_object(PyObject* dtype);  // Undefined if it is not a dtype

}  // namespace foretell

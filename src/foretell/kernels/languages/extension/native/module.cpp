// Functions of an extension as Python sees them: arguments matched to parameters, exceptions handed over.
#include "python.h"

#include <string>

#include "foretell/module.h"

namespace foretell {

bool load(PyObject* o, at::Tensor& value) {
  static PyObject* const type = torch_attribute("Tensor");
  if (!PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(type))) return false;
  value = tensor_of_object(Py_NewRef(o));
  return true;
}
bool load(PyObject* o, int64_t& value) {
  if (PyFloat_Check(o) || !PyIndex_Check(o)) return false;
  PyObject* number = PyNumber_Index(o);
  if (number != nullptr) {
    int overflow = 0;
    value = PyLong_AsLongLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    if (overflow == 0 && !PyErr_Occurred()) return true;
  }
  PyErr_Clear();
  return false;
}
bool load(PyObject* o, double& value) {
  if (!PyFloat_Check(o) && !PyIndex_Check(o) && !(Py_TYPE(o)->tp_as_number && Py_TYPE(o)->tp_as_number->nb_float))
    return false;
  value = PyFloat_AsDouble(o);
  if (!PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}
bool load(PyObject* o, bool& value) {
  if (PyUnicode_Check(o) || PySequence_Check(o) || o == Py_None) return false;
  const int truth = PyObject_IsTrue(o);
  PyErr_Clear();
  value = truth == 1;
  return truth >= 0;
}
bool load(PyObject* o, std::string& value) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_Check(o) ? PyUnicode_AsUTF8AndSize(o, &size) : nullptr;
  PyErr_Clear();
  if (text == nullptr) return false;
  value.assign(text, static_cast<size_t>(size));
  return true;
}
bool load(PyObject* o, c10::Scalar& value) {
  int64_t whole = 0;
  double real = 0;
  if (PyBool_Check(o)) value = c10::Scalar(o == Py_True);
  else if (load(o, whole)) value = c10::Scalar(whole);
  else if (load(o, real)) value = c10::Scalar(real);
  else return false;
  return true;
}
bool load(PyObject* o, c10::ScalarType& value) {
  value = dtype_of_object(o);
  return value != c10::ScalarType::Undefined;
}
bool load(PyObject* o, c10::Device& value) {
  static PyObject* const type = torch_attribute("device");
  std::string text;
  if (!PyUnicode_Check(o) && !PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(type))) return false;
  if (!load(owned(PyObject_Str(o)).get(), text)) return false;
  value = c10::Device(text);
  return true;
}
bool is_none(PyObject* o) { return o == Py_None; }
int64_t sequence_size(PyObject* o) {
  if (PyList_Check(o)) return PyList_GET_SIZE(o);
  return PyTuple_Check(o) ? PyTuple_GET_SIZE(o) : -1;
}
PyObject* sequence_item(PyObject* o, size_t i) {
  return PyList_Check(o) ? PyList_GET_ITEM(o, static_cast<Py_ssize_t>(i)) : PyTuple_GET_ITEM(o, static_cast<Py_ssize_t>(i));
}

PyObject* none() { return Py_NewRef(Py_None); }
PyObject* make(const at::Tensor& value) { return Py_NewRef(value.defined() ? object_of(value) : Py_None); }
PyObject* make_integer(int64_t value) { return checked(PyLong_FromLongLong(value)); }
PyObject* make_real(double value) { return checked(PyFloat_FromDouble(value)); }
PyObject* make_boolean(bool value) { return PyBool_FromLong(value); }
PyObject* make_text(std::string_view value) {
  return checked(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace"));
}
PyObject* make_tuple(PyObject** items, size_t count) {
  PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), items[i]);
  return tuple;
}
PyObject* make_list(PyObject** items, size_t count) {
  PyObject* list = checked(PyList_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), items[i]);
  return list;
}
PyObject* make_dtype(c10::ScalarType value) { return to_object(Value(value)).release(); }
PyObject* make_device(const c10::Device& value) { return to_object(Value(value)).release(); }

namespace {

struct Overloads {  // the functions of one name, in the order of their definition
  std::string name;
  std::vector<Definition> definitions;
  PyMethodDef method;
};

// Puts positional arguments, keywords and defaults into slots; false if they do not fit.
bool arrange(const Definition& made, PyObject* arguments, PyObject* keywords, std::vector<PyObject*>& slots) {
  const size_t given = static_cast<size_t>(PyTuple_GET_SIZE(arguments));
  size_t used = 0;
  if (given > made.arity) return false;
  slots.assign(made.arity, nullptr);
  for (size_t i = 0; i < made.arity; ++i) {
    if (i < given) {
      slots[i] = PyTuple_GET_ITEM(arguments, static_cast<Py_ssize_t>(i));
      continue;
    }
    if (i < made.parameters.size()) {
      slots[i] = keywords ? PyDict_GetItemString(keywords, made.parameters[i].name.c_str()) : nullptr;
      if (slots[i] != nullptr) ++used;
      else slots[i] = made.parameters[i].preset;
    }
    if (slots[i] == nullptr) return false;
  }
  return keywords == nullptr || used == static_cast<size_t>(PyDict_GET_SIZE(keywords));
}

PyObject* invoke(PyObject* self, PyObject* arguments, PyObject* keywords) {
  auto* overloads = static_cast<Overloads*>(PyCapsule_GetPointer(self, nullptr));
  std::vector<PyObject*> slots;
  std::string why = "the number of arguments does not fit";
  for (const Definition& made : overloads->definitions) {
    if (!arrange(made, arguments, keywords, slots)) continue;
    try {
      return made.thunk(made.function, slots.data());
    } catch (const Mismatch& mismatch) {
      why = "argument " + std::to_string(mismatch.position) + " is a " + Py_TYPE(slots[mismatch.position])->tp_name;
    } catch (...) {
      return raise_to_python();
    }
  }
  return PyErr_Format(PyExc_TypeError, "%s(): incompatible function arguments: %s", overloads->name.c_str(), why.c_str());
}

}  // namespace

void add_function(PyObject* module, Definition&& made) {
  static std::vector<std::pair<PyObject*, Overloads*>> known;
  for (auto& [owner, overloads] : known)
    if (owner == module && overloads->name == made.name) {
      overloads->definitions.push_back(std::move(made));
      return;
    }
  auto* overloads = new Overloads{made.name, {}, {}};
  overloads->definitions.push_back(std::move(made));
  const Definition& first = overloads->definitions.front();
  overloads->method = {overloads->name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&invoke)),
                       METH_VARARGS | METH_KEYWORDS, first.doc.c_str()};
  known.emplace_back(module, overloads);
  Reference capsule = owned(PyCapsule_New(overloads, nullptr, nullptr));
  set_attribute(module, overloads->name.c_str(), checked(PyCFunction_New(&overloads->method, capsule.get())));
}

void set_attribute(PyObject* object, const char* name, PyObject* value) {
  Reference held(value);
  if (PyObject_SetAttrString(object, name, value) < 0) throw_python_error();
}

namespace {
void (*fill_module)(Module&) = nullptr;  // of the one module that this object holds

int execute(PyObject* object) {
  try {
    Module module(object);
    fill_module(module);
    return 0;
  } catch (...) {
    raise_to_python();
    return -1;
  }
}
}  // namespace

// In two phases, so that a module named like another does not take its place in sys.modules.
PyObject* start_module(const char* name, void (*fill)(Module&)) {
  static PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(&execute)}, {0, nullptr}};
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT, nullptr, nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};
  definition.m_name = name;
  fill_module = fill;
  return PyModuleDef_Init(&definition);
}

}  // namespace foretell

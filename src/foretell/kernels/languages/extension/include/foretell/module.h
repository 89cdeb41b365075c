// PYBIND11_MODULE and m.def(): the functions that an extension shows to Python.
#pragma once

#include "foretell/convert.h"

namespace foretell {

struct Parameter {
  std::string name;
  Object* preset = nullptr;  // the default, owned; null where there is none
};

using Thunk = Object* (*)(void* function, Object* const* arguments);

// Thrown where an argument is not of its parameter's type: the next function of that name is tried.
struct Mismatch {
  size_t position;
};

struct Definition {
  std::string name, doc;
  std::vector<Parameter> parameters;
  size_t arity = 0;
  Thunk thunk = nullptr;
  void* function = nullptr;  // lives as long as the process
};

class Module;
Object* start_module(const char* name, void (*fill)(Module&));
void add_function(Object* module, Definition&& definition);
void set_attribute(Object* object, const char* name, Object* value);  // takes over the value

template <class A> using Held = Argument<std::remove_cv_t<std::remove_reference_t<A>>>;

// An ArrayRef or a const char* points into what holds it, so holders are made in place and never moved.
template <class A> struct Holder {
  Held<A> argument;
  Holder(Object* o, size_t position) {
    if (!argument.set(o)) throw Mismatch{position};
  }
  Holder(const Holder&) = delete;
  decltype(auto) pass() {
    if constexpr (std::is_lvalue_reference<A>::value) return (argument.get());
    else return std::move(argument.get());
  }
};

template <class F, class R, class... A> struct Caller {
  template <size_t... I> static R call(F& function, Object* const* o, std::index_sequence<I...>) {
    return function(Holder<A>(o[I], I).pass()...);
  }
  static Object* thunk(void* function, Object* const* o) {
    F& f = *static_cast<F*>(function);
    if constexpr (std::is_void<R>::value) {
      call(f, o, std::index_sequence_for<A...>{});
      return none();
    } else {
      return make(call(f, o, std::index_sequence_for<A...>{}));
    }
  }
};

template <class F> struct Shape : Shape<decltype(&F::operator())> {};
template <class R, class... A> struct Shape<R (*)(A...)> {
  template <class F> using Of = Caller<F, R, A...>;
  static constexpr size_t arity = sizeof...(A);
};
template <class C, class R, class... A> struct Shape<R (C::*)(A...) const> : Shape<R (*)(A...)> {};
template <class C, class R, class... A> struct Shape<R (C::*)(A...)> : Shape<R (*)(A...)> {};
template <class R, class... A> struct Shape<R (*)(A...) noexcept> : Shape<R (*)(A...)> {};

}  // namespace foretell

namespace pybind11 {
struct none_t {};
inline none_t none() { return {}; }
}  // namespace pybind11
namespace foretell {
inline Object* make(pybind11::none_t) { return none(); }
}  // namespace foretell

namespace pybind11 {

struct arg_v {
  foretell::Parameter parameter;
};
struct arg {
  const char* name;
  constexpr explicit arg(const char* name) : name(name) {}
  arg& none(bool = true) { return *this; }
  arg& noconvert(bool = true) { return *this; }
  template <class T> arg_v operator=(const T& value) const { return {{name, foretell::make(value)}}; }
};
enum class return_value_policy { automatic, automatic_reference, take_ownership, copy, move, reference, reference_internal };
struct gil_scoped_release { gil_scoped_release() {} ~gil_scoped_release() {} };  // the lock is kept: nothing waits for it
struct gil_scoped_acquire { gil_scoped_acquire() {} ~gil_scoped_acquire() {} };
template <class... T> struct call_guard {};
struct kw_only {};
struct pos_only {};
namespace literals {
constexpr arg operator""_a(const char* name, size_t) { return arg(name); }
}

// What `m.doc()` and `m.attr("x")` give: assigning sets the attribute.
class attribute {
 public:
  attribute(foretell::Object* owner, const char* name) : owner_(owner), name_(name) {}
  template <class T> attribute& operator=(const T& value) {
    foretell::set_attribute(owner_, name_, foretell::make(value));
    return *this;
  }

 private:
  foretell::Object* owner_;
  const char* name_;
};

}  // namespace pybind11

namespace foretell {

class Module {
 public:
  explicit Module(Object* object) : object_(object) {}
  pybind11::attribute doc() const { return pybind11::attribute(object_, "__doc__"); }
  pybind11::attribute attr(const char* name) const { return pybind11::attribute(object_, name); }
  template <class F, class... Extra> Module& def(const char* name, F&& function, const Extra&... extra) {
    using Kept = std::decay_t<F>;
    Definition made;
    made.name = name;
    made.arity = Shape<Kept>::arity;
    made.function = new Kept(std::forward<F>(function));
    made.thunk = &Shape<Kept>::template Of<Kept>::thunk;
    (take(made, extra), ...);
    add_function(object_, std::move(made));
    return *this;
  }

 private:
  static void take(Definition& made, const char* doc) { made.doc = doc; }
  static void take(Definition& made, const std::string& doc) { made.doc = doc; }
  static void take(Definition& made, const pybind11::arg& one) { made.parameters.push_back({one.name, nullptr}); }
  static void take(Definition& made, const pybind11::arg_v& one) { made.parameters.push_back(one.parameter); }
  static void take(Definition&, pybind11::return_value_policy) {}
  static void take(Definition&, pybind11::kw_only) {}
  static void take(Definition&, pybind11::pos_only) {}
  template <class... T> static void take(Definition&, pybind11::call_guard<T...>) {}
  Object* object_;
};

}  // namespace foretell

namespace pybind11 {
using module_ = foretell::Module;
using module = foretell::Module;
}  // namespace pybind11
namespace py = pybind11;
namespace torch {
template <class F> std::decay_t<F> wrap_pybind_function(F&& function) { return std::forward<F>(function); }
}

#define FORETELL_MODULE_NAME(name) FORETELL_MODULE_NAME_IMPL(name)
#define FORETELL_MODULE_NAME_IMPL(name) PyInit_##name
#define PYBIND11_MODULE(name, variable, ...)                                                               \
  static void foretell_fill_module(::pybind11::module_& variable);                                         \
  extern "C" __attribute__((visibility("default"))) ::foretell::Object* FORETELL_MODULE_NAME(name)() {     \
    return ::foretell::start_module(C10_STRINGIZE(name), &foretell_fill_module);                           \
  }                                                                                                        \
  static void foretell_fill_module([[maybe_unused]] ::pybind11::module_& variable)

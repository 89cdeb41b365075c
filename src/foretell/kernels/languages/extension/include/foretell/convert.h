// Python values as C++ arguments, and results back.
#pragma once

#include "foretell/tensor.h"

namespace foretell {

// Each returns false, with no Python error set, if the object is not of the kind; implemented in native/.
bool load(Object* o, at::Tensor& value);
bool load(Object* o, int64_t& value);
bool load(Object* o, double& value);
bool load(Object* o, bool& value);
bool load(Object* o, std::string& value);
bool load(Object* o, c10::Scalar& value);
bool load(Object* o, c10::ScalarType& value);
bool load(Object* o, c10::Device& value);
bool load(Object* o, Object*& value);
bool is_none(Object* o);
int64_t sequence_size(Object* o);              // -1 for what is not a list or tuple
Object* sequence_item(Object* o, size_t i);    // borrowed

Object* none();
Object* make(const at::Tensor& value);
Object* make_integer(int64_t value);
Object* make_real(double value);
Object* make_boolean(bool value);
Object* make_text(std::string_view value);
Object* make_tuple(Object** items, size_t count);  // takes over the items
Object* make_list(Object** items, size_t count);
Object* make_dtype(c10::ScalarType value);
Object* make_device(const c10::Device& value);

// Holds one converted argument while the function runs. As with pybind11, a function may have parameters of types that
// nothing converts to: it compiles, and cannot be called.
template <class T, class = void> struct Argument {
  bool set(Object*) { return false; }
  T& get() { throw c10::TypeError("a value of this type cannot come from Python"); }
};
template <class T> struct Argument<T*, std::enable_if_t<!std::is_arithmetic<T>::value>> {
  T* value = nullptr;
  bool set(Object* o) { return is_none(o); }
  T*& get() { return value; }
};

template <class T> struct Plain {
  T value{};
  bool set(Object* o) { return load(o, value); }
  T& get() { return value; }
};
template <> struct Argument<at::Tensor> : Plain<at::Tensor> {};
template <> struct Argument<double> : Plain<double> {};
template <> struct Argument<bool> : Plain<bool> {};
template <> struct Argument<std::string> : Plain<std::string> {};
template <> struct Argument<c10::Scalar> : Plain<c10::Scalar> {};
template <> struct Argument<c10::ScalarType> : Plain<c10::ScalarType> {};
template <> struct Argument<c10::Device> {
  c10::Device value{c10::kCPU};
  bool set(Object* o) { return load(o, value); }
  c10::Device& get() { return value; }
};
template <> struct Argument<float> {
  float value = 0;
  bool set(Object* o) {
    double wide = 0;
    if (!load(o, wide)) return false;
    value = static_cast<float>(wide);
    return true;
  }
  float& get() { return value; }
};
template <class T>
struct Argument<T, std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value>> {
  T value = 0;
  bool set(Object* o) {
    int64_t wide = 0;
    if (!load(o, wide)) return false;
    if (std::is_unsigned<T>::value && wide < 0) return false;
    if (sizeof(T) < 8 && (wide < static_cast<int64_t>(std::numeric_limits<T>::min()) ||
                          wide > static_cast<int64_t>(std::numeric_limits<T>::max())))
      return false;
    value = static_cast<T>(wide);
    return true;
  }
  T& get() { return value; }
};
template <> struct Argument<const char*> {
  std::string text;
  const char* value = nullptr;
  bool set(Object* o) {
    if (!load(o, text)) return false;
    value = text.c_str();
    return true;
  }
  const char*& get() { return value; }
};
// As pybind11 has it: a pointer to one number that was passed by value.
template <class T> struct Argument<T*, std::enable_if_t<std::is_arithmetic<T>::value && !std::is_same<T, const char>::value>> {
  Argument<std::remove_const_t<T>> held;
  T* value = nullptr;
  bool set(Object* o) {
    if (is_none(o)) return true;
    if (!held.set(o)) return false;
    value = &held.get();
    return true;
  }
  T*& get() { return value; }
};
template <> struct Argument<std::string_view> {
  std::string text;
  std::string_view value;
  bool set(Object* o) {
    if (!load(o, text)) return false;
    value = text;
    return true;
  }
  std::string_view& get() { return value; }
};
template <class T> bool load_items(Object* o, std::vector<T>& items) {
  const int64_t count = sequence_size(o);
  if (count < 0) return false;
  items.clear();
  items.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    Argument<T> one;
    if (!one.set(sequence_item(o, static_cast<size_t>(i)))) return false;
    items.push_back(one.get());
  }
  return true;
}
template <class T> struct Argument<std::vector<T>> {
  std::vector<T> value;
  bool set(Object* o) { return load_items(o, value); }
  std::vector<T>& get() { return value; }
};
template <class T> struct Argument<c10::ArrayRef<T>> {
  std::vector<T> items;
  c10::ArrayRef<T> value;
  bool set(Object* o) {
    if (!load_items(o, items)) return false;
    value = items;
    return true;
  }
  c10::ArrayRef<T>& get() { return value; }
};
template <class T, size_t N> struct Argument<std::array<T, N>> {
  std::array<T, N> value;
  bool set(Object* o) {
    std::vector<T> items;
    if (!load_items(o, items) || items.size() != N) return false;
    for (size_t i = 0; i < N; ++i) value[i] = items[i];
    return true;
  }
  std::array<T, N>& get() { return value; }
};
template <class T> struct Argument<std::optional<T>> {
  Argument<T> held;
  std::optional<T> value;
  bool set(Object* o) {
    value.reset();
    if (is_none(o)) return true;
    if (!held.set(o)) return false;
    value = held.get();
    return true;
  }
  std::optional<T>& get() { return value; }
};
template <class... T> struct Argument<std::tuple<T...>> {
  std::tuple<T...> value;
  template <size_t... I> bool items(Object* o, std::index_sequence<I...>) {
    return (item<I>(o) && ...);
  }
  template <size_t I> bool item(Object* o) {
    Argument<std::tuple_element_t<I, std::tuple<T...>>> one;
    if (!one.set(sequence_item(o, I))) return false;
    std::get<I>(value) = one.get();
    return true;
  }
  bool set(Object* o) {
    return sequence_size(o) == static_cast<int64_t>(sizeof...(T)) && items(o, std::index_sequence_for<T...>{});
  }
  std::tuple<T...>& get() { return value; }
};

inline Object* make(const char* value) { return make_text(value); }
inline Object* make(const std::string& value) { return make_text(value); }
inline Object* make(std::string_view value) { return make_text(value); }
inline Object* make(bool value) { return make_boolean(value); }
inline Object* make(std::nullopt_t) { return none(); }
inline Object* make(c10::ScalarType value) { return make_dtype(value); }
inline Object* make(const c10::Device& value) { return make_device(value); }
inline Object* make(const c10::Scalar& s) {
  return s.isFloatingPoint() ? make_real(s.toDouble()) : s.isBoolean() ? make_boolean(s.toBool()) : make_integer(s.toLong());
}
template <class T> std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value, Object*> make(T value) {
  return make_integer(static_cast<int64_t>(value));
}
template <class T> std::enable_if_t<std::is_floating_point<T>::value, Object*> make(T value) { return make_real(value); }
template <class T> Object* make(const std::optional<T>& value);
template <class T> Object* make(const std::vector<T>& value);
template <class T> Object* make(c10::ArrayRef<T> value);
template <class... T> Object* make(const std::tuple<T...>& value);
template <class A, class B> Object* make(const std::pair<A, B>& value);
template <class T, size_t N> Object* make(const std::array<T, N>& value);

template <class Items> Object* make_sequence(const Items& value) {
  std::vector<Object*> items;
  for (const auto& one : value) items.push_back(make(one));
  return make_list(items.data(), items.size());
}
template <class T> Object* make(const std::optional<T>& value) { return value ? make(*value) : none(); }
template <class T> Object* make(const std::vector<T>& value) { return make_sequence(value); }
template <class T> Object* make(c10::ArrayRef<T> value) { return make_sequence(value); }
template <class T, size_t N> Object* make(const std::array<T, N>& value) { return make_sequence(value); }
template <class... T> Object* make(const std::tuple<T...>& value) {
  return std::apply([](const auto&... one) {
    Object* items[] = {make(one)..., nullptr};
    return make_tuple(items, sizeof...(one));
  }, value);
}
template <class A, class B> Object* make(const std::pair<A, B>& value) {
  Object* items[] = {make(value.first), make(value.second)};
  return make_tuple(items, 2);
}

}  // namespace foretell

// The values that C++ extensions for torch are written with: errors, array references, dtypes, devices, scalars.
//
// Names and meanings are those of torch's C++ interface, so that an extension compiles against this as it would against
// torch. Nothing here knows Python; what does is declared in tensor.h and implemented once, in native/.
#pragma once

#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <array>
#include <initializer_list>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef __CUDACC__
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#else
#define C10_HOST_DEVICE
#define C10_DEVICE
#define C10_HOST
#endif
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_NOINLINE __attribute__((noinline))
#define C10_RESTRICT __restrict
#define C10_UNUSED __attribute__((unused))
#define C10_NODISCARD [[nodiscard]]
#define C10_LIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 1))
#define C10_UNLIKELY(condition) (__builtin_expect(static_cast<bool>(condition), 0))
#define C10_STRINGIZE_IMPL(x) #x
#define C10_STRINGIZE(x) C10_STRINGIZE_IMPL(x)
#define C10_CONCATENATE_IMPL(a, b) a##b
#define C10_CONCATENATE(a, b) C10_CONCATENATE_IMPL(a, b)
#define C10_ANONYMOUS_VARIABLE(name) C10_CONCATENATE(name, __LINE__)
#define C10_API
#define TORCH_API
#define TORCH_CUDA_CU_API
#define TORCH_CUDA_CPP_API
#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 11

namespace c10 {

class Error : public std::exception {
 public:
  explicit Error(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const char* what_without_backtrace() const noexcept { return text_.c_str(); }
  const std::string& msg() const { return text_; }

 private:
  std::string text_;
};
class IndexError : public Error { using Error::Error; };
class ValueError : public Error { using Error::Error; };
class TypeError : public Error { using Error::Error; };
class NotImplementedError : public Error { using Error::Error; };
class LinAlgError : public Error { using Error::Error; };
class OutOfMemoryError : public Error { using Error::Error; };

template <class T> using optional = std::optional<T>;
using std::nullopt;
using std::nullopt_t;
using std::make_optional;
using std::in_place;
using string_view = std::string_view;

template <class T>
class ArrayRef {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;
  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(end - begin) {}
  template <class A> ArrayRef(const std::vector<T, A>& items) : data_(items.data()), size_(items.size()) {
    static_assert(!std::is_same<T, bool>::value, "a std::vector<bool> holds no array of bool");
  }
  template <size_t N> constexpr ArrayRef(const std::array<T, N>& items) : data_(items.data()), size_(N) {}
  template <size_t N> constexpr ArrayRef(const T (&items)[N]) : data_(items), size_(N) {}
  constexpr ArrayRef(const std::initializer_list<T>& items)
      : data_(items.begin() == items.end() ? nullptr : items.begin()), size_(items.size()) {}

  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T* cbegin() const { return data_; }
  constexpr const T* cend() const { return data_ + size_; }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  const T& front() const { return at(0); }
  const T& back() const { return at(size_ - 1); }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  const T& at(size_t i) const {
    if (i >= size_) throw IndexError("ArrayRef: invalid index");
    return data_[i];
  }
  ArrayRef slice(size_t start, size_t count) const { return ArrayRef(data_ + start, count); }
  ArrayRef slice(size_t start) const { return slice(start, size_ - start); }
  bool equals(ArrayRef other) const {
    if (size_ != other.size_) return false;
    for (size_t i = 0; i < size_; ++i)
      if (!(data_[i] == other.data_[i])) return false;
    return true;
  }
  std::vector<T> vec() const { return std::vector<T>(data_, data_ + size_); }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};
template <class T> bool operator==(ArrayRef<T> a, ArrayRef<T> b) { return a.equals(b); }
template <class T> bool operator!=(ArrayRef<T> a, ArrayRef<T> b) { return !a.equals(b); }
template <class T> bool operator==(const std::vector<T>& a, ArrayRef<T> b) { return ArrayRef<T>(a).equals(b); }
template <class T> bool operator!=(const std::vector<T>& a, ArrayRef<T> b) { return !ArrayRef<T>(a).equals(b); }
template <class T> bool operator==(ArrayRef<T> a, const std::vector<T>& b) { return a.equals(ArrayRef<T>(b)); }
template <class T> bool operator!=(ArrayRef<T> a, const std::vector<T>& b) { return !a.equals(ArrayRef<T>(b)); }
using IntArrayRef = ArrayRef<int64_t>;
template <class T> using OptionalArrayRef = std::optional<ArrayRef<T>>;

// An optional array argument. Unlike std::optional<IntArrayRef> it takes braces: sum({0, 1}).
class OptionalIntArrayRef {
 public:
  OptionalIntArrayRef() = default;
  OptionalIntArrayRef(std::nullopt_t) {}
  OptionalIntArrayRef(IntArrayRef items) : items_(items), given_(true) {}
  OptionalIntArrayRef(const std::initializer_list<int64_t>& items) : items_(items), given_(true) {}
  OptionalIntArrayRef(const std::vector<int64_t>& items) : items_(items), given_(true) {}
  OptionalIntArrayRef(const int64_t& one) : items_(one), given_(true) {}
  OptionalIntArrayRef(const std::optional<IntArrayRef>& items) : given_(items.has_value()) { if (items) items_ = *items; }
  bool has_value() const { return given_; }
  IntArrayRef value() const { return items_; }
  IntArrayRef operator*() const { return items_; }

 private:
  IntArrayRef items_;
  bool given_ = false;
};

template <class T, unsigned N = 5> class SmallVector : public std::vector<T> { using std::vector<T>::vector; };
using DimVector = SmallVector<int64_t, 5>;

enum class ScalarType : int8_t {
  Byte, Char, Short, Int, Long, Half, Float, Double, ComplexHalf, ComplexFloat, ComplexDouble, Bool, QInt8, QUInt8,
  QInt32, BFloat16, QUInt4x2, QUInt2x4, Bits1x8, Bits2x4, Bits4x2, Bits8, Bits16, Float8_e5m2, Float8_e4m3fn,
  Float8_e5m2fnuz, Float8_e4m3fnuz, UInt16, UInt32, UInt64, Undefined
};
constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char,
                     kInt8 = ScalarType::Char, kShort = ScalarType::Short, kInt16 = ScalarType::Short,
                     kInt = ScalarType::Int, kInt32 = ScalarType::Int, kLong = ScalarType::Long,
                     kInt64 = ScalarType::Long, kHalf = ScalarType::Half, kFloat16 = ScalarType::Half,
                     kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kDouble = ScalarType::Double,
                     kFloat64 = ScalarType::Double, kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16,
                     kComplexFloat = ScalarType::ComplexFloat, kComplexDouble = ScalarType::ComplexDouble,
                     kUInt16 = ScalarType::UInt16, kUInt32 = ScalarType::UInt32, kUInt64 = ScalarType::UInt64,
                     kFloat8_e4m3fn = ScalarType::Float8_e4m3fn, kFloat8_e5m2 = ScalarType::Float8_e5m2;

inline const char* toString(ScalarType type) {
  static const char* const names[] = {
      "Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "ComplexHalf", "ComplexFloat", "ComplexDouble",
      "Bool", "QInt8", "QUInt8", "QInt32", "BFloat16", "QUInt4x2", "QUInt2x4", "Bits1x8", "Bits2x4", "Bits4x2", "Bits8",
      "Bits16", "Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz", "UInt16", "UInt32", "UInt64",
      "Undefined"};
  return names[static_cast<int>(type)];
}
inline size_t elementSize(ScalarType type) {
  static const char sizes[] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 4, 8, 0};
  return sizes[static_cast<int>(type)];
}
inline bool isFloatingType(ScalarType t) {
  return t == kHalf || t == kFloat || t == kDouble || t == kBFloat16 || t == kFloat8_e4m3fn || t == kFloat8_e5m2;
}
inline bool isComplexType(ScalarType t) {
  return t == ScalarType::ComplexHalf || t == kComplexFloat || t == kComplexDouble;
}
inline bool isIntegralType(ScalarType t, bool with_bool) {
  return (t >= kByte && t <= kLong) || t == kUInt16 || t == kUInt32 || t == kUInt64 || (with_bool && t == kBool);
}
inline bool isReducedFloatingType(ScalarType t) { return t == kHalf || t == kBFloat16; }

struct Half;
struct BFloat16;
template <class T> struct CppTypeToScalarType;
#define FORETELL_DTYPE(type, name) \
  template <> struct CppTypeToScalarType<type> { static constexpr ScalarType value = ScalarType::name; };
FORETELL_DTYPE(uint8_t, Byte) FORETELL_DTYPE(int8_t, Char) FORETELL_DTYPE(int16_t, Short) FORETELL_DTYPE(int, Int)
FORETELL_DTYPE(int64_t, Long) FORETELL_DTYPE(Half, Half) FORETELL_DTYPE(float, Float) FORETELL_DTYPE(double, Double)
FORETELL_DTYPE(bool, Bool) FORETELL_DTYPE(BFloat16, BFloat16) FORETELL_DTYPE(uint16_t, UInt16)
FORETELL_DTYPE(uint32_t, UInt32) FORETELL_DTYPE(uint64_t, UInt64)
#undef FORETELL_DTYPE

// A dtype as Tensor::dtype() gives it; it compares with, and becomes, a ScalarType.
class TypeMeta {
 public:
  TypeMeta(ScalarType type = ScalarType::Undefined) : type_(type) {}
  template <class T> static TypeMeta Make() { return CppTypeToScalarType<T>::value; }
  static TypeMeta fromScalarType(ScalarType type) { return type; }
  ScalarType toScalarType() const { return type_; }
  operator ScalarType() const { return type_; }
  size_t itemsize() const { return elementSize(type_); }
  const char* name() const { return toString(type_); }
  template <class T> bool Match() const { return type_ == CppTypeToScalarType<T>::value; }

 private:
  ScalarType type_;
};
inline bool operator==(TypeMeta a, TypeMeta b) { return a.toScalarType() == b.toScalarType(); }
inline bool operator!=(TypeMeta a, TypeMeta b) { return !(a == b); }
inline bool operator==(TypeMeta a, ScalarType b) { return a.toScalarType() == b; }
inline bool operator!=(TypeMeta a, ScalarType b) { return a.toScalarType() != b; }
inline bool operator==(ScalarType a, TypeMeta b) { return b == a; }
inline bool operator!=(ScalarType a, TypeMeta b) { return b != a; }
inline ScalarType typeMetaToScalarType(TypeMeta type) { return type.toScalarType(); }
inline TypeMeta scalarTypeToTypeMeta(ScalarType type) { return type; }

enum class Layout : int8_t { Strided, Sparse, SparseCsr, Mkldnn };
constexpr Layout kStrided = Layout::Strided, kSparse = Layout::Sparse;
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

using DeviceIndex = int8_t;
enum class DeviceType : int8_t { CPU = 0, CUDA = 1, Meta = 14 };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA, kMeta = DeviceType::Meta;

class Device {
 public:
  using Type = DeviceType;
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  Device(const std::string& text) : type_(kCPU), index_(-1) {
    const size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    if (name == "cuda") type_ = kCUDA;
    else if (name == "meta") type_ = kMeta;
    else if (name != "cpu") throw Error("Expected a device of type cpu or cuda, got " + text);
    if (colon != std::string::npos) index_ = static_cast<DeviceIndex>(std::atoi(text.c_str() + colon + 1));
  }
  Device(const char* text) : Device(std::string(text)) {}
  DeviceType type() const { return type_; }
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ >= 0; }
  void set_index(DeviceIndex index) { index_ = index; }
  bool is_cuda() const { return type_ == kCUDA; }
  bool is_cpu() const { return type_ == kCPU; }
  bool is_meta() const { return type_ == kMeta; }
  std::string str() const {
    std::string text = type_ == kCUDA ? "cuda" : type_ == kCPU ? "cpu" : "meta";
    return index_ < 0 ? text : text + ":" + std::to_string(index_);
  }
  bool operator==(const Device& other) const { return type_ == other.type_ && index_ == other.index_; }
  bool operator!=(const Device& other) const { return !(*this == other); }

 private:
  DeviceType type_;
  DeviceIndex index_;
};

class Scalar {
 public:
  Scalar() : kind_(integer), integer_(0) {}
  template <class T, std::enable_if_t<std::is_integral<T>::value && !std::is_same<T, bool>::value, int> = 0>
  Scalar(T value) : kind_(integer), integer_(static_cast<int64_t>(value)) {}
  template <class T, std::enable_if_t<std::is_floating_point<T>::value, int> = 0>
  Scalar(T value) : kind_(real), real_(static_cast<double>(value)) {}
  template <class T, std::enable_if_t<std::is_same<T, Half>::value || std::is_same<T, BFloat16>::value, int> = 0,
            class = void>
  Scalar(T value) : kind_(real), real_(static_cast<float>(value)) {}
  Scalar(bool value) : kind_(boolean), integer_(value) {}
  bool isFloatingPoint() const { return kind_ == real; }
  bool isIntegral(bool with_bool = false) const { return kind_ == integer || (with_bool && kind_ == boolean); }
  bool isBoolean() const { return kind_ == boolean; }
  bool isComplex() const { return false; }
  ScalarType type() const { return kind_ == real ? kDouble : kind_ == boolean ? kBool : kLong; }
  template <class T> T to() const { return static_cast<T>(kind_ == real ? real_ : static_cast<double>(integer_)); }
  double toDouble() const { return kind_ == real ? real_ : static_cast<double>(integer_); }
  float toFloat() const { return static_cast<float>(toDouble()); }
  int64_t toLong() const { return kind_ == real ? static_cast<int64_t>(real_) : integer_; }
  int toInt() const { return static_cast<int>(toLong()); }
  bool toBool() const { return kind_ == real ? real_ != 0 : integer_ != 0; }
  Scalar operator-() const { return kind_ == real ? Scalar(-real_) : Scalar(-integer_); }

 private:
  enum Kind : char { integer, real, boolean } kind_;
  union {
    int64_t integer_;
    double real_;
  };
};
template <> inline int64_t Scalar::to<int64_t>() const { return toLong(); }
template <> inline bool Scalar::to<bool>() const { return toBool(); }

// Pieces of a message as text. What has no overload (a type of the extension's own) is left out of the message.
inline void append(std::string& out, const char* text) { out += text ? text : "(null)"; }
inline void append(std::string& out, const unsigned char* text) { append(out, reinterpret_cast<const char*>(text)); }
inline void append(std::string& out, const std::string& text) { out += text; }
inline void append(std::string& out, std::string_view text) { out.append(text.data(), text.size()); }
inline void append(std::string& out, char letter) { out += letter; }
inline void append(std::string& out, bool value) { out += value ? "1" : "0"; }
inline void append(std::string& out, ScalarType type) { out += toString(type); }
inline void append(std::string& out, TypeMeta type) { out += type.name(); }
inline void append(std::string& out, const Device& device) { out += device.str(); }
inline void append(std::string& out, DeviceType type) { out += Device(type).str(); }
inline void append(std::string& out, const Scalar& s) {
  out += s.isFloatingPoint() ? std::to_string(s.toDouble()) : std::to_string(s.toLong());
}
template <class T> std::enable_if_t<std::is_arithmetic<T>::value> append(std::string& out, T value) {
  char text[40];
  if (std::is_floating_point<T>::value) std::snprintf(text, sizeof text, "%g", static_cast<double>(value));
  else if (std::is_signed<T>::value) std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value));
  else std::snprintf(text, sizeof text, "%llu", static_cast<unsigned long long>(value));
  out += text;
}
template <class T> void append(std::string& out, ArrayRef<T> items) {
  out += "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i) out += ", ";
    append(out, items[i]);
  }
  out += "]";
}
template <class T> void append(std::string& out, const std::vector<T>& items) { append(out, ArrayRef<T>(items)); }
template <class T>
std::enable_if_t<std::is_enum<T>::value && !std::is_same<T, ScalarType>::value && !std::is_same<T, DeviceType>::value>
append(std::string& out, T value) { append(out, static_cast<long long>(value)); }
template <class T> auto append_any(std::string& out, const T& value, int) -> decltype(append(out, value)) {
  append(out, value);
}
template <class T> void append_any(std::string& out, const T&, long) { out += "(value)"; }
template <class... Parts> std::string str(const Parts&... parts) {
  std::string text;
  (append_any(text, parts, 0), ...);
  return text;
}

namespace detail {
template <class E, class... Parts>
[[noreturn]] C10_NOINLINE void fail(const char* condition, const Parts&... parts) {
  std::string text = str(parts...);
  throw E(text.empty() ? std::string("Expected ") + condition + " to be true, but got false." : text);
}
}  // namespace detail
void warn(const std::string& text);  // as Python's warnings.warn

}  // namespace c10

#define TORCH_CHECK_WITH(error, condition, ...)                                     \
  do {                                                                              \
    if (C10_UNLIKELY(!(condition))) ::c10::detail::fail<::c10::error>(#condition, ##__VA_ARGS__); \
  } while (false)
#define TORCH_CHECK(condition, ...) TORCH_CHECK_WITH(Error, condition, ##__VA_ARGS__)
#define TORCH_CHECK_INDEX(condition, ...) TORCH_CHECK_WITH(IndexError, condition, ##__VA_ARGS__)
#define TORCH_CHECK_VALUE(condition, ...) TORCH_CHECK_WITH(ValueError, condition, ##__VA_ARGS__)
#define TORCH_CHECK_TYPE(condition, ...) TORCH_CHECK_WITH(TypeError, condition, ##__VA_ARGS__)
#define TORCH_CHECK_LINALG(condition, ...) TORCH_CHECK_WITH(LinAlgError, condition, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED(condition, ...) TORCH_CHECK_WITH(NotImplementedError, condition, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT(condition, ...) TORCH_CHECK_WITH(Error, condition, ##__VA_ARGS__)
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY(condition, ...) ((void)0)
#define AT_ASSERT(condition) TORCH_CHECK_WITH(Error, condition)
#define AT_ASSERTM(condition, ...) TORCH_CHECK_WITH(Error, condition, ##__VA_ARGS__)
#define AT_ERROR(...) ::c10::detail::fail<::c10::Error>("", ##__VA_ARGS__)
#define AT_INDEX_ERROR(...) ::c10::detail::fail<::c10::IndexError>("", ##__VA_ARGS__)
#define AT_CHECK TORCH_CHECK
#define TORCH_WARN(...) ::c10::warn(::c10::str(__VA_ARGS__))
#define TORCH_WARN_ONCE TORCH_WARN
#define C10_THROW_ERROR(error, message) throw ::c10::error(message)

namespace caffe2 {
using c10::TypeMeta;
}
namespace at {
using namespace c10;
}
namespace torch {
using namespace at;
namespace detail {}
}  // namespace torch

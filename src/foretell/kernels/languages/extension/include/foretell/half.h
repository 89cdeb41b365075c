// c10::Half and c10::BFloat16: 16-bit floats that compute in float, on the host and on the device.
#pragma once

#include "foretell/core.h"

namespace c10 {
namespace detail {

inline C10_HOST_DEVICE float bits_to_float(uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
#endif
}
inline C10_HOST_DEVICE uint32_t float_to_bits(float value) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(value);
#else
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
#endif
}
inline C10_HOST_DEVICE float half_to_float(uint16_t half) {
#ifdef __CUDA_ARCH__
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
#else
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, rest = half & 0x7fff;
  if (rest >= 0x7c00) return bits_to_float(sign | 0x7f800000 | (rest & 0x3ff) << 13);  // infinite or not a number
  if (rest < 0x400) return (sign ? -1.0f : 1.0f) * static_cast<float>(rest) * 0x1p-24f;  // subnormal
  return bits_to_float(sign | ((rest << 13) + 0x38000000));
#endif
}
inline C10_HOST_DEVICE uint16_t float_to_half(float value) {
#ifdef __CUDA_ARCH__
  uint16_t half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
#else
  const uint32_t bits = float_to_bits(value), rest = bits & 0x7fffffff;
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  if (rest > 0x7f800000) return sign | 0x7e00;
  if (rest >= 0x477ff000) return sign | 0x7c00;  // rounds beyond the largest half
  if (rest < 0x38800000) {  // subnormal: the float unit rounds it to a multiple of 2^-24
    const float shifted = bits_to_float(rest) + 0.5f;
    return static_cast<uint16_t>(sign | (float_to_bits(shifted) - 0x3f000000));
  }
  return static_cast<uint16_t>(sign | ((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13));
#endif
}
inline C10_HOST_DEVICE float bfloat16_to_float(uint16_t x) { return bits_to_float(static_cast<uint32_t>(x) << 16); }
inline C10_HOST_DEVICE uint16_t float_to_bfloat16(float value) {
  const uint32_t bits = float_to_bits(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace detail

#define FORETELL_SIXTEEN_BIT_FLOAT(Name, Native, decode, encode, native_known)                        \
  struct alignas(2) Name {                                                                            \
    uint16_t x;                                                                                       \
    struct from_bits_t {};                                                                            \
    static constexpr C10_HOST_DEVICE from_bits_t from_bits() { return {}; }                           \
    Name() = default;                                                                                 \
    constexpr C10_HOST_DEVICE Name(uint16_t bits, from_bits_t) : x(bits) {}                           \
    C10_HOST_DEVICE Name(float value) : x(detail::encode(value)) {}                                   \
    C10_HOST_DEVICE operator float() const { return detail::decode(x); }                              \
    native_known                                                                                      \
  };                                                                                                  \
  inline C10_HOST_DEVICE Name operator+(Name a, Name b) { return float(a) + float(b); }               \
  inline C10_HOST_DEVICE Name operator-(Name a, Name b) { return float(a) - float(b); }               \
  inline C10_HOST_DEVICE Name operator*(Name a, Name b) { return float(a) * float(b); }               \
  inline C10_HOST_DEVICE Name operator/(Name a, Name b) { return float(a) / float(b); }               \
  inline C10_HOST_DEVICE Name operator-(Name a) { return -float(a); }                                 \
  inline C10_HOST_DEVICE Name& operator+=(Name& a, Name b) { return a = a + b; }                      \
  inline C10_HOST_DEVICE Name& operator-=(Name& a, Name b) { return a = a - b; }                      \
  inline C10_HOST_DEVICE Name& operator*=(Name& a, Name b) { return a = a * b; }                      \
  inline C10_HOST_DEVICE Name& operator/=(Name& a, Name b) { return a = a / b; }                      \
  FORETELL_MIXED(Name, float, float) FORETELL_MIXED(Name, double, double)                             \
  FORETELL_MIXED(Name, int, Name) FORETELL_MIXED(Name, int64_t, Name)
#define FORETELL_MIXED(Name, Other, Result)                                                           \
  inline C10_HOST_DEVICE Result operator+(Name a, Other b) { return Result(float(a)) + Result(b); }   \
  inline C10_HOST_DEVICE Result operator-(Name a, Other b) { return Result(float(a)) - Result(b); }   \
  inline C10_HOST_DEVICE Result operator*(Name a, Other b) { return Result(float(a)) * Result(b); }   \
  inline C10_HOST_DEVICE Result operator/(Name a, Other b) { return Result(float(a)) / Result(b); }   \
  inline C10_HOST_DEVICE Result operator+(Other a, Name b) { return Result(a) + Result(float(b)); }   \
  inline C10_HOST_DEVICE Result operator-(Other a, Name b) { return Result(a) - Result(float(b)); }   \
  inline C10_HOST_DEVICE Result operator*(Other a, Name b) { return Result(a) * Result(float(b)); }   \
  inline C10_HOST_DEVICE Result operator/(Other a, Name b) { return Result(a) / Result(float(b)); }

#if defined(__CUDACC__) && defined(__CUDA_FP16_H__)
#define FORETELL_NATIVE_HALF                                                                     \
  C10_HOST_DEVICE Half(const __half& value) : x(reinterpret_cast<const uint16_t&>(value)) {}    \
  C10_HOST_DEVICE operator __half() const { return reinterpret_cast<const __half&>(x); }
#else
#define FORETELL_NATIVE_HALF
#endif
#if defined(__CUDACC__) && defined(__CUDA_BF16_H__)
#define FORETELL_NATIVE_BFLOAT16                                                                        \
  C10_HOST_DEVICE BFloat16(const __nv_bfloat16& value) : x(reinterpret_cast<const uint16_t&>(value)) {} \
  explicit C10_HOST_DEVICE operator __nv_bfloat16() const { return reinterpret_cast<const __nv_bfloat16&>(x); }
#else
#define FORETELL_NATIVE_BFLOAT16
#endif
FORETELL_SIXTEEN_BIT_FLOAT(Half, __half, half_to_float, float_to_half, FORETELL_NATIVE_HALF)
FORETELL_SIXTEEN_BIT_FLOAT(BFloat16, __nv_bfloat16, bfloat16_to_float, float_to_bfloat16, FORETELL_NATIVE_BFLOAT16)
#undef FORETELL_SIXTEEN_BIT_FLOAT
#undef FORETELL_MIXED

}  // namespace c10

namespace std {
template <> class numeric_limits<c10::Half> {
 public:
  static constexpr bool is_specialized = true, has_infinity = true, has_quiet_NaN = true, is_signed = true;
  static constexpr C10_HOST_DEVICE c10::Half lowest() { return {0xFBFF, c10::Half::from_bits()}; }
  static constexpr C10_HOST_DEVICE c10::Half max() { return {0x7BFF, c10::Half::from_bits()}; }
  static constexpr C10_HOST_DEVICE c10::Half min() { return {0x0400, c10::Half::from_bits()}; }
  static constexpr C10_HOST_DEVICE c10::Half epsilon() { return {0x1400, c10::Half::from_bits()}; }
  static constexpr C10_HOST_DEVICE c10::Half infinity() { return {0x7C00, c10::Half::from_bits()}; }
  static constexpr C10_HOST_DEVICE c10::Half quiet_NaN() { return {0x7E00, c10::Half::from_bits()}; }
};
template <> class numeric_limits<c10::BFloat16> {
 public:
  static constexpr bool is_specialized = true, has_infinity = true, has_quiet_NaN = true, is_signed = true;
  static constexpr C10_HOST_DEVICE c10::BFloat16 lowest() { return {0xFF7F, c10::BFloat16::from_bits()}; }
  static constexpr C10_HOST_DEVICE c10::BFloat16 max() { return {0x7F7F, c10::BFloat16::from_bits()}; }
  static constexpr C10_HOST_DEVICE c10::BFloat16 min() { return {0x0080, c10::BFloat16::from_bits()}; }
  static constexpr C10_HOST_DEVICE c10::BFloat16 epsilon() { return {0x3C00, c10::BFloat16::from_bits()}; }
  static constexpr C10_HOST_DEVICE c10::BFloat16 infinity() { return {0x7F80, c10::BFloat16::from_bits()}; }
  static constexpr C10_HOST_DEVICE c10::BFloat16 quiet_NaN() { return {0x7FC0, c10::BFloat16::from_bits()}; }
};
}  // namespace std

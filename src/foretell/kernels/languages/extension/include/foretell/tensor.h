// at::Tensor and what describes tensors. A Tensor is a counted reference to a Python object.
#pragma once

#include "foretell/value.h"

namespace c10 {

// How a tensor is to be made: dtype, device, layout, each perhaps unsaid.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType type) : dtype_(type) {}
  TensorOptions(TypeMeta type) : dtype_(type.toScalarType()) {}
  TensorOptions(Layout layout) : layout_(layout) {}
  TensorOptions(MemoryFormat format) : format_(format) {}
  TensorOptions(const Device& device) : device_(device) {}
  TensorOptions(DeviceType type) : device_(Device(type)) {}
  TensorOptions(const char* device) : device_(Device(device)) {}
  TensorOptions(const std::string& device) : device_(Device(device)) {}

  TensorOptions dtype(std::optional<ScalarType> type) const { auto o = *this; o.dtype_ = type; return o; }
  TensorOptions dtype(TypeMeta type) const { return dtype(std::optional<ScalarType>(type.toScalarType())); }
  TensorOptions dtype(ScalarType type) const { return dtype(std::optional<ScalarType>(type)); }
  template <class T> TensorOptions dtype() const { return dtype(CppTypeToScalarType<T>::value); }
  TensorOptions device(const Device& device) const { auto o = *this; o.device_ = device; return o; }
  TensorOptions device(DeviceType type, DeviceIndex index = -1) const { return device(Device(type, index)); }
  TensorOptions device_index(int16_t index) const { return device(Device(kCUDA, static_cast<DeviceIndex>(index))); }
  TensorOptions layout(std::optional<Layout> layout) const { auto o = *this; o.layout_ = layout; return o; }
  TensorOptions requires_grad(std::optional<bool> wanted) const { auto o = *this; o.grad_ = wanted.value_or(false); return o; }
  TensorOptions pinned_memory(std::optional<bool> wanted) const { auto o = *this; o.pinned_ = wanted; return o; }
  TensorOptions memory_format(std::optional<MemoryFormat> format) const { auto o = *this; o.format_ = format; return o; }

  std::optional<ScalarType> dtype_opt() const { return dtype_; }
  std::optional<Device> device_opt() const { return device_; }
  std::optional<Layout> layout_opt() const { return layout_; }
  std::optional<bool> pinned_memory_opt() const { return pinned_; }
  std::optional<MemoryFormat> memory_format_opt() const { return format_; }
  TypeMeta dtype() const { return dtype_.value_or(kFloat); }
  Device device() const { return device_.value_or(Device(kCPU)); }
  Layout layout() const { return layout_.value_or(kStrided); }
  bool requires_grad() const { return grad_; }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }

 private:
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  std::optional<Layout> layout_;
  std::optional<bool> pinned_;
  std::optional<MemoryFormat> format_;
  bool grad_ = false;
};
inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions dtype(TypeMeta type) { return TensorOptions(type); }
template <class T> TensorOptions dtype() { return TensorOptions(CppTypeToScalarType<T>::value); }
inline TensorOptions device(const Device& device) { return TensorOptions(device); }
inline TensorOptions device(DeviceType type) { return TensorOptions(type); }
inline TensorOptions layout(Layout layout) { return TensorOptions(layout); }
inline TensorOptions memory_format(MemoryFormat format) { return TensorOptions(format); }
inline TensorOptions requires_grad(bool wanted = true) { return TensorOptions().requires_grad(wanted); }

}  // namespace c10

namespace foretell {

struct Box;  // a Python object with its count and the arrays that sizes() and strides() point into
void retain(Box* box);
void release(Box* box);

}  // namespace foretell

namespace torch::indexing {
struct TensorIndex;
}

namespace at {

using TensorList = ArrayRef<Tensor>;
struct Generator {};
template <class T, size_t N> class TensorAccessor;
template <class T> struct DefaultPtrTraits;
template <class T, size_t N, template <class> class Traits, class Index> class GenericPackedTensorAccessor;

// What the deprecated Tensor::type() gives: enough for AT_DISPATCH macros and checks.
class DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(ScalarType type, bool cuda) : type_(type), cuda_(cuda) {}
  ScalarType scalarType() const { return type_; }
  bool is_cuda() const { return cuda_; }
  operator ScalarType() const { return type_; }
  std::string toString() const { return std::string(cuda_ ? "CUDA" : "CPU") + c10::toString(type_) + "Type"; }
  bool operator==(const DeprecatedTypeProperties& o) const { return type_ == o.type_ && cuda_ == o.cuda_; }
  bool operator!=(const DeprecatedTypeProperties& o) const { return !(*this == o); }

 private:
  ScalarType type_;
  bool cuda_;
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(foretell::Box* box) : box_(box) {}  // takes over one count
  Tensor(const Tensor& other) : box_(other.box_) { if (box_) foretell::retain(box_); }
  Tensor(Tensor&& other) noexcept : box_(other.box_) { other.box_ = nullptr; }
  ~Tensor() { if (box_) foretell::release(box_); }
  Tensor& operator=(const Tensor& other) & { Tensor copy(other); std::swap(box_, copy.box_); return *this; }
  Tensor& operator=(Tensor&& other) & noexcept { std::swap(box_, other.box_); return *this; }
  Tensor& operator=(const Tensor& other) && { return copy_into(other); }  // x[0] = y
  Tensor& operator=(Tensor&& other) && { return copy_into(other); }
  Tensor& operator=(const Scalar& value) && { return fill_with(value); }
  foretell::Box* box() const { return box_; }

  bool defined() const { return box_ != nullptr; }
  void reset() { Tensor none; std::swap(box_, none.box_); }
  bool is_same(const Tensor& other) const;
  int64_t dim() const;
  int64_t ndimension() const { return dim(); }
  int64_t numel() const;
  int64_t size(int64_t dim) const;
  int64_t stride(int64_t dim) const;
  IntArrayRef sizes() const;
  IntArrayRef strides() const;
  int64_t storage_offset() const;
  ScalarType scalar_type() const;
  TypeMeta dtype() const { return scalar_type(); }
  DeprecatedTypeProperties type() const { return DeprecatedTypeProperties(scalar_type(), is_cuda()); }
  Device device() const;
  int64_t get_device() const { return device().index(); }
  Layout layout() const { return kStrided; }
  TensorOptions options() const { return TensorOptions(scalar_type()).device(device()).layout(layout()); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_sparse() const { return false; }
  bool is_contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  bool is_floating_point() const { return isFloatingType(scalar_type()); }
  bool is_complex() const { return isComplexType(scalar_type()); }
  bool requires_grad() const;
  Tensor& set_requires_grad(bool wanted);
  const Tensor& requires_grad_(bool wanted = true) const;
  bool has_storage() const { return defined(); }
  size_t element_size() const { return elementSize(scalar_type()); }
  size_t itemsize() const { return element_size(); }
  size_t nbytes() const { return static_cast<size_t>(numel()) * element_size(); }
  MemoryFormat suggest_memory_format() const {
    return !is_contiguous() && is_contiguous(MemoryFormat::ChannelsLast) ? MemoryFormat::ChannelsLast
                                                                         : MemoryFormat::Contiguous;
  }
  std::string toString() const { return type().toString(); }

  void* data_ptr() const;
  const void* const_data_ptr() const { return data_ptr(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  template <class T> T* data_ptr() const {
    return static_cast<T*>(checked_address(CppTypeToScalarType<std::remove_const_t<T>>::value));
  }
  template <class T> const T* const_data_ptr() const { return data_ptr<std::remove_const_t<T>>(); }
  template <class T> T* mutable_data_ptr() const { return data_ptr<T>(); }
  template <class T> T* data() const { return data_ptr<T>(); }
  Tensor data() const { return variable_data(); }
  Tensor variable_data() const;
  Tensor detach() const;

  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  Tensor clone(std::optional<MemoryFormat> format = std::nullopt) const;
  Tensor to(const TensorOptions& options = {}, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> format = std::nullopt) const;
  Tensor to(ScalarType type, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> format = std::nullopt) const {
    return to(TensorOptions(type), non_blocking, copy, format);
  }
  Tensor to(TypeMeta type, bool non_blocking = false, bool copy = false) const {
    return to(TensorOptions(type), non_blocking, copy);
  }
  Tensor to(const Device& device, ScalarType type, bool non_blocking = false, bool copy = false,
            std::optional<MemoryFormat> format = std::nullopt) const {
    return to(TensorOptions(type).device(device), non_blocking, copy, format);
  }
  Tensor to(const Tensor& other, bool non_blocking = false, bool copy = false) const {
    return to(TensorOptions(other.scalar_type()).device(other.device()), non_blocking, copy);
  }
  Tensor toType(ScalarType type) const { return to(type); }
  Tensor cpu() const { return to(TensorOptions(kCPU)); }
  Tensor cuda() const { return to(TensorOptions(kCUDA)); }
  Scalar item() const;
  template <class T> T item() const { return item().to<T>(); }
  int64_t use_count() const;
  int64_t _version() const { return 0; }

  Tensor operator[](int64_t index) const;
  Tensor operator[](const Tensor& index) const;
  Tensor index(ArrayRef<torch::indexing::TensorIndex> indices) const;
  Tensor index(std::initializer_list<torch::indexing::TensorIndex> indices) const;
  Tensor& index_put_(ArrayRef<torch::indexing::TensorIndex> indices, const Tensor& values);
  Tensor& index_put_(std::initializer_list<torch::indexing::TensorIndex> indices, const Tensor& values);
  Tensor& index_put_(std::initializer_list<torch::indexing::TensorIndex> indices, const Scalar& value);
  Tensor operator-() const;
  Tensor operator~() const;
  Tensor& operator+=(const Tensor& other);
  Tensor& operator-=(const Tensor& other);
  Tensor& operator*=(const Tensor& other);
  Tensor& operator/=(const Tensor& other);
  Tensor& operator+=(const Scalar& other);
  Tensor& operator-=(const Scalar& other);
  Tensor& operator*=(const Scalar& other);
  Tensor& operator/=(const Scalar& other);

  template <class T, size_t N> TensorAccessor<T, N> accessor() const&;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  GenericPackedTensorAccessor<T, N, Traits, int32_t> packed_accessor32() const&;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  GenericPackedTensorAccessor<T, N, Traits, int64_t> packed_accessor64() const&;
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
  GenericPackedTensorAccessor<T, N, Traits, Index> packed_accessor() const&;

#include "foretell_methods.inc"

 private:
  void* checked_address(ScalarType expected) const;
  Tensor& copy_into(const Tensor& other);
  Tensor& fill_with(const Scalar& value);
  foretell::Box* box_ = nullptr;
};

// The factories that nearly every extension calls, by the shortest way into torch.
Tensor empty(IntArrayRef size, const TensorOptions& options = {}, std::optional<MemoryFormat> format = std::nullopt);
Tensor zeros(IntArrayRef size, const TensorOptions& options = {});
Tensor ones(IntArrayRef size, const TensorOptions& options = {});
Tensor empty_like(const Tensor& self, const TensorOptions& options = {}, std::optional<MemoryFormat> f = std::nullopt);
Tensor zeros_like(const Tensor& self, const TensorOptions& options = {}, std::optional<MemoryFormat> f = std::nullopt);
Tensor ones_like(const Tensor& self, const TensorOptions& options = {}, std::optional<MemoryFormat> f = std::nullopt);
inline Tensor clone(const Tensor& self) { return self.clone(); }
inline Tensor detach(const Tensor& self) { return self.detach(); }
inline int64_t numel(const Tensor& self) { return self.numel(); }
inline bool is_floating_point(const Tensor& self) { return self.is_floating_point(); }
inline std::optional<Device> device_of(const Tensor& self) { return self.device(); }
Tensor tensor_of(ArrayRef<double> values, const TensorOptions& options);
Tensor tensor_of(ArrayRef<int64_t> values, const TensorOptions& options);
Tensor tensor_of(const Scalar& value, const TensorOptions& options);
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
#define FORETELL_WITH_NUMBER(op)                                          \
  Tensor operator op(const Tensor& a, const Scalar& b);                   \
  Tensor operator op(const Scalar& a, const Tensor& b);
FORETELL_WITH_NUMBER(+) FORETELL_WITH_NUMBER(-) FORETELL_WITH_NUMBER(*) FORETELL_WITH_NUMBER(/)
#undef FORETELL_WITH_NUMBER
#define FORETELL_COMPARISON(op)                                           \
  Tensor operator op(const Tensor& a, const Tensor& b);                   \
  Tensor operator op(const Tensor& a, const Scalar& b);
FORETELL_COMPARISON(<) FORETELL_COMPARISON(<=) FORETELL_COMPARISON(>) FORETELL_COMPARISON(>=)
FORETELL_COMPARISON(==) FORETELL_COMPARISON(!=) FORETELL_COMPARISON(&) FORETELL_COMPARISON(|)
#undef FORETELL_COMPARISON

// Runs a range as one piece: host loops of an extension are no part of what is timed.
template <class F> void parallel_for(int64_t begin, int64_t end, int64_t, const F& body) {
  if (begin < end) body(begin, end);
}
inline int get_num_threads() { return 1; }
inline int get_thread_num() { return 0; }
template <class T, class U> constexpr C10_HOST_DEVICE T ceil_div(T a, U b) { return (a + b - 1) / b; }
template <class T, class U> constexpr C10_HOST_DEVICE T round_up(T a, U b) { return ceil_div(a, b) * b; }

}  // namespace at

namespace foretell {
template <> struct Result<at::Tensor> { static at::Tensor take(Object* o) { return take_tensor(o); } };
template <> struct Result<std::vector<at::Tensor>> {
  static std::vector<at::Tensor> take(Object* o) { return take_tensors(o); }
};
template <class... T> struct Result<std::tuple<T...>> {
  template <size_t... I> static std::tuple<T...> items(Object* o, std::index_sequence<I...>) {
    return std::tuple<T...>{Result<T>::take(item_of(o, I))...};
  }
  static std::tuple<T...> take(Object* o) {
    auto made = items(o, std::index_sequence_for<T...>{});
    drop(o);
    return made;
  }
};
}  // namespace foretell

namespace at {
#include "foretell_functions.inc"
}  // namespace at

namespace torch {
using at::Tensor;
using at::TensorList;
// A tensor of a list of numbers; integers make int64, anything else the default dtype, unless the options say more.
template <class T> Tensor tensor(ArrayRef<T> values, const TensorOptions& options = {}) {
  if constexpr (std::is_floating_point<T>::value) {
    return at::tensor_of(ArrayRef<double>(std::vector<double>(values.begin(), values.end())), options);
  } else {
    return at::tensor_of(ArrayRef<int64_t>(std::vector<int64_t>(values.begin(), values.end())), options);
  }
}
template <class T> Tensor tensor(std::initializer_list<T> values, const TensorOptions& options = {}) {
  return tensor(ArrayRef<T>(values), options);
}
template <class T> Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
  return tensor(ArrayRef<T>(values), options);
}
template <class T, std::enable_if_t<std::is_arithmetic<T>::value, int> = 0>
Tensor tensor(T value, const TensorOptions& options = {}) {
  return at::tensor_of(Scalar(value), options);
}

// No gradients are recorded while one of these is alive.
class NoGradGuard {
 public:
  NoGradGuard();
  ~NoGradGuard();
  NoGradGuard(const NoGradGuard&) = delete;

 private:
  bool before_;
};
}  // namespace torch
namespace at {
using torch::NoGradGuard;
}

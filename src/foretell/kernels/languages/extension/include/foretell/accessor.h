// Views of a tensor's memory with sizes and strides, for loops on the host and as kernel arguments.
#pragma once

#include "foretell/tensor.h"

namespace at {

template <class T> struct DefaultPtrTraits { using PtrType = T*; };
template <class T> struct RestrictPtrTraits { using PtrType = T* __restrict__; };

// One dimension less per subscript; `View` says whether sizes and strides are borrowed (accessor) or owned (packed).
template <class T, size_t N, template <class> class Traits, class Index>
class BorrowedAccessor {
 public:
  using PtrType = typename Traits<T>::PtrType;
  C10_HOST_DEVICE BorrowedAccessor(PtrType data, const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  C10_HOST_DEVICE Index size(int i) const { return sizes_[i]; }
  C10_HOST_DEVICE Index stride(int i) const { return strides_[i]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }
  C10_HOST_DEVICE decltype(auto) operator[](Index i) const {
    if constexpr (N == 1) {
      return static_cast<T&>(data_[strides_[0] * i]);
    } else {
      return BorrowedAccessor<T, N - 1, Traits, Index>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
    }
  }

 protected:
  PtrType data_;
  const Index* sizes_;
  const Index* strides_;
};

template <class T, size_t N> class TensorAccessor : public BorrowedAccessor<T, N, DefaultPtrTraits, int64_t> {
 public:
  using Base = BorrowedAccessor<T, N, DefaultPtrTraits, int64_t>;
  using Base::Base;
  IntArrayRef sizes() const { return IntArrayRef(this->sizes_, N); }
  IntArrayRef strides() const { return IntArrayRef(this->strides_, N); }
};

template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
class GenericPackedTensorAccessor {
 public:
  using PtrType = typename Traits<T>::PtrType;
  GenericPackedTensorAccessor(PtrType data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (size_t i = 0; i < N; ++i) {
      sizes_[i] = static_cast<Index>(sizes[i]);
      strides_[i] = static_cast<Index>(strides[i]);
    }
  }
  C10_HOST_DEVICE Index size(int i) const { return sizes_[i]; }
  C10_HOST_DEVICE Index stride(int i) const { return strides_[i]; }
  C10_HOST_DEVICE PtrType data() const { return data_; }
  C10_HOST_DEVICE decltype(auto) operator[](Index i) const {
    if constexpr (N == 1) {
      return static_cast<T&>(const_cast<T*>(data_)[strides_[0] * i]);
    } else {
      return BorrowedAccessor<T, N - 1, Traits, Index>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
    }
  }

 private:
  PtrType data_;
  Index sizes_[N];
  Index strides_[N];
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 = GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 = GenericPackedTensorAccessor<T, N, Traits, int64_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits, class Index = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, Traits, Index>;

template <class T, size_t N> TensorAccessor<T, N> Tensor::accessor() const& {
  TORCH_CHECK(dim() == static_cast<int64_t>(N), "TensorAccessor expected ", N, " dims but tensor has ", dim());
  return TensorAccessor<T, N>(data_ptr<T>(), sizes().data(), strides().data());
}
template <class T, size_t N, template <class> class Traits, class Index>
GenericPackedTensorAccessor<T, N, Traits, Index> Tensor::packed_accessor() const& {
  TORCH_CHECK(dim() == static_cast<int64_t>(N), "TensorAccessor expected ", N, " dims but tensor has ", dim());
  return {data_ptr<T>(), sizes().data(), strides().data()};
}
template <class T, size_t N, template <class> class Traits>
GenericPackedTensorAccessor<T, N, Traits, int32_t> Tensor::packed_accessor32() const& {
  TORCH_CHECK(numel() <= INT32_MAX, "numel needs to be smaller than int32_t max; otherwise, please use packed_accessor64");
  return packed_accessor<T, N, Traits, int32_t>();
}
template <class T, size_t N, template <class> class Traits>
GenericPackedTensorAccessor<T, N, Traits, int64_t> Tensor::packed_accessor64() const& {
  return packed_accessor<T, N, Traits, int64_t>();
}

}  // namespace at

namespace torch {
using at::PackedTensorAccessor;
using at::PackedTensorAccessor32;
using at::PackedTensorAccessor64;
using at::RestrictPtrTraits;
using at::DefaultPtrTraits;
using at::TensorAccessor;
}  // namespace torch

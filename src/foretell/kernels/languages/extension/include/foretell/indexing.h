// Tensor::index and index_put_ with what may stand between a tensor's brackets in Python.
#pragma once

#include "foretell/tensor.h"

namespace torch::indexing {

struct None_t {};
struct Ellipsis_t {};
inline constexpr None_t None{};
inline constexpr Ellipsis_t Ellipsis{};

struct Slice {
  Slice(std::optional<int64_t> start = std::nullopt, std::optional<int64_t> stop = std::nullopt,
        std::optional<int64_t> step = std::nullopt)
      : start(start), stop(stop), step(step) {}
  Slice(None_t, std::optional<int64_t> stop, std::optional<int64_t> step = std::nullopt) : stop(stop), step(step) {}
  Slice(std::optional<int64_t> start, None_t, std::optional<int64_t> step = std::nullopt) : start(start), step(step) {}
  Slice(None_t, None_t, std::optional<int64_t> step = std::nullopt) : step(step) {}
  std::optional<int64_t> start, stop, step;
};

struct TensorIndex {
  enum Kind : char { none, ellipsis, integer, boolean, slice, tensor } kind;
  int64_t number = 0;
  Slice range;
  at::Tensor indices;
  TensorIndex(None_t) : kind(none) {}
  TensorIndex(std::nullopt_t) : kind(none) {}
  TensorIndex(Ellipsis_t) : kind(ellipsis) {}
  TensorIndex(const char*) : kind(ellipsis) {}  // "..."
  TensorIndex(int64_t value) : kind(integer), number(value) {}
  TensorIndex(int value) : kind(integer), number(value) {}
  template <class T, std::enable_if_t<std::is_same<T, bool>::value, int> = 0>
  TensorIndex(T value) : kind(boolean), number(value) {}
  TensorIndex(Slice value) : kind(slice), range(value) {}
  TensorIndex(at::Tensor value) : kind(tensor), indices(std::move(value)) {}
};

}  // namespace torch::indexing

namespace foretell {
at::Tensor get_item(const at::Tensor& self, const torch::indexing::TensorIndex* indices, size_t count);
void set_item(const at::Tensor& self, const torch::indexing::TensorIndex* indices, size_t count, const Value& value);
}  // namespace foretell

namespace at {
namespace indexing {
using namespace torch::indexing;
}
inline Tensor Tensor::index(ArrayRef<indexing::TensorIndex> i) const {
  return foretell::get_item(*this, i.data(), i.size());
}
inline Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> i) const {
  return foretell::get_item(*this, i.begin(), i.size());
}
inline Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> i, const Tensor& values) {
  foretell::set_item(*this, i.data(), i.size(), values);
  return *this;
}
inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> i, const Tensor& values) {
  foretell::set_item(*this, i.begin(), i.size(), values);
  return *this;
}
inline Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> i, const Scalar& value) {
  foretell::set_item(*this, i.begin(), i.size(), value);
  return *this;
}
}  // namespace at

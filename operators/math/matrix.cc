// SPDX-License-Identifier: Apache-2.0
#include "operators/math/matrix.h"

#include <Eigen/Core>

namespace millhopper {
namespace {

// Eigen computes products in blocks, and the size of the blocks decides the order of the sums.
// Fixed cache sizes fix the blocks; by default Eigen would use the sizes of the machine's caches.
[[maybe_unused]] const bool blocks_are_fixed = [] {
  Eigen::setCpuCacheSizes(32 << 10, 256 << 10, 2 << 20);
  return true;
}();

template <typename T>
using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <typename T>
Eigen::Map<const Dense<T>, 0, Eigen::OuterStride<>> MapOf(const Matrix<T>& matrix) {
  return {matrix.values, matrix.rows, matrix.columns,
          Eigen::OuterStride<>(matrix.row_stride == 0 ? matrix.columns : matrix.row_stride)};
}

// Calls store(map of the product, expression that computes it).
template <typename T, typename Store>
void WithProduct(const Matrix<T>& left, const Matrix<T>& right, T* product, int64_t row_stride,
                 const Store& store) {
  const auto a = MapOf(left);
  const auto b = MapOf(right);
  const int64_t columns = right.transposed ? right.rows : right.columns;
  Eigen::Map<Dense<T>, 0, Eigen::OuterStride<>> out(
      product, left.transposed ? left.columns : left.rows, columns,
      Eigen::OuterStride<>(row_stride == 0 ? columns : row_stride));
  if (left.transposed && right.transposed) {
    store(out, a.transpose() * b.transpose());
  } else if (left.transposed) {
    store(out, a.transpose() * b);
  } else if (right.transposed) {
    store(out, a * b.transpose());
  } else {
    store(out, a * b);
  }
}

}  // namespace

template <typename T>
void Multiply(const Matrix<T>& left, const Matrix<T>& right, T* product, int64_t row_stride) {
  WithProduct(left, right, product, row_stride,
              [](auto& out, const auto& value) { out.noalias() = value; });
}

template <typename T>
void MultiplyAdd(const Matrix<T>& left, const Matrix<T>& right, T* product) {
  WithProduct(left, right, product, 0,
              [](auto& out, const auto& value) { out.noalias() += value; });
}

template void Multiply(const Matrix<float>&, const Matrix<float>&, float*, int64_t);
template void Multiply(const Matrix<double>&, const Matrix<double>&, double*, int64_t);
template void MultiplyAdd(const Matrix<float>&, const Matrix<float>&, float*);
template void MultiplyAdd(const Matrix<double>&, const Matrix<double>&, double*);

}  // namespace millhopper

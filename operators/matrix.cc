// SPDX-License-Identifier: Apache-2.0
#include "operators/matrix.h"

#include <Eigen/Core>

namespace millhopper {
namespace {

// Eigen computes products in blocks, and the size of the blocks decides the order of the sums.
// Fixed cache sizes fix the blocks; by default Eigen would use the sizes of the machine's caches.
[[maybe_unused]] const bool blocks_are_fixed = [] {
  Eigen::setCpuCacheSizes(32 << 10, 256 << 10, 2 << 20);
  return true;
}();

}  // namespace

template <typename T>
void Multiply(const Matrix<T>& left, const Matrix<T>& right, T* product) {
  using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Dense> a(left.values, left.rows, left.columns);
  const Eigen::Map<const Dense> b(right.values, right.rows, right.columns);
  Eigen::Map<Dense> out(product, left.transposed ? left.columns : left.rows,
                        right.transposed ? right.rows : right.columns);
  if (left.transposed && right.transposed) {
    out.noalias() = a.transpose() * b.transpose();
  } else if (left.transposed) {
    out.noalias() = a.transpose() * b;
  } else if (right.transposed) {
    out.noalias() = a * b.transpose();
  } else {
    out.noalias() = a * b;
  }
}

template void Multiply(const Matrix<float>&, const Matrix<float>&, float*);
template void Multiply(const Matrix<double>&, const Matrix<double>&, double*);

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Products of matrices. Only matrix.cc needs the linear algebra library.
#ifndef MILLHOPPER_OPERATORS_MATH_MATRIX_H_
#define MILLHOPPER_OPERATORS_MATH_MATRIX_H_

#include <cstdint>

namespace millhopper {

// A matrix that lies in memory row by row; if `transposed` is true, its transpose is meant.
template <typename T>
struct Matrix {
  const T* values;
  int64_t rows, columns;
  bool transposed = false;
  int64_t row_stride = 0;  // values from one row to the next; 0: the rows lie end to end
};

template <typename T>
Matrix<T> Transposed(Matrix<T> matrix) {
  matrix.transposed = !matrix.transposed;
  return matrix;
}

// product = left * right, stored row by row, with `row_stride` as in Matrix; `product` must not
// overlap either of them. The bits are the same on every machine, because one thread computes them
// in blocks of fixed sizes. For float and double. Any thread.
template <typename T>
void Multiply(const Matrix<T>& left, const Matrix<T>& right, T* product, int64_t row_stride = 0);

// product += left * right; all else as in Multiply. The rows of `product` lie end to end.
template <typename T>
void MultiplyAdd(const Matrix<T>& left, const Matrix<T>& right, T* product);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_MATH_MATRIX_H_

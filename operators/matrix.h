// SPDX-License-Identifier: Apache-2.0
// Products of matrices. Only matrix.cc needs the linear algebra library.
#ifndef MILLHOPPER_OPERATORS_MATRIX_H_
#define MILLHOPPER_OPERATORS_MATRIX_H_

#include <cstdint>

namespace millhopper {

// A matrix that lies in memory row by row; if `transposed` is true, its transpose is meant.
template <typename T>
struct Matrix {
  const T* values;
  int64_t rows, columns;
  bool transposed = false;
};

template <typename T>
Matrix<T> Transposed(Matrix<T> matrix) {
  matrix.transposed = !matrix.transposed;
  return matrix;
}

// product = left * right, stored row by row; `product` must not overlap either of them. The bits
// are the same on every machine, because one thread computes them in blocks of fixed sizes. For
// float and double.
template <typename T>
void Multiply(const Matrix<T>& left, const Matrix<T>& right, T* product);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_MATRIX_H_

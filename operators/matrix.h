// SPDX-License-Identifier: Apache-2.0
// Products of matrices, so that one file alone needs the linear algebra library.
#ifndef MILLHOPPER_OPERATORS_MATRIX_H_
#define MILLHOPPER_OPERATORS_MATRIX_H_

#include <cstdint>

namespace millhopper {

// A matrix as it lies in memory, row by row, and whether its transpose is meant.
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

// product = left * right, row by row; neither may overlap it. The same bits whatever the machine
// and the number of threads: on one thread, in blocks of fixed sizes. For float and double.
template <typename T>
void Multiply(const Matrix<T>& left, const Matrix<T>& right, T* product);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_MATRIX_H_

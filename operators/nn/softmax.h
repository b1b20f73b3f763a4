// SPDX-License-Identifier: Apache-2.0
// The softmax of one row and its gradient.
#ifndef MILLHOPPER_OPERATORS_NN_SOFTMAX_H_
#define MILLHOPPER_OPERATORS_NN_SOFTMAX_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace millhopper {

// Two values of a row that give the negative logarithm of a probability without loss of precision:
// -log(softmax[k]) = (highest - x[k]) + log_sum.
template <typename T>
struct SoftmaxScale {
  T highest, log_sum;
};

// softmax = e^x / (sum of e^x) for a row of `length` values; softmax may be x.
template <typename T>
SoftmaxScale<T> Softmax(const T* x, int64_t length, T* softmax) {
  const T highest = *std::max_element(x, x + length);
  T sum = 0;
  for (int64_t k = 0; k < length; ++k) {
    softmax[k] = std::exp(x[k] - highest);
    sum += softmax[k];
  }
  for (int64_t k = 0; k < length; ++k) softmax[k] /= sum;
  return {highest, std::log(sum)};
}

// The sum of softmax[k] * dsoftmax[k] over a row. It gives the gradient of x[k]:
// dx[k] = softmax[k] * (dsoftmax[k] - sum).
template <typename T>
T SoftmaxGradSum(const T* softmax, const T* dsoftmax, int64_t length) {
  T sum = 0;
  for (int64_t k = 0; k < length; ++k) sum += softmax[k] * dsoftmax[k];
  return sum;
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_NN_SOFTMAX_H_

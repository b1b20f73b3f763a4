// SPDX-License-Identifier: Apache-2.0
// Which rows of an input have no value, as masks tell: a slot "age" of a reader has a mask
// "age.valid" if its field says missing=mask.
#ifndef MILLHOPPER_OPERATORS_SUPPORT_NULL_ROWS_H_
#define MILLHOPPER_OPERATORS_SUPPORT_NULL_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "framework/program/operator.h"
#include "framework/tensor/tensor.h"
#include "operators/support/arguments.h"

namespace millhopper {

class NullRows {
 public:
  // Of x, by mask `number` of the input Valid, which is bool and has a value for each row of x.
  // Without such a mask no row is null. Construct it before `out` is allocated, which may be the
  // mask.
  NullRows(const OpContext& context, const LoDTensor& x, const LoDTensor* out, size_t number = 0);

  bool Has(size_t row) const { return valid_ != nullptr && !valid_[row]; }

  // Gives all values of these rows, in a tensor with the dims of x, the value `null`.
  template <typename T>
  void Fill(T* values, T null) const {
    if (valid_ == nullptr) return;
    for (size_t row = 0; row < rows_; ++row) {
      if (!valid_[row]) std::fill_n(values + row * width_, width_, null);
    }
  }

 private:
  std::optional<StableInput> mask_;
  const bool* valid_ = nullptr;
  size_t rows_;
  size_t width_ = 0;  // values of a row
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_SUPPORT_NULL_ROWS_H_

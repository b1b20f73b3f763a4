// SPDX-License-Identifier: Apache-2.0
// Tensors seen as sequences: what the last level of detail divides the rows of a tensor into.
#ifndef MILLHOPPER_OPERATORS_SUPPORT_SEQUENCES_H_
#define MILLHOPPER_OPERATORS_SUPPORT_SEQUENCES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "framework/program/infer_context.h"
#include "framework/tensor/tensor.h"
#include "operators/support/arguments.h"

namespace millhopper {

// The sequences of a tensor. Without levels of detail all of its rows are one sequence. The tensor
// must outlive this and stay as it is.
class Sequences {
 public:
  explicit Sequences(const LoDTensor& tensor)
      : rows_(tensor.rows()), level_(tensor.lod().empty() ? nullptr : &tensor.lod().back()) {}

  size_t size() const { return level_ == nullptr ? 1 : level_->size() - 1; }
  uint64_t begin(size_t i) const { return level_ == nullptr ? 0 : (*level_)[i]; }
  uint64_t end(size_t i) const { return level_ == nullptr ? rows_ : (*level_)[i + 1]; }
  uint64_t length(size_t i) const { return end(i) - begin(i); }
  uint64_t longest() const;

 private:
  const uint64_t rows_;
  const LodLevel* const level_;
};

// Gives `out`, which has a row for each sequence of `x`, the levels of detail above the last of x.
void SetOuterLevels(const LoDTensor& x, LoDTensor* out);

// Gives `out` the levels of detail of `x`, the last one with other offsets. Without levels `out`
// gets this one.
void SetLastLevel(const LoDTensor& x, LodLevel offsets, LoDTensor* out);

// ---- For rules ----

// What is known of a tensor with one row of this type and these dims for each sequence of `x`.
TensorSpec RowForEachSequence(const TensorSpec& x, DataType type, Dims row = {});
// The levels of a tensor that has sequences where `x` has some, and one if x has none.
std::optional<int> LevelsOfSequences(const TensorSpec& x);

// ---- Text: uint8 [n], the bytes of one text or, with levels of detail, of several. ----

void RequireText(const InferContext& context, std::string_view parameter);
void RequireText(const OpContext& context, std::string_view parameter);
// The bytes of sequence i of a text.
std::string_view TextOf(const LoDTensor& x, const Sequences& sequences, size_t i);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_SUPPORT_SEQUENCES_H_

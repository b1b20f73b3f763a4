// SPDX-License-Identifier: Apache-2.0
// What operators ask of the tensors they are given, and outputs that may be one of the inputs.
#ifndef MILLHOPPER_OPERATORS_ARGUMENTS_H_
#define MILLHOPPER_OPERATORS_ARGUMENTS_H_

#include <optional>
#include <string_view>

#include "framework/program/operator.h"

namespace millhopper {

// Throws kInvalidArgument "input 'X' (variable 'pixels') is float32 [4, 3]; <wanted>".
[[noreturn]] void ThrowUnfit(const OpContext& context, std::string_view slot,
                             const std::string& wanted);

// Throws as ThrowUnfit does unless `condition` holds; `wanted` says what was needed.
template <typename... Parts>
void RequireInput(bool condition, const OpContext& context, std::string_view slot,
                  const Parts&... wanted) {
  if (__builtin_expect(!condition, 0)) ThrowUnfit(context, slot, StrCat(wanted...));
}

// Throws unless the input `slot` has the type of `like_slot`, or its type and dims.
void RequireSameType(const OpContext& context, std::string_view slot, std::string_view like_slot);
void RequireSameShape(const OpContext& context, std::string_view slot, std::string_view like_slot);

// Whether an optional output is connected.
inline bool IsWanted(const OpContext& context, std::string_view slot) {
  return context.OutCount(slot) > 0;
}

// An input that stays as it is while outputs are allocated, even if it is the variable of one.
class StableInput {
 public:
  template <typename... Outputs>
  explicit StableInput(const LoDTensor& input, const Outputs*... outputs) : input_(&input) {
    if (((&input == outputs) || ...)) input_ = &copy_.emplace(input);
  }
  StableInput(const StableInput&) = delete;
  StableInput& operator=(const StableInput&) = delete;

  const LoDTensor& operator*() const { return *input_; }
  const LoDTensor* operator->() const { return input_; }

 private:
  std::optional<LoDTensor> copy_;  // shares the values
  const LoDTensor* input_;
};

// Copies the levels of detail if both tensors have as many rows.
void CopyLod(const LoDTensor& from, LoDTensor* to);

// The values of an output with the dims and levels of detail of `like`. Where the output has this
// shape already its values stay, so that value i may be written once the inputs' values i have
// been read, even if the output is one of the inputs. Take the inputs' data after this call.
template <typename T>
T* AllocateLike(const LoDTensor& like, LoDTensor* out) {
  T* values = out->initialized() && out->dtype() == DataTypeOf<T>() && out->dims() == like.dims() &&
                      out->place().is_cpu()
                  ? out->mutable_data<T>()
                  : out->Allocate<T>(like.dims());
  if (out != &like && !(out->lod().empty() && like.lod().empty())) {
    *out->mutable_lod_unchecked() = like.lod();
  }
  return values;
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_ARGUMENTS_H_

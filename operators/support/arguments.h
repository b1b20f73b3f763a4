// SPDX-License-Identifier: Apache-2.0
// Helpers for operators that take tensors: rules that infer the outputs before a run, checks of the
// inputs, outputs that may be the same variable as an input, and code for each type of values.
#ifndef MILLHOPPER_OPERATORS_SUPPORT_ARGUMENTS_H_
#define MILLHOPPER_OPERATORS_SUPPORT_ARGUMENTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/program/operator.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// ---- For OpSchema::Infer: rules that fit in one line. ----

using InferRule = std::function<void(InferContext& context)>;

// The output has the dims and levels of detail of the input, and its type unless `type` is given.
InferRule Like(std::string output, std::string input, std::optional<DataType> type = {});
// The same for several outputs, each paired with its input.
InferRule Like(std::vector<std::pair<std::string, std::string>> outputs);
// The output has dims [1] and the type of the input.
InferRule OneLike(std::string output, std::string input);
// Each output has dims [1] and the type that it is paired with.
InferRule One(std::vector<std::pair<std::string, DataType>> outputs);

// ---- For the function that runs an operator. ----

// Throws kInvalidArgument "input 'X' (variable 'pixels') is float32 [4, 3]; <wanted>" of argument
// i.
[[noreturn]] void ThrowUnfit(const OpContext& context, std::string_view parameter,
                             const std::string& wanted, size_t i = 0);

// Throws as ThrowUnfit does unless `condition` holds; `wanted` says what was needed.
template <typename... Parts>
void RequireInput(bool condition, const OpContext& context, std::string_view parameter,
                  const Parts&... wanted) {
  if (__builtin_expect(!condition, 0)) ThrowUnfit(context, parameter, StrCat(wanted...));
}

// Both throw unless the input `parameter` has the type of the input `like`; RequireSameShape also
// compares the dims.
void RequireSameType(const OpContext& context, std::string_view parameter, std::string_view like);
void RequireSameShape(const OpContext& context, std::string_view parameter, std::string_view like);

// Whether an optional output is connected.
inline bool IsWanted(const OpContext& context, std::string_view parameter) {
  return context.OutCount(parameter) > 0;
}

// An input whose values stay while outputs are allocated, even if an output is the same variable.
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

// Copies the levels of detail if both tensors have the same number of rows; else `to` gets none.
void CopyLod(const LoDTensor& from, LoDTensor* to);

// Gives the output type T and the dims and levels of detail of `like`, and returns its values. An
// output that already has this type and these dims keeps its values: even if it is one of the
// inputs, value i may be written once value i of every input has been read. Call data() of the
// inputs only after this.
template <typename T>
T* AllocateLike(const LoDTensor& like, LoDTensor* out) {
  T* values = out->initialized() && out->dtype() == DataTypeOf<T>() && out->dims() == like.dims() &&
                      out->on_host()
                  ? out->mutable_data<T>()
                  : out->Allocate<T>(like.dims());
  if (out != &like && !(out->lod().empty() && like.lod().empty())) {
    *out->mutable_lod_unchecked() = like.lod();
  }
  return values;
}

// ---- Code for each type of values, chosen once per call. ----

// A type as a value, to be passed to a generic lambda.
template <typename T>
struct Tag {
  using type = T;
};

// A list of types of values.
template <typename... Ts>
struct Types {
  // "float32, float64".
  static std::string Names() {
    std::string names;
    ((names += StrCat(names.empty() ? "" : ", ", ToString(DataTypeOf<Ts>()))), ...);
    return names;
  }
  static bool Has(DataType type) { return ((type == DataTypeOf<Ts>()) || ...); }
};

using FloatTypes = Types<float, double>;
using NumberTypes = Types<float, double, int32_t, int64_t>;

// Calls function(Tag<T>()) for the T of the list that is `type`; returns false if there is none.
template <typename... Ts, typename Function>
bool VisitType(Types<Ts...>, DataType type, Function function) {
  return ((type == DataTypeOf<Ts>() ? (function(Tag<Ts>()), true) : false) || ...);
}

// The same for the type of the input `parameter`; throws if the list does not contain it.
template <typename... Ts, typename Function>
void DispatchType(Types<Ts...> types, const OpContext& context, std::string_view parameter,
                  Function function) {
  const bool found = VisitType(types, context.In(parameter).dtype(), function);
  if (__builtin_expect(!found, 0)) {
    ThrowUnfit(
        context, parameter,
        StrCat(sizeof...(Ts) > 1 ? "the types taken are " : "the type taken is ", types.Names()));
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_SUPPORT_ARGUMENTS_H_

// SPDX-License-Identifier: Apache-2.0
// What operators ask of the tensors they are given, before and while they run: rules for what they
// make of them, types that they take, and outputs that may be one of the inputs.
#ifndef MILLHOPPER_OPERATORS_ARGUMENTS_H_
#define MILLHOPPER_OPERATORS_ARGUMENTS_H_

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

// ---- For OpSchema::Infer: what is made, where that can be said in a line. ----

using InferRule = std::function<void(InferContext& context)>;

// The output has the dims, levels of detail and type of the input, or this type.
InferRule Like(std::string output, std::string input, std::optional<DataType> type = {});
// The same of several outputs, each with its input.
InferRule Like(std::vector<std::pair<std::string, std::string>> outputs);
// The output is [1], of the type of the input.
InferRule OneLike(std::string output, std::string input);
// These outputs are [1], each of its type.
InferRule One(std::vector<std::pair<std::string, DataType>> outputs);

// ---- For the function of an operator. ----

// Throws kInvalidArgument "input 'X' (variable 'pixels') is float32 [4, 3]; <wanted>".
[[noreturn]] void ThrowUnfit(const OpContext& context, std::string_view parameter,
                             const std::string& wanted);

// Throws as ThrowUnfit does unless `condition` holds; `wanted` says what was needed.
template <typename... Parts>
void RequireInput(bool condition, const OpContext& context, std::string_view parameter,
                  const Parts&... wanted) {
  if (__builtin_expect(!condition, 0)) ThrowUnfit(context, parameter, StrCat(wanted...));
}

// Throws unless the input `parameter` has the type of `like`, or its type and dims.
void RequireSameType(const OpContext& context, std::string_view parameter, std::string_view like);
void RequireSameShape(const OpContext& context, std::string_view parameter, std::string_view like);

// Whether an optional output is connected.
inline bool IsWanted(const OpContext& context, std::string_view parameter) {
  return context.OutCount(parameter) > 0;
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
                      out->on_host()
                  ? out->mutable_data<T>()
                  : out->Allocate<T>(like.dims());
  if (out != &like && !(out->lod().empty() && like.lod().empty())) {
    *out->mutable_lod_unchecked() = like.lod();
  }
  return values;
}

// ---- Code by the type of a tensor, chosen once a call. ----

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

// Calls function(Tag<T>()) for the type T of the list that `type` is; false if it is none of them.
template <typename... Ts, typename Function>
bool VisitType(Types<Ts...>, DataType type, Function function) {
  return ((type == DataTypeOf<Ts>() ? (function(Tag<Ts>()), true) : false) || ...);
}

// The same for the type of the input `parameter`; throws if it is none of the list.
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

#endif  // MILLHOPPER_OPERATORS_ARGUMENTS_H_

// SPDX-License-Identifier: Apache-2.0
// What is known of variables before a program runs, and the view of an operator that its rule
// (OpSchema::Infer) gets. Any part may be unknown; what is known holds in every run.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_INFER_CONTEXT_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_INFER_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// What is known of a tensor.
struct TensorSpec {
  std::optional<DataType> dtype;
  std::optional<Dims> dims;  // -1 is any size
  std::optional<int> lod_level;
};

// What is known of a variable: its tensor, or the slots that its reader yields.
struct VariableSpec {
  TensorSpec tensor;
  std::optional<std::vector<TensorSpec>> slots;
};

// "float32 [64, -1]", "float32" or "[64, -1]", only the known parts; "unknown" if there are none.
std::string ToString(const TensorSpec& spec);

// What is known of every tensor of a slot.
TensorSpec SpecOf(const SlotSpec& slot);
// The type, dims and levels of an existing tensor: all known.
TensorSpec SpecOf(const LoDTensor& tensor);
// The slot of such tensors, if dtype, rank and levels are known.
std::optional<SlotSpec> SlotOf(const TensorSpec& spec);

// Whether both may describe the same tensor. A part is compared only where both know it.
bool MayBeSame(const TensorSpec& left, const TensorSpec& right);

// The product of the dims from `begin` up to `end`, if all are known and it does not overflow.
std::optional<int64_t> KnownProduct(const Dims& dims, size_t begin, size_t end);

// What the rule of an operator reads and writes: what is known of the operator's inputs, and what
// the rule says of the outputs. Outputs that the rule does not set are unknown.
class InferContext {
 public:
  struct Argument {
    std::string name;
    VariableSpec spec;
    bool may_stay = false;  // an output that the operator may leave as it was
  };
  using Arguments = std::map<std::string, std::vector<Argument>, std::less<>>;  // by parameter
  // Given what is known of the variables `sources` when a block begins, returns what is known of
  // the variables `sinks` after it has run.
  using RunBlock = std::function<std::vector<TensorSpec>(
      BlockIndex block, const std::vector<std::string>& sources,
      const std::vector<TensorSpec>& values, const std::vector<std::string>& sinks)>;
  // Whether a block itself declares a variable; without a function, every block does.
  using DeclaresIn = std::function<bool(BlockIndex block, const std::string& name)>;

  // The caller leaves the specs of `outputs` unknown. All arguments must outlive this.
  InferContext(const AttributeMap& attributes, const Arguments& inputs, Arguments* outputs,
               const RunBlock& run_block, const DeclaresIn& declares)
      : attributes_(attributes),
        inputs_(inputs),
        outputs_(*outputs),
        run_block_(run_block),
        declares_(declares) {}

  // What is known of an input; all unknown if there is no such argument.
  const VariableSpec& InVar(std::string_view parameter, size_t i = 0) const;
  const TensorSpec& In(std::string_view parameter, size_t i = 0) const {
    return InVar(parameter, i).tensor;
  }
  size_t InCount(std::string_view parameter) const;
  size_t OutCount(std::string_view parameter) const;
  // Sets what is known of an output; does nothing if there is no such argument.
  void SetOutVar(std::string_view parameter, VariableSpec spec, size_t i = 0);
  void SetOut(std::string_view parameter, TensorSpec spec, size_t i = 0);
  // Says that the operator may leave the outputs of a parameter as they were.
  void SetMayStay(std::string_view parameter);

  template <typename T>
  const T& Attr(const std::string& name) const {
    return attributes_.Get<T>(name);
  }
  const AttributeMap& attributes() const { return attributes_; }

  std::vector<TensorSpec> Run(BlockIndex block, const std::vector<std::string>& sources,
                              const std::vector<TensorSpec>& values,
                              const std::vector<std::string>& sinks) const {
    return run_block_(block, sources, values, sinks);
  }
  bool Declares(BlockIndex block, const std::string& name) const {
    return !declares_ || declares_(block, name);
  }

  // The name of the variable of an input, which must be connected.
  const std::string& InName(std::string_view parameter, size_t i = 0) const;
  // "'X' (variable 'pixels'), float32 [4, 3]".
  std::string Describe(std::string_view parameter, size_t i = 0) const;
  // Throws kInvalidArgument "input 'Y' (variable 'w') is float32 [5, 2]; <wanted>".
  [[noreturn]] void ThrowUnfit(std::string_view parameter, const std::string& wanted,
                               size_t i = 0) const;
  // Throws as ThrowUnfit does unless argument i of `slot` may have the type, or the type and dims,
  // of the argument of `like`.
  void RequireSameType(std::string_view parameter, std::string_view like, size_t i = 0) const;
  void RequireSameShape(std::string_view parameter, std::string_view like, size_t i = 0) const;

 private:
  const AttributeMap& attributes_;
  const Arguments& inputs_;
  Arguments& outputs_;
  const RunBlock& run_block_;
  const DeclaresIn& declares_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_INFER_CONTEXT_H_

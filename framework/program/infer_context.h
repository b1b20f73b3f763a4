// SPDX-License-Identifier: Apache-2.0
// What is known of variables before a program runs, and an operator as its rule (OpSchema::Infer)
// sees it. Nothing need be known; what is known holds in every run.
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

// What is known of a tensor: each part may be unknown.
struct TensorSpec {
  std::optional<DataType> dtype;
  std::optional<Dims> dims;  // -1 is any
  std::optional<int> lod_level;
};

// What is known of a variable: of its tensor, or of the slots that its reader yields.
struct VariableSpec {
  TensorSpec tensor;
  std::optional<std::vector<TensorSpec>> slots;
};

// "float32 [64, -1]", "float32" or "[64, -1]", as far as it is known; "unknown" if nothing is.
std::string ToString(const TensorSpec& spec);

// What is known of a tensor that fits a slot.
TensorSpec SpecOf(const SlotSpec& slot);
// All that can be known of a tensor, which has values.
TensorSpec SpecOf(const LoDTensor& tensor);
// The slots that these tensors make, where dtype, rank and levels of each are known.
std::optional<SlotSpec> SlotOf(const TensorSpec& spec);

// Whether both may describe one tensor. Levels count only if both know them.
bool MayBeSame(const TensorSpec& left, const TensorSpec& right);

// The product of these dims, from `begin` up to `end`, if it is known and no dim is too large.
std::optional<int64_t> KnownProduct(const Dims& dims, size_t begin, size_t end);

// An operator as its rule sees it: what is known of its arguments. Outputs of which a rule says
// nothing are unknown.
class InferContext {
 public:
  struct Argument {
    std::string name;
    VariableSpec spec;
  };
  using Arguments = std::map<std::string, std::vector<Argument>, std::less<>>;  // by parameter
  // What the variables `sinks` of a block hold once it has run, with these values in `sources`.
  using RunBlock = std::function<std::vector<TensorSpec>(
      BlockIndex block, const std::vector<std::string>& sources,
      const std::vector<TensorSpec>& values, const std::vector<std::string>& sinks)>;

  // `outputs` are unknown at first. All must outlive this.
  InferContext(const AttributeMap& attributes, const Arguments& inputs, Arguments* outputs,
               const RunBlock& run_block)
      : attributes_(attributes), inputs_(inputs), outputs_(*outputs), run_block_(run_block) {}

  // What is known of an argument: nothing where there is none.
  const VariableSpec& InVar(std::string_view parameter, size_t i = 0) const;
  const TensorSpec& In(std::string_view parameter, size_t i = 0) const {
    return InVar(parameter, i).tensor;
  }
  size_t InCount(std::string_view parameter) const;
  size_t OutCount(std::string_view parameter) const;
  // Says what an output is. Where there is no such argument nothing happens.
  void SetOutVar(std::string_view parameter, VariableSpec spec, size_t i = 0);
  void SetOut(std::string_view parameter, TensorSpec spec, size_t i = 0);

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

  // The variable of an input that is connected.
  const std::string& InName(std::string_view parameter, size_t i = 0) const;
  // "'X' (variable 'pixels'), float32 [4, 3]".
  std::string Describe(std::string_view parameter, size_t i = 0) const;
  // Throws kInvalidArgument "input 'Y' (variable 'w') is float32 [5, 2]; <wanted>".
  [[noreturn]] void ThrowUnfit(std::string_view parameter, const std::string& wanted,
                               size_t i = 0) const;
  // Throws so unless argument i of `parameter` may have the type of the argument of `like`, or its
  // type and dims.
  void RequireSameType(std::string_view parameter, std::string_view like, size_t i = 0) const;
  void RequireSameShape(std::string_view parameter, std::string_view like, size_t i = 0) const;

 private:
  const AttributeMap& attributes_;
  const Arguments& inputs_;
  Arguments& outputs_;
  const RunBlock& run_block_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_INFER_CONTEXT_H_

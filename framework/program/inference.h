// SPDX-License-Identifier: Apache-2.0
// Derives what is known of the variables of a program before it runs, from their declarations and
// from the rules of the operators (infer_context.h).
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_INFERENCE_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_INFERENCE_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"

namespace millhopper {

// What the declaration of a tensor or a reader says. A tensor's lod_level of 0 counts as unknown,
// because programs often do not declare the levels that a tensor has.
VariableSpec SpecOfDeclaration(const proto::VarDesc& variable);

// What the rule of an operator says of its outputs, by slot. Empty if the operator is unknown, has
// no rule or has wrong attributes. `find` gives what is known of a variable. Throws what the rule
// throws.
InferContext::Arguments InferOutputs(
    const proto::OpDesc& desc, const std::function<VariableSpec(const std::string& name)>& find,
    const InferContext::RunBlock& run_block, const InferContext::DeclaresIn& declares = {});

// Follows the operators of a program in the order in which they run and keeps what is known of each
// variable. The block of a loop may run any number of times, or never: before and after it only the
// declarations are known of the variables that it writes. After the block of a condition, which
// runs once or never, what they were and what it makes of them have in common is known; what has
// had no value before has what the block gives it, or still none. Not thread-safe.
class ProgramInference {
 public:
  // Gives what is known of variables that are declared outside of the followed blocks.
  using Outside = std::function<VariableSpec(const std::string& name)>;
  // Called when an operator cannot work with its inputs, or when what it writes does not fit the
  // declaration of an output.
  using Report = std::function<void(int block, int op, const std::string& problem)>;

  // Only the block `outermost` and blocks inside it will be followed. The program must outlive
  // this. Blocks and operators need not have been checked: nothing is known of what a wrong one
  // writes.
  ProgramInference(const Program& program, int outermost, Outside outside, Report report);

  void Follow(int block);
  // What is known of the variable that has this name in a block.
  VariableSpec Find(int block, const std::string& name) const;
  // Sets what is known of a variable of the block `outermost` before Follow.
  void Give(const std::string& name, const TensorSpec& value);

 private:
  using Key = std::pair<int, std::string>;  // the block that declares it (-1: none of the followed)
                                            // and name

  Key KeyOf(int block, const std::string& name) const;
  VariableSpec Declared(const Key& key) const;
  void FollowOperator(int block, int op);
  void Write(int block, int op, const std::string& parameter, const InferContext::Argument& output);
  // Whether a single operator writes the variable and nothing outside of the program does: before
  // that operator runs, the variable has no value, or one that this operator wrote.
  bool HasOneWriter(const Key& key);
  // Follows a block that its operator runs any number of times, or otherwise once at most.
  void FollowInner(int block, bool is_loop);
  // Whether no operator, and nothing outside of the program, can have written a variable by now.
  bool HasNoValue(const Key& key) const;
  // Adds the variables that operators in a block and in blocks inside it write; `seen` collects
  // these blocks.
  void AddWritten(int block, std::set<int>* seen, std::set<Key>* written) const;
  std::vector<TensorSpec> Run(int outer, int block, const std::vector<std::string>& sources,
                              const std::vector<TensorSpec>& values,
                              const std::vector<std::string>& sinks);

  const Program& program_;
  const int outermost_;
  const Outside outside_;
  const Report report_;
  std::map<Key, VariableSpec> known_;  // by what was written; others by declaration
  std::set<Key> written_;              // those that may have a value by now
  int loops_ = 0;                      // around what is followed now
  std::set<int> followed_;             // blocks; each is followed once
  std::map<Key, int> writers_;         // how many operators write it; empty until it is needed
};

// What is known of the variables `sinks` after a block has run. `given` is what is known of its
// variables, and of those around it, that have values before. Throws kInvalidArgument, with the
// place in the program, where ProgramInference would report a problem.
std::vector<TensorSpec> InferBlock(const Program& program, int block,
                                   const std::map<std::string, TensorSpec>& given,
                                   const std::vector<std::string>& sinks);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_INFERENCE_H_

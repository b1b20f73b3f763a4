// SPDX-License-Identifier: Apache-2.0
// Follows the operators of a program before it runs: what declarations say of variables, and what
// operators make of it by their rules (infer_context.h).
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

// What the rule of an operator says of its outputs, by parameter: nothing if it has none, or
// attributes that it cannot have. `find` tells what is known of a variable. Throws as the check of
// the schema and the rule do.
InferContext::Arguments InferOutputs(
    const proto::OpDesc& desc, const std::function<VariableSpec(const std::string& name)>& find,
    const InferContext::RunBlock& run_block);

// Follows the operators of a program in the order in which they run and keeps what is known of each
// variable. What a loop or a condition writes is known by its declaration alone before and behind
// it. One thread.
class ProgramInference {
 public:
  // What is known of variables that are declared outside of the blocks that are followed.
  using Outside = std::function<VariableSpec(const std::string& name)>;
  // Told where an operator cannot work with its inputs, or makes what its output is declared not to
  // be.
  using Report = std::function<void(int block, int op, const std::string& problem)>;

  // Follows blocks that are `outermost` or lie in it. The program must outlive this. Blocks and
  // operators need not have been checked; what is wrong with them is known nothing of.
  ProgramInference(const Program& program, int outermost, Outside outside, Report report);

  void Follow(int block);
  // What is known of a variable as a block sees it.
  VariableSpec Find(int block, const std::string& name) const;
  // A variable of the block `outermost` is given a value before it is followed.
  void Give(const std::string& name, const TensorSpec& value);

 private:
  using Key = std::pair<int, std::string>;  // home block and name

  Key KeyOf(int block, const std::string& name) const;
  VariableSpec Declared(const Key& key) const;
  void FollowOperator(int block, int op);
  void Write(int block, int op, const std::string& parameter, const InferContext::Argument& output);
  // Forgets what the operators of a block and of those in it write outside of it.
  void ForgetWritten(int block, std::set<int>* seen);
  std::vector<TensorSpec> Run(int outer, int block, const std::vector<std::string>& sources,
                              const std::vector<TensorSpec>& values,
                              const std::vector<std::string>& sinks);

  const Program& program_;
  const int outermost_;
  const Outside outside_;
  const Report report_;
  std::map<Key, VariableSpec> known_;  // what was written; else declarations count
  std::set<int> followed_;             // blocks: once is enough
};

// What the variables `sinks` of a block hold once it has run, where `given` are its variables and
// those around it that have values. Throws kInvalidArgument, naming the place, as Report is told.
std::vector<TensorSpec> InferBlock(const Program& program, int block,
                                   const std::map<std::string, TensorSpec>& given,
                                   const std::vector<std::string>& sinks);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_INFERENCE_H_

// SPDX-License-Identifier: Apache-2.0
// Operators of a block that are run as one, where their schemas have a way (OpSchema::Rewrite).
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_RUN_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_RUN_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace millhopper {

class Rows;
class Scope;
struct RunState;

// What runs them, with the variables of one prepared block. One thread at a time.
class FusedOperators {
 public:
  virtual ~FusedOperators() = default;
  // Makes the variable that the first operator writes a tensor with dims and type, and without
  // values (LoDTensor::Outline); called first where OperatorRun::outlined is not 0. Returns false,
  // having changed nothing, if the operators have to be run one after another.
  virtual bool Outline() { return false; }
  // From now on Run appends the result to a slot of these rows, of which every element is one step
  // of the result's type and dims, instead of giving it to its variable. Null ends that.
  virtual void AppendTo(Rows* rows, size_t slot) = 0;
  // Makes the result of what the source variable holds. Returns false, having changed nothing, if
  // the operators have to be run one after another, as they have if one of them is going to fail,
  // so that the error is that operator's.
  virtual bool Run() = 0;
  // Frees memory that is kept for the next element.
  virtual void Clear() = 0;
};

// Two or more operators of a block, each of which takes what the one before it made, whose values
// nobody else uses. Run twice in a row, they make the same.
struct OperatorRun {
  std::vector<size_t> ops;  // their numbers in the block, which ascend
  std::string source;       // the variable that the first one reads
  std::string result;       // the variable that the last one writes
  // Of how many of the first ones others need the dims of what they make, but no values. After
  // FusedOperators::Outline these are run, but the first one, and make tensors without values of
  // such; what else they make, they make as always.
  size_t outlined = 0;
  bool only_sink = false;  // whether the result is one sink, and nothing else uses it
  // For a block that is prepared with these variables, which must outlive what is made.
  std::function<std::unique_ptr<FusedOperators>(Scope* scope, const RunState* state)> prepare;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_RUN_H_

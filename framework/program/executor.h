// SPDX-License-Identifier: Apache-2.0
// Runs programs. A block is prepared once (operators looked up, parameters bound to variables,
// attributes checked) and run many times. The executor knows no reader and no operator.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_EXECUTOR_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_EXECUTOR_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/program/run_state.h"
#include "framework/program/scope.h"

namespace millhopper {

class Program;
enum class ProgramRole;

// A block whose names are bound to variables: its own live in a scope inside `parent`, persistable
// ones in the root of `parent`, all others are found in `parent`. One thread at a time; several
// prepared blocks of one program may run at once if their scopes do not meet.
class PreparedBlock {
 public:
  // Throws kInvalidArgument, with the place in the program, for what cannot be bound: an unknown
  // operator, a variable that exists nowhere, wrong parameters or attributes. The program is kept;
  // parent and run must outlive this.
  PreparedBlock(std::shared_ptr<const Program> program, int block, Scope* parent, RunState* run);
  ~PreparedBlock();
  PreparedBlock(const PreparedBlock&) = delete;
  PreparedBlock& operator=(const PreparedBlock&) = delete;

  // Runs all operators in order, the block's own variables being fresh. Throws what an operator
  // throws, with the step "while running operator 'read' (main.pbtxt:30, block 1)" for the
  // innermost operator, and kCancelled once a stop is requested.
  void Run() {
    Refresh();
    RunOperators();
  }
  // The two steps of Run, for those who give variables of the block their values in between.
  void Refresh();
  void RunOperators();
  // Gives up the values of the block's own variables and the memory that they keep for the next
  // ones, and those of blocks within.
  void Clear();
  // The scope of the block's own variables; their values stay until the next Run.
  Scope& scope() { return scope_; }

 private:
  struct PreparedOp;
  std::unique_ptr<PreparedOp> Prepare(int index);
  // What the operator is named by in errors: "while running operator ...".
  std::string Step(int index, const std::string& type) const;

  std::shared_ptr<const Program> program_;
  const int block_;
  Scope scope_;
  RunState* const run_;
  std::vector<Variable*> own_;  // those of scope_
  std::vector<std::unique_ptr<PreparedOp>> ops_;
};

// A program prepared in a scope.
class PreparedProgram {
 public:
  PreparedProgram(std::shared_ptr<const Program> program, Scope* scope, const RunState& run);

  // Runs block 0, whose variables have the values of `feed` when it begins and no others. Counters
  // of the run state begin anew. Throws kInvalidArgument if there is no variable to feed.
  void Run(const std::map<std::string, LoDTensor>& feed = {});
  // A variable of the last run or of the scope; null if there is none.
  Variable* Find(const std::string& name) { return block_.scope().Find(name); }
  const RunState& run() const { return run_; }

 private:
  RunState run_;
  PreparedBlock block_;
};

// Checks, prepares and runs programs in one scope. Not thread-safe.
class Executor {
 public:
  explicit Executor(RunState run = {}) : run_(std::move(run)) {}

  // Checks the program against the scope and prepares it there.
  std::unique_ptr<PreparedProgram> Prepare(std::shared_ptr<const Program> program, ProgramRole role,
                                           Scope* scope) const;
  // Prepare and Run in one.
  void Run(std::shared_ptr<const Program> program, ProgramRole role, Scope* scope) const;

 private:
  RunState run_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_EXECUTOR_H_

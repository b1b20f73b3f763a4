// SPDX-License-Identifier: Apache-2.0
// Runs programs. A block is prepared once (operators looked up, slots bound to variables,
// attributes checked) and run many times. The executor contains no code for any reader or operator.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_EXECUTOR_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_EXECUTOR_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/program/run_state.h"
#include "framework/program/scope.h"

namespace millhopper {

class FusedOperators;
class Program;
struct OperatorRun;
enum class ProgramRole;

// A block whose names are bound to variables. The block's own variables live in a scope inside
// `parent`, persistable ones in the root of `parent`; all others are looked up in `parent`. One
// thread at a time may use it. Several prepared blocks of one program may run at once if they share
// no scope.
class PreparedBlock {
 public:
  // Throws kInvalidArgument, with the place in the program, for an unknown operator, a variable
  // that does not exist, and wrong slots or attributes. `parent` and `run` must outlive this.
  PreparedBlock(std::shared_ptr<const Program> program, int block, Scope* parent, RunState* run);
  ~PreparedBlock();
  PreparedBlock(const PreparedBlock&) = delete;
  PreparedBlock& operator=(const PreparedBlock&) = delete;

  // Resets the block's own variables, then runs all operators in order. Throws what an operator
  // throws, adding "while running operator 'read' (main.pbtxt:30, block 1)" for the innermost
  // operator. Throws kCancelled once a stop is requested.
  // In a resumed run (RunState::resume_at) it begins in the middle.
  void Run() {
    Refresh();
    RunOperators();
  }
  // The two steps of Run, for callers that set variables of the block in between.
  void Refresh();
  void RunOperators();
  // Frees the values of the block's own variables, also in blocks inside it, and the memory that
  // the variables keep for their next values.
  void Clear();
  // The scope of the block's own variables. Their values stay until Refresh or Clear.
  Scope& scope() { return scope_; }
  // From now on `fused` is run in place of the operators of `run`, at the place of the last of
  // them. If it cannot, the operators are run there, and `*done` becomes false. No operator may be
  // replaced twice. `fused` and `done` must outlive this.
  void Replace(const OperatorRun& run, FusedOperators* fused, bool* done);

 private:
  struct PreparedOp;
  class Replaced;
  std::unique_ptr<PreparedOp> Prepare(int index);
  // The line that names an operator in errors: "while running operator ...".
  std::string Step(int index, const std::string& type) const;

  std::shared_ptr<const Program> program_;
  const int block_;
  Scope scope_;
  RunState* const run_;
  std::vector<Variable*> own_;  // the variables of scope_
  std::vector<std::unique_ptr<PreparedOp>> ops_;
};

// A program prepared in a scope.
class PreparedProgram {
 public:
  PreparedProgram(std::shared_ptr<const Program> program, Scope* scope, const RunState& run);

  // Resets the counters of the run state and the own variables of block 0, sets the variables that
  // `feed` names, and runs block 0. Throws kInvalidArgument if `feed` names an unknown variable.
  void Run(const std::map<std::string, LoDTensor>& feed = {});
  // Resumes a run of this program that was saved in this process or another one, at the loop that
  // `operators` lead to (RunState::resume_at). When the loop calls RunState::watcher, which must be
  // set, the watcher restores variables, readers and counters. Throws kInvalidArgument if there is
  // no such operator.
  void ResumeAt(std::vector<OperatorNumber> operators);
  // A variable of block 0 or of the scope; null if there is none.
  Variable* Find(const std::string& name) { return block_.scope().Find(name); }
  // The scope of the own variables of block 0.
  Scope& scope() { return block_.scope(); }
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

// SPDX-License-Identifier: Apache-2.0
// Runs of programs that another process can resume, as if nothing had happened.
//
//   RunCheckpointOptions options;
//   options.folder = "checkpoints";
//   options.every_seconds = 60;
//   RunCheckpoints checkpoints(options, {{"seed", "7"}});
//   std::vector<std::string> damaged;
//   checkpoints.Resume(&damaged);  // false if there is nothing to resume
//
//   Scope scope;
//   RunState run;
//   run.seed = 7;
//   Executor(run).Run(startup, ProgramRole::kStartup, &scope);  // also in a resumed run
//   checkpoints.Watch(&scope);
//   run.watcher = &checkpoints;
//   auto train = Executor(run).Prepare(program, ProgramRole::kMain, &scope);
//   checkpoints.Run(program, train.get());
//   checkpoints.Finish();
//
// A run is saved between two steps of the outermost `while` that runs. All of its state is saved:
// the variables of the scope and of the blocks that the loop is in, those of the main programs
// before, the places of the readers, the place in the program, and the counters of operators.
// Startup programs are not saved but run again, so they should make readers and initial values and
// nothing else. Variables that hold neither a tensor nor a reader are not saved; a warning on
// standard error names them (unsaved.h).
#ifndef MILLHOPPER_FRAMEWORK_CHECKPOINT_RUN_CHECKPOINTS_H_
#define MILLHOPPER_FRAMEWORK_CHECKPOINT_RUN_CHECKPOINTS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "framework/checkpoint/checkpoint_folder.h"
#include "framework/checkpoint/rank_checkpoints.h"
#include "framework/program/run_state.h"

namespace millhopper {

class PreparedProgram;
class Program;
class Scope;

struct RunCheckpointOptions {
  std::string folder;  // of the run; several ranks have theirs in it (rank_checkpoints.h)
  Rank rank;
  size_t keep = 3;           // the newest ones; older ones are removed
  int64_t every_steps = 0;   // of all loops together, as RunState counts them; 0: not by steps
  double every_seconds = 0;  // 0: not by time
  // Called before the run is looked at, for what must have happened before the checkpoint, such as
  // that what was printed is written. May be empty.
  std::function<void()> before_save;
  // Whether the run should be saved now and then stop: kCancelled is thrown when the checkpoint is
  // on the disk. Called between all steps. May be empty.
  std::function<bool()> stop_wanted;
};

// Saves a run and resumes one. All calls come from the thread that runs the programs; another
// thread writes the files while the loop continues. A checkpoint that is due while an older one is
// still being written is left out; but where several ranks save every so many steps, so that they
// have steps in common, the loop waits, and checkpoints stay as long as a rank is not past them. An
// error of writing is thrown by the next call that saves, and
// by Finish, so that a run without checkpoints does not go unnoticed.
class RunCheckpoints final : public RunWatcher {
 public:
  // `settings` are what the run depends on beside its main programs and files, by names for people.
  // Throws what CheckpointFolder throws.
  RunCheckpoints(RunCheckpointOptions options, std::map<std::string, std::string> settings);
  // Waits for the thread that writes.
  ~RunCheckpoints() override;

  // Whether the folder of the run has checkpoints of this rank, or of another number of ranks:
  // other ranks of this run may have begun already.
  bool HasAny() const;
  // Removes this rank's, and the first rank those of other numbers of ranks. Throws kIo if one of
  // them cannot be removed.
  void Clear();
  // Reads the newest checkpoint that is whole, of several ranks the newest that all have; false if
  // there is none. What is wrong with newer ones is added to `damaged`. Throws kInvalidArgument,
  // saying what differs, if it was made with other settings, and as NewestOfAllRanks.
  bool Resume(std::vector<std::string>* damaged);
  // Whether Resume has found one.
  bool resumes() const { return resumes_; }
  // Says that the readers in the scope will be saved. After they are created and before anything is
  // read. Throws kInvalidArgument, naming the reader, if one of them cannot be saved.
  void Watch(Scope* scope);
  // Runs a main program, which was prepared in the scope of Watch with this watcher. In a resumed
  // run, does nothing for a program that had finished, and begins in the middle of the one that had
  // not. Throws what running throws, and kInvalidArgument if the checkpoint is of another program
  // or other files. `prepared` must live as long as later programs run: their checkpoints hold its
  // variables, too.
  void Run(const std::shared_ptr<const Program>& program, PreparedProgram* prepared);
  // Waits until what was saved is on the disk. Throws kIo if it could not be written, and
  // kInvalidArgument if the checkpoint was saved in a main program that this run does not have.
  void Finish();

  void BetweenSteps(OpContext& loop) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Ran {
    std::shared_ptr<const Program> program;
    PreparedProgram* prepared;
    std::string text;
  };

  bool saves_with_others() const;
  bool IsDue(int64_t steps) const;
  // What the run is, at this loop of the last program of programs_.
  Checkpoint Take(OpContext& loop) const;
  void Save(OpContext& loop);
  void Restore(OpContext& loop);
  // Removes what this one of several ranks has saved after later steps than the one that the run
  // goes on from. It reads these again, and in the tail of a pass it may read other records then.
  // Together with what others save from now on, the old ones would be a state of no run. Throws
  // kIo.
  void RemoveLater(const Checkpoint& from);

  const RunCheckpointOptions options_;
  const std::map<std::string, std::string> settings_;
  CheckpointFolder folder_;  // used by writer_ while it runs
  bool resumes_ = false;
  std::optional<Checkpoint> from_;  // until the run has resumed from it
  Scope* scope_ = nullptr;
  std::vector<Ran> programs_;  // the last one runs
  int64_t saved_steps_ = 0;    // RunState::steps when it was saved last
  Clock::time_point saved_at_ = Clock::now();
  std::thread writer_;
  std::atomic<bool> writing_{false};  // whether writer_ is still at work
  std::exception_ptr failure_;        // of writer_, to be looked at after it was joined
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_CHECKPOINT_RUN_CHECKPOINTS_H_

// SPDX-License-Identifier: Apache-2.0
#include "tests/framework/checkpoint/saved_run.h"

#include <memory>
#include <sstream>

#include "framework/base/error.h"
#include "framework/checkpoint/run_checkpoints.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"

namespace millhopper {

SavedRunOutput RunSteps(const SavedRun& saved, int64_t steps) {
  std::ostringstream out;
  SavedRunOutput output;
  RunCheckpointOptions options;
  options.folder = saved.folder;
  options.rank = saved.rank;
  options.every_steps = saved.every_steps;
  options.keep = saved.keep;
  options.stop_wanted = [&steps] { return steps-- == 0; };
  RunCheckpoints checkpoints(options, {{"the seed", "0"}});
  std::vector<std::string> damaged;
  checkpoints.Resume(&damaged);
  std::ostringstream ignored;
  Scope scope;
  if (saved.prepare != nullptr) saved.prepare(&scope);
  RunState run;
  run.max_steps = saved.max_steps;
  run.output = checkpoints.resumes() ? &ignored : &out;
  Executor(run).Run(Program::FromString(saved.startup, "startup.pbtxt"), ProgramRole::kStartup,
                    &scope);
  checkpoints.Watch(&scope);
  run.output = &out;
  run.watcher = &checkpoints;
  std::vector<std::unique_ptr<PreparedProgram>> prepared;
  try {
    for (const std::string& main : saved.mains) {
      const auto program = Program::FromString(main, "main.pbtxt");
      prepared.push_back(Executor(run).Prepare(program, ProgramRole::kMain, &scope));
      checkpoints.Run(program, prepared.back().get());
    }
    checkpoints.Finish();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCancelled) throw;
    output.stopped = true;
  }
  output.text = out.str();
  return output;
}

}  // namespace millhopper

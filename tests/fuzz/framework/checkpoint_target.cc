// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/framework/checkpoint_target.h"

#include <string>

#include "tests/fakes/memory_files.h"
#include "tests/files/record_files.h"
#include "tests/framework/checkpoint/saved_loop.h"
#include "tests/testing.h"

namespace millhopper {

SavedRun MakeFuzzedRun() {
  const std::string written = NewFolder("fuzzed_numbers");
  WriteNumbers(written, 2, 10);
  for (const char* file : {"/numbers-0.recordio", "/numbers-1.recordio"}) {
    MemoryFiles::Get().Write(StrCat("memory:///fuzzed", file), ReadFile(written + file));
  }
  SavedRun run;
  run.folder = NewFolder("fuzzed_checkpoints");
  run.startup = SavedLoopStartup("memory:///fuzzed");
  run.mains = {SavedLoopMain(2, false)};
  run.every_steps = 0;
  // A checkpoint may say that there are very many passes to go.
  run.max_steps = 100;
  return run;
}

}  // namespace millhopper

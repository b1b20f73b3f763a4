// SPDX-License-Identifier: Apache-2.0
#include "operators/readers/support/shard_choice.h"

#include <cerrno>
#include <cstdlib>

#include "framework/base/error.h"

namespace millhopper {
namespace {

// Environment variables in which launchers say how many processes there are, and which one this is.
struct Launcher {
  const char* shards;
  const char* index;
};

// torchrun, Open MPI's mpirun, Slurm's srun, JAX. The first that says how many counts: one that
// starts its own processes within a step of Slurm's stands before srun. SLURM_NTASKS is none of
// them, because an allocation has it where srun has started no process, too.
// python/millhopper/base/ranks.py has the same.
constexpr Launcher kLaunchers[] = {{"WORLD_SIZE", "RANK"},
                                   {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                   {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
                                   {"JAX_NUM_PROCESSES", "JAX_PROCESS_ID"}};

const Launcher& FoundLauncher() {
  for (const Launcher& launcher : kLaunchers) {
    if (std::getenv(launcher.shards) != nullptr) return launcher;
  }
  return kLaunchers[0];
}

// The number that an environment variable holds.
int64_t NumberOf(const char* variable, const char* attribute) {
  const char* const text = std::getenv(variable);
  Require(text != nullptr, "attribute '", attribute, "' is not given, and the environment has no ",
          variable, "; torchrun, mpirun, srun or JAX would set it, or one of their own");
  char* end = nullptr;
  errno = 0;
  const int64_t number = std::strtoll(text, &end, 10);
  Require(errno == 0 && end != text && *end == '\0', "the environment's ", variable, " is '",
          Escaped(text), "', which is not a number");
  return number;
}

}  // namespace

ShardChoice ShardChoiceOf(const AttributeMap& attributes) {
  ShardChoice choice{attributes.Get<int32_t>("num_shards"), attributes.Get<int32_t>("index")};
  if (choice.shards == 0) choice.shards = NumberOf(FoundLauncher().shards, "num_shards");
  if (choice.index < 0) choice.index = NumberOf(FoundLauncher().index, "index");
  return choice;
}

}  // namespace millhopper

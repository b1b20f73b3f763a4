// SPDX-License-Identifier: Apache-2.0
#include "framework/base/launcher.h"

#include <cerrno>
#include <cstdlib>

#include "framework/base/error.h"

namespace millhopper {

const Launcher& FoundLauncher() {
  // The first that says how many counts: one that starts processes of its own within a step of
  // Slurm's stands before srun. SLURM_NTASKS is none of them, because an allocation has it where
  // srun has started no process, too.
  static constexpr Launcher kLaunchers[] = {{"WORLD_SIZE", "RANK"},
                                            {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                            {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
                                            {"JAX_NUM_PROCESSES", "JAX_PROCESS_ID"}};
  for (const Launcher& launcher : kLaunchers) {
    if (std::getenv(launcher.ranks) != nullptr) return launcher;
  }
  return kLaunchers[0];
}

std::optional<int64_t> NumberInEnvironment(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const int64_t number = std::strtoll(text, &end, 10);
  Require(errno == 0 && end != text && *end == '\0', "the environment's ", variable, " is '",
          Escaped(text), "', which is not a number");
  return number;
}

}  // namespace millhopper

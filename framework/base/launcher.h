// SPDX-License-Identifier: Apache-2.0
// What launchers of several processes tell each of them in the environment.
#ifndef MILLHOPPER_FRAMEWORK_BASE_LAUNCHER_H_
#define MILLHOPPER_FRAMEWORK_BASE_LAUNCHER_H_

#include <cstdint>
#include <optional>

namespace millhopper {

// The variables in which a launcher says how many processes there are, and which one this is, from
// 0.
struct Launcher {
  const char* ranks;
  const char* rank;
};

// The launcher that has started this process: torchrun, Open MPI's mpirun, Slurm's srun or JAX;
// torchrun if there is none. python/millhopper/base/ranks.py has the same.
const Launcher& FoundLauncher();

// The number in a variable of the environment; nothing if there is no such variable. Throws
// kInvalidArgument if it is no number.
std::optional<int64_t> NumberInEnvironment(const char* variable);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_LAUNCHER_H_

// SPDX-License-Identifier: Apache-2.0
// What launchers of several processes tell each of them in the environment, and how many processors
// that leaves to each.
#ifndef MILLHOPPER_FRAMEWORK_BASE_LAUNCHER_H_
#define MILLHOPPER_FRAMEWORK_BASE_LAUNCHER_H_

#include <cstdint>
#include <optional>
#include <string>

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

// The processors that the process may run on; where a launcher has started several processes on
// this machine, at most the part of the machine's (or container's) processors that is due to each
// of them. At least 1. A launcher that binds each process to some processors, and one that lets all
// of them run everywhere, so leave as many to each.
int OwnProcessors();

// How many processes the launcher of this process has started on this machine, as the environment
// says: torchrun's, Open MPI's, MPICH's and Slurm's. 1 if nothing says so. Never throws.
int RanksOnThisMachine();

// The number of processors in a list of Linux, "0-3,8"; nothing if it is none.
std::optional<int> CountProcessors(const std::string& list);
// What Slurm says of one node, from 0, in a list of numbers for each: "4(x2),3" is 4, 4 and 3.
// Nothing if it is no such list, or has no such node.
std::optional<int> TasksOfNode(const std::string& list, int node);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_LAUNCHER_H_

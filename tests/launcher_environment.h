// SPDX-License-Identifier: Apache-2.0
// The environment that a launcher of several processes makes for each of them.
#ifndef MILLHOPPER_TESTS_LAUNCHER_ENVIRONMENT_H_
#define MILLHOPPER_TESTS_LAUNCHER_ENVIRONMENT_H_

#include <cstdlib>
#include <map>
#include <string>

namespace millhopper {

// Sets variables of the environment, by their names. While it lives, no launcher's but these are
// set.
class LauncherEnvironment {
 public:
  explicit LauncherEnvironment(const std::map<std::string, std::string>& variables) {
    Clear();
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  }
  ~LauncherEnvironment() { Clear(); }
  LauncherEnvironment(const LauncherEnvironment&) = delete;
  LauncherEnvironment& operator=(const LauncherEnvironment&) = delete;

 private:
  static void Clear() {
    for (const char* name :
         {"WORLD_SIZE", "RANK", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_PROCID",
          "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID",
          "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
          "SLURM_STEP_TASKS_PER_NODE", "SLURM_NODEID"}) {
      unsetenv(name);
    }
  }
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_LAUNCHER_ENVIRONMENT_H_

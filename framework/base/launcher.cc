// SPDX-License-Identifier: Apache-2.0
#include "framework/base/launcher.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "framework/base/error.h"

namespace millhopper {
namespace {

// A list may name any number of processors.
constexpr int kMostProcessors = 1 << 20;

// Reads a number at *at and moves that after it.
std::optional<int> TakeNumber(const std::string& text, size_t* at) {
  int64_t number = 0;
  const size_t begin = *at;
  for (; *at < text.size() && text[*at] >= '0' && text[*at] <= '9'; ++*at) {
    number = number * 10 + (text[*at] - '0');
    if (number > kMostProcessors) return std::nullopt;
  }
  if (*at == begin) return std::nullopt;
  return static_cast<int>(number);
}

std::optional<int> NumberIn(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  size_t at = 0;
  const std::optional<int> number = TakeNumber(text, &at);
  return text[at] == '\0' ? number : std::nullopt;
}

std::string FirstLineOf(const std::string& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  return line;
}

// The processors of the cpuset that this process is in, which all processes of its container or
// job share: of the first folder, from its own upwards, that tells them.
std::optional<int> ProcessorsOfCpuset() {
  std::string own = FirstLineOf("/proc/self/cpuset");
  for (;;) {
    for (const char* tree : {"/sys/fs/cgroup/cpuset", "/sys/fs/cgroup"}) {
      for (const char* file : {"cpuset.effective_cpus", "cpuset.cpus.effective"}) {
        const std::string list = FirstLineOf(tree + own + "/" + file);
        if (const std::optional<int> count = CountProcessors(list)) return count;
      }
    }
    if (own.empty()) return std::nullopt;
    own.erase(own.find_last_of('/') == std::string::npos ? 0 : own.find_last_of('/'));
  }
}

int ProcessorsAllowed() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  return static_cast<int>(std::thread::hardware_concurrency());  // more than the set can name
}

}  // namespace

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

std::optional<int> CountProcessors(const std::string& list) {
  int count = 0;
  for (size_t at = 0;; ++at) {
    const std::optional<int> first = TakeNumber(list, &at);
    std::optional<int> last = first;
    if (first && at < list.size() && list[at] == '-') last = TakeNumber(list, &++at);
    if (!first || !last || *last < *first) return std::nullopt;
    count += *last - *first + 1;
    if (at == list.size()) return count;
    if (list[at] != ',' || count > kMostProcessors) return std::nullopt;
  }
}

std::optional<int> TasksOfNode(const std::string& list, int node) {
  for (size_t at = 0;; ++at) {
    const std::optional<int> tasks = TakeNumber(list, &at);
    std::optional<int> nodes = 1;
    if (tasks && list.compare(at, 2, "(x") == 0) {
      nodes = TakeNumber(list, &(at += 2));
      if (nodes && at < list.size() && list[at++] != ')') nodes = std::nullopt;
    }
    if (!tasks || !nodes) return std::nullopt;
    if (node < *nodes) return tasks;
    node -= *nodes;
    if (at >= list.size() || list[at] != ',') return std::nullopt;
  }
}

int RanksOnThisMachine() {
  for (const char* variable :
       {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    if (const std::optional<int> ranks = NumberIn(variable)) return std::max(*ranks, 1);
  }
  const char* const tasks = std::getenv("SLURM_STEP_TASKS_PER_NODE");
  const std::optional<int> node = NumberIn("SLURM_NODEID");
  if (tasks == nullptr || !node) return 1;
  return std::max(TasksOfNode(tasks, *node).value_or(1), 1);
}

int OwnProcessors() {
  const int allowed = std::max(ProcessorsAllowed(), 1);
  const int ranks = RanksOnThisMachine();
  if (ranks == 1) return allowed;
  const int shared = std::max(ProcessorsOfCpuset().value_or(allowed), allowed);
  return std::max(std::min(allowed, shared / ranks), 1);
}

}  // namespace millhopper

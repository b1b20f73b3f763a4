// SPDX-License-Identifier: Apache-2.0
// How many processors a process may keep busy.
#include "framework/base/launcher.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "framework/base/thread_pool.h"
#include "tests/launcher_environment.h"

namespace millhopper {
namespace {

const std::map<std::string, std::string> kNoLauncher;

TEST(Processors, AreCountedInListsOfLinux) {
  EXPECT_EQ(CountProcessors("0"), 1);
  EXPECT_EQ(CountProcessors("0-3,8"), 5);
  EXPECT_EQ(CountProcessors("12,14-15"), 3);
  for (const char* wrong : {"", "a", "3-1", "0-", "1,", ",1", "1 2", "0-99999999999", "-1"}) {
    EXPECT_EQ(CountProcessors(wrong), std::nullopt) << wrong;
  }
}

TEST(Processors, AreSharedByTheTasksOfANodeOfSlurms) {
  EXPECT_EQ(TasksOfNode("4", 0), 4);
  EXPECT_EQ(TasksOfNode("4(x2),3", 1), 4);
  EXPECT_EQ(TasksOfNode("4(x2),3", 2), 3);
  EXPECT_EQ(TasksOfNode("4(x2),3", 3), std::nullopt);
  for (const char* wrong : {"", "x", "4(", "4(x", "4(x2", "4(x2],3", "4;3"}) {
    EXPECT_EQ(TasksOfNode(wrong, 5), std::nullopt) << wrong;
  }
}

int RanksWith(const std::map<std::string, std::string>& variables) {
  const LauncherEnvironment environment(variables);
  return RanksOnThisMachine();
}

TEST(Processors, KnowHowManyProcessesALauncherHasStartedHere) {
  EXPECT_EQ(RanksWith(kNoLauncher), 1);
  EXPECT_EQ(RanksWith({{"WORLD_SIZE", "16"}, {"LOCAL_WORLD_SIZE", "8"}}), 8);
  EXPECT_EQ(RanksWith({{"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}}), 3);
  EXPECT_EQ(RanksWith({{"MPI_LOCALNRANKS", "2"}}), 2);
  EXPECT_EQ(RanksWith({{"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}, {"SLURM_NODEID", "2"}}), 3);
  EXPECT_EQ(RanksWith({{"SLURM_STEP_TASKS_PER_NODE", "4(x2),3"}}), 1);
  for (const char* wrong : {"", "0", "-1", "2x", "99999999999999999999"}) {
    EXPECT_EQ(RanksWith({{"LOCAL_WORLD_SIZE", wrong}}), 1) << wrong;
  }
}

TEST(Processors, AreAtMostThoseThatTheProcessMayRunOn) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const LauncherEnvironment alone(kNoLauncher);
  EXPECT_EQ(OwnProcessors(), CPU_COUNT(&before));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(OwnProcessors(), 1);
  EXPECT_EQ(ThreadPool::DefaultSize(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

int OwnWith(const std::map<std::string, std::string>& variables) {
  const LauncherEnvironment environment(variables);
  const int processors = OwnProcessors();
  EXPECT_EQ(ThreadPool::DefaultSize(), std::max(1, processors - 1));
  return processors;
}

TEST(Processors, AreDividedByTheRanksOnTheMachine) {
  const int all = OwnWith(kNoLauncher);
  EXPECT_EQ(OwnWith({{"LOCAL_WORLD_SIZE", "1"}}), all);
  EXPECT_EQ(OwnWith({{"LOCAL_WORLD_SIZE", "1000000"}}), 1);
  const int half = OwnWith({{"LOCAL_WORLD_SIZE", "2"}});
  EXPECT_LE(half, all);
  EXPECT_GE(2 * half, all - 1);
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// The schedules under which chains of readers must yield the same.
#ifndef MILLHOPPER_TESTS_CHAINS_SCHEDULE_H_
#define MILLHOPPER_TESTS_CHAINS_SCHEDULE_H_

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "tests/testing.h"

namespace millhopper {

struct Schedule {
  uint64_t index;  // its index in kSchedules
  int workers;
  bool one_core;
};

inline const std::vector<Schedule> kSchedules = {{0, 0, false}, {1, 1, false},  {2, 2, false},
                                                 {3, 7, false}, {4, 16, false}, {5, 2, true}};

inline std::string NameOf(const Schedule& schedule) {
  return StrCat("pool_", schedule.workers, schedule.one_core ? "_on_one_core" : "");
}

inline std::string NameOfSchedule(const ::testing::TestParamInfo<Schedule>& info) {
  return NameOf(info.param);
}

inline void PrintTo(const Schedule& schedule, std::ostream* out) { *out << NameOf(schedule); }

// While it lives, the pool has so many workers, and new threads run on the cores of the schedule.
class ScheduleInForce {
 public:
  explicit ScheduleInForce(const Schedule& schedule) : pool_(schedule.workers) {
    EXPECT_EQ(sched_getaffinity(0, sizeof(before_), &before_), 0);
    if (!schedule.one_core) return;
    int core = 0;
    while (!CPU_ISSET(core, &before_)) ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  }
  ~ScheduleInForce() { sched_setaffinity(0, sizeof(before_), &before_); }
  ScheduleInForce(const ScheduleInForce&) = delete;
  ScheduleInForce& operator=(const ScheduleInForce&) = delete;

 private:
  const PoolSize pool_;  // starts its threads when they are needed
  cpu_set_t before_;
};

inline uint64_t NumberFromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_CHAINS_SCHEDULE_H_

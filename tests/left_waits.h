// SPDX-License-Identifier: Apache-2.0
// A thread that leaves a wait (CancelScope), as one that helps others does, and then continues.
#ifndef MILLHOPPER_TESTS_LEFT_WAITS_H_
#define MILLHOPPER_TESTS_LEFT_WAITS_H_

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/memory/memory_limit.h"
#include "framework/reader/reader.h"
#include "framework/tensor/rows.h"
#include "tests/fakes/memory_files.h"
#include "tests/outcome.h"
#include "tests/testing.h"

namespace millhopper {

// Reads a pass of a reader whose files are in memory. The calling thread leaves the call that
// stalls (FileTrouble::kStall), and does again what it was at, which must lose nothing, whether it
// works ahead of need or not.
inline Outcome ReadLeavingWaits(const std::function<std::unique_ptr<ReaderBase>()>& make,
                                MemoryScope::Need need = MemoryScope::Need::kAhead) {
  std::atomic<bool> left{false};
  const auto is_there = [&left] {
    if (MemoryFiles::Get().stalls()) left = true;
    return left.load();
  };
  const auto try_twice = [&](const auto& step) {
    try {
      const HelpScope scope(is_there);
      return step();
    } catch (const Error& error) {
      if (!left) throw;
      EXPECT_EQ(error.code(), ErrorCode::kCancelled) << error.what();
    }
    MemoryFiles::Get().Release();  // workers may wait for the same call
    left = false;
    return step();
  };
  Outcome outcome;
  try {
    const std::unique_ptr<ReaderBase> reader = try_twice([&] { return make(); });
    const MemoryScope scope(nullptr, need);
    std::vector<LoDTensor> element;
    for (TicketRun run; try_twice([&] { return reader->Plan(4, &run); }) > 0; run.Clear()) {
      for (const Ticket& ticket : run.tickets) {
        try_twice([&] {
          Rows rows;
          rows.Reset(reader->row_slots());
          reader->LoadInParallel(&ticket, 1, &rows);
          rows.MoveTo(&element);
          return true;
        });
        outcome.elements.push_back(ValueOf(element));
      }
    }
  } catch (const Error& error) {
    outcome.error = error;
  }
  return outcome;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_LEFT_WAITS_H_

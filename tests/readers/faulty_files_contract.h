// SPDX-License-Identifier: Apache-2.0
// What every reader of files promises when the file system fails: it yields right records and then
// an error with file and byte, or it yields all records. It never yields other bytes and leaves
// nothing behind. The fault is tried at every call of the file system that a pass makes. The cases
// are those of reader_contract.h whose files are in memory.
#ifndef MILLHOPPER_TESTS_READERS_FAULTY_FILES_CONTRACT_H_
#define MILLHOPPER_TESTS_READERS_FAULTY_FILES_CONTRACT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "tests/fakes/memory_files.h"
#include "tests/gate.h"
#include "tests/left_waits.h"
#include "tests/outcome.h"
#include "tests/readers/reader_contract.h"
#include "tests/testing.h"

namespace millhopper {

inline auto WithAPoolAndWithout(const std::vector<ContractCase>& cases) {
  return ::testing::Combine(::testing::ValuesIn(cases), ::testing::Values(0, 2));
}

class FaultyFilesContract : public ::testing::TestWithParam<ContractParam> {
 protected:
  void SetUp() override {
    whole_ = ReadPass();
    ASSERT_FALSE(whole_.error.has_value()) << whole_.error->what();
    std::thread([] {}).join();
    StartPoolThreads();
    held_ = CurrentHoldings();
  }

  void TearDown() override { MemoryFiles::Get().Mend(); }

  // Reads a pass of a new reader.
  Outcome ReadPass() const {
    std::unique_ptr<ReaderBase> reader;
    try {
      reader = contract_.make(Fault::kNone);
    } catch (const Error& error) {
      return {{}, error};
    }
    return OutcomeOf(reader.get());
  }

  // Reads once for each call of the file system, with this trouble beginning at that call. Returns
  // how many of the reads ended with an error.
  int AtEveryCall(FileTrouble trouble, const std::function<Outcome()>& read,
                  const std::function<void(const Outcome&)>& check) {
    int errors = 0;
    for (int64_t call = 0;; ++call) {
      SCOPED_TRACE(StrCat("at call ", call));
      MemoryFiles::Get().Break(trouble, call);
      const Outcome outcome = read();
      const bool hit = MemoryFiles::Get().hit();
      MemoryFiles::Get().Mend();
      EXPECT_TRUE(HoldingsReturnTo(held_));
      EXPECT_EQ(MemoryFiles::Get().open_files(), 0u);
      ExpectRight(outcome);
      if (!hit) {
        EXPECT_FALSE(outcome.error.has_value());
        EXPECT_GE(call, 3) << "the reader makes too few calls";
        return errors;
      }
      check(outcome);
      if (outcome.error.has_value()) ++errors;
      if (::testing::Test::HasFailure()) return errors;
    }
  }

  // The records of the first slot, whether the elements are records or batches.
  static std::vector<std::string> RecordsOf(const std::vector<ElementValue>& elements) {
    std::vector<std::string> records;
    for (const ElementValue& element : elements) {
      const SlotValue& slot = element.at(0);
      const auto steps = static_cast<uint64_t>(slot.dims.at(0));
      const size_t step = steps == 0 ? 0 : slot.bytes.size() / steps;
      for (uint64_t i = 0; i < (slot.lod.empty() ? steps : slot.lod[0].size() - 1); ++i) {
        const uint64_t begin = slot.lod.empty() ? i : slot.lod[0][i];
        const uint64_t end = slot.lod.empty() ? i + 1 : slot.lod[0][i + 1];
        records.push_back(slot.bytes.substr(begin * step, (end - begin) * step));
      }
    }
    return records;
  }

  // Expects that what was read is right, and that all was read unless there is an error.
  void ExpectRight(const Outcome& outcome) const {
    if (!outcome.error.has_value()) {
      EXPECT_TRUE(outcome.elements == whole_.elements);
      return;
    }
    if (contract_.name.find("shuffle") == std::string::npos) {
      ASSERT_LE(outcome.elements.size(), whole_.elements.size());
      EXPECT_TRUE(
          std::equal(outcome.elements.begin(), outcome.elements.end(), whole_.elements.begin()));
      return;
    }
    std::vector<std::string> got = RecordsOf(outcome.elements);
    std::vector<std::string> wanted = RecordsOf(whole_.elements);
    std::sort(got.begin(), got.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_TRUE(std::includes(wanted.begin(), wanted.end(), got.begin(), got.end()));
  }

  static void ExpectPlace(const Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::kIo || error.code() == ErrorCode::kDataLoss)
        << error.what();
    EXPECT_TRUE(MemoryFiles::IsIn(error.file())) << error.what();
    const bool reading = std::string(error.what()).find("cannot reach it") == std::string::npos;
    EXPECT_TRUE(!reading || error.offset() >= 0) << error.what();
  }

  // Reads a pass on a thread; runs `meanwhile` on the calling thread once a call stalls.
  Outcome ReadWhileStalling(const std::function<void()>& meanwhile) const {
    Outcome outcome;
    std::atomic<bool> done{false};
    std::thread reading([&] {
      outcome = ReadPass();
      done = true;
    });
    WaitUntil([&] { return done || MemoryFiles::Get().stalls(); });
    if (!done) meanwhile();
    reading.join();
    return outcome;
  }

  // Reads the first element of a new reader, and leaves the pass and the reader while a call may
  // stall. A stall is ended only if the element may need it.
  Outcome LeaveEarly() const {
    constexpr std::chrono::milliseconds kNeeded{3};
    std::optional<Error> error;
    std::atomic<bool> leaves{false}, done{false};
    std::thread reading([&] {
      try {
        const std::unique_ptr<ReaderBase> reader = contract_.make(Fault::kNone);
        std::vector<LoDTensor> element;
        if (reader->HasNext()) reader->ReadNext(&element);
        leaves = true;
        reader->ReInit();
      } catch (const Error& caught) {
        error = caught;
      }
      done = true;
    });
    while (!done && !leaves) {
      WaitUntil([&] { return done || leaves || MemoryFiles::Get().stalls(); });
      const auto since = std::chrono::steady_clock::now();
      WaitUntil(
          [&] { return done || leaves || std::chrono::steady_clock::now() - since > kNeeded; });
      if (!done && !leaves) MemoryFiles::Get().Release();
    }
    reading.join();
    return {whole_.elements, error};
  }

  const ContractCase contract_ = std::get<0>(GetParam());
  const PoolSize pool_{std::get<1>(GetParam())};
  Outcome whole_;
  Holdings held_;
};

TEST_P(FaultyFilesContract, AFailureIsAnErrorAtItsPlace) {
  AtEveryCall(
      FileTrouble::kFail, [&] { return ReadPass(); },
      [](const Outcome& outcome) {
        ASSERT_TRUE(outcome.error.has_value());
        EXPECT_EQ(outcome.error->code(), ErrorCode::kIo) << outcome.error->what();
        ExpectPlace(*outcome.error);
      });
}

TEST_P(FaultyFilesContract, ShortReadsChangeNothing) {
  AtEveryCall(
      FileTrouble::kShort, [&] { return ReadPass(); },
      [](const Outcome& outcome) {
        EXPECT_FALSE(outcome.error.has_value()) << outcome.error->what();
      });
}

TEST_P(FaultyFilesContract, FilesThatChangeAreErrorsAtTheirPlaces) {
  std::vector<FileTrouble> troubles = {FileTrouble::kShrink, FileTrouble::kReplace,
                                       FileTrouble::kLonger};
  // Only formats with a checksum notice a flipped bit.
  const bool checked = contract_.name.find("recordio") != std::string::npos ||
                       contract_.name.find("open_files") != std::string::npos ||
                       contract_.name.find("compressed") != std::string::npos;
  if (checked) troubles.push_back(FileTrouble::kFlip);
  for (const FileTrouble trouble : troubles) {
    SCOPED_TRACE(StrCat("trouble ", static_cast<int>(trouble)));
    const int errors = AtEveryCall(
        trouble, [&] { return ReadPass(); },
        [](const Outcome& outcome) {
          if (outcome.error.has_value()) ExpectPlace(*outcome.error);
        });
    EXPECT_GT(errors, 0);
  }
}

TEST_P(FaultyFilesContract, AStallIsWaitedFor) {
  AtEveryCall(
      FileTrouble::kStall, [&] { return ReadWhileStalling([] { MemoryFiles::Get().Release(); }); },
      [](const Outcome& outcome) {
        EXPECT_FALSE(outcome.error.has_value()) << outcome.error->what();
      });
}

TEST_P(FaultyFilesContract, AStallEndsWithARequestToStop) {
  AtEveryCall(
      FileTrouble::kStall,
      [&] {
        Outcome outcome = ReadWhileStalling([] { RequestStop(); });
        ClearStop();
        return outcome;
      },
      [](const Outcome& outcome) {
        if (!outcome.error.has_value()) return;  // the stalled call read ahead of need
        EXPECT_EQ(outcome.error->code(), ErrorCode::kCancelled) << outcome.error->what();
      });
}

TEST_P(FaultyFilesContract, AStallIsLeftByWhoeverGoes) {
  AtEveryCall(
      FileTrouble::kStall, [&] { return LeaveEarly(); },
      [](const Outcome& outcome) {
        EXPECT_FALSE(outcome.error.has_value()) << outcome.error->what();
      });
}

TEST_P(FaultyFilesContract, AThreadThatLeavesAStallLosesNothing) {
  for (const MemoryScope::Need need : {MemoryScope::Need::kAhead, MemoryScope::Need::kNow}) {
    AtEveryCall(
        FileTrouble::kStall,
        [&] { return ReadLeavingWaits([this] { return contract_.make(Fault::kNone); }, need); },
        [](const Outcome& outcome) {
          EXPECT_FALSE(outcome.error.has_value()) << outcome.error->what();
        });
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_READERS_FAULTY_FILES_CONTRACT_H_

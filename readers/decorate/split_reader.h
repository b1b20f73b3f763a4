// SPDX-License-Identifier: Apache-2.0
// One of several parts of the elements of a reader, such as those to train on and those for
// validation.
#ifndef MILLHOPPER_READERS_DECORATE_SPLIT_READER_H_
#define MILLHOPPER_READERS_DECORATE_SPLIT_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/reader/reader.h"

namespace millhopper {

// One of several parts of all possible keys, each of which is in one part. Which part that is
// follows from the shares and the seed alone; a part has about its share of many keys.
class PartOfKeys {
 public:
  // Throws kInvalidArgument unless the shares are at least 0 and their sum is 1, and unless `part`
  // is the number of one of them, from 0.
  PartOfKeys(const std::vector<double>& shares, int64_t part, uint64_t seed);

  bool Has(uint64_t key) const;
  // What it depends on.
  const std::string& description() const { return description_; }

 private:
  const uint64_t seed_;
  uint64_t begin_ = 0, last_ = 0;  // of the numbers that are drawn for its keys
  bool is_empty_ = false;
  std::string description_;
};

// Yields the elements of the reader below whose record is in a part, in their order; no others are
// loaded. Records are told by RecordKeys, so that a record is in one part whatever the pass, order,
// threads and processes, below a shuffle or above it, and if files are added.
class SplitReader final : public DecoratedReader {
 public:
  // Throws kInvalidArgument if elements of the reader below consist of several records.
  SplitReader(std::unique_ptr<ReaderBase> reader, PartOfKeys part);

  // Which elements are left is known only when they are planned.
  void ExpectRanks(size_t ranks, size_t) override { reader().ExpectRanks(ranks, kAnyRun); }
  size_t ElementsReady() const override {
    return reader().ElementsReady() == kAnyNumber ? kAnyNumber : 0;
  }

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState&) override {}

  const PartOfKeys part_;
  std::vector<uint64_t> keys_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_SPLIT_READER_H_

// SPDX-License-Identifier: Apache-2.0
// Processes that train together: each has its own program, in which they share lanes.
#ifndef MILLHOPPER_TESTS_READERS_LANES_RANKS_H_
#define MILLHOPPER_TESTS_READERS_LANES_RANKS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/reader/position.h"
#include "framework/reader/reader_holder.h"
#include "tests/files/number_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {

inline std::string Number(int64_t value) { return StrCat("i: ", value); }

// A reader of a program, on the one before it or on others.
struct Made {
  std::string name, type;
  AttributeTexts attributes;
  std::vector<std::string> below;
};
using Chain = std::vector<Made>;

// Files that have lanes, if `lanes` is more than 1.
inline Made OpenedIn(int64_t lanes, const std::string& name, const std::string& path,
                     int64_t stripe = 0) {
  return {name,
          "open_files",
          {{"file_names", StrCat("strings: \"", path, "\"")},
           {"lanes", Number(lanes)},
           {"stripe", Number(stripe)}},
          {}};
}

inline Made Shared(const std::string& even = "none") {
  return {"shared", "create_shard_reader", {{"even", StrCat("s: \"", even, "\"")}}, {}};
}

inline Made Batched(int64_t size) {
  return {"batched", "create_batch_reader", {{"batch_size", Number(size)}}, {}};
}

inline Made Shuffled(int64_t window = 24) {
  return {"shuffled", "create_shuffle_reader", {{"buffer_size", Number(window)}}, {}};
}

// The program of one rank.
inline std::string ProgramOf(const Chain& chain, int64_t rank, int64_t ranks) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < chain.size(); ++i) {
    const Made& made = chain[i];
    AttributeTexts attributes = made.attributes;
    SlotsText slots;
    std::vector<std::string> below = made.below;
    if (made.type == "open_files") {
      slots = {{"INT64", {1, 1}}};
    } else if (below.empty()) {
      below = {chain[i - 1].name};
    }
    if (made.type == "create_shard_reader") {
      attributes.emplace_back("num_shards", Number(ranks));
      attributes.emplace_back("index", Number(rank));
    }
    parts.push_back(CreatedReaderText(made.name, made.type, below, attributes, slots));
  }
  return BlockText(0, -1, parts);
}

// All that was read, in order of size.
inline Numbers All(const std::vector<Numbers>& parts) {
  Numbers all;
  for (const Numbers& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::sort(all.begin(), all.end());
  return all;
}

// Processes that train together, each with its own program.
class Ranks {
 public:
  Ranks(const Chain& chain, int64_t ranks) : top_(chain.back().name) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      runners_.push_back(std::make_unique<ProgramRunner>());
      runners_.back()->Startup(ProgramOf(chain, rank, ranks));
    }
  }

  void ExpectSave() {
    for (const auto& runner : runners_) runner->Reader(top_).ExpectSave();
  }
  // One step of all; what each has read. Nothing if it has no element.
  std::vector<Numbers> StepOfEach() {
    std::vector<Numbers> each;
    for (const auto& runner : runners_) {
      each.emplace_back();
      ReaderHolder& reader = runner->Reader(top_);
      if (!reader.HasNext()) continue;
      std::vector<LoDTensor> element;
      reader.ReadNext(&element);
      for (const LoDTensor& slot : element) {
        const auto* values = slot.data<int64_t>();
        each.back().insert(each.back().end(), values, values + slot.numel());
      }
    }
    return each;
  }
  // The same together, in order of size.
  Numbers Step() { return All(StepOfEach()); }
  std::vector<Numbers> Steps() {
    std::vector<Numbers> steps;
    for (;;) {
      steps.push_back(Step());
      if (steps.back().empty()) break;
    }
    return steps;
  }
  // Has all plan their next elements.
  void LookAhead() {
    for (const auto& runner : runners_) runner->Reader(top_).HasNext();
  }
  void ReInit() {
    for (const auto& runner : runners_) runner->Reader(top_).ReInit();
  }
  std::vector<Position> SaveEach() {
    std::vector<Position> positions;
    for (const auto& runner : runners_) {
      positions.push_back(Position::Parse(runner->Reader(top_).Save().Serialize()));
    }
    return positions;
  }
  void RestoreEach(const std::vector<Position>& positions) {
    for (size_t i = 0; i < runners_.size(); ++i) runners_[i]->Reader(top_).Restore(positions[i]);
  }
  Position Save() { return Position::Parse(Position::OfAllRanks(SaveEach()).Serialize()); }
  void Restore(const Position& position) {
    RestoreEach(std::vector<Position>(runners_.size(), position));
  }

 private:
  const std::string top_;
  std::vector<std::unique_ptr<ProgramRunner>> runners_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_READERS_LANES_RANKS_H_

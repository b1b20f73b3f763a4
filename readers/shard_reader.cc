// SPDX-License-Identifier: Apache-2.0
#include "readers/shard_reader.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/reader/chunk_queue.h"

namespace millhopper {
namespace {

// Enough to make the call cheap, but few, because planned elements keep their chunks in memory.
constexpr size_t kMostPlannedAtOnce = 256;

}  // namespace

ShardReader::ShardReader(std::unique_ptr<ReaderBase> reader, int64_t num_shards, int64_t index,
                         ShardBy by)
    : DecoratedReader(std::move(reader)),
      num_shards_(by == ShardBy::kChunk ? 1 : static_cast<size_t>(num_shards)),
      index_(by == ShardBy::kChunk ? 0 : static_cast<size_t>(index)),
      next_(index_) {
  Require(num_shards >= 1, "num_shards is ", num_shards, "; it must be at least 1");
  Require(index >= 0 && index < num_shards, "index is ", index, "; it must be 0 to ",
          num_shards - 1, " for ", num_shards, " shards");
  if (by == ShardBy::kChunk) {
    this->reader().TakeShare({static_cast<uint64_t>(num_shards), static_cast<uint64_t>(index)});
  }
}

size_t ShardReader::ElementsReady() const {
  const size_t ready = reader().ElementsReady();
  return ready == kAnyNumber ? ready : ready / num_shards_;
}

std::optional<uint64_t> ShardReader::PassLength() const {
  const std::optional<uint64_t> below = reader().PassLength();
  if (!below) return std::nullopt;
  return *below / num_shards_ + (index_ < *below % num_shards_ ? 1 : 0);
}

void ShardReader::PlanNext(size_t n, TicketRun* run) {
  while (n > 0) {
    if (next_ < planned_.tickets.size()) {
      run->Add(planned_.tickets[next_]);
      next_ += num_shards_;
      --n;
      continue;
    }
    next_ -= planned_.tickets.size();
    planned_.Clear();
    // Plans no further than the last element asked for: other readers that share the reader below
    // get the rest.
    const size_t last = next_ + (n - 1) * num_shards_;
    if (reader().Plan(std::min(last + 1, kMostPlannedAtOnce), &planned_) == 0) return;
  }
}

void ShardReader::Rewind(uint64_t pass) {
  planned_.Clear();
  next_ = index_;
  DecoratedReader::Rewind(pass);
}

void ShardReader::SaveState(ReaderState* state) const {
  state->Setting("num_shards", num_shards_);
  state->Setting("index", index_);
  const size_t size = planned_.tickets.size();
  const size_t passed = std::min(next_, size);
  state->Set("next", next_ - passed);
  if (passed == size) return;
  ElementNames planned;
  reader().NameElements(&planned_.tickets[passed], size - passed, &planned);
  state->SetElements("planned", std::move(planned));
}

void ShardReader::RestoreState(const ReaderState& state) {
  next_ = state.Get("next", num_shards_ - 1);
  reader().PlanRunAgain(state.Elements("planned"), &planned_);
}

}  // namespace millhopper

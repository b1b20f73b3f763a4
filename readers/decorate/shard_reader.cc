// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/shard_reader.h"

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
                         ShardBy by, ShardEven even)
    : DecoratedReader(std::move(reader)),
      num_shards_(by == ShardBy::kChunk ? 1 : static_cast<size_t>(num_shards)),
      index_(by == ShardBy::kChunk ? 0 : static_cast<size_t>(index)),
      even_(even),
      behind_(even == ShardEven::kDrop ? num_shards_ - 1 - index_ : 0),
      awaited_(index_ + behind_) {
  Require(num_shards >= 1, "num_shards is ", num_shards, "; it must be at least 1");
  Require(index >= 0 && index < num_shards, "index is ", index, "; it must be 0 to ",
          num_shards - 1, " for ", num_shards, " shards");
  if (by == ShardBy::kRecord) {
    this->reader().ExpectRanks(num_shards_, 1);
    return;
  }
  Require(even == ShardEven::kNone,
          "shards by: \"chunk\" have as many records as their chunks, so they cannot be made even; "
          "use by: \"record\"");
  this->reader().TakeShare({static_cast<uint64_t>(num_shards), static_cast<uint64_t>(index)});
}

size_t ShardReader::ElementsReady() const {
  const size_t ready = reader().ElementsReady();
  return ready == kAnyNumber ? ready : ready / num_shards_;
}

std::optional<uint64_t> ShardReader::PassLength() const {
  const std::optional<uint64_t> below = reader().PassLength();
  if (!below) return std::nullopt;
  const uint64_t rest = *below % num_shards_;
  const bool has_rest =
      even_ == ShardEven::kPad ? rest > 0 : even_ == ShardEven::kNone && index_ < rest;
  return *below / num_shards_ + (has_rest ? 1 : 0);
}

void ShardReader::PlanNext(size_t n, TicketRun* run) {
  while (n > 0) {
    const PooledVector<Ticket>& tickets = planned_.tickets;
    if (even_ == ShardEven::kPad) {
      while (first_.tickets.size() < std::min<uint64_t>(index_, passed_ + tickets.size())) {
        first_.Add(tickets[first_.tickets.size() - passed_]);
      }
    }
    if (awaited_ < tickets.size()) {
      run->Add(own_.tickets.empty() ? tickets[awaited_ - behind_] : own_.tickets.front());
      own_.Clear();
      awaited_ += num_shards_;
      --n;
      continue;
    }
    if (own_.tickets.empty() && awaited_ - behind_ < tickets.size()) {
      own_.Add(tickets[awaited_ - behind_]);
    }
    awaited_ -= tickets.size();
    passed_ += tickets.size();
    planned_.Clear();
    // Plans no further than the last element asked for: other readers that share the reader below
    // get the rest.
    const size_t last = awaited_ + (n - 1) * num_shards_;
    if (reader().Plan(std::min(last + 1, kMostPlannedAtOnce), &planned_) > 0) continue;
    if (even_ == ShardEven::kPad) Pad(run);
    return;
  }
}

void ShardReader::Pad(TicketRun* run) {
  const uint64_t rest = passed_ % num_shards_;
  if (is_padded_ || rest == 0 || index_ < rest) return;
  run->Add(first_.tickets[(index_ - rest) % passed_]);
  is_padded_ = true;
}

void ShardReader::Rewind(uint64_t pass) {
  planned_.Clear();
  own_.Clear();
  first_.Clear();
  awaited_ = index_ + behind_;
  passed_ = 0;
  is_padded_ = false;
  DecoratedReader::Rewind(pass);
}

void ShardReader::SaveState(ReaderState* state) const {
  state->Setting("num_shards", num_shards_);
  state->Advise(
      "A stream is divided for as many processes as before; a reader with lanes (open_files with "
      "lanes: 16) can be divided again");
  state->Setting("index", index_);
  state->Setting("even", static_cast<uint64_t>(even_));
  // What lies before the next own element is of no use any more, unless first_ still lacks it:
  // memory for it may have been refused.
  const size_t size = planned_.tickets.size();
  const size_t first = first_.tickets.size();
  size_t unused = own_.tickets.empty() ? std::min(awaited_ - behind_, size) : 0;
  if (even_ == ShardEven::kPad && first < std::min<uint64_t>(index_, passed_ + size)) {
    unused = std::min<size_t>(unused, first - passed_);
  }
  state->Set("awaited", awaited_ - unused);
  state->Set("passed", passed_ + unused);
  state->Set("is_padded", is_padded_ ? 1 : 0);
  const auto set = [&](const std::string& name, const Ticket* tickets, size_t n) {
    if (n == 0) return;
    ElementNames names;
    reader().NameElements(tickets, n, &names);
    state->SetElements(name, std::move(names));
  };
  set("planned", planned_.tickets.data() + unused, size - unused);
  set("own", own_.tickets.data(), own_.tickets.size());
  set("first", first_.tickets.data(), first);
}

void ShardReader::RestoreState(const ReaderState& state) {
  const ElementNames& planned = state.Elements("planned");
  const ElementNames& own = state.Elements("own");
  const ElementNames& first = state.Elements("first");
  awaited_ = state.Get("awaited", 2 * num_shards_ + kMostPlannedAtOnce);
  passed_ = state.Get("passed", UINT64_MAX - kMostPlannedAtOnce);
  is_padded_ = state.Get("is_padded", 1) == 1;
  const uint64_t to_keep = even_ == ShardEven::kPad ? index_ : 0;
  if (planned.count > kMostPlannedAtOnce || own.count > 1 ||
      first.count < std::min(to_keep, passed_) ||
      first.count > std::min(to_keep, passed_ + planned.count) ||
      (own.count == 0 && awaited_ < behind_)) {
    state.Fail("it has ", planned.count, ", ", own.count, " and ", first.count,
               " elements in store, which cannot be");
  }
  reader().PlanRunAgain(planned, &planned_);
  reader().PlanRunAgain(own, &own_);
  reader().PlanRunAgain(first, &first_);
}

}  // namespace millhopper

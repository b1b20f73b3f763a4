// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/split_reader.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/base/stop.h"

namespace millhopper {
namespace {

// Enough to make the calls cheap, but few, because planned elements keep their chunks in memory.
constexpr size_t kMostPlannedAtOnce = 256;
// A sum of shares that are written with a few digits differs from 1 by less.
constexpr double kSumError = 1e-6;

// The first of all 2^64 numbers that is beyond this share of them; false if there is none.
bool NumberAt(double share, uint64_t* number) {
  const double place = std::ldexp(share, 64);
  if (place >= std::ldexp(1, 64)) return false;
  *number = static_cast<uint64_t>(place);
  return true;
}

}  // namespace

PartOfKeys::PartOfKeys(const std::vector<double>& shares, int64_t part, uint64_t seed)
    : seed_(MixBits(seed)) {
  for (const double share : shares) {
    Require(std::isfinite(share) && share >= 0, "a share is ", share, "; it must be at least 0");
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  Require(std::abs(sum - 1) < kSumError, "the sum of the shares is ", sum, "; it must be 1");
  Require(part >= 0 && static_cast<size_t>(part) < shares.size(), "part ", part, " of ",
          shares.size());
  const auto first = shares.begin() + part;
  const double begin = std::accumulate(shares.begin(), first, 0.0);
  const bool is_last =
      std::all_of(first + 1, shares.end(), [](double share) { return share == 0; });
  uint64_t end = 0;
  const bool ends = !is_last && NumberAt(begin + *first, &end);
  is_empty_ = *first == 0 || !NumberAt(begin, &begin_) || (ends && end <= begin_);
  last_ = ends ? end - 1 : UINT64_MAX;
  description_ = StrCat("part ", part, " of");
  for (const double share : shares) description_ += " " + ExactText(share);
  description_ += StrCat(", seed ", seed);
}

bool PartOfKeys::Has(uint64_t key) const {
  const uint64_t drawn = MixBits(key ^ seed_);
  return !is_empty_ && drawn >= begin_ && drawn <= last_;
}

SplitReader::SplitReader(std::unique_ptr<ReaderBase> reader, PartOfKeys part)
    : DecoratedReader(std::move(reader)), part_(std::move(part)) {
  this->reader().RecordKeys(nullptr, 0, nullptr);  // throws if it has none
}

void SplitReader::PlanNext(size_t n, TicketRun* run) {
  const size_t first = run->tickets.size();
  keys_.resize(kMostPlannedAtOnce);
  while (run->tickets.size() == first) {
    CheckStop();  // many elements may be of other parts
    const size_t planned = reader().Plan(std::min(n, kMostPlannedAtOnce), run);
    if (planned == 0) return;
    Ticket* const tickets = &run->tickets[first];
    size_t kept = 0;
    try {
      reader().RecordKeys(tickets, planned, keys_.data());
    } catch (...) {
      run->tickets.resize(first);
      throw;
    }
    for (size_t i = 0; i < planned; ++i) {
      if (part_.Has(keys_[i])) tickets[kept++] = tickets[i];
    }
    run->tickets.resize(first + kept);
  }
}

void SplitReader::SaveState(ReaderState* state) const {
  state->Setting("part", part_.description());
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Source: XXH3 (https://github.com/Cyan4973/xxHash); deletion by moving keys back (Knuth, The Art
// of Computer Programming 3, 6.4, algorithm R).
#include "readers/gather/dedupe_reader.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/memory/memory_limit.h"

namespace millhopper {
namespace {

constexpr int64_t kMostKeys = int64_t{1} << 31;
constexpr size_t kFewestKeys = 32;

}  // namespace

bool RecentKeys::Insert(const Key& key) {
  MakeRoom();
  size_t place = Find(key);
  if (places_[place] != 0) return false;
  if (keys_.size() < most_) {
    keys_.push_back(key);
    places_[place] = static_cast<uint32_t>(keys_.size());
    return true;
  }
  Erase(keys_[oldest_]);
  place = Find(key);
  keys_[oldest_] = key;
  oldest_ = (oldest_ + 1) % most_;
  places_[place] = static_cast<uint32_t>(oldest_ == 0 ? most_ : oldest_);
  return true;
}

std::vector<RecentKeys::Key> RecentKeys::keys() const {
  std::vector<Key> keys(keys_.begin() + static_cast<std::ptrdiff_t>(oldest_), keys_.end());
  keys.insert(keys.end(), keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(oldest_));
  return keys;
}

void RecentKeys::Clear() {
  oldest_ = 0;
  keys_.clear();
  std::fill(places_.begin(), places_.end(), 0);
  if (MayKeepEmptyTable()) return;
  capacity_ = 0;
  PooledVector<Key>().swap(keys_);
  PooledVector<uint32_t>().swap(places_);
}

size_t RecentKeys::next_capacity() const {
  return std::min(most_, std::max(kFewestKeys, 2 * keys_.size()));
}

size_t RecentKeys::Find(const Key& key) const {
  const size_t mask = places_.size() - 1;
  size_t place = key.low & mask;
  while (places_[place] != 0 && !(keys_[places_[place] - 1] == key)) place = (place + 1) & mask;
  return place;
}

void RecentKeys::Erase(const Key& key) {
  const size_t mask = places_.size() - 1;
  size_t free = Find(key);
  for (size_t place = (free + 1) & mask; places_[place] != 0; place = (place + 1) & mask) {
    // A key may move to the free place if that does not lie before its home.
    const size_t home = keys_[places_[place] - 1].low & mask;
    if (((place - home) & mask) < ((place - free) & mask)) continue;
    places_[free] = places_[place];
    free = place;
  }
  places_[free] = 0;
}

void RecentKeys::Grow() {
  const size_t capacity = next_capacity();
  size_t places = 2 * kFewestKeys;
  while (places < 2 * capacity) places *= 2;
  PooledVector<uint32_t> larger(places);  // all are free
  keys_.reserve(capacity);
  places_.swap(larger);
  capacity_ = capacity;
  for (size_t i = 0; i < keys_.size(); ++i) {
    places_[Find(keys_[i])] = static_cast<uint32_t>(i + 1);
  }
}

DedupeReader::DedupeReader(std::unique_ptr<ReaderBase> reader, const std::vector<int64_t>& slots,
                           int64_t most)
    : GatherReader(std::move(reader), reader->slots(), true),
      most_(static_cast<size_t>(most)),
      seen_(static_cast<size_t>(std::clamp<int64_t>(most, 1, kMostKeys))) {
  Require(most >= 1 && most <= kMostKeys, "entries is ", most, "; it must be from 1 to ",
          kMostKeys);
  const size_t count = this->reader().slots().size();
  for (const int64_t slot : slots) {
    Require(slot >= 0 && static_cast<size_t>(slot) < count, "slot ", slot, " of a reader with ",
            count, " slots");
    slots_.push_back(static_cast<size_t>(slot));
  }
  for (size_t i = 0; slots.empty() && i < count; ++i) slots_.push_back(i);
}

RecentKeys::Key DedupeReader::DigestOf(const GatheredPart& part) {
  description_.clear();
  for (const size_t slot : slots_) {
    const LoDTensor& tensor = part.tensors[slot];
    description_.push_back(static_cast<uint64_t>(tensor.dtype()));
    description_.push_back(tensor.dims().size());
    description_.insert(description_.end(), tensor.dims().begin(), tensor.dims().end());
    description_.push_back(tensor.lod().size());
    for (const LodLevel& level : tensor.lod()) {
      description_.push_back(level.size());
      description_.insert(description_.end(), level.begin(), level.end());
    }
    const XXH128_hash_t values = XXH3_128bits(tensor.raw_data(), tensor.bytes());
    description_.insert(description_.end(), {values.low64, values.high64});
  }
  const XXH128_hash_t digest =
      XXH3_128bits(description_.data(), description_.size() * sizeof(uint64_t));
  return {digest.low64, digest.high64};
}

void DedupeReader::MakeRoom() {
  if (!seen_.wants_room()) return;
  // The table stays for the whole pass, so it belongs to what is needed now.
  if (MemoryScope::IsAhead()) MemoryScope::ThrowRefused();
  const MemoryScope scope(account());
  try {
    seen_.MakeRoom();
  } catch (...) {
    throw CurrentError().WithContext(
        StrCat("while making room for the digests of ", seen_.next_capacity(),
               " elements; with a smaller 'entries' it keeps fewer, and yields an element again "
               "that comes after so many others"));
  }
}

void DedupeReader::Gather(const Ref<GatheredPart>& part) {
  if (!seen_.Insert(DigestOf(*part))) return;
  Ref<Gathered> element = Pool<Gathered>::Take();
  element->Add(part);
  Yield(std::move(element));
}

// Digests cannot be made again without all elements of the pass, so they are kept as they are.
void DedupeReader::SaveState(ReaderState* state) const {
  GatherReader::SaveState(state);
  state->Setting("compared_slots", slots_);
  state->Setting("entries", most_);
  std::vector<uint64_t> seen;
  for (const RecentKeys::Key& key : seen_.keys()) {
    seen.insert(seen.end(), {key.low, key.high});
  }
  state->SetList("seen", std::move(seen));
}

void DedupeReader::RestoreState(const ReaderState& state) {
  GatherReader::RestoreState(state);
  const std::vector<uint64_t>& seen = state.List("seen");
  if (seen.size() % 2 != 0 || seen.size() / 2 > most_) {
    state.Fail(seen.size(), " halves of digests for ", most_, " entries");
  }
  for (size_t i = 0; i < seen.size(); i += 2) {
    CheckStop();  // there may be millions
    seen_.Insert({seen[i], seen[i + 1]});
  }
}

void DedupeReader::LoadGathered(const Gathered& gathered, Rows* rows) const {
  rows->Append(gathered.pieces().front().part->tensors);
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Leaves out elements that were seen before.
#ifndef MILLHOPPER_READERS_GATHER_DEDUPE_READER_H_
#define MILLHOPPER_READERS_GATHER_DEDUPE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/memory/buffer.h"
#include "readers/gather/gather_reader.h"

namespace millhopper {

// A set of 128-bit keys of bounded size, 24 to 32 bytes a key, in memory of the host's pool. When
// it is full, a new key takes the place of the one that was inserted first.
class RecentKeys {
 public:
  struct Key {
    uint64_t low;
    uint64_t high;
    bool operator==(const Key& other) const { return low == other.low && high == other.high; }
  };

  // `most` is from 1 to 2^31.
  explicit RecentKeys(size_t most) : most_(most) {}
  // Takes memory for one more key. Throws what BufferPool::Take throws; then the set is as before.
  void MakeRoom() {
    if (wants_room()) Grow();
  }
  // Whether MakeRoom will take memory.
  bool wants_room() const { return keys_.size() == capacity_ && keys_.size() < most_; }
  // Inserts the key; false if it is in the set. Keys must be random in their low bits. Takes no
  // memory after MakeRoom.
  bool Insert(const Key& key);
  // How many keys there will be room for when MakeRoom has taken memory.
  size_t next_capacity() const;
  // Empties the set, and gives its memory back under a limit.
  void Clear();
  // Those that it has, the first that was inserted first.
  std::vector<Key> keys() const;

 private:
  // The place of the key, or the free place where it would be.
  size_t Find(const Key& key) const;
  void Erase(const Key& key);
  void Grow();

  const size_t most_;
  size_t capacity_ = 0;
  PooledVector<Key> keys_;         // in the order of insertion, beginning with oldest_
  size_t oldest_ = 0;              // moves only when the set is full
  PooledVector<uint32_t> places_;  // a hash table: index in keys_ and 1; 0 is free
};

// Yields the elements of the reader below of which the given slots (all if there are none) differ
// from those of every earlier element of the pass in type, dims, levels of detail or bytes. They
// are compared by their 128-bit XXH3 digests. `most` digests are kept; when there are more, the one
// that was inserted first is forgotten, and an equal element that comes later is yielded again.
class DedupeReader final : public GatherReader {
 public:
  // Throws kInvalidArgument for slots that there are not, for `most` outside of 1 to 2^31, and as
  // StageReader does. The memory of the digests counts for this reader: where the memory limit has
  // no room for more of them, the next element that is new is a kResourceLimit that says so.
  DedupeReader(std::unique_ptr<ReaderBase> reader, const std::vector<int64_t>& slots, int64_t most);

 private:
  void MakeRoom() override;
  void Gather(const Ref<GatheredPart>& part) override;
  void Forget() override { seen_.Clear(); }
  void LoadGathered(const Gathered& gathered, Rows* rows) const override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  RecentKeys::Key DigestOf(const GatheredPart& part);

  const size_t most_;
  std::vector<size_t> slots_;
  std::vector<uint64_t> description_;  // of the last element: what its digest is made of
  RecentKeys seen_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_GATHER_DEDUPE_READER_H_

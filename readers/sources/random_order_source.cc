// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/random_order_source.h"

#include <algorithm>
#include <any>
#include <cstring>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/memory/memory_limit.h"

namespace millhopper {
namespace {

constexpr size_t kBlockBytes = size_t{256} << 10;
// Reading so many records by a call for each costs as much as reading a block.
constexpr size_t kRecordsWorthABlock = 16;
// Chunks of records that are read block by block. The second number limits the tables beside tiny
// records.
constexpr size_t kLargeChunkBytes = size_t{8} << 20;
constexpr size_t kMostInLargeChunk = size_t{512} << 10;
// Other chunks.
constexpr size_t kChunkBytes = size_t{256} << 10;
constexpr size_t kMostInChunk = size_t{8} << 10;
// The first chunk is small, since the consumer waits for it, and each has at most twice as many
// records as the one before it.
constexpr size_t kFirstRecords = 512;
// What a chunk may take of a memory limit.
constexpr size_t kShareOfLimit = 64;

size_t RecordsIn(size_t bytes, size_t record_bytes, size_t most) {
  const size_t allowed = MemoryLimit::is_set() ? MemoryLimit::bytes() / kShareOfLimit : bytes;
  return std::clamp<size_t>(std::min(bytes, allowed) / record_bytes, 1, most);
}

}  // namespace

class RandomOrderSource::Stretch final : public RefCounted {
 public:
  uint64_t first = 0;
  size_t size = 0;
  PooledVector<uint64_t> numbers;

 private:
  void Dispose() override {
    Empty(&numbers);
    Pool<Stretch>::Give(this);
  }
};

RandomOrderSource::RandomOrderSource(Ref<const NumberedRecords> records, const Permutation& order,
                                     uint64_t first)
    : records_(std::move(records)),
      order_(order),
      count_(records_->count()),
      record_bytes_(count_ == 0 ? 1 : records_->record_bytes()),
      block_records_(std::max<size_t>(1, kBlockBytes / record_bytes_)),
      most_records_(RecordsIn(kChunkBytes, record_bytes_, kMostInChunk)),
      next_(first) {
  const size_t large = RecordsIn(kLargeChunkBytes, record_bytes_, kMostInLargeChunk);
  if (WorthBlocks(large)) most_records_ = large;
  most_records_ = static_cast<size_t>(std::min<uint64_t>(most_records_, count_));
}

bool RandomOrderSource::WorthBlocks(size_t records) const {
  return !records_->mapped() && records_->in_one_piece() &&
         records / kRecordsWorthABlock >= blocks();
}

size_t RandomOrderSource::NextSize() const {
  return std::min(most_records_, std::max(kFirstRecords, 2 * size_));
}

bool RandomOrderSource::Claim(Chunk* chunk) {
  if (next_ == count_) return false;
  Ref<Stretch> stretch = Pool<Stretch>::Take();
  stretch->first = next_;
  stretch->size = static_cast<size_t>(std::min<uint64_t>(NextSize(), count_ - next_));
  size_ = stretch->size;
  next_ += size_;
  chunk->records = size_;
  chunk->length = size_ * record_bytes_;
  chunk->claimed = std::move(stretch);
  return true;
}

const uint64_t* RandomOrderSource::NumbersOf(const Chunk& chunk) {
  return std::any_cast<const Ref<Stretch>&>(chunk.claimed)->numbers.data();
}

void RandomOrderSource::Fetch(Chunk* chunk) const {
  Stretch& stretch = *std::any_cast<const Ref<Stretch>&>(chunk->claimed);
  PooledVector<uint64_t>& numbers = stretch.numbers;
  // All chunks take memory of one size, also the small first ones, so that later ones use it again.
  numbers.reserve(most_records_);
  numbers.resize(stretch.size);
  order_.List(stretch.first, stretch.size, numbers.data());
  chunk->pieces.reserve(most_records_);
  chunk->bytes = BufferPool::At(Place()).Take(most_records_ * record_bytes_);
  if (records_->mapped()) {
    records_->Copy(numbers.data(), stretch.size, chunk->bytes->data());
  } else if (WorthBlocks(stretch.size)) {
    try {
      ReadBlocks(numbers, chunk->bytes->data());
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      // A block that cannot be read may be needed late in the chunk. The records before it are
      // right, and come first.
      ReadEach(numbers, chunk);
      throw;
    }
  } else {
    ReadEach(numbers, chunk);
  }
  ListPieces(stretch.size, chunk);
}

void RandomOrderSource::ReadEach(const PooledVector<uint64_t>& numbers, Chunk* chunk) const {
  char* const out = chunk->bytes->data();
  size_t done = 0;
  try {
    for (; done < numbers.size(); ++done) {
      records_->Read(numbers[done], 1, out + done * record_bytes_);
    }
  } catch (...) {
    ListPieces(done, chunk);
    throw;
  }
  ListPieces(done, chunk);
}

// The places of the chunk are sorted by the block of their record: the number of places in each
// block tells where those of the next one begin.
void RandomOrderSource::ReadBlocks(const PooledVector<uint64_t>& numbers, char* out) const {
  PooledVector<uint32_t> ends(blocks() + 1);
  for (const uint64_t number : numbers) ++ends[number / block_records_ + 1];
  for (size_t block = 1; block < ends.size(); ++block) ends[block] += ends[block - 1];
  PooledVector<uint32_t> places(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    places[ends[numbers[i] / block_records_]++] = static_cast<uint32_t>(i);
  }
  const Ref<Buffer> bytes = BufferPool::At(Place()).Take(block_records_ * record_bytes_);
  size_t next = 0;
  for (size_t block = 0; block < blocks(); ++block) {
    if (next == ends[block]) continue;
    CheckStop();
    const uint64_t first = block * block_records_;
    records_->Read(first, std::min<uint64_t>(block_records_, count_ - first), bytes->data());
    for (; next < ends[block]; ++next) {
      const uint32_t place = places[next];
      std::memcpy(out + place * record_bytes_,
                  bytes->data() + (numbers[place] - first) * record_bytes_, record_bytes_);
    }
  }
}

void RandomOrderSource::ListPieces(size_t records, Chunk* chunk) const {
  chunk->pieces.resize(records);
  for (size_t i = 0; i < records; ++i) {
    chunk->pieces[i] = {static_cast<uint32_t>(i * record_bytes_),
                        static_cast<uint32_t>(record_bytes_)};
  }
}

}  // namespace millhopper

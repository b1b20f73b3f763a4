// SPDX-License-Identifier: Apache-2.0
#include "readers/index/indexed_source.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/one_pass.h"

namespace millhopper {
namespace {

// The records of a chunk, by their numbers in the index.
struct Claimed {
  size_t first;
  size_t count;
};

}  // namespace

void CheckCanBeIndexed(const ByteStream& stream) {
  if (stream.plain()) return;
  if (stream.can_be_read_once_only()) {
    throw ReadOnceOnly(stream.path(),
                       "an index is of use where any place of a file can be read, so "
                       "read it without the index, or copy it to a file");
  }
  throw Error(ErrorCode::kInvalidArgument,
              "the file is compressed, so its index cannot tell where records begin; read it "
              "without an index")
      .InFile(stream.path(), 0);
}

IndexedSource::IndexedSource(std::unique_ptr<ByteStream> stream, std::vector<uint64_t> begins,
                             uint64_t most_bytes, bool all_are_listed)
    : stream_(std::move(stream)),
      begins_(std::move(begins)),
      most_bytes_(most_bytes),
      all_are_listed_(all_are_listed) {}

bool IndexedSource::Claim(Chunk* chunk) {
  if (next_ == begins_.size()) return false;
  const size_t first = next_;
  chunk->offset = begins_[first];
  do {
    ++next_;
  } while (next_ < begins_.size() && next_ - first < kMostIndexedRecords &&
           End(next_) - chunk->offset <= kReadBlockBytes);
  chunk->length = End(next_ - 1) - chunk->offset;
  chunk->claimed = Claimed{first, next_ - first};
  if (all_are_listed_) chunk->records = next_ - first;
  if (chunk->length > most_bytes_) {
    throw Error(ErrorCode::kResourceLimit,
                StrCat("the record at ", stream_->Describe(chunk->offset), ": it takes ",
                       chunk->length, " bytes; the limit is ", most_bytes_))
        .InFile(stream_->path(), static_cast<int64_t>(chunk->offset));
  }
  return true;
}

bool IndexedSource::Seek(uint64_t offset, std::optional<uint64_t>) {
  const auto found = std::lower_bound(begins_.begin(), begins_.end(), offset);
  if (found == begins_.end() || *found != offset) return false;
  next_ = static_cast<size_t>(found - begins_.begin());
  return true;
}

RecordBegins IndexedSource::BeginsIn(const Chunk& chunk) const {
  const auto claimed = std::any_cast<Claimed>(chunk.claimed);
  return {&begins_[claimed.first], claimed.count};
}

uint64_t IndexedSource::End(size_t record) const {
  return record + 1 < begins_.size() ? begins_[record + 1] : stream_->file().size();
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "readers/chunks/stream_source.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "framework/memory/memory.h"

namespace millhopper {

bool StreamSource::Claim(Chunk* chunk) {
  size_t whole = 0;  // bytes of whole records
  if (!ended_ || !rest_.empty()) {
    chunk->offset = stream().position() - rest_.size();
    size_t size = rest_.size();
    // After a refusal of memory the call asks for the same size again, so that the chunks do not
    // depend on memory.
    Enlarge(chunk, 0, refused_ ? 2 * size : size);
    refused_ = false;
    std::memcpy(chunk->bytes->data() + chunk->lead(), rest_.data(), size);
    for (size_t seen = size;;) {
      char* const bytes = chunk->bytes->data() + chunk->lead();
      if (!ended_) size += Read(bytes + size, chunk->bytes->capacity() - chunk->lead() - size);
      if (stop_ != nullptr) {
        rest_.assign(bytes, size);
        std::rethrow_exception(std::exchange(stop_, nullptr));
      }
      // After an error the rest of the record is unknown, so it is no end.
      whole = size == 0
                  ? 0
                  : WholeRecords({bytes, size, seen, chunk->offset, ended_ && error_ == nullptr});
      if (whole > 0 || ended_) break;
      seen = size;
      try {
        Enlarge(chunk, size, size);
      } catch (const Error&) {  // a stream cannot be read again, so the bytes are kept
        rest_.assign(bytes, size);
        refused_ = true;
        throw;
      }
    }
    rest_.assign(chunk->bytes->data() + chunk->lead() + whole, size - whole);
    // What precedes an error of the stream is dropped, because it is no whole record.
    if (whole == 0) rest_.clear();
  }
  if (whole == 0 && error_ != nullptr) std::rethrow_exception(error_);
  chunk->length = whole;
  if (whole > 0) chunk->SetAsInFile();
  return whole > 0;
}

void StreamSource::FetchChecked(Chunk* chunk, const CheckSum& check) const {
  const char* const bytes = chunk->bytes
                                ? chunk->bytes->data() + chunk->lead()
                                : chunk->Read(stream().file(), chunk->offset, chunk->length);
  check(XXH3_64bits(bytes, chunk->length));
  Fetch(chunk);
}

// Makes room for another block after the chunk's first `used` bytes, and for `at_least` more.
void StreamSource::Enlarge(Chunk* chunk, size_t used, size_t at_least) const {
  // One byte more than can be left, so that the read reaches the end.
  const size_t block = std::min<uint64_t>(kReadBlockBytes, stream().most_left() + 1);
  Ref<Buffer> larger = BufferPool::At(Place()).Take(chunk->lead() + used + at_least + block);
  if (used > 0) std::memcpy(larger->data(), chunk->bytes->data(), chunk->lead() + used);
  chunk->bytes = std::move(larger);
}

size_t StreamSource::Read(char* out, size_t size) {
  size_t got = 0;
  try {
    got = mutable_stream()->ReadSome(out, size);
    char next;
    // A file that can be read once only is not read to its end while there are records to give out.
    ended_ = stream().can_be_read_once_only() ? got == 0
                                              : got < size && mutable_stream()->Read(&next, 1) == 0;
  } catch (const Error&) {
    if (CancelScope::WasLeft()) {
      stop_ = std::current_exception();
      return got;
    }
    error_ = std::current_exception();
    ended_ = true;
  }
  return got;
}

}  // namespace millhopper

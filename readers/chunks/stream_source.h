// SPDX-License-Identifier: Apache-2.0
// Files whose records can only be found by reading them in order, such as compressed text or frames
// that say how long they are.
#ifndef MILLHOPPER_READERS_CHUNKS_STREAM_SOURCE_H_
#define MILLHOPPER_READERS_CHUNKS_STREAM_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_format.h"
#include "readers/index/indexable_format.h"

namespace millhopper {

// Claim reads a block of the stream and cuts it after its last whole record; the rest begins the
// next chunk. A format says where records end, and Fetch lists them.
class StreamSource : public IndexableSource {
 public:
  using IndexableSource::IndexableSource;

  // Sets offset, length and bytes of the chunk; the bytes begin at lead().
  bool Claim(Chunk* chunk) final;
  // The bytes of a chunk are what decides.
  void FetchChecked(Chunk* chunk, const CheckSum& check) const final;

 protected:
  // The bytes of a stream from the beginning of a record on.
  struct Block {
    const char* bytes;
    size_t size;
    size_t seen;      // how many of them the call before had without finding a whole record
    uint64_t offset;  // of the first byte in the stream
    bool ended;       // whether no byte follows
  };
  // Returns how many bytes of the block are whole records; 0 if the first record continues after
  // it, which cannot be for a block that has `ended`. May throw kDataLoss or kResourceLimit if the
  // first record is wrong; records before a wrong one are returned first.
  virtual size_t WholeRecords(const Block& block) const = 0;

 private:
  void Enlarge(Chunk* chunk, size_t used, size_t at_least) const;
  // Sets ended_ at the end, and after an error also error_; or stop_ if the thread leaves its work
  // (CancelScope) and another call may be made.
  size_t Read(char* out, size_t size);

  std::string rest_;      // the beginning of a record whose end is not read yet
  bool refused_ = false;  // whether memory for more of it was refused
  bool ended_ = false;
  std::exception_ptr error_;  // comes after the bytes that were read
  std::exception_ptr stop_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_CHUNKS_STREAM_SOURCE_H_

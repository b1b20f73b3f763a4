// SPDX-License-Identifier: Apache-2.0
// One file that is being read: its chunks, claimed in order, fetched on any thread, planned in
// order. Who fetches which chunk when is the Prefetcher's affair.
#ifndef MILLHOPPER_FRAMEWORK_READER_CHUNK_QUEUE_H_
#define MILLHOPPER_FRAMEWORK_READER_CHUNK_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "framework/reader/file_format.h"
#include "framework/reader/ticket.h"

namespace millhopper {

// One pass over one file. Chunks that planned tickets point into live on in their run.
class ChunkQueue final : public Kept {
 public:
  // `library` is that of the source's code (LibraryOf).
  ChunkQueue(std::unique_ptr<FileSource> source, uint32_t file, std::string path,
             const char* library);

  // ---- The planning thread. ----

  enum class State {
    kRecords,  // available() is more than 0
    kEnd,      // every record has been taken
    kWaiting,  // the next chunk is not fetched yet
  };
  // Moves on to the next chunk if the present one is used up. Throws the file's error where the
  // next record would be, again and again.
  State Poll();
  // Records that can be taken at once.
  size_t available() const { return current_ ? current_->pieces.size() - next_ : 0; }
  // Has the run keep the chunk of the records that can be taken at once.
  void KeepIn(Run* run) { run->Keep(current_.get()); }
  // Writes the tickets of the next n (at most available()) records to tickets[0], tickets[stride],
  // ... and numbers them sample, sample + stride, ... They belong into a run that keeps their
  // chunk.
  void Take(size_t n, size_t stride, uint64_t sample, Ticket* tickets);

  // ---- Any thread. ----

  // What waits to be taken.
  struct Load {
    bool claimable = false;  // Claim may find a chunk, and nobody else is claiming at this moment
    bool idle = false;       // nobody is at work on the chunk that is planned next
    size_t chunks = 0;       // fetched or being fetched, but for the one that Take takes from
    size_t records = 0;      // in chunks that are fetched
    size_t bytes = 0;        // of memory
  };
  Load load() const;
  // A chunk for the caller to Fetch: the one that is planned next, or, ahead of need, any behind it
  // that nobody is at work on; null if there is none or another thread claims it. Throws only where
  // the caller is refused memory ahead of need (MemoryScope); nothing is lost then.
  Ref<Chunk> Claim(MemoryScope::Need need);
  // Fetches what was claimed, with memory for `account`. Errors wait in the chunk for their turn.
  // False if there was no memory to do so ahead of need: the chunk waits to be claimed once more.
  bool Fetch(Ref<Chunk> chunk, const Ref<MemoryAccount>& account, MemoryScope::Need need);

 private:
  // Whether nobody is at work on the chunk that is planned next. Under the mutex.
  bool IsNextIdle() const;

  const std::unique_ptr<FileSource> source_;
  const uint32_t file_;
  const std::string path_;
  const char* const library_;
  Ref<Chunk> current_;  // the chunk that is planned from, once it is fetched
  size_t next_ = 0;     // record of it

  mutable std::mutex mutex_;       // guards what is below, and Chunk::ready_
  std::deque<Ref<Chunk>> chunks_;  // the last is null while it is being claimed
  bool claiming_ = false;
  bool claimed_all_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_CHUNK_QUEUE_H_

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

class ReaderCounters;

// Which chunks are read, where several processes share the chunks of files: chunk c of file f, both
// from 0, is read by the process with index (f + c) % count.
struct ChunkShare {
  uint64_t count = 1;
  uint64_t index = 0;
};

// A file as its reader sees it.
struct QueuedFile {
  uint32_t index = 0;             // in the list of files
  uint64_t pass = 0;              // in which its records are read
  std::string path;               // for errors
  const char* library = nullptr;  // of the source's code (LibraryOf)
  ChunkShare share;
  ReaderCounters* counters = nullptr;  // of the reader; may be null
};

// One pass over one file. Chunks that planned tickets point into live on in their run.
class ChunkQueue final : public Kept {
 public:
  ChunkQueue(std::unique_ptr<FileSource> source, QueuedFile file);

  // ---- The planning thread. ----

  enum class State {
    kRecords,  // available() is more than 0
    kEnd,      // every record has been taken
    kWaiting,  // the next chunk is not fetched yet
  };
  // Moves on to the next chunk if the present one is used up. Throws the file's error where the
  // next record would be, again and again.
  State Poll();
  // Records that can be taken, or passed over, at once.
  size_t available() const {
    if (!current_) return 0;
    return passes_over() ? passed_over_ : current_->pieces.size() - next_;
  }
  // Whether they are to be passed over, for they lie in chunks of other shares.
  bool passes_over() const { return passed_over_ > 0; }
  void PassOver(size_t n) { passed_over_ -= n; }
  // Has the run keep the chunk of the records that can be taken at once.
  void KeepIn(TicketRun* run) { run->Keep(current_.get()); }
  // Writes the tickets of the next n (at most available()) records to tickets[0], tickets[stride],
  // ... and numbers them sample, sample + step, ... They belong into a run that keeps their chunk.
  void Take(size_t n, size_t stride, uint64_t sample, size_t step, Ticket* tickets);

  // ---- Any thread. ----

  // What waits to be taken.
  struct Backlog {
    bool claimable = false;  // Claim may find a chunk, and nobody else is claiming at this moment
    bool idle = false;       // nobody is at work on the chunk that is planned next
    size_t chunks = 0;       // fetched or being fetched, but for the one that Take takes from
    size_t records = 0;      // in chunks that are fetched
    size_t bytes = 0;        // of memory
  };
  Backlog backlog() const;
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
  // Has the source find the next chunk of the share. False at the end of the file.
  bool ClaimShare(Chunk* chunk);

  const std::unique_ptr<FileSource> source_;
  const QueuedFile file_;
  Ref<Chunk> current_;        // the chunk that is planned from, once it is fetched
  size_t next_ = 0;           // record of it
  uint64_t passed_over_ = 0;  // records before it that are yet to be passed over

  // Of whoever claims:
  uint64_t claimed_ = 0;   // chunks
  uint64_t left_out_ = 0;  // records of other shares since the last chunk of ours

  mutable std::mutex mutex_;       // guards what is below, and Chunk::ready_
  std::deque<Ref<Chunk>> chunks_;  // the last is null while it is being claimed
  bool claiming_ = false;
  bool claimed_all_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_CHUNK_QUEUE_H_

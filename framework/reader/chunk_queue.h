// SPDX-License-Identifier: Apache-2.0
// One file that is being read. Its chunks are claimed in order, fetched on any thread and planned
// in order. The Prefetcher decides which thread fetches which chunk.
#ifndef MILLHOPPER_FRAMEWORK_READER_CHUNK_QUEUE_H_
#define MILLHOPPER_FRAMEWORK_READER_CHUNK_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "framework/base/mutex.h"
#include "framework/reader/file_format.h"
#include "framework/reader/position.h"
#include "framework/reader/ticket.h"

namespace millhopper {

class ReaderCounters;

// Which chunks this process reads if several processes share the chunks of files: chunk c of file
// f, both from 0, is read by the process with index (f + c) % count.
struct ChunkShare {
  uint64_t count = 1;
  uint64_t index = 0;
};

// A file as its reader sees it.
struct QueuedFile {
  uint32_t index = 0;             // in the list of files
  uint64_t pass = 0;              // the pass that this reading belongs to
  std::string path;               // for errors
  const char* library = nullptr;  // of the source's code (LibraryOf)
  ChunkShare share;
  ReaderCounters* counters = nullptr;  // of the reader; may be null
};

class DealtChunk;

// One pass over one file. A run keeps the chunks that its tickets point into.
class ChunkQueue final : public RefCounted {
 public:
  // Begins at `start`, if it is given: a place that another queue of this file has returned.
  ChunkQueue(std::unique_ptr<FileSource> source, QueuedFile file,
             const std::optional<FilePlace>& start = std::nullopt);
  // Reads only the chunks that begin at these places, which ascend; for TakeAgain.
  ChunkQueue(std::unique_ptr<FileSource> source, QueuedFile file, std::deque<uint64_t> chunks);

  // ---- The planning thread. ----

  enum class State {
    kRecords,  // available() is more than 0
    kEnd,      // every record has been taken
    kWaiting,  // the next chunk is not fetched yet
  };
  // Moves on to the next chunk if the current one is used up. If the file has an error in place of
  // the next record, every call throws it.
  State Poll() EXCLUDES(mutex_);
  // How many records can be taken, or passed over, without waiting.
  size_t available() const {
    if (!current_) return 0;
    return passes_over() ? passed_over_ : current_->pieces.size() - next_;
  }
  // Whether these records must be passed over because they lie in chunks of other shares.
  bool passes_over() const { return passed_over_ > 0; }
  void PassOver(size_t n) { passed_over_ -= n; }
  // Adds the tickets of the next n (at most available()) records to the run and numbers them
  // sample, sample + 1, ... The run keeps their chunk. Ticket::index is the record's offset in the
  // file from the chunk's first byte, or kNotInFile; if the chunk has a holder, it is
  // Piece::offset. So a reader that holds the ticket may copy the bytes and release the chunk.
  static constexpr uint32_t kNotInFile = UINT32_MAX;
  void Take(size_t n, uint64_t sample, TicketRun* run);
  // The same for tickets that the run has already: writes to tickets[0], tickets[stride], ... and
  // numbers them sample, sample + step, ... The run must keep the chunk (KeepIn).
  void Take(size_t n, size_t stride, uint64_t sample, size_t step, Ticket* tickets);
  // Lets the run keep the chunk of the available() records.
  void KeepIn(TicketRun* run) { run->Keep(current_.get()); }
  // Where the queue stands.
  FilePlace place() const;
  // In place of Poll and Take, for lanes, which fetch and plan chunks by themselves: the next
  // chunk; nothing at the end of the file. Throws the file's error in its place, and ThrowNotYet;
  // then the call can be repeated.
  std::optional<DealtChunk> Deal() EXCLUDES(mutex_);
  uint32_t file() const { return file_.index; }
  // Drops the chunk that Take reads, with the records that are left.
  void LeaveChunk() { current_ = Ref<Chunk>(); }
  // As Take, but of any one record of that chunk, of any pass. Throws the chunk's error, or
  // kDataLoss, if it is another chunk or has no such record.
  Ticket TakeAgain(const RecordId& id);

  // ---- Any thread. ----

  // The chunks that wait to be planned.
  struct Backlog {
    bool claimable = false;  // Claim may find a chunk, and no other thread is claiming now
    bool idle = false;       // no thread works on the chunk that is planned next
    size_t chunks = 0;       // fetched or being fetched, without the one that Take reads
    size_t records = 0;      // in chunks that are fetched
    size_t bytes = 0;        // of memory
  };
  Backlog backlog() const EXCLUDES(mutex_);
  // Whether another thread claims or fetches the chunk that is planned next, so that the planning
  // thread has to wait for it.
  bool IsNextUnderWay() const EXCLUDES(mutex_);
  enum class Did {
    kDone,
    kNothing,  // there is nothing to do, or another thread does it
    kNotYet,   // it was refused memory ahead of need, or left (Attempt); it can be done again
  };
  // Gives a chunk for the caller to Fetch: the one that is planned next or, ahead of need, any
  // later one that no thread works on. An error of the file is kept, and thrown by Poll in its
  // place.
  Did Claim(MemoryScope::Need need, Ref<Chunk>* chunk) EXCLUDES(mutex_);
  // Fetches a claimed chunk; its memory counts in the present MemoryScope. An error is kept in the
  // chunk and thrown by Poll in its place. After kNotYet the chunk can be claimed again.
  Did Fetch(Ref<Chunk> chunk) EXCLUDES(mutex_);

 private:
  // Whether no thread works on the chunk that is planned next.
  bool IsNextIdle() const REQUIRES(mutex_);
  // Lets the source find the next chunk of the share. False at the end of the file.
  bool ClaimShare(Chunk* chunk);
  // Lets the source find the chunk that is sought, or a part of it.
  void ClaimSought(Chunk* chunk);
  // Passes over the records of the current chunk that come before `start_`.
  void PassStart();

  friend class DealtChunk;

  const std::unique_ptr<FileSource> source_;
  const QueuedFile file_;
  Ref<Chunk> current_;        // the chunk that tickets are planned from; null until it is fetched
  size_t next_ = 0;           // its next record
  uint64_t passed_over_ = 0;  // records before it that are yet to be passed over
  FilePlace last_;            // after the last chunk of which a record was taken
  std::optional<FilePlace> start_;  // until its chunk is current

  // Used only by the thread that is claiming:
  uint64_t claimed_ = 0;                   // chunks; parts (Chunk::is_part) are not counted
  uint64_t left_out_ = 0;                  // records of other shares since the last chunk of ours
  std::optional<FilePlace> sought_;        // until its chunk is claimed
  std::optional<uint64_t> sought_number_;  // of that chunk, if it is known
  enum class Seeking { kNotYet, kArrived, kClaiming } seeking_ = Seeking::kNotYet;
  bool is_list_ = false;                // of chunks, and nothing else is read; then
  std::deque<uint64_t> chunks_wanted_;  // those that are not sought yet

  mutable Mutex mutex_;  // also guards the state of chunks in chunks_
  // The last is null while it is being claimed.
  std::deque<Ref<Chunk>> chunks_ GUARDED_BY(mutex_);
  bool claiming_ GUARDED_BY(mutex_) = false;
  bool claimed_all_ GUARDED_BY(mutex_) = false;
};

// A chunk that was dealt to a lane, and how far the lane is in it. One thread at a time.
class DealtChunk {
 public:
  DealtChunk(Ref<ChunkQueue> queue, Ref<Chunk> chunk, uint32_t file, uint64_t number);

  // Whether the next chunk of the file belongs to it (Chunk::is_part).
  bool is_part() const { return chunk_->is_part; }
  // The same chunk once more, for another lane that takes other records of it (CutTo). Whichever
  // lane needs it first fetches it for all.
  DealtChunk Share();
  // Fetches the chunk, if that is not done yet. Throws ThrowNotYet; then the call can be repeated.
  void Fetch(const Ref<MemoryAccount>& account);
  // How many of its records are left. After Fetch. Throws the chunk's error once there is none.
  size_t available() const;
  // Adds the tickets of the next n of them, with the names sample, sample + step, ...; the run
  // keeps the chunk.
  void Take(size_t n, uint64_t sample, size_t step, TicketRun* run);
  // Of the next record: `records` is its number, or that of none once all are taken.
  const FilePlace& place() const { return place_; }
  // Goes to a place in this chunk that such a chunk has returned. Before Fetch.
  void Seek(const FilePlace& place) {
    place_ = place;
    is_restored_ = true;
  }
  // Whether Seek was called: the file may be no more what it was then.
  bool is_restored() const { return is_restored_; }
  // Which records of a chunk a lane has, from the one on at which it stands: every `stride`th
  // before number `end`.
  struct Cut {
    uint64_t end = UINT64_MAX;
    uint64_t stride = 1;

    bool is_whole() const { return end == UINT64_MAX; }
  };
  // Leaves only those, from number `begin` on.
  void CutTo(uint64_t begin, const Cut& cut) {
    place_.records = begin;
    cut_ = cut;
  }
  const Cut& cut() const { return cut_; }
  uint64_t pass() const { return pass_; }
  // How many records the chunk has, if the file tells that before they are read,
  std::optional<uint64_t> records() const { return chunk_->records; }
  // or once it is fetched; nothing if it has an error, which comes after them.
  std::optional<uint64_t> fetched_records() const {
    if (queue_ || chunk_->error_ != nullptr) return std::nullopt;
    return chunk_->pieces.size();
  }
  // Whether it had to be read to be found, as one of a compressed file, or has been fetched since.
  bool was_read() const { return chunk_->bytes || chunk_->holder; }
  // Throws the error of a chunk that is fetched if other processes may read it without one: one
  // that interrupts (a stop, a lack of memory), or one of the operating system.
  void CheckIsRead() const;

 private:
  Ref<ChunkQueue> queue_;  // until the chunk is fetched
  Ref<Chunk> chunk_;
  std::shared_ptr<Mutex> fetching_;  // held by the lane that fetches it; null if no other has it
  uint64_t pass_;
  FilePlace place_;
  Cut cut_;
  bool is_restored_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_CHUNK_QUEUE_H_

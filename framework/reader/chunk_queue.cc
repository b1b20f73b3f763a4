// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/chunk_queue.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "framework/base/at_work.h"
#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/base/thread_pool.h"
#include "framework/io/counted_reads.h"
#include "framework/memory/attempt.h"
#include "framework/reader/reader_counters.h"

namespace millhopper {
namespace {

// What a thread reads and how long it takes count for the reader; of none where it is null.
class CountedFetch {
 public:
  explicit CountedFetch(ReaderCounters* counters)
      : reads_(counters == nullptr ? nullptr : counters->sum_of_bytes_read()), timer_(counters) {}

 private:
  const CountedReads reads_;
  const LoadTimer timer_;
};

// Whether what was read for the chunk is what its file has, if that is mapped. If not, this is the
// error, and whatever else went wrong follows from it.
bool IsUnchanged(const Chunk& chunk, std::exception_ptr* error) {
  try {
    chunk.CheckUnchanged();
    return true;
  } catch (...) {
    *error = std::current_exception();
    return false;
  }
}

// Drops what Claim has read of a chunk that is not needed.
void LeaveOut(Chunk* chunk) {
  chunk->bytes = Ref<Buffer>();
  Empty(&chunk->pieces);
}

// Makes the tickets of a chunk's records.
class TicketMaker {
 public:
  // Of every `stride`th record of the chunk from record `next` on; they are numbered sample,
  // sample + step, ...
  TicketMaker(uint32_t file, uint64_t pass, Chunk* chunk, size_t next, size_t stride,
              uint64_t sample, size_t step)
      : pieces_(&chunk->pieces[next]),
        stride_(stride),
        // Null if they may change, as those of a mapped file may, or if there are none.
        bytes_(chunk->holder || chunk->mapped() ? nullptr : chunk->bytes->data()),
        has_holder_(chunk->holder),
        begin_(chunk->IndexInBytes()),
        step_(step) {
    first_.id.pass = pass;
    first_.id.sample = sample;
    first_.id.chunk = chunk->offset;
    first_.id.file = file;
    first_.id.record = static_cast<uint32_t>(next);
    first_.owner = chunk;
  }

  Ticket operator()(size_t i) const {
    Ticket ticket = first_;
    ticket.id.sample += i * step_;
    ticket.id.record += static_cast<uint32_t>(i * stride_);
    const Piece& piece = pieces_[i * stride_];
    ticket.index = has_holder_ ? piece.offset
                   : begin_    ? piece.offset - *begin_
                               : ChunkQueue::kNotInFile;
    if (!has_holder_) ticket.size = piece.size;
    if (bytes_ != nullptr) ticket.bytes = bytes_ + piece.offset;
    return ticket;
  }

 private:
  Ticket first_;
  const Piece* const pieces_;
  const size_t stride_;
  const char* const bytes_;
  const bool has_holder_;
  const std::optional<uint32_t> begin_;
  const size_t step_;
};

}  // namespace

ChunkQueue::ChunkQueue(std::unique_ptr<FileSource> source, QueuedFile file,
                       const std::optional<FilePlace>& start)
    : source_(std::move(source)), file_(std::move(file)) {
  last_.file = file_.index;
  if (!start) return;
  last_ = *start;
  start_ = start;
  if (!start->begun) return;
  sought_ = start;
  sought_number_ = start->number;
}

ChunkQueue::ChunkQueue(std::unique_ptr<FileSource> source, QueuedFile file,
                       std::deque<uint64_t> chunks)
    : source_(std::move(source)),
      file_(std::move(file)),
      is_list_(true),
      chunks_wanted_(std::move(chunks)) {}

ChunkQueue::State ChunkQueue::Poll() {
  for (;;) {
    if (current_) {
      if (available() > 0) return State::kRecords;
      if (current_->error_ != nullptr) std::rethrow_exception(current_->error_);
      last_ = place();
      current_ = Ref<Chunk>();
    }
    const MutexLock lock(&mutex_);
    if (chunks_.empty()) return claimed_all_ ? State::kEnd : State::kWaiting;
    if (!chunks_.front() || !chunks_.front()->ready_) return State::kWaiting;
    current_ = std::move(chunks_.front());
    chunks_.pop_front();
    next_ = 0;
    passed_over_ = current_->left_out_;
    if (start_) PassStart();
    if (MemoryLimit::is_set() && !MemoryScope::IsAhead()) current_->SetNeeded();
  }
}

void ChunkQueue::Take(size_t n, uint64_t sample, TicketRun* run) {
  KeepIn(run);
  AppendEach(n, TicketMaker(file_.index, file_.pass, current_.get(), next_, 1, sample, 1),
             &run->tickets);
  next_ += n;
}

void ChunkQueue::Take(size_t n, size_t stride, uint64_t sample, size_t step, Ticket* tickets) {
  const TicketMaker make(file_.index, file_.pass, current_.get(), next_, 1, sample, step);
  for (size_t i = 0; i < n; ++i) tickets[i * stride] = make(i);
  next_ += n;
}

std::optional<DealtChunk> ChunkQueue::Deal() {
  Ref<Chunk> chunk;
  const Did claimed = Claim(MemoryScope::Need::kNow, &chunk);
  if (claimed == Did::kNotYet) ThrowNotYet();
  const MutexLock lock(&mutex_);
  if (claimed == Did::kNothing) {
    if (!chunks_.empty()) std::rethrow_exception(chunks_.front()->error_);
    return std::nullopt;
  }
  chunks_.pop_front();
  if (!chunk->is_part) {
    last_.begun = last_.done = true;
    last_.chunk = chunk->offset;
    last_.number = chunk->number_;
    last_.records = chunk->records.value_or(0);
  }
  return DealtChunk(Ref<ChunkQueue>(this), chunk, file_.index, chunk->number_);
}

FilePlace ChunkQueue::place() const {
  if (!current_ || (next_ == 0 && passed_over_ == current_->left_out_)) return last_;
  FilePlace place = last_;
  if (next_ == 0) {
    place.passed_over += current_->left_out_ - passed_over_;
    return place;
  }
  place.begun = true;
  place.chunk = current_->offset;
  place.number = current_->number_;
  place.records = next_;
  place.done = next_ == current_->pieces.size() && current_->error_ == nullptr;
  place.passed_over = 0;
  return place;
}

void ChunkQueue::PassStart() {
  if (start_->begun && !start_->done) {
    if (current_->is_part) return;  // the last part of the chunk has its records
    const uint64_t records = start_->records;
    if (current_->pieces.size() < records) {
      if (current_->error_ != nullptr) std::rethrow_exception(current_->error_);
      throw Error(ErrorCode::kDataLoss,
                  StrCat("the position is after record ", records, " of the chunk at byte ",
                         current_->offset, ", which has ", current_->pieces.size(),
                         "; the file has changed since"))
          .InFile(file_.path, static_cast<int64_t>(current_->offset));
    }
    next_ = records;
    start_.reset();
    return;
  }
  const uint64_t passed = std::min(start_->passed_over, passed_over_);
  passed_over_ -= passed;
  last_.passed_over -= passed;
  start_->passed_over -= passed;
  if (start_->passed_over == 0) start_.reset();
}

Ticket ChunkQueue::TakeAgain(const RecordId& id) {
  const bool here = current_ && current_->offset == id.chunk;
  if (!here || id.record >= current_->pieces.size()) {
    if (here && current_->error_ != nullptr) std::rethrow_exception(current_->error_);
    throw Error(ErrorCode::kDataLoss,
                StrCat("the position names record ", id.record, " of the chunk at byte ", id.chunk,
                       ", which has none such; the file has changed since"))
        .InFile(file_.path, static_cast<int64_t>(id.chunk));
  }
  Ticket ticket;
  next_ = id.record;
  Take(1, 1, id.sample, 1, &ticket);
  ticket.id.pass = id.pass;
  return ticket;
}

ChunkQueue::Backlog ChunkQueue::backlog() const {
  const MutexLock lock(&mutex_);
  Backlog backlog;
  backlog.claimable = !claiming_ && !claimed_all_;
  backlog.idle = IsNextIdle();
  for (const Ref<Chunk>& chunk : chunks_) {
    if (!chunk) continue;
    if (chunk->deferred_) {
      backlog.claimable = true;
      continue;
    }
    ++backlog.chunks;
    if (!chunk->ready_) {
      backlog.bytes += chunk->length;  // the best estimate before it is fetched
      continue;
    }
    backlog.records += chunk->pieces.size();
    backlog.bytes += chunk->holder  ? chunk->holder->bytes()
                     : chunk->bytes ? chunk->bytes->capacity()
                                    : 0;
  }
  return backlog;
}

bool ChunkQueue::IsNextIdle() const {
  return chunks_.empty() || !chunks_.front() || chunks_.front()->deferred_;
}

bool ChunkQueue::IsNextUnderWay() const {
  const MutexLock lock(&mutex_);
  if (chunks_.empty() || !chunks_.front()) return claiming_;
  return !chunks_.front()->ready_ && !chunks_.front()->deferred_;
}

ChunkQueue::Did ChunkQueue::Claim(MemoryScope::Need need, Ref<Chunk>* chunk) {
  {
    const MutexLock lock(&mutex_);
    // A chunk after the next one is not needed now.
    if (need == MemoryScope::Need::kNow && !IsNextIdle()) return Did::kNothing;
    for (const Ref<Chunk>& claimed : chunks_) {
      if (!claimed || !std::exchange(claimed->deferred_, false)) continue;
      *chunk = claimed;
      return Did::kDone;
    }
    if (claiming_ || claimed_all_) return Did::kNothing;
    // Memory is taken first, so that a chunk that the source claims cannot be lost.
    *chunk = Pool<Chunk>::Take();
    chunks_.emplace_back();
    claiming_ = true;
  }
  Chunk& own = **chunk;
  bool found = false;
  const Attempt claiming([&] {
    const CountedFetch counted(file_.counters);
    AtWork at_work;
    at_work->library = file_.library;
    at_work->file = file_.path.c_str();
    found = ClaimShare(&own);
    own.claimed_pieces_ = own.pieces.size();
  });
  own.error_ = claiming.error();
  if (own.error_ != nullptr) IsUnchanged(own, &own.error_);
  const MutexLock lock(&mutex_);
  claiming_ = false;
  if (claiming.may_be_repeated()) {
    chunks_.pop_back();
    return Did::kNotYet;
  }
  claimed_all_ = !found;
  own.ready_ = !found;
  own.left_out_ = std::exchange(left_out_, 0);
  if (found || own.error_ != nullptr || own.left_out_ > 0) {
    chunks_.back() = *chunk;
  } else {
    chunks_.pop_back();
  }
  return found ? Did::kDone : Did::kNothing;
}

void ChunkQueue::ClaimSought(Chunk* chunk) {
  if (seeking_ == Seeking::kNotYet) {
    const bool arrived = source_->Seek(sought_->chunk, sought_number_);
    seeking_ = arrived ? Seeking::kArrived : Seeking::kClaiming;
    if (arrived && sought_number_) claimed_ = *sought_number_;
  }
  for (;;) {
    CheckStop();  // many chunks may be passed one after another; here none is half counted
    if (!source_->Claim(chunk)) break;
    chunk->number_ = claimed_;
    if (chunk->is_part) {
      if (seeking_ == Seeking::kArrived) return;
    } else {
      ++claimed_;
      if (chunk->offset == sought_->chunk) {
        sought_.reset();
        return;
      }
    }
    LeaveOut(chunk);
  }
  throw Error(ErrorCode::kDataLoss, StrCat("the position is in a chunk at byte ", sought_->chunk,
                                           ", where none begins; the file has changed since"))
      .InFile(file_.path, static_cast<int64_t>(sought_->chunk));
}

bool ChunkQueue::ClaimShare(Chunk* chunk) {
  if (is_list_ && !sought_) {
    if (chunks_wanted_.empty()) return false;
    sought_.emplace();
    sought_->chunk = chunks_wanted_.front();
    seeking_ = Seeking::kNotYet;
    chunks_wanted_.pop_front();
  }
  while (sought_) {
    const bool done = sought_->done;
    const uint64_t records = sought_->records;
    ClaimSought(chunk);
    if (!done) return true;
    if (!chunk->is_part && chunk->records && *chunk->records != records) {
      throw Error(
          ErrorCode::kDataLoss,
          StrCat("the position is after the chunk at byte ", chunk->offset, " of ", records,
                 " records, which has ", *chunk->records, " now; the file has changed since"))
          .InFile(file_.path, static_cast<int64_t>(chunk->offset));
    }
    LeaveOut(chunk);
  }
  const ChunkShare& share = file_.share;
  for (;;) {
    CheckStop();  // many chunks may be left out one after another
    if (!source_->Claim(chunk)) return false;
    const bool is_ours = (file_.index + claimed_) % share.count == share.index;
    chunk->number_ = claimed_;
    if (!chunk->is_part) ++claimed_;
    if (is_ours) return true;
    if (!chunk->records) {
      throw Error(ErrorCode::kInvalidArgument,
                  "a chunk of it does not tell how many records it has before it is read, so that "
                  "the records of a shard cannot be told by its chunks; use by: \"record\"")
          .InFile(file_.path, static_cast<int64_t>(chunk->offset));
    }
    left_out_ += *chunk->records;
    LeaveOut(chunk);
  }
}

ChunkQueue::Did ChunkQueue::Fetch(Ref<Chunk> chunk) {
  Ref<Buffer> claimed = chunk->bytes;
  const Attempt fetching([&] {
    const CountedFetch counted(file_.counters);
    AtWork at_work;
    at_work->library = file_.library;
    at_work->file = file_.path.c_str();
    at_work->offset = chunk->offset;
    source_->Fetch(chunk.get());
  });
  const bool left = fetching.may_be_repeated();
  std::exception_ptr error = fetching.error();
  if (!left && !IsUnchanged(*chunk, &error)) chunk->pieces.clear();
  if (left) {  // restores the chunk as Claim left it
    chunk->pieces.resize(chunk->claimed_pieces_);
    chunk->bytes = claimed;
  }
  // This thread drops its references before the other threads can see the chunk: it may be
  // suspended after the unlock, and would keep the memory meanwhile.
  claimed = Ref<Buffer>();
  const MutexLock lock(&mutex_);
  chunk->deferred_ = left;
  chunk->ready_ = !left;
  chunk->error_ = error;
  chunk = Ref<Chunk>();
  return left ? Did::kNotYet : Did::kDone;
}

DealtChunk::DealtChunk(Ref<ChunkQueue> queue, Ref<Chunk> chunk, uint32_t file, uint64_t number)
    : queue_(std::move(queue)), chunk_(std::move(chunk)), pass_(queue_->file_.pass) {
  place_.file = file;
  place_.begun = true;
  place_.chunk = chunk_->offset;
  place_.number = number;
}

DealtChunk DealtChunk::Share() {
  if (fetching_ == nullptr) fetching_ = std::make_shared<Mutex>();
  return *this;
}

void DealtChunk::Fetch(const Ref<MemoryAccount>& account) {
  if (!queue_) return;
  std::optional<LockOrStop> lock;
  if (fetching_ != nullptr) lock.emplace(fetching_.get());
  const MemoryScope scope(account);
  if (!chunk_->ready_ && queue_->Fetch(chunk_) == ChunkQueue::Did::kNotYet) ThrowNotYet();
  // The file can be closed when nothing else of it is read.
  const Ref<ChunkQueue> queue = std::exchange(queue_, Ref<ChunkQueue>());
  const uint64_t needed = cut_.is_whole() ? place_.records : cut_.end;
  if (chunk_->pieces.size() >= needed || chunk_->error_ != nullptr) return;
  throw Error(ErrorCode::kDataLoss,
              StrCat("the chunk at byte ", chunk_->offset, " had at least ", needed,
                     " records and has ", chunk_->pieces.size(), " now; the file has changed"))
      .InFile(queue->file_.path, static_cast<int64_t>(chunk_->offset));
}

void DealtChunk::CheckIsRead() const {
  if (queue_ || chunk_->error_ == nullptr) return;
  const Error error = KeptError(chunk_->error_);
  if (error.interrupts() || error.code() == ErrorCode::kIo) throw Error(error);
}

size_t DealtChunk::available() const {
  const uint64_t records = std::min<uint64_t>(chunk_->pieces.size(), cut_.end);
  if (place_.records < records) return (records - place_.records - 1) / cut_.stride + 1;
  if (chunk_->error_ != nullptr && records < cut_.end) std::rethrow_exception(chunk_->error_);
  return 0;
}

void DealtChunk::Take(size_t n, uint64_t sample, size_t step, TicketRun* run) {
  if (place_.records == 0 && MemoryLimit::is_set() && !MemoryScope::IsAhead()) chunk_->SetNeeded();
  run->Keep(chunk_.get());
  AppendEach(
      n, TicketMaker(place_.file, pass_, chunk_.get(), place_.records, cut_.stride, sample, step),
      &run->tickets);
  place_.records += n * cut_.stride;
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/file_lanes.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/memory/memory_limit.h"

namespace millhopper {
namespace {

// Deals chunks to lanes, in the order of the files, whichever lane asks first.
class ChunkDealer {
 public:
  ChunkDealer(std::unique_ptr<MultiFileReader> files, size_t lanes)
      : files_(std::move(files)), lanes_(lanes), dealt_(lanes), left_(lanes), living_(lanes) {
    files_->DealChunks();
  }

  // The reader of the files. Functions that plan: with the lock of a lane that saves or restores,
  // while no lane runs.
  MultiFileReader& files() { return *files_; }
  size_t lanes() const { return lanes_; }
  // Nobody runs this lane any more: its chunks are dropped.
  void Leave(size_t lane) EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    left_[lane] = true;
    dealt_[lane].clear();
    --living_;
    if (lane == first_) first_ = lane + 1;
    while (first_ < left_.size() && left_[first_]) ++first_;
  }
  // Whether the lane is the first one that is run, which does what is done once for all.
  bool IsFirst(size_t lane) const { return first_ == lane; }

  // The lane's next chunk; nothing at the end of the pass. Throws an error of the files in its
  // place, and what ChunkQueue::Deal throws.
  std::optional<DealtChunk> Next(size_t lane) EXCLUDES(mutex_) {
    const auto need = MemoryScope::IsAhead() ? MemoryScope::Need::kAhead : MemoryScope::Need::kNow;
    const LockOrStop lock(&mutex_);
    std::deque<DealtChunk>& own = dealt_[lane];
    while (own.empty()) {
      if (end_ && error_ != nullptr && lane == turn_) std::rethrow_exception(error_);
      if (end_) return std::nullopt;
      Deal(need);
    }
    DealtChunk chunk = std::move(own.front());
    own.pop_front();
    return chunk;
  }
  // The first lane begins a pass for all, before the others do.
  void Restart(uint64_t pass, size_t lane) EXCLUDES(mutex_) {
    if (!IsFirst(lane)) return;
    const MutexLock lock(&mutex_);
    for (std::deque<DealtChunk>& chunks : dealt_) chunks.clear();
    parts_.clear();
    ended_ = 0;
    end_ = false;
    error_ = nullptr;
    turn_ = 0;
    files_->Restart(pass);
  }
  // The chunks that the lane has not asked for yet.
  std::vector<FilePlace> Waiting(size_t lane) const EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    std::vector<FilePlace> places;
    for (const DealtChunk& chunk : dealt_[lane]) {
      if (!chunk.is_part()) places.push_back(chunk.place());
    }
    return places;
  }
  // Deals the chunk at this place to the lane again.
  void DealAgain(const FilePlace& place, uint64_t pass, size_t lane) EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    for (DealtChunk& chunk : files_->DealAgain(place, pass)) {
      dealt_[lane].push_back(std::move(chunk));
    }
  }
  // One more lane reads no more in this pass.
  void End() {
    if (++ended_ == living_) files_->EndReading();
  }
  size_t turn() const EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    return turn_;
  }
  void set_turn(size_t lane) EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    turn_ = lane;
  }

 private:
  void Deal(MemoryScope::Need need) REQUIRES(mutex_) {
    try {
      std::optional<DealtChunk> chunk = files_->Deal(need);
      if (!chunk) {
        end_ = true;
        return;
      }
      parts_.push_back(std::move(*chunk));
      if (parts_.back().is_part()) return;
      if (!left_[turn_]) {
        std::move(parts_.begin(), parts_.end(), std::back_inserter(dealt_[turn_]));
      }
      parts_.clear();
      turn_ = turn_ + 1 == dealt_.size() ? 0 : turn_ + 1;
    } catch (...) {
      if (MayBeRepeated()) throw;
      error_ = std::current_exception();
      end_ = true;
      // Where other ranks run the lane, the next one of this rank has the error, too.
      while (left_[turn_]) turn_ = turn_ + 1 == dealt_.size() ? 0 : turn_ + 1;
    }
  }

  const std::unique_ptr<MultiFileReader> files_;
  const size_t lanes_;
  mutable Mutex mutex_;
  std::vector<std::deque<DealtChunk>> dealt_ GUARDED_BY(mutex_);  // to each lane
  size_t turn_ GUARDED_BY(mutex_) = 0;                            // the lane of the next chunk
  std::vector<bool> left_ GUARDED_BY(mutex_);                     // whether nobody runs the lane
  std::vector<DealtChunk> parts_ GUARDED_BY(mutex_);              // of the chunk that is found next
  bool end_ GUARDED_BY(mutex_) = false;                           // of the files, or their error
  std::exception_ptr error_ GUARDED_BY(mutex_);
  std::atomic<size_t> ended_{0};  // lanes
  std::atomic<size_t> living_;
  std::atomic<size_t> first_{0};
};

class FileLane final : public ReaderBase {
 public:
  FileLane(std::shared_ptr<ChunkDealer> dealer, size_t lane)
      : ReaderBase(dealer->files().slots()), dealer_(std::move(dealer)), lane_(lane) {}
  ~FileLane() override { dealer_->Leave(lane_); }

  ChainStats Stats() const override {
    ChainStats stats = ReaderBase::Stats();
    if (!IsFirst()) return stats;
    const ChainStats of_files = files().Stats();
    stats.bytes_read += of_files.bytes_read;
    stats.load_seconds += of_files.load_seconds;
    stats.memory_bytes += of_files.memory_bytes;
    return stats;
  }
  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    files().LoadRows(tickets, n, rows);
  }
  const std::vector<SlotSpec>& row_slots() const override { return files().row_slots(); }
  void LearnSlots() override {
    if (IsFirst()) files().LearnSlots();
  }
  std::vector<SlotSpec> FoundSlots() const override { return files().FoundSlots(); }
  // Other lanes may still read. Takes no lock, which may be held for long.
  void EndReading() override {
    if (!ended_.exchange(true)) dealer_->End();
  }
  void ExpectWindow() override {
    if (IsFirst()) files().ExpectWindow();
  }
  // Only the files know how many records there are, not which lane has them.
  std::optional<uint64_t> PassLength() const override {
    return IsFirst() ? files().PassLength() : 0;
  }
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override {
    files().NameElements(tickets, n, names);
  }
  void PlanAgain(const ElementNames& names, const TakeElement& take) override {
    files().PlanAgain(names, take);
  }
  // The files come first, because they go to their place before chunks are dealt again.
  void SaveChain(Position* position, SharedReaders* shared) override {
    if (IsFirst()) files().SaveChain(position, shared);
    ReaderBase::SaveChain(position, shared);
  }
  void RestoreChain(PositionCursor* position) override {
    if (IsFirst()) files().RestoreChain(position);
    ReaderBase::RestoreChain(position);
  }

 private:
  void NameParts(const std::string& origin, const std::string& kind,
                 const std::string& name) override {
    if (IsFirst()) files().set_origin(origin, kind, name);
  }
  MultiFileReader& files() const { return dealer_->files(); }
  bool IsFirst() const { return dealer_->IsFirst(lane_); }
  uint64_t Sample() const { return next_ * dealer_->lanes() + lane_; }

  // Plans no further than a chunk, as all readers of files do.
  void PlanNext(size_t n, TicketRun* run) override {
    try {
      for (;;) {
        if (!chunk_) chunk_ = dealer_->Next(lane_);
        if (!chunk_) return;
        chunk_->Fetch(account());
        const size_t planned = std::min(n, chunk_->available());
        if (planned > 0) {
          chunk_->Take(planned, Sample(), dealer_->lanes(), run);
          next_ += planned;
          return;
        }
        chunk_.reset();
      }
    } catch (...) {
      throw CurrentError().WithContext(ReadingRecord(Sample()));
    }
  }
  void Rewind(uint64_t pass) override {
    chunk_.reset();
    next_ = 0;
    pass_ = pass;
    ended_ = false;
    dealer_->Restart(pass, lane_);
  }
  void SaveState(ReaderState* state) const override {
    state->Setting("lanes", dealer_->lanes());
    state->Set("pass", pass_);
    state->Set("next", next_);
    if (IsFirst()) state->Set("turn", dealer_->turn());
    if (chunk_ && !chunk_->is_part()) state->AddPlace(chunk_->place());
    for (const FilePlace& place : dealer_->Waiting(lane_)) state->AddPlace(place);
  }
  void RestoreState(const ReaderState& state) override {
    pass_ = state.Get("pass");
    next_ = state.Get("next");
    if (IsFirst()) dealer_->set_turn(state.Get("turn", dealer_->lanes() - 1));
    for (const FilePlace& place : state.places()) dealer_->DealAgain(place, pass_, lane_);
  }

  const std::shared_ptr<ChunkDealer> dealer_;
  const size_t lane_;
  std::optional<DealtChunk> chunk_;  // that records are taken from
  uint64_t next_ = 0;                // record of the lane
  uint64_t pass_ = 0;
  std::atomic<bool> ended_{false};
};

}  // namespace

std::vector<std::unique_ptr<ReaderBase>> MakeFileLanes(std::unique_ptr<MultiFileReader> files,
                                                       size_t lanes) {
  Require(lanes >= 1 && lanes <= kMaxLanes, lanes, " lanes; there must be 1 to ", kMaxLanes);
  const auto dealer = std::make_shared<ChunkDealer>(std::move(files), lanes);
  std::vector<std::unique_ptr<ReaderBase>> made;
  made.reserve(lanes);
  for (size_t lane = 0; lane < lanes; ++lane) {
    made.push_back(std::make_unique<FileLane>(dealer, lane));
  }
  return made;
}

}  // namespace millhopper

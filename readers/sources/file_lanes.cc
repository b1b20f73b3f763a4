// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/file_lanes.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
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

// Deals chunks to lanes, in the order of the files, whichever lane asks first. The source of the
// lanes, which plans nothing itself: Next is called by lanes, on any thread; all else is called
// while no lane runs.
class ChunkDealer final : public ReaderBase {
 public:
  ChunkDealer(std::unique_ptr<MultiFileReader> files, size_t lanes)
      : ReaderBase(files->slots()), files_(std::move(files)), lanes_(lanes) {
    files_->DealChunks();
  }

  MultiFileReader& files() const { return *files_; }
  size_t lanes() const { return lanes_.size(); }
  // Nobody runs this lane any more: its chunks are dropped.
  void Leave(size_t lane) EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    lanes_[lane].left = true;
    for (const DealtChunk& chunk : lanes_[lane].chunks) NoteFetched(chunk);
    lanes_[lane].chunks.clear();
  }

  // The lane's next chunk; nothing at the end of the pass. Throws an error of the files in its
  // place, and what ChunkQueue::Deal throws.
  std::optional<DealtChunk> Next(size_t lane) EXCLUDES(mutex_) {
    const auto need = MemoryScope::IsAhead() ? MemoryScope::Need::kAhead : MemoryScope::Need::kNow;
    const LockOrStop lock(&mutex_);
    std::deque<DealtChunk>& own = lanes_[lane].chunks;
    while (own.empty()) {
      if (end_ && error_ != nullptr && lane == failed_) std::rethrow_exception(error_);
      if (end_) return std::nullopt;
      Deal(need);
    }
    DealtChunk chunk = std::move(own.front());
    own.pop_front();
    NoteFetched(chunk);
    return chunk;
  }
  // Of how many chunks, those of all lanes, the lane has had its own.
  uint64_t Had(size_t lane) const EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    return std::max(dealt_, lanes_[lane].had);
  }
  // The chunks that the lane has not asked for yet.
  std::vector<FilePlace> Waiting(size_t lane) const EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    std::vector<FilePlace> places;
    for (const DealtChunk& chunk : lanes_[lane].chunks) {
      if (!chunk.is_part()) places.push_back(chunk.place());
    }
    return places;
  }
  // Deals the chunk at this place to the lane again.
  void DealAgain(const FilePlace& place, uint64_t pass, size_t lane) EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    for (DealtChunk& chunk : files_->DealAgain(place, pass)) Add(std::move(chunk), lane);
  }
  // The lane has had its chunks among the first so many of all lanes. They are dealt once more for
  // other lanes, if these come from ranks that were not as far.
  void PassOver(uint64_t chunks, size_t lane) EXCLUDES(mutex_) {
    const MutexLock lock(&mutex_);
    lanes_[lane].had = chunks;
  }

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    files_->Load(tickets, n, rows);
  }
  const std::vector<SlotSpec>& row_slots() const override { return files_->row_slots(); }
  std::vector<SlotSpec> FoundSlots() const override { return files_->FoundSlots(); }
  std::vector<ReaderBase*> Below() const override { return {files_.get()}; }
  ChainStats Stats() const override { return files_->Stats(); }
  void ExpectWindow() override { files_->ExpectWindow(); }
  // The rank that has dealt least knows all chunks that some lane has not had.
  void JoinRanks(std::vector<SavedRank>* ranks, Position* own) const override {
    std::vector<ReaderState> least;
    for (SavedRank& rank : *ranks) {
      std::vector<ReaderState> states = {rank.cursor.Next(), rank.cursor.Next()};
      if (least.empty() || states[0].Get("dealt") < least[0].Get("dealt")) least.swap(states);
    }
    for (ReaderState& state : least) own->Add(std::move(state));
  }

 private:
  struct Lane {
    std::deque<DealtChunk> chunks;  // that were dealt to it
    bool left = false;              // whether nobody runs it
    uint64_t had = 0;               // of the first so many chunks it has had its own
  };

  void NameParts(const std::string& origin, const std::string& kind,
                 const std::string& name) override {
    files_->set_origin(origin, kind, name);
  }
  void PlanNext(size_t, TicketRun*) override {
    Throw(ErrorCode::kInternal, "the source of lanes is read itself");
  }
  void Rewind(uint64_t pass) override {
    const MutexLock lock(&mutex_);
    for (Lane& lane : lanes_) {
      lane.chunks.clear();
      lane.had = 0;
    }
    unfetched_.clear();
    parts_.clear();
    end_ = false;
    error_ = nullptr;
    dealt_ = 0;
    files_->Restart(pass);
  }
  void SaveState(ReaderState* state) const override {
    const MutexLock lock(&mutex_);
    state->Set("dealt", dealt_);
  }
  void RestoreState(const ReaderState& state) override {
    const MutexLock lock(&mutex_);
    dealt_ = state.Get("dealt");
  }

  void Deal(MemoryScope::Need need) REQUIRES(mutex_) {
    const size_t turn = dealt_ % lanes_.size();
    try {
      std::optional<DealtChunk> chunk = files_->Deal(need);
      if (!chunk) {
        end_ = true;
        return;
      }
      parts_.push_back(std::move(*chunk));
      if (parts_.back().is_part()) return;
      const Lane& lane = lanes_[turn];
      if (!lane.left && dealt_ >= lane.had) {
        for (DealtChunk& part : parts_) Add(std::move(part), turn);
      }
      parts_.clear();
      ++dealt_;
      const bool any_ended = std::any_of(
          unfetched_.begin(), unfetched_.end(),
          [this](const auto& chunks_of_file) { return !files_->Deals(chunks_of_file.first); });
      if (any_ended) FetchOfEndedFiles();
    } catch (...) {
      if (MayBeRepeated()) throw;
      error_ = std::current_exception();
      end_ = true;
      // Where other ranks run the lane, the next one of this rank has the error, too.
      failed_ = turn;
      while (lanes_[failed_].left) failed_ = failed_ + 1 == lanes_.size() ? 0 : failed_ + 1;
    }
  }

  void Add(DealtChunk chunk, size_t lane) REQUIRES(mutex_) {
    ++unfetched_[chunk.place().file];
    lanes_[lane].chunks.push_back(std::move(chunk));
  }
  // The chunk does not keep its file open any more, or not for long.
  void NoteFetched(const DealtChunk& chunk) REQUIRES(mutex_) {
    if (chunk.is_fetched()) return;
    const auto found = unfetched_.find(chunk.place().file);
    if (--found->second == 0) unfetched_.erase(found);
  }
  // Chunks wait for their lanes without being fetched, and keep their files open. When no more of a
  // file is dealt, this fetches what waits, so that no more files are open than are read in turn.
  void FetchOfEndedFiles() REQUIRES(mutex_) {
    for (Lane& lane : lanes_) {
      for (DealtChunk& chunk : lane.chunks) {
        const FilePlace& place = chunk.place();
        // One of a position, of which records were taken, may be no more what it was; its lane
        // finds that.
        if (chunk.is_fetched() || place.records > 0 || files_->Deals(place.file)) continue;
        NoteFetched(chunk);
        try {
          chunk.Fetch(account());
        } catch (...) {
          ++unfetched_[place.file];
          throw;
        }
      }
    }
  }

  const std::unique_ptr<MultiFileReader> files_;
  mutable Mutex mutex_;
  std::vector<Lane> lanes_;                // each guarded by mutex_, not their number
  uint64_t dealt_ GUARDED_BY(mutex_) = 0;  // chunks; the next one is for this lane
  std::map<uint32_t, size_t> unfetched_ GUARDED_BY(mutex_);  // chunks in lanes_, by file
  std::vector<DealtChunk> parts_ GUARDED_BY(mutex_);         // of the chunk that is found next
  bool end_ GUARDED_BY(mutex_) = false;                      // of the files, or their error
  std::exception_ptr error_ GUARDED_BY(mutex_);
  size_t failed_ GUARDED_BY(mutex_) = 0;  // the lane that has the error
};

class FileLane final : public ReaderBase {
 public:
  FileLane(std::shared_ptr<ChunkDealer> dealer, size_t lane)
      : ReaderBase(dealer->slots()), dealer_(std::move(dealer)), lane_(lane) {}
  ~FileLane() override { dealer_->Leave(lane_); }

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    files().LoadRows(tickets, n, rows);
  }
  const std::vector<SlotSpec>& row_slots() const override { return files().row_slots(); }
  std::vector<SlotSpec> FoundSlots() const override { return files().FoundSlots(); }
  void ExpectWindow() override { files().ExpectWindow(); }
  // Only the files know how many records there are, not which lane has them.
  std::optional<uint64_t> PassLength() const override {
    return lane_ == 0 ? files().PassLength() : 0;
  }
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override {
    files().NameElements(tickets, n, names);
  }
  void PlanAgain(const ElementNames& names, const TakeElement& take) override {
    files().PlanAgain(names, take);
  }

 private:
  MultiFileReader& files() const { return dealer_->files(); }
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
  }
  void SaveState(ReaderState* state) const override {
    state->Setting("lanes", dealer_->lanes());
    state->Set("pass", pass_);
    state->Set("next", next_);
    state->Set("had", dealer_->Had(lane_));
    if (chunk_ && !chunk_->is_part()) state->AddPlace(chunk_->place());
    for (const FilePlace& place : dealer_->Waiting(lane_)) state->AddPlace(place);
  }
  void RestoreState(const ReaderState& state) override {
    pass_ = state.Get("pass");
    next_ = state.Get("next");
    dealer_->PassOver(state.Get("had"), lane_);
    for (const FilePlace& place : state.places()) dealer_->DealAgain(place, pass_, lane_);
  }

  const std::shared_ptr<ChunkDealer> dealer_;
  const size_t lane_;
  std::optional<DealtChunk> chunk_;  // that records are taken from
  uint64_t next_ = 0;                // record of the lane
  uint64_t pass_ = 0;
};

}  // namespace

LaneSet MakeFileLanes(std::unique_ptr<MultiFileReader> files, size_t lanes) {
  Require(lanes >= 1 && lanes <= kMaxLanes, lanes, " lanes; there must be 1 to ", kMaxLanes);
  const auto dealer = std::make_shared<ChunkDealer>(std::move(files), lanes);
  LaneSet set;
  set.source = dealer;
  set.lanes.reserve(lanes);
  for (size_t lane = 0; lane < lanes; ++lane) {
    set.lanes.push_back(std::make_unique<FileLane>(dealer, lane));
  }
  return set;
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/file_lanes.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/memory/memory_limit.h"
#include "framework/reader/lane_dealer.h"

namespace millhopper {
namespace {

// Deals chunks, in the order of the files. The lane itself fetches a chunk.
class ChunkDealer final : public LaneDealer<DealtChunk> {
 public:
  ChunkDealer(std::unique_ptr<MultiFileReader> files, size_t lanes)
      : LaneDealer(std::move(files), lanes), files_(static_cast<MultiFileReader&>(source())) {
    files_.DealChunks();
  }

  MultiFileReader& files() const { return files_; }
  std::optional<uint64_t> Total() const override {
    return files_.chunks_tell_records() ? LaneDealer::Total() : std::nullopt;
  }
  void MakeEqual() override {
    const MutexLock lock(&mutex_);
    equal_ = true;
    given_.resize(lanes());
  }
  bool equal() const { return equal_; }
  // The lane's next chunk; nothing at the end of the pass. Throws an error of the files in its
  // place, and what ChunkQueue::Deal throws.
  std::optional<DealtChunk> Next(size_t lane) EXCLUDES(mutex_) {
    const LockOrStop lock(&mutex_);
    std::deque<DealtChunk>* const own = Wanted(lane);
    if (own == nullptr) return std::nullopt;
    DealtChunk chunk = std::move(own->front());
    own->pop_front();
    return chunk;
  }

  // It is no reader of its own for those who read statistics and errors, but the files.
  ChainStats Stats() const override { return files_.Stats(); }

 private:
  void NameParts(const std::string& origin, const std::string& kind,
                 const std::string& name) override {
    files_.set_origin(origin, kind, name);
  }
  void Rewind(uint64_t pass) override {
    {
      const MutexLock lock(&mutex_);
      parts_.clear();
      std::fill(given_.begin(), given_.end(), 0);
    }
    LaneDealer::Rewind(pass);
  }
  void SaveState(ReaderState* state) const override {
    mutex_.AssertHeld();  // by LockPlanning
    LaneDealer::SaveState(state);
    if (!equal_) return;
    state->SetList("given", given_);
    if (HasWhole()) {
      state->Set("whole_in_pass", parts_.back().pass());
      state->AddPlace(parts_.back().place());
    }
  }
  void RestoreState(const ReaderState& state) override {
    LaneDealer::RestoreState(state);
    if (!equal_) return;
    const MutexLock lock(&mutex_);
    given_ = state.List("given");
    if (given_.size() != lanes()) state.Fail(given_.size(), " lanes were given records");
    if (state.places().empty()) return;
    parts_ = files_.DealAgain(state.places().front(), state.Get("whole_in_pass"));
  }

  bool Deal() override REQUIRES(mutex_) {
    const auto need = MemoryScope::IsAhead() ? MemoryScope::Need::kAhead : MemoryScope::Need::kNow;
    if (!HasWhole()) {
      std::optional<DealtChunk> chunk = files_.Deal(need);
      if (!chunk) return false;
      parts_.push_back(std::move(*chunk));
      if (!HasWhole()) return true;
    }
    const size_t turn = dealt_ % lanes();
    const std::optional<uint64_t> total = equal_ ? Total() : std::nullopt;
    if (total) {
      DealEqually(turn, *total);
    } else {
      GiveWhole(turn);
    }
    parts_.clear();
    ++dealt_;
    if (closed_ != files_.files_ended()) FetchOfEndedFiles();
    return true;
  }

  // Whether a chunk was found, with all of its parts, and not dealt yet: to cut it may have been
  // refused.
  bool HasWhole() const REQUIRES(mutex_) { return !parts_.empty() && !parts_.back().is_part(); }
  void GiveWhole(size_t lane) REQUIRES(mutex_) {
    if (!Gets(lane, dealt_)) return;
    for (DealtChunk& part : parts_) shares(lane).push_back(std::move(part));
  }
  // Of a chunk for which its lane has no room left, the lanes after it get the rest. A lane reads
  // the whole chunk of which it gets a part.
  void DealEqually(size_t turn, uint64_t total) REQUIRES(mutex_) {
    const DealtChunk& whole = parts_.back();
    const std::optional<uint64_t> records = whole.records();
    if (!records) Throw(ErrorCode::kInternal, "a chunk does not tell how many records it has");
    struct Part {
      size_t lane;
      uint64_t records;
      std::vector<DealtChunk> chunk;  // empty if nobody is to have it, or it is the whole one
    };
    std::vector<Part> cut;
    uint64_t given = 0;
    for (size_t i = 0; i < lanes() && given < *records; ++i) {
      const size_t lane = (turn + i) % lanes();
      const uint64_t length = LengthOf(lane, total);
      const uint64_t n = std::min(length - std::min(given_[lane], length), *records - given);
      if (n == 0) continue;
      cut.push_back({lane, n, {}});
      if (n < *records && Gets(lane, dealt_)) {
        cut.back().chunk = files_.DealAgain(whole.place(), whole.pass());
        cut.back().chunk.back().CutTo(given, given + n);
      }
      given += n;
    }
    if (given < *records) {
      throw Error(ErrorCode::kDataLoss,
                  StrCat("there are more records than the ", total,
                         " that the files or their indexes tell; have they changed?"))
          .InFile(files_.files()[whole.place().file].path,
                  static_cast<int64_t>(whole.place().chunk));
    }
    // From here on nothing is refused, so that a repeated call finds nothing half dealt.
    for (Part& part : cut) {
      given_[part.lane] += part.records;
      if (part.records == *records) GiveWhole(part.lane);
      for (DealtChunk& chunk : part.chunk) shares(part.lane).push_back(std::move(chunk));
    }
  }

  // Chunks wait for their lanes without being fetched, and keep their files open. When no more of a
  // file is dealt, this fetches what waits, so that no more files are open than are read in turn.
  void FetchOfEndedFiles() REQUIRES(mutex_) {
    for (size_t v = 0; v < lanes(); ++v) {
      for (DealtChunk& chunk : shares(v)) {
        // One of a position, of which records were taken, may be no more what it was; its lane
        // finds that.
        if (chunk.place().records > 0 || files_.Deals(chunk.place().file)) continue;
        chunk.Fetch(account());
      }
    }
    closed_ = files_.files_ended();
  }

  MultiFileReader& files_;
  std::vector<DealtChunk> parts_ GUARDED_BY(mutex_);  // of the chunk that is found next
  bool equal_ = false;                                // MakeEqual was called; then:
  std::vector<uint64_t> given_ GUARDED_BY(mutex_);    // records that each lane was dealt
  uint64_t closed_ GUARDED_BY(mutex_) = 0;  // files that had ended when this last looked at them
};

class FileLane final : public DealtLane<ChunkDealer> {
 public:
  FileLane(const std::shared_ptr<ChunkDealer>& dealer, size_t lane)
      : DealtLane(dealer, lane, dealer->source().depth(), dealer->source().readers()) {}

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    dealer().files().LoadRows(tickets, n, rows);
  }
  // If lanes are not equal, only the files know how many records there are, not which lane has
  // them.
  std::optional<uint64_t> PassLength() const override {
    if (dealer().equal()) return EqualLength();
    return lane() == 0 ? source().PassLength() : 0;
  }

 private:
  uint64_t Sample() const { return next_ * dealer().lanes() + lane(); }

  // Plans no further than a chunk, as all readers of files do.
  void PlanNext(size_t n, TicketRun* run) override {
    try {
      for (;;) {
        if (!chunk_) chunk_ = dealer().Next(lane());
        if (!chunk_) return;
        chunk_->Fetch(account());
        const size_t planned = std::min(n, chunk_->available());
        if (planned > 0) {
          chunk_->Take(planned, Sample(), dealer().lanes(), run);
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
    state->Setting("lanes", dealer().lanes());
    state->Set("pass", pass_);
    state->Set("next", next_);
    state->Set("had", dealer().Had(lane()));
    std::vector<uint64_t> ends;
    const auto add = [&](const DealtChunk& chunk) {
      if (chunk.is_part()) return;
      state->AddPlace(chunk.place());
      ends.push_back(chunk.end());
    };
    if (chunk_) add(*chunk_);
    for (const DealtChunk& chunk : dealer().Waiting(lane())) add(chunk);
    if (dealer().equal()) state->SetList("ends", std::move(ends));
  }
  void RestoreState(const ReaderState& state) override {
    pass_ = state.Get("pass");
    next_ = state.Get("next");
    std::deque<DealtChunk> chunks;
    const std::vector<uint64_t> ends =
        dealer().equal() ? state.List("ends") : std::vector<uint64_t>();
    if (dealer().equal() && ends.size() != state.places().size()) {
      state.Fail(ends.size(), " ends of ", state.places().size(), " chunks");
    }
    for (size_t i = 0; i < state.places().size(); ++i) {
      const FilePlace& place = state.places()[i];
      for (DealtChunk& chunk : dealer().files().DealAgain(place, pass_)) {
        chunks.push_back(std::move(chunk));
      }
      if (dealer().equal() && !chunks.empty()) chunks.back().CutTo(place.records, ends[i]);
    }
    dealer().Return(lane(), state.Get("had"), std::move(chunks));
  }

  std::optional<DealtChunk> chunk_;  // that records are taken from
  uint64_t next_ = 0;                // record of the lane
  uint64_t pass_ = 0;
};

}  // namespace

LaneSet MakeFileLanes(std::unique_ptr<MultiFileReader> files, size_t lanes) {
  return LanesOf<FileLane>(std::make_shared<ChunkDealer>(std::move(files), lanes));
}

}  // namespace millhopper

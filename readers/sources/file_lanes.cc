// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/file_lanes.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/io/file_system.h"
#include "framework/memory/attempt.h"
#include "framework/reader/lane_dealer.h"

namespace millhopper {
namespace {

constexpr uint64_t kFewForALane = 8;

// Deals chunks, in the order of the files. The lane itself fetches a chunk.
class ChunkDealer final : public LaneDealer<DealtChunk> {
 public:
  ChunkDealer(std::unique_ptr<MultiFileReader> files, size_t lanes)
      : LaneDealer(std::move(files), lanes),
        files_(static_cast<MultiFileReader&>(source())),
        given_(lanes) {
    files_.DealChunks();
  }

  MultiFileReader& files() const { return files_; }
  std::optional<uint64_t> Total() const override {
    return files_.chunks_tell_records() ? LaneDealer::Total() : std::nullopt;
  }
  void MakeEqual() override {
    const MutexLock lock(&mutex_);
    equal_ = true;
  }
  bool equal() const { return equal_; }
  // The lane's next chunk; nothing at the end of the pass. Throws an error of the files in its
  // place, and what ChunkQueue::Deal throws.
  std::optional<DealtChunk> Next(size_t lane) EXCLUDES(mutex_) {
    const LockOrStop lock(&mutex_);
    again_.clear();  // all lanes are where they go on
    std::deque<DealtChunk>* const own = Wanted(lane);
    if (own == nullptr) return std::nullopt;
    DealtChunk chunk = std::move(own->front());
    own->pop_front();
    return chunk;
  }
  // Deals again what a lane had of a chunk, from the record at a place on, and the parts that
  // belong to the chunk. Lanes that share a chunk share it again.
  std::vector<DealtChunk> DealAgain(const FilePlace& place, const DealtChunk::Cut& cut,
                                    uint64_t pass) EXCLUDES(mutex_) {
    if (cut.is_whole()) return files_.DealAgain(place, pass);
    const MutexLock lock(&mutex_);
    const auto [found, is_new] = again_.try_emplace({place.file, place.chunk, pass});
    if (is_new) found->second = files_.DealAgain(place, pass);
    std::vector<DealtChunk> dealt = Shared(&found->second);
    if (dealt.empty()) return dealt;
    dealt.back().Seek(place);
    dealt.back().CutTo(place.records, cut);
    return dealt;
  }

  // It is no reader of its own for those who read statistics and errors, but the files.
  ChainStats Stats() const override { return files_.Stats(); }

 private:
  using Parts = std::vector<DealtChunk>;  // the parts that belong to a chunk, and then it

  static Parts Shared(Parts* chunk) {
    Parts shared;
    for (DealtChunk& part : *chunk) shared.push_back(part.Share());
    return shared;
  }
  static bool IsWhole(const Parts& chunk) { return !chunk.back().is_part(); }

  void NameParts(const std::string& origin, const std::string& kind,
                 const std::string& name) override {
    files_.set_origin(origin, kind, name);
  }
  void Rewind(uint64_t pass) override {
    {
      const MutexLock lock(&mutex_);
      found_.clear();
      read_ = 0;
      again_.clear();
      std::fill(given_.begin(), given_.end(), 0);
    }
    LaneDealer::Rewind(pass);
  }
  void SaveState(ReaderState* state) const override {
    mutex_.AssertHeld();  // by LockPlanning
    LaneDealer::SaveState(state);
    if (equal_) state->SetList("given", given_);
    for (const Parts& chunk : found_) {
      if (!IsWhole(chunk)) continue;  // the files find its parts again
      state->Set("found_in_pass", chunk.back().pass());
      state->AddPlace(chunk.back().place());
    }
  }
  void RestoreState(const ReaderState& state) override {
    LaneDealer::RestoreState(state);
    const MutexLock lock(&mutex_);
    if (equal_) given_ = state.List("given");
    if (given_.size() != lanes()) state.Fail(given_.size(), " lanes were given records");
    for (const FilePlace& place : state.places()) {
      Parts chunk = files_.DealAgain(place, state.Get("found_in_pass"));
      if (chunk.empty()) continue;
      if (chunk.back().was_read()) ++read_;
      found_.push_back(std::move(chunk));
    }
  }

  // Where there may be few chunks, so many are found before any of them is dealt.
  bool Deal() override REQUIRES(mutex_) {
    const uint64_t few = dealt_ == 0 ? MostOfFew() : 0;
    bool more = true;
    std::exception_ptr error;
    while (more && !HasFound(read_ < lanes() ? few + 1 : 1)) {
      more = false;
      const Attempt finding([&] {
        mutex_.AssertHeld();
        more = Find();
      });
      finding.ThrowIfMayBeRepeated();
      error = finding.error();  // what was found before it is dealt
      // Of few chunks none is dealt whole for what this process alone has met.
      if (few > 0 && error != nullptr && KeptError(error).interrupts()) {
        std::rethrow_exception(error);
      }
    }
    if (!found_.empty() && !IsWhole(found_.back())) found_.pop_back();
    const std::optional<uint64_t> total = equal_ ? Total() : std::nullopt;
    const bool are_few =
        error == nullptr && found_.size() <= few && read_ < lanes() && CountFound();
    uint64_t before = 0;  // records of few chunks
    try {
      for (; !found_.empty(); found_.pop_front(), ++dealt_) {
        if (are_few) {
          before = DealByTurns(before, total);
        } else if (total) {
          DealEqually(*total);
        } else {
          GiveWhole(dealt_ % lanes());
        }
      }
    } catch (...) {
      found_.clear();  // of the first one, lanes may have a part
      throw;
    }
    if (error != nullptr) std::rethrow_exception(error);
    if (closed_ != files_.files_ended()) FetchOfEndedFiles();
    return more;
  }

  // Up to how many chunks are few, so that they are cut. If each lane had one or two of them, lanes
  // would have the beginning, the middle or the end of the data alone, and a batch that is smaller
  // than the number of lanes the records of one class where the data is ordered by classes. More of
  // them than lanes are found before any is dealt where nothing is read or asked for to find and
  // count them. Each file has one at least, unless it is empty: so many files are not opened before
  // the first of their chunks is dealt.
  uint64_t MostOfFew() const {
    if (files_.files_in_pass() >= lanes()) return 0;
    const std::vector<FileEntry>& files = files_.files();
    const bool is_cheap = files_.tells_all_processes() &&
                          std::all_of(files.begin(), files.end(),
                                      [](const FileEntry& file) { return IsLocal(file.path); });
    return is_cheap ? kFewForALane * lanes() : lanes() - 1;
  }
  // Whether so many chunks are found, with all of their parts.
  bool HasFound(size_t chunks) const REQUIRES(mutex_) {
    return found_.size() >= chunks && IsWhole(found_.back());
  }
  // Finds the next chunk, or a part of it; false at the end of the pass.
  bool Find() REQUIRES(mutex_) {
    if (closed_ != files_.files_ended()) FetchOfEndedFiles();
    std::optional<DealtChunk> part = files_.Deal();
    if (!part) return false;
    if (part->was_read()) ++read_;
    if (!found_.empty() && !IsWhole(found_.back())) {
      found_.back().push_back(std::move(*part));
      return true;
    }
    Parts chunk;  // none is without parts, even if there is no memory for the first
    chunk.push_back(std::move(*part));
    found_.push_back(std::move(chunk));
    return true;
  }
  // How many records a chunk has: as the file tells, if it does so in every process that reads it,
  // or else as fetching it has shown.
  std::optional<uint64_t> RecordsIn(const Parts& chunk) const REQUIRES(mutex_) {
    const bool tells = chunk.back().records() && (equal_ || files_.tells_all_processes());
    return tells ? chunk.back().records() : chunk.back().fetched_records();
  }
  // Counts the records of all chunks that were found, which are few: those that do not tell are
  // fetched. False if one of these has an error, which the lane of the whole chunk is to meet, or
  // has parts.
  bool CountFound() REQUIRES(mutex_) {
    for (Parts& chunk : found_) {
      if (!RecordsIn(chunk) && chunk.size() == 1) {
        chunk.back().Fetch(account());
        chunk.back().CheckIsRead();  // or this process alone would deal whole chunks
      }
      if (!RecordsIn(chunk)) return false;
    }
    return true;
  }
  void GiveWhole(size_t lane) REQUIRES(mutex_) {
    if (!Gets(lane, dealt_)) return;
    for (DealtChunk& part : found_.front()) shares(lane).push_back(std::move(part));
  }
  // Record k of all chunks together, of which `before` are before this one, goes to lane k modulo
  // their number. Returns how many come before the next chunk.
  uint64_t DealByTurns(uint64_t before, const std::optional<uint64_t>& total) REQUIRES(mutex_) {
    Parts& parts = found_.front();
    const uint64_t records = *RecordsIn(parts);
    if (total && records > *total - std::min(before, *total))
      ThrowMore(parts.back().place(), *total);
    for (size_t i = 0; i < std::min<uint64_t>(lanes(), records); ++i) {
      const size_t lane = (before + i) % lanes();
      given_[lane] += (records - i - 1) / lanes() + 1;
      if (!Gets(lane, dealt_)) continue;
      Parts cut = Shared(&parts);
      cut.back().CutTo(i, {records, lanes()});
      for (DealtChunk& part : cut) shares(lane).push_back(std::move(part));
    }
    return before + records;
  }
  // Of a chunk for which its lane has no room left, the lanes after it get the rest.
  void DealEqually(uint64_t total) REQUIRES(mutex_) {
    Parts& parts = found_.front();
    const std::optional<uint64_t> records = RecordsIn(parts);
    if (!records) Throw(ErrorCode::kInternal, "a chunk does not tell how many records it has");
    const uint64_t before = std::accumulate(given_.begin(), given_.end(), uint64_t{0});
    if (*records > total - std::min(before, total)) ThrowMore(parts.back().place(), total);
    uint64_t given = 0;
    for (size_t i = 0; i < lanes() && given < *records; ++i) {
      const size_t lane = (dealt_ + i) % lanes();
      const uint64_t length = LengthOf(lane, total);
      const uint64_t n = std::min(length - std::min(given_[lane], length), *records - given);
      if (n == 0) continue;
      given_[lane] += n;
      given += n;
      if (n == *records) {
        GiveWhole(lane);
      } else if (Gets(lane, dealt_)) {
        Parts cut = Shared(&parts);
        cut.back().CutTo(given - n, {given, 1});
        for (DealtChunk& part : cut) shares(lane).push_back(std::move(part));
      }
    }
  }
  // No lane has been given anything of the chunk at this place, so that its lane meets the error.
  [[noreturn]] void ThrowMore(const FilePlace& place, uint64_t total) const {
    throw Error(ErrorCode::kDataLoss,
                StrCat("there are more records than the ", total,
                       " that the files or their indexes tell; have they changed?"))
        .InFile(files_.files()[place.file].path, static_cast<int64_t>(place.chunk));
  }

  // Chunks wait for their lanes without being fetched, and keep their files open. When no more of a
  // file is dealt, this fetches what waits, so that no more files are open than are read in turn.
  void FetchOfEndedFiles() REQUIRES(mutex_) {
    if (files_.has_place_for_all()) return;
    const auto fetch = [this](DealtChunk* chunk) {
      // If the file of one from a position has changed, its lane finds that.
      if (!chunk->is_restored() && !files_.Deals(chunk->place().file)) chunk->Fetch(account());
    };
    for (size_t v = 0; v < lanes(); ++v) {
      for (DealtChunk& chunk : shares(v)) fetch(&chunk);
    }
    for (Parts& chunk : found_) {
      for (DealtChunk& part : chunk) fetch(&part);
    }
    closed_ = files_.files_ended();
  }

  MultiFileReader& files_;
  std::deque<Parts> found_
      GUARDED_BY(mutex_);               // chunks that are not dealt; the last may lack parts
  size_t read_ GUARDED_BY(mutex_) = 0;  // to be found: fewer than lanes of few chunks
  bool equal_ = false;                  // MakeEqual was called
  std::vector<uint64_t> given_ GUARDED_BY(mutex_);  // to each lane, where they are made equal
  uint64_t closed_ GUARDED_BY(mutex_) = 0;  // files that had ended when this last looked at them
  // What lanes that share a chunk were dealt again, while a position is restored.
  std::map<std::tuple<uint32_t, uint64_t, uint64_t>, Parts> again_ GUARDED_BY(mutex_);
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
    std::vector<uint64_t> ends, strides;
    bool is_cut = false;
    const auto add = [&](const DealtChunk& chunk) {
      if (chunk.is_part()) return;
      state->AddPlace(chunk.place());
      ends.push_back(chunk.cut().end);
      strides.push_back(chunk.cut().stride);
      is_cut = is_cut || !chunk.cut().is_whole();
    };
    if (chunk_) add(*chunk_);
    for (const DealtChunk& chunk : dealer().Waiting(lane())) add(chunk);
    if (!is_cut) return;
    state->SetList("ends", std::move(ends));
    state->SetList("strides", std::move(strides));
  }
  void RestoreState(const ReaderState& state) override {
    pass_ = state.Get("pass");
    next_ = state.Get("next");
    std::deque<DealtChunk> chunks;
    const std::vector<FilePlace>& places = state.places();
    const std::vector<uint64_t> ends = state.List("ends");
    const std::vector<uint64_t> strides = state.List("strides");  // none in older states
    const auto is_for_each = [&](const std::vector<uint64_t>& list) {
      return list.empty() || list.size() == places.size();
    };
    if (!is_for_each(ends) || !is_for_each(strides)) {
      state.Fail(ends.size(), " ends and ", strides.size(), " strides of ", places.size(),
                 " chunks");
    }
    for (size_t i = 0; i < places.size(); ++i) {
      DealtChunk::Cut cut;
      if (!ends.empty()) cut.end = ends[i];
      if (!strides.empty()) cut.stride = std::max<uint64_t>(strides[i], 1);
      for (DealtChunk& chunk : dealer().DealAgain(places[i], cut, pass_)) {
        chunks.push_back(std::move(chunk));
      }
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

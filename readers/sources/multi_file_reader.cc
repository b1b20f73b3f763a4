// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/multi_file_reader.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "framework/base/thread_pool.h"

namespace millhopper {
namespace {

// How many files are opened before a place is free for them, so that a new file has records soon.
// They are few, because each takes a descriptor.
constexpr size_t kMostOpenedAhead = 4;
// How many are opened before their turn for places that are free already.
constexpr size_t kMostOpenedForPlaces = 64;
// How many places are looked at for one that is ready before the consumer does something useful.
constexpr size_t kMostLookedAt = 64;

}  // namespace

ReadAhead ReadAheadOf(const MultiFileOptions& options) {
  return {options.thread_num == 0 ? SIZE_MAX : options.thread_num, options.buffer_size};
}

std::vector<uint32_t> ShuffledFiles(size_t files, const RandomKey& key, uint64_t pass) {
  std::vector<uint32_t> order(files);
  std::iota(order.begin(), order.end(), 0u);
  for (size_t i = files; i-- > 1;) std::swap(order[i], order[key.Below(i + 1, pass, i)]);
  return order;
}

MultiFileReader::MultiFileReader(std::unique_ptr<FileFormat> format, std::vector<FileEntry> entries,
                                 const MultiFileOptions& options)
    : FileReader(std::move(format), std::move(entries), ReadAheadOf(options)), options_(options) {
  Require(!files().empty(), "there is no file to read");
  Require(files().size() <= static_cast<size_t>(kMaxListLength), "a list of ", files().size(),
          " files; the limit is ", kMaxListLength);
  Require(options_.buffer_size > 0, "buffer_size is 0; it must be at least 1");
  Require(options_.cycle_length > 0, "cycle_length is 0; it must be at least 1");
  Require(options_.pass_num > 0, "pass_num is 0; it must be at least 1");
  if (options_.pass_num > 1)
    RefuseReadOnce(StrCat("there are to be ", options_.pass_num, " passes"));
}

std::optional<uint64_t> MultiFileReader::PassLength() const {
  std::optional<uint64_t> records = FileReader::PassLength();
  if (records && __builtin_mul_overflow(*records, options_.pass_num, &*records)) records.reset();
  return records;
}

void MultiFileReader::Rewind(uint64_t pass) {
  places_.clear();
  waiting_.clear();
  CloseFiles();
  pass_ = pass;
  begun_ = false;
}

void MultiFileReader::Begin() {
  if (begun_) return;
  begun_ = true;
  sample_ = 0;
  opening_round_ = 0;
  next_to_open_ = 0;
  BeginRound(0);
}

// If one round of the files had no record, later rounds have none either.
bool MultiFileReader::NextRound() {
  if (round_ + 1 == options_.pass_num || !round_taken_) return false;
  BeginRound(round_ + 1);
  return true;
}

std::optional<DealtChunk> MultiFileReader::Deal() {
  Begin();
  do {
    while (!places_.empty()) {
      if (*cursor_) {
        if (std::optional<DealtChunk> chunk = (*cursor_)->Deal()) {
          round_taken_ = true;
          if (!chunk->is_part()) cursor_ = Next(cursor_);
          return chunk;
        }
        Vacate();
      }
      RefillPlace();
    }
  } while (NextRound());
  return std::nullopt;
}

bool MultiFileReader::Deals(uint32_t file) const {
  return std::any_of(places_.begin(), places_.end(), [file](const Ref<ChunkQueue>& place) {
    return place && place->file() == file;
  });
}

void MultiFileReader::PlanNext(size_t n, TicketRun* run) {
  Begin();
  try {
    Interleave(n, run);
  } catch (...) {
    throw CurrentError().WithContext(ReadingRecord(sample_));
  }
}

void MultiFileReader::Interleave(size_t n, TicketRun* run) {
  const size_t before = run->tickets.size();
  while (n > 0) {
    // Plans no further than a chunk, so that the caller may release its records before the next
    // chunk is read.
    const bool more = !places_.empty() && *cursor_ && (*cursor_)->available() > 0;
    if (!more && run->tickets.size() > before) return;
    if (!FillPlace()) {
      if (!NextRound()) return;
      continue;
    }
    n -= Take(n, run);
  }
}

// Looks at no more places than it takes from or passes over, and one, so that the time for a record
// does not depend on their number. If all places pass over their records, nothing is taken, and any
// number of records is passed over in one step.
size_t MultiFileReader::Take(size_t n, TicketRun* run) {
  size_t places = 0;
  size_t taking = 0;  // of them
  size_t rounds = SIZE_MAX;
  Places::iterator place = cursor_;
  do {
    const size_t available = *place ? (*place)->available() : 0;
    if (available == 0) break;
    if (!(*place)->passes_over()) {
      if (taking == n) break;
      ++taking;
    }
    rounds = std::min(rounds, available);
    ++places;
    place = Next(place);
  } while (place != cursor_);
  if (places < places_.size()) {
    rounds = 1;
  } else if (taking > 0) {
    rounds = std::min(rounds, n / taking);
  }
  const size_t taken = TakeRounds(places, rounds, run);
  cursor_ = place;
  return taken;
}

size_t MultiFileReader::TakeRounds(size_t places, size_t rounds, TicketRun* run) {
  // Memory is taken first, so that a lack of it leaves nothing half done.
  size_t taking = 0;
  Places::iterator place = cursor_;
  for (size_t i = 0; i < places; ++i, place = Next(place)) {
    if ((*place)->passes_over()) continue;
    (*place)->KeepIn(run);
    ++taking;
  }
  const size_t first = run->tickets.size();
  run->tickets.resize(first + rounds * taking);
  size_t taken = 0;
  place = cursor_;
  for (size_t i = 0; i < places; ++i, place = Next(place)) {
    if ((*place)->passes_over()) {
      (*place)->PassOver(rounds);
    } else {
      (*place)->Take(rounds, taking, sample_ + i, places, run->tickets.data() + first + taken);
      ++taken;
    }
  }
  sample_ += rounds * places;
  round_taken_ = round_taken_ || taking > 0;
  return rounds * taking;
}

void MultiFileReader::BeginRound(uint64_t round) {
  round_ = round;
  round_taken_ = false;
  empty_ = std::min(options_.cycle_length, files().size());
  places_.assign(empty_, Ref<ChunkQueue>());
  cursor_ = places_.begin();
}

bool MultiFileReader::FillPlace() {
  while (!places_.empty()) {
    if (!options_.deterministic) FindReadyPlace();
    Ref<ChunkQueue>& place = *cursor_;
    if (place && Fill(place.get())) return true;
    if (place) {
      prefetcher().Remove(*place);
      Vacate();
    }
    RefillPlace();
  }
  return false;
}

void MultiFileReader::Vacate() {
  *cursor_ = Ref<ChunkQueue>();
  ++empty_;
  ++ended_;
}

void MultiFileReader::RefillPlace() {
  if (PlaceNextFile()) return;
  cursor_ = places_.erase(cursor_);
  --empty_;
  if (cursor_ == places_.end()) cursor_ = places_.begin();
}

void MultiFileReader::FindReadyPlace() {
  if (*cursor_ && (*cursor_)->available() > 0) return;
  const WaitTimer timer(counters());
  Places::iterator place = cursor_;
  const auto any_is_there = [this] {
    return std::any_of(places_.begin(), places_.end(),
                       [](const Ref<ChunkQueue>& one) { return !one || !one->IsNextUnderWay(); });
  };
  const auto may_go_on = [this] {
    return (*cursor_)->backlog().idle ||
           std::any_of(places_.begin(), places_.end(), [](const Ref<ChunkQueue>& one) {
             return !one || !(one->IsNextUnderWay() || one->backlog().idle);
           });
  };
  for (;;) {
    const size_t looked_at = std::min(kMostLookedAt, places_.size());
    for (size_t i = 0; i < looked_at; ++i, place = Next(place)) {
      if (!*place || prefetcher().Ready(place->get())) {
        cursor_ = place;
        return;
      }
    }
    // No thread works on this place's next chunk: stop here, and the caller's Fill fetches it.
    if ((*cursor_)->backlog().idle) return;
    CheckWait();
    prefetcher().HelpOrSleep(any_is_there, may_go_on);
  }
}

bool MultiFileReader::PlaceNextFile() {
  OpenAhead(1, true);
  if (waiting_.empty() || waiting_.front().round != round_) return false;
  *cursor_ = std::move(waiting_.front().queue);
  --empty_;
  waiting_.pop_front();
  const size_t ahead = std::min<size_t>(kMostOpenedAhead, ThreadPool::Get().size());
  if (ahead > 0) OpenAhead(std::min(empty_, kMostOpenedForPlaces) + ahead, false);
  return true;
}

void MultiFileReader::OpenAhead(size_t files_wanted, bool needed) {
  const uint64_t last_round = needed ? round_ : options_.pass_num - 1;
  while (waiting_.size() < files_wanted) {
    if (next_to_open_ == files().size()) {
      if (opening_round_ >= last_round) return;
      ++opening_round_;
      next_to_open_ = 0;
    }
    if (opening_round_ > last_round) return;
    if (next_to_open_ == 0) OrderFiles();
    const size_t file = options_.shuffle_files ? order_[next_to_open_] : next_to_open_;
    try {
      waiting_.push_back({OpenFile(file, pass_), opening_round_, next_to_open_});
    } catch (const Error&) {
      if (needed) throw;
      return;  // opened again when its turn comes; a descriptor may be free then
    }
    ++next_to_open_;
  }
}

void MultiFileReader::OrderFiles() {
  if (!options_.shuffle_files) return;
  order_ = ShuffledFiles(files().size(), options_.key, pass_ * options_.pass_num + opening_round_);
}

// Files that wait for a place have yielded nothing, so that they are opened again as if they had
// not been opened yet.
void MultiFileReader::SaveState(ReaderState* state) const {
  SaveFiles(state);
  state->Setting("cycle_length", options_.cycle_length);
  state->Setting("pass_num", options_.pass_num);
  if (options_.shuffle_files) state->Setting("random_key", options_.key.Bits(0, 0));
  state->Set("pass", pass_);
  if (!begun_) return;
  state->Set("sample", sample_);
  state->Set("round", round_);
  state->Set("round_taken", round_taken_ ? 1 : 0);
  state->Set("opening_round", waiting_.empty() ? opening_round_ : waiting_.front().round);
  state->Set("next_to_open", waiting_.empty() ? next_to_open_ : waiting_.front().place);
  std::vector<uint64_t> filled, within_chunk;
  size_t i = 0;
  size_t cursor = 0;
  for (auto place = places_.begin(); place != places_.end(); ++place, ++i) {
    if (place == cursor_) cursor = i;
    if (!*place) continue;
    filled.push_back(i);
    state->AddPlace((*place)->place());
    if ((*place)->available() > 0) within_chunk.push_back(i);
  }
  state->Set("cursor", cursor);
  state->Set("places", places_.size());
  state->SetList("filled", std::move(filled));
  state->SetList("within_chunk", std::move(within_chunk));
}

void MultiFileReader::RestoreState(const ReaderState& state) {
  RestoreFiles(state);
  pass_ = state.Get("pass");
  const uint64_t most_places = std::min(options_.cycle_length, files().size());
  if (state.end() || !state.Has("sample")) return;
  begun_ = true;
  sample_ = state.Get("sample");
  round_ = state.Get("round", options_.pass_num - 1);
  round_taken_ = state.Get("round_taken", 1) == 1;
  opening_round_ = state.Get("opening_round", options_.pass_num - 1);
  next_to_open_ = state.Get("next_to_open", files().size());
  OrderFiles();
  empty_ = state.Get("places", most_places);
  std::vector<Ref<ChunkQueue>> places(empty_);
  const uint64_t cursor = state.Get("cursor", places.empty() ? 0 : places.size() - 1);
  const std::vector<uint64_t>& filled = state.List("filled");
  if (filled.size() != state.places().size()) state.Fail("not every file that is read has a place");
  for (size_t i = 0; i < filled.size(); ++i) {
    const FilePlace& place = state.places()[i];
    CheckPlace(state, place);
    if (filled[i] >= places.size() || places[filled[i]]) state.Fail("two files have one place");
    places[filled[i]] = OpenFile(place.file, pass_, place);
    --empty_;
  }
  // A Plan ends with the chunks that are fetched, which decides the records that other readers of
  // this one get. So chunks that were fetched are fetched now.
  for (const uint64_t i : state.List("within_chunk")) {
    if (i >= places.size() || !places[i]) state.Fail("there is no file at a place within a chunk");
    try {
      Fill(places[i].get());
    } catch (...) {  // an error of the file comes in its place
      if (CurrentError().interrupts()) throw;
    }
  }
  places_.assign(places.begin(), places.end());
  cursor_ = std::next(places_.begin(), static_cast<std::ptrdiff_t>(cursor));
}

}  // namespace millhopper

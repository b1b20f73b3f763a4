// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/random_order_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/io/counted_reads.h"
#include "readers/sources/numbers_again.h"
#include "readers/sources/random_order_source.h"

namespace millhopper {
namespace {

// Records that are planned again together keep one another in memory: at most so many, of about so
// many bytes together.
constexpr size_t kMostPlannedAgainTogether = 256;
constexpr size_t kPlannedAgainBytes = size_t{1} << 20;

}  // namespace

RandomOrderReader::RandomOrderReader(std::unique_ptr<FileFormat> format,
                                     std::vector<FileEntry> entries, const RandomKey& key)
    : FileReader(std::move(format), std::move(entries),
                 ReadAhead{SIZE_MAX, 0, RandomOrderSource::kChunksPerThread}),
      key_(key) {
  Require(!files().empty(), "there is no file to read");
  RefuseReadOnce("shuffle_records reads records at any place");
}

RandomOrderReader::~RandomOrderReader() = default;

void RandomOrderReader::TakeShare(const ChunkShare&) {
  Throw(ErrorCode::kInvalidArgument, origin(),
        " reads records in a random order, so that no shard can leave out chunks; use by: "
        "\"record\", which costs no more here");
}

void RandomOrderReader::Open() {
  if (records_) return;
  const CountedReads reads(counters()->sum_of_bytes_read());
  Ref<NumberedRecords> records(new NumberedRecords);
  for (size_t i = 0; i < files().size(); ++i) records->Add(OpenSource(i), files()[i].path);
  records_ = Ref<const NumberedRecords>(records.get());
}

void RandomOrderReader::Begin() {
  Open();
  Ref<ChunkQueue> queue(new ChunkQueue(
      std::make_unique<RandomOrderSource>(records_, Permutation(records_->count(), key_, pass_),
                                          next_),
      {0, pass_, files().front().path, format().library(), ChunkShare{}, counters()}));
  prefetcher().Add(queue);
  queue_ = std::move(queue);
}

void RandomOrderReader::PlanNext(size_t n, TicketRun* run) {
  try {
    if (!queue_) Begin();
    if (!Fill(queue_.get())) return;
    const size_t taken = std::min(n, queue_->available());
    const size_t first = run->tickets.size();
    queue_->Take(taken, next_, run);
    Ticket* const tickets = run->tickets.data() + first;
    next_ += taken;
    // The queue knows where a record is in the chunk; its name says where it lies in the files.
    const uint64_t* const numbers =
        RandomOrderSource::NumbersOf(*tickets->object<Chunk>()) + tickets->id.record;
    for (size_t i = 0; i < taken; ++i) {
      const NumberedRecords::Place place = records_->PlaceOf(numbers[i]);
      tickets[i].id.file = place.file;
      tickets[i].id.chunk = place.chunk;
      tickets[i].id.record = place.record;
      tickets[i].index = place.index;
    }
  } catch (...) {
    throw CurrentError().WithContext(ReadingRecord(next_));
  }
}

void RandomOrderReader::Rewind(uint64_t pass) {
  pass_ = pass;
  next_ = 0;
  CloseFiles();
  queue_ = Ref<ChunkQueue>();
  records_ = Ref<const NumberedRecords>();
}

void RandomOrderReader::SaveState(ReaderState* state) const {
  SaveFiles(state);
  state->Setting("random_key", key_.Bits(0, 0));
  state->Set("pass", pass_);
  state->Set("next", next_);
}

void RandomOrderReader::RestoreState(const ReaderState& state) {
  RestoreFiles(state);
  pass_ = state.Get("pass");
  next_ = state.Get("next");
  if (next_ == 0 || state.end()) return;
  Open();
  if (next_ > records_->count()) {
    state.Fail("it is after record ", next_, " of ", records_->count());
  }
  Begin();
}

void RandomOrderReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  if (names.count == 0) return;
  Open();
  const std::vector<uint64_t> numbers = NumbersAgain(names, records_->count(), key_, origin());
  const CountedReads reads(counters()->sum_of_bytes_read());
  const size_t bytes = records_->record_bytes();
  const size_t together =
      std::clamp<size_t>(kPlannedAgainBytes / bytes, 1, kMostPlannedAgainTogether);
  Ref<Chunk> chunk;
  char* next = nullptr;
  for (size_t i = 0; i < numbers.size(); ++i, next += bytes) {
    const RecordId& id = names.records[i];
    try {
      if (i % together == 0) {
        CheckStop();  // there may be many
        chunk = Pool<Chunk>::Take();
        chunk->bytes = BufferPool::At(Place()).Take(std::min(together, numbers.size() - i) * bytes);
        next = chunk->bytes->data();
      }
      records_->Read(numbers[i], 1, next);
    } catch (...) {
      throw CurrentError().WithContext(ReadingRecord(id.sample));
    }
    const NumberedRecords::Place place = records_->PlaceOf(numbers[i]);
    Ticket ticket;
    ticket.id.pass = id.pass;
    ticket.id.sample = id.sample;
    ticket.id.file = place.file;
    ticket.id.chunk = place.chunk;
    ticket.id.record = place.record;
    ticket.index = place.index;
    ticket.bytes = next;
    ticket.size = static_cast<uint32_t>(bytes);
    ticket.owner = chunk.get();
    take(i, ticket);
  }
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "readers/random_order_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "framework/base/at_work.h"
#include "framework/base/error.h"
#include "framework/io/counted_reads.h"
#include "readers/random_order_source.h"

namespace millhopper {

RandomOrderReader::RandomOrderReader(std::unique_ptr<FileFormat> format,
                                     std::vector<FileEntry> entries, const RandomKey& key)
    : FileReader(std::move(format), std::move(entries),
                 ReadAhead{SIZE_MAX, 0, RandomOrderSource::kChunksPerThread}),
      key_(key) {
  Require(!files().empty(), "there is no file to read");
}

RandomOrderReader::~RandomOrderReader() = default;

void RandomOrderReader::TakeShare(const ChunkShare&) {
  Throw(ErrorCode::kInvalidArgument, origin(),
        " reads records in a random order, so that no shard can leave out chunks; use by: "
        "\"record\", which costs no more here");
}

Ref<const NumberedRecords> RandomOrderReader::OpenAll() {
  const CountedReads reads(counters()->sum_of_bytes_read());
  Ref<NumberedRecords> records(new NumberedRecords);
  for (const FileEntry& file : files()) {
    AtWork at_work;
    at_work->library = format().library();
    at_work->file = file.path.c_str();
    records->Add(format().Open(file), file.path);
  }
  return Ref<const NumberedRecords>(records.get());
}

void RandomOrderReader::Begin() {
  Ref<const NumberedRecords> records = OpenAll();
  Ref<ChunkQueue> queue(new ChunkQueue(
      std::make_unique<RandomOrderSource>(records, Permutation(records->count(), key_, pass_)),
      {0, pass_, files().front().path, format().library(), ChunkShare{}, counters()}));
  prefetcher().Add(queue);
  records_ = std::move(records);
  queue_ = std::move(queue);
}

void RandomOrderReader::PlanNext(size_t n, TicketRun* run) {
  try {
    if (!queue_) Begin();
    if (!Fill(queue_.get())) return;
    const size_t taken = std::min(n, queue_->available());
    const size_t first = run->tickets.size();
    queue_->KeepIn(run);
    run->tickets.resize(first + taken);
    Ticket* const tickets = run->tickets.data() + first;
    queue_->Take(taken, 1, next_, 1, tickets);
    next_ += taken;
    // The queue knows where a record is in the chunk; its name says where it lies in the files.
    const uint64_t* const numbers =
        RandomOrderSource::NumbersOf(*tickets->object<Chunk>()) + tickets->id.record;
    for (size_t i = 0; i < taken; ++i) {
      const NumberedRecords::Place place = records_->PlaceOf(numbers[i]);
      tickets[i].id.file = place.file;
      tickets[i].id.chunk = place.offset;
      tickets[i].id.record = 0;
      tickets[i].index = 0;
    }
  } catch (...) {
    throw CurrentError().WithContext(ReadingRecord(next_));
  }
}

void RandomOrderReader::Rewind(uint64_t pass) {
  pass_ = pass;
  next_ = 0;
  prefetcher().Stop();
  queue_ = Ref<ChunkQueue>();
  records_ = Ref<const NumberedRecords>();
}

}  // namespace millhopper

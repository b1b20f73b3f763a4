// SPDX-License-Identifier: Apache-2.0
#include "readers/random_order_reader.h"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/memory.h"
#include "framework/io/counted_reads.h"

namespace millhopper {
namespace {

// Records are read and then loaded, so many at once: few enough to be in the cache still.
constexpr size_t kReadAtOnce = 32;
constexpr size_t kBytesAtOnce = 64 << 10;

}  // namespace

// The files of a pass. Tickets keep them open.
class RandomOrderReader::OpenedFiles final : public Kept {
 public:
  void Add(std::unique_ptr<FileSource> source, const RecordTable& table) {
    // Formats see to it that all files of a reader have the same slots.
    if (!tables_.empty() && table.record_bytes != record_bytes()) {
      Throw(ErrorCode::kInternal, "records of ", table.record_bytes, " bytes behind those of ",
            record_bytes());
    }
    sources_.push_back(std::move(source));
    tables_.push_back(table);
    ends_.push_back(records() + table.records);
  }
  uint64_t records() const { return ends_.empty() ? 0 : ends_.back(); }
  size_t record_bytes() const { return tables_.front().record_bytes; }

  // Names record number `index` of all files; the byte at which it begins takes the place of its
  // chunk's.
  void Name(uint64_t index, Ticket* ticket) {
    const auto file =
        static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin());
    const RecordTable& table = tables_[file];
    ticket->id.file = static_cast<uint32_t>(file);
    ticket->id.chunk = table.begin + RecordOf(index, file) * table.bytes_in_file;
    ticket->owner = this;
  }
  void Read(const Ticket& ticket, char* out) const {
    const RecordTable& table = tables_[ticket.id.file];
    const uint64_t record = (ticket.id.chunk - table.begin) / table.bytes_in_file;
    sources_[ticket.id.file]->ReadRecord(record, out);
  }

 private:
  uint64_t RecordOf(uint64_t index, size_t file) const {
    return file == 0 ? index : index - ends_[file - 1];
  }

  std::vector<std::unique_ptr<FileSource>> sources_;
  std::vector<RecordTable> tables_;
  std::vector<uint64_t> ends_;  // records up to the end of each file
};

RandomOrderReader::RandomOrderReader(std::unique_ptr<FileFormat> format,
                                     std::vector<FileEntry> entries, const RandomKey& key)
    : FileReader(std::move(format), std::move(entries), ReadAhead{}), key_(key) {
  Require(!files().empty(), "there is no file to read");
}

RandomOrderReader::~RandomOrderReader() = default;

void RandomOrderReader::TakeShare(const ChunkShare&) {
  Throw(ErrorCode::kInvalidArgument, origin(),
        " reads records in a random order, so that no shard can leave out chunks; use by: "
        "\"record\", which costs no more here");
}

Ref<RandomOrderReader::OpenedFiles> RandomOrderReader::OpenAll() {
  const CountedReads reads(counters()->sum_of_bytes_read());
  Ref<OpenedFiles> opened(new OpenedFiles);
  for (size_t i = 0; i < files().size(); ++i) {
    std::unique_ptr<FileSource> source = OpenSource(i);
    const std::optional<RecordTable> table = source->Records();
    if (!table) {
      throw Error(ErrorCode::kInvalidArgument,
                  "shuffle_records needs files in which each record can be read by itself: plain "
                  "files of the formats fixed, idx and npy")
          .InFile(files()[i].path, -1);
    }
    opened->Add(std::move(source), *table);
  }
  return opened;
}

void RandomOrderReader::PlanNext(size_t n, TicketRun* run) {
  try {
    Begin();
    const auto taken = static_cast<size_t>(std::min<uint64_t>(n, opened_->records() - next_));
    if (taken == 0) return;
    run->Keep(opened_.get());
    const size_t first = run->tickets.size();
    run->tickets.resize(first + taken);
    for (size_t i = 0; i < taken; ++i) {
      Ticket* const ticket = &run->tickets[first + i];
      ticket->id.pass = pass_;
      ticket->id.sample = next_;
      opened_->Name((*order_)[next_++], ticket);
    }
  } catch (...) {
    throw CurrentError().WithContext(ReadingRecord(next_));
  }
}

void RandomOrderReader::Begin() {
  if (opened_) return;
  Ref<OpenedFiles> opened = OpenAll();
  order_.emplace(opened->records(), key_, pass_);
  opened_ = std::move(opened);
}

void RandomOrderReader::SaveState(ReaderState* state) const {
  SaveFiles(state);
  state->Setting("random_key", key_.Bits(0, 0));
  state->Set("pass", pass_);
  state->Set("next", next_);
}

void RandomOrderReader::RestoreState(const ReaderState& state) {
  pass_ = state.Get("pass");
  next_ = state.Get("next");
  if (next_ == 0 || state.end()) return;
  Begin();
  if (next_ > opened_->records()) {
    state.Fail("it is behind record ", next_, " of ", opened_->records());
  }
}

void RandomOrderReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  if (names.count == 0) return;
  Require(names.records.size() == names.count, "the position names ", names.count, " elements of ",
          origin(), ", but ", names.records.size(), " records");
  Begin();
  std::map<uint64_t, Permutation> orders;  // by pass
  for (size_t i = 0; i < names.count; ++i) {
    const RecordId& id = names.records[i];
    Require(id.sample < opened_->records(), "the position names element ", id.sample, " of the ",
            opened_->records(), " of ", origin());
    const auto order = orders.try_emplace(id.pass, opened_->records(), key_, id.pass).first;
    Ticket ticket;
    ticket.id.pass = id.pass;
    ticket.id.sample = id.sample;
    opened_->Name(order->second[id.sample], &ticket);
    take(i, ticket);
  }
}

void RandomOrderReader::Rewind(uint64_t pass) {
  pass_ = pass;
  next_ = 0;
  order_.reset();
  opened_ = Ref<OpenedFiles>();
}

void RandomOrderReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  const CountedReads reads(counters()->sum_of_bytes_read());
  std::array<Ticket, kReadAtOnce> read;
  while (n > 0) {
    const auto& opened = *tickets->object<OpenedFiles>();
    const size_t stride = opened.record_bytes();
    const size_t count = std::min({n, kReadAtOnce, 1 + kBytesAtOnce / stride});
    const Ref<Buffer> bytes = BufferPool::At(Place()).Take(count * stride);
    size_t done = 0;
    std::exception_ptr error;
    try {
      for (; done < count; ++done) {
        read[done] = tickets[done];
        read[done].bytes = bytes->data() + done * stride;
        read[done].size = static_cast<uint32_t>(stride);
        opened.Read(tickets[done], bytes->data() + done * stride);
      }
    } catch (...) {
      // The records before it come first, and one of them may be wrong, too.
      error = std::make_exception_ptr(
          CurrentError().WithContext(ReadingRecord(tickets[done].id.sample)));
    }
    if (done > 0) FileReader::LoadRows(read.data(), done, rows);
    if (error) std::rethrow_exception(error);
    tickets += count;
    n -= count;
  }
}

}  // namespace millhopper

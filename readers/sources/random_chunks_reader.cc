// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/random_chunks_reader.h"

#include <algorithm>
#include <any>
#include <utility>

#include "framework/base/at_work.h"
#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/base/thread_pool.h"
#include "framework/io/counted_reads.h"
#include "framework/memory/memory_limit.h"

namespace millhopper {

// What Claim says of the chunks of all files. It does not change once it is made.
class RandomChunksReader::Table {
 public:
  // Chunks that are read together: parts of one (Chunk::is_part), or one alone.
  struct Unit {
    size_t first;  // of the parts
    uint32_t count;
    uint32_t file;
    uint64_t number;  // in the file
  };

  void Add(std::unique_ptr<FileSource> source, const FileEntry& file) {
    const auto index = static_cast<uint32_t>(sources_.size());
    sources_.push_back(std::move(source));
    uint64_t number = 0;
    for (size_t first = parts_.size();;) {
      CheckStop();  // there may be very many
      const Ref<Chunk> chunk = Pool<Chunk>::Take();
      if (!sources_.back()->Claim(chunk.get())) return;
      // A stream has read the chunk to find its end. What recordio may have read to recognise its
      // dialect is read again.
      if (!chunk->pieces.empty() || (chunk->bytes && !chunk->records)) {
        throw Error(
            ErrorCode::kInvalidArgument,
            "shuffle_chunks needs files whose chunks can be found without reading them, "
            "but this one is a stream: a file that is compressed as a whole, one of quoted "
            "text, or one of tfrecord or mxnet without an index; use create_shuffle_reader or, "
            "unless it is compressed, make an index of it (recordio index)")
            .InFile(file.path, -1);
      }
      parts_.push_back({chunk->offset, chunk->length, std::move(chunk->claimed), chunk->records,
                        chunk->is_part});
      if (chunk->is_part) continue;
      units_.push_back({first, static_cast<uint32_t>(parts_.size() - first), index, number++});
      first = parts_.size();
    }
  }

  uint64_t size() const { return units_.size(); }
  const Unit& operator[](uint64_t i) const { return units_[i]; }
  // The records of a unit, where the format tells them.
  uint64_t RecordsOf(const Unit& unit) const {
    return parts_[unit.first + unit.count - 1].records.value_or(0);
  }
  // As Claim left it. The source of its file fetches it.
  void Describe(size_t part, Chunk* chunk) const {
    const Part& claimed = parts_[part];
    chunk->offset = claimed.offset;
    chunk->length = claimed.length;
    chunk->claimed = claimed.claimed;
    chunk->records = claimed.records;
    chunk->is_part = claimed.is_part;
  }
  const FileSource& SourceOf(const Unit& unit) const { return *sources_[unit.file]; }

 private:
  struct Part {
    uint64_t offset, length;
    std::any claimed;
    std::optional<uint64_t> records;
    bool is_part;
  };

  std::vector<std::unique_ptr<FileSource>> sources_;  // one a file
  PooledVector<Part> parts_;
  PooledVector<Unit> units_;
};

// A file, as far as its queue knows, that has one unit.
class RandomChunksReader::OneChunk final : public FileSource {
 public:
  OneChunk(std::shared_ptr<const Table> table, const Table::Unit& unit)
      : table_(std::move(table)), unit_(unit) {}

  bool Claim(Chunk* chunk) override {
    if (claimed_ == unit_.count) return false;
    table_->Describe(unit_.first + claimed_, chunk);
    ++claimed_;
    return true;
  }
  void Fetch(Chunk* chunk) const override { table_->SourceOf(unit_).Fetch(chunk); }

 private:
  const std::shared_ptr<const Table> table_;
  const Table::Unit unit_;
  uint32_t claimed_ = 0;
};

RandomChunksReader::RandomChunksReader(std::unique_ptr<FileFormat> format,
                                       std::vector<FileEntry> entries, ReadAhead read_ahead,
                                       const RandomKey& key)
    : FileReader(std::move(format), std::move(entries), read_ahead), key_(key) {
  Require(!files().empty(), "there is no file to read");
  RefuseReadOnce("shuffle_chunks looks for the chunks before it reads them");
}

RandomChunksReader::~RandomChunksReader() { prefetcher().Stop(); }

std::shared_ptr<const RandomChunksReader::Table> RandomChunksReader::ClaimAll() {
  const MemoryScope scope(account());
  const auto table = std::make_shared<Table>();
  for (size_t i = 0; i < files().size(); ++i) {
    std::unique_ptr<FileSource> source = OpenSource(i);
    const CountedReads reads(counters()->sum_of_bytes_read());
    AtWork at_work;
    at_work->library = format().library();
    at_work->file = files()[i].path.c_str();
    table->Add(std::move(source), files()[i]);
  }
  return table;
}

void RandomChunksReader::ReadAheadInOrder() {
  const size_t workers = std::min<size_t>(read_ahead().workers, ThreadPool::Get().size());
  while (waiting_.size() < 2 * (workers + 1) && next_ < table_->size()) {
    const Table::Unit& unit = (*table_)[(*order_)[next_]];
    if ((unit.file + unit.number) % share().count == share().index) {
      waiting_.push_back(
          {Enqueue(std::make_unique<OneChunk>(table_, unit), unit.file, pass_, ChunkShare()), next_,
           left_out_});
      left_out_ = 0;
    } else {
      left_out_ += table_->RecordsOf(unit);
    }
    ++next_;
  }
}

void RandomChunksReader::Begin() {
  if (table_) return;
  std::shared_ptr<const Table> table = ClaimAll();
  order_.emplace(table->size(), key_, pass_);
  table_ = std::move(table);
}

void RandomChunksReader::PlanNext(size_t n, TicketRun* run) {
  try {
    Begin();
    for (;;) {
      ReadAheadInOrder();
      if (waiting_.empty()) {
        table_ = nullptr;  // with the files, which are not needed any more
        return;
      }
      sample_ += std::exchange(waiting_.front().left_out, 0);
      if (Fill(waiting_.front().queue.get())) break;
      prefetcher().Remove(*waiting_.front().queue);
      waiting_.pop_front();
      taken_ = 0;
    }
    const size_t taken = TakeFrom(waiting_.front().queue.get(), n, sample_, run);
    taken_ += taken;
    sample_ += taken;
  } catch (...) {
    throw CurrentError().WithContext(ReadingRecord(sample_));
  }
}

void RandomChunksReader::Rewind(uint64_t pass) {
  CloseFiles();
  waiting_.clear();
  table_ = nullptr;
  order_.reset();
  pass_ = pass;
  next_ = left_out_ = taken_ = sample_ = 0;
}

void RandomChunksReader::SaveState(ReaderState* state) const {
  SaveFiles(state);
  state->Setting("random_key", key_.Bits(0, 0));
  state->Set("pass", pass_);
  state->Set("sample", sample_);
  state->Set("next_chunk", waiting_.empty() ? next_ : waiting_.front().place);
  state->Set("left_out", waiting_.empty() ? left_out_ : waiting_.front().left_out);
  state->Set("taken", taken_);
  if (table_) state->Set("chunks", table_->size());
}

void RandomChunksReader::RestoreState(const ReaderState& state) {
  RestoreFiles(state);
  pass_ = state.Get("pass");
  sample_ = state.Get("sample");
  next_ = state.Get("next_chunk");
  left_out_ = state.Get("left_out");
  const uint64_t taken = state.Get("taken");
  if (state.end() || next_ + taken == 0) return;
  try {
    Begin();
    if (state.Get("chunks") != table_->size()) {
      Throw(ErrorCode::kDataLoss, "its files had ", state.Get("chunks"),
            " chunks when the position was saved, and have ", table_->size(),
            " now; the files have changed since");
    }
    if (next_ > table_->size()) {
      state.Fail("it is after chunk ", next_, " of ", table_->size());
    }
    ReadAheadInOrder();
    // Drops what was taken of the first chunk.
    for (TicketRun dropped; taken_ < taken; dropped.Clear()) {
      if (waiting_.empty() || !Fill(waiting_.front().queue.get())) {
        state.Fail("it is after record ", taken, " of a chunk that has ", taken_);
      }
      taken_ += TakeFrom(waiting_.front().queue.get(), taken - taken_, sample_, &dropped);
    }
  } catch (...) {
    throw CurrentError().WithContext(ReadingRecord(sample_));
  }
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow/arrow_stream_reader.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/memory/memory_limit.h"

namespace millhopper {
namespace {

constexpr uint64_t kRowsAtOnce = 1 << 14;  // of a batch, which may be a whole table
// More than a stream can have. Positions may name any number.
constexpr uint64_t kMostBatches = uint64_t{1} << 62;

// Throws unless a function of the stream has returned 0.
void Check(ArrowArrayStream* stream, int status, const char* what) {
  if (status == 0) return;
  const char* const text =
      stream->get_last_error == nullptr ? nullptr : stream->get_last_error(stream);
  Throw(ErrorCode::kDataLoss, what, ": ", text == nullptr ? std::strerror(status) : Escaped(text));
}

std::string ReadingBatch(uint64_t batch) { return StrCat("while reading batch ", batch); }

}  // namespace

ArrowStreamReader::ArrowStreamReader(Open open, std::vector<Field> fields)
    : ReaderBase(SlotsOf(fields)), open_(std::move(open)), fields_(std::move(fields)) {}

std::unique_ptr<ArrowStreamReader::Pass> ArrowStreamReader::Begin() const {
  auto pass = std::make_unique<Pass>();
  ArrowArrayStream* const stream = pass->stream.out();
  open_(stream);
  if (stream->release == nullptr || stream->get_schema == nullptr || stream->get_next == nullptr) {
    Throw(ErrorCode::kInvalidArgument, "the stream has been read already");
  }
  ArrowOwned<ArrowSchema> schema;
  Check(stream, stream->get_schema(stream, schema.out()), "the stream gives no schema");
  pass->rows = std::make_shared<ArrowRows>(fields_, *schema, FindColumns(fields_, *schema));
  return pass;
}

bool ArrowStreamReader::NextBatch(Pass* pass) const {
  pass->batch = nullptr;
  pass->table = Ref<ArrowTable>();
  auto batch = std::make_unique<ArrowOwned<ArrowArray>>();
  ArrowArrayStream* const stream = pass->stream.out();
  Check(stream, stream->get_next(stream, batch->out()), "the stream gives no more");
  if ((*batch)->release == nullptr) return false;
  const auto rows = static_cast<uint64_t>(std::max<int64_t>((*batch)->length, 0));
  if (expects_save() && rows > UINT32_MAX) {
    Throw(ErrorCode::kResourceLimit, "a batch of ", rows, " rows; a position can name ",
          UINT32_MAX);
  }
  pass->rows_before += pass->batch_rows;
  pass->batch_rows = rows;
  pass->batch = std::move(batch);
  pass->next_row = 0;
  ++pass->batches_begun;
  return true;
}

void ArrowStreamReader::ListRows(uint64_t begin, uint64_t end, Pass* pass, Chunk* chunk) const {
  if (window_) {
    return pass->rows->AppendRecords(**pass->batch, static_cast<int64_t>(begin),
                                     static_cast<int64_t>(end), 0, chunk);
  }
  if (!pass->table) {
    Ref<ArrowPart> columns(new ArrowPart(pass->rows, nullptr));
    columns->Add(std::move(pass->batch));
    pass->table = Ref<ArrowTable>(new ArrowTable(1, ""));
    pass->table->Set(0, std::move(columns));
  }
  chunk->holder = Ref<RecordHolder>(pass->table.get());
  pass->table->ListRows(begin, end, chunk);
}

void ArrowStreamReader::GoTo(uint64_t batch, Pass* pass) const {
  while (pass->batches_begun <= batch) {
    CheckStop();
    if (NextBatch(pass)) continue;
    Throw(ErrorCode::kDataLoss, "the stream has ", pass->batches_begun,
          " batches now, and had more when the position was saved");
  }
}

size_t ArrowStreamReader::GoToStart() {
  GoTo(start_->batch, pass_.get());
  if (pass_->rows_before != start_->rows_before || start_->record > pass_->batch_rows) {
    Throw(ErrorCode::kDataLoss,
          "the stream has other batches than when the position was saved: ", pass_->rows_before,
          " rows before batch ", start_->batch, ", which has ", pass_->batch_rows,
          "; it stood at row ", start_->record, " after ", start_->rows_before);
  }
  const size_t taken =
      start_->record == pass_->batch_rows ? 0 : static_cast<size_t>(start_->record % kRowsAtOnce);
  pass_->next_row = start_->record - taken;
  start_.reset();
  return taken;
}

bool ArrowStreamReader::FillChunk() {
  CheckStop();
  if (pass_ == nullptr) pass_ = Begin();
  // Nothing may stop it between going there and having the chunk: what was taken would be lost.
  size_t taken = start_ ? GoToStart() : 0;
  for (;; CheckStop()) {
    while (pass_->next_row == pass_->batch_rows) {
      CheckStop();  // a stream may give batches without rows for ever
      if (!NextBatch(pass_.get())) return false;
    }
    const uint64_t begin = pass_->next_row;
    const uint64_t end = std::min(pass_->batch_rows, begin + kRowsAtOnce);
    chunk_ = Pool<Chunk>::Take();
    pass_->next_row = end;
    chunk_->offset = pass_->batches_begun - 1;
    first_record_ = begin;
    try {
      ListRows(begin, end, pass_.get(), chunk_.get());
    } catch (...) {
      error_ = std::make_exception_ptr(
          CurrentError().WithContext(ReadingBatch(pass_->batches_begun - 1)));
    }
    next_ = std::exchange(taken, 0);  // more than there are, if an error comes before them
    if (error_ != nullptr || !chunk_->pieces.empty()) return true;
  }
}

Ticket ArrowStreamReader::TicketOf(Chunk* chunk, size_t record) {
  const Piece piece = chunk->pieces[record];
  Ticket ticket;
  if (chunk->holder) {
    ticket.index = piece.offset;
  } else {
    ticket.bytes = chunk->bytes->data() + piece.offset;
    ticket.size = piece.size;
  }
  ticket.owner = chunk;
  return ticket;
}

void ArrowStreamReader::PlanNext(size_t n, TicketRun* run) {
  // A stream cannot be asked again, so it is not asked while memory may be refused.
  if (MemoryScope::IsAhead()) MemoryScope::ThrowRefused();
  const WaitTimer timer(counters());
  const MemoryScope scope(account());
  try {
    while (n > 0 && !end_) {
      if (!chunk_ || next_ >= chunk_->pieces.size()) {
        if (error_ != nullptr) std::rethrow_exception(error_);
        chunk_ = Ref<Chunk>();
        end_ = !FillChunk();
        continue;
      }
      Ticket ticket = TicketOf(chunk_.get(), next_);
      ticket.id.pass = pass_number_;
      ticket.id.sample = sample_;
      ticket.id.chunk = chunk_->offset;
      ticket.id.record = static_cast<uint32_t>(first_record_ + next_);
      run->Add(ticket);
      ++next_;
      ++sample_;
      --n;
    }
  } catch (...) {
    throw CurrentError().WithContext(ReadingRecord(sample_));
  }
  if (end_) pass_ = nullptr;
}

void ArrowStreamReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  try {
    fields_.Load(tickets, n, rows);
  } catch (...) {
    const Error error = CurrentError();
    if (error.interrupts()) throw error.WithContext(ReadingRecord(tickets->id.sample));
    if (n == 1) {
      throw error.WithContext(ReadingBatch(tickets->id.chunk))
          .WithContext(ReadingRecord(tickets->id.sample));
    }
    // Loads the rows one by one to find the one that failed: that call throws its error.
    Rows scratch;
    scratch.ResetLike(*rows);
    for (size_t i = 0; i < n; ++i) LoadRows(tickets + i, 1, &scratch);
    throw;
  }
}

void ArrowStreamReader::SaveState(ReaderState* state) const {
  std::vector<std::string> columns;
  for (const Field& field : fields_.fields()) {
    const bool skips = field.missing == Field::Missing::kSkip;  // so that rows have other numbers
    columns.push_back(StrCat(field.name, skips ? " missing=skip" : ""));
  }
  state->Setting("columns", columns);
  state->Set("pass", pass_number_);
  state->Set("sample", sample_);
  state->Set("ended", end_ ? 1 : 0);
  std::optional<Start> start = start_;
  if (!start && pass_ != nullptr && pass_->batches_begun > 0) {
    const bool listed = chunk_ && (next_ < chunk_->pieces.size() || error_ != nullptr);
    start = Start{pass_->batches_begun - 1, listed ? first_record_ + next_ : pass_->next_row,
                  pass_->rows_before};
  }
  if (!start) return;
  state->Set("batch", start->batch);
  state->Set("record", start->record);
  state->Set("rows_before", start->rows_before);
}

void ArrowStreamReader::RestoreState(const ReaderState& state) {
  pass_number_ = state.Get("pass");
  sample_ = state.Get("sample");
  end_ = state.Get("ended", 1) == 1;
  if (!state.Has("batch")) return;
  start_ = Start{state.Get("batch", kMostBatches), state.Get("record"), state.Get("rows_before")};
}

ArrowStreamReader::Pass* ArrowStreamReader::PassTo(uint64_t pass, uint64_t batch,
                                                   std::unique_ptr<Pass>* own) {
  const auto leads_there = [batch](const std::unique_ptr<Pass>& one) {
    return one == nullptr || one->batches_begun <= batch + 1;
  };
  if (pass == pass_number_ && start_ && batch <= start_->batch && leads_there(pass_)) {
    if (pass_ == nullptr) pass_ = Begin();
    return pass_.get();
  }
  if (*own == nullptr || !leads_there(*own)) *own = Begin();
  return own->get();
}

// Rows lie in the same pieces of a batch as before, because each piece begins at a multiple of
// kRowsAtOnce: so rows that are left out need not be counted from the beginning of the batch.
void ArrowStreamReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  names.CheckRecords(origin());
  const std::vector<RecordId>& records = names.records;
  std::vector<size_t> order(records.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(records[a].pass, records[a].chunk, records[a].record) <
           std::tie(records[b].pass, records[b].chunk, records[b].record);
  });
  std::unique_ptr<Pass> own;
  Pass* pass = nullptr;
  Ref<Chunk> chunk;
  const RecordId* last = nullptr;
  for (const size_t place : order) {
    const RecordId& id = records[place];
    const size_t record = id.record % kRowsAtOnce;
    const uint64_t begin = id.record - record;
    try {
      const bool same_batch = last != nullptr && id.pass == last->pass && id.chunk == last->chunk;
      if (!same_batch) {
        Require(id.chunk <= kMostBatches, "the position names batch ", id.chunk);
        pass = PassTo(id.pass, id.chunk, &own);
        GoTo(id.chunk, pass);
      }
      if (!same_batch || last->record - last->record % kRowsAtOnce != begin) {
        chunk = Pool<Chunk>::Take();
        chunk->offset = id.chunk;
        try {
          const uint64_t end = std::min<uint64_t>(pass->batch_rows, begin + kRowsAtOnce);
          if (begin < end) ListRows(begin, end, pass, chunk.get());
        } catch (...) {  // the rows before the one that is wrong are in the chunk
          if (CurrentError().interrupts()) throw;
        }
      }
      if (record >= chunk->pieces.size()) {
        Throw(ErrorCode::kDataLoss, "the stream does not have this row any more");
      }
      last = &id;
      Ticket ticket = TicketOf(chunk.get(), record);
      ticket.id = id;
      take(place, ticket);
    } catch (...) {
      throw CurrentError()
          .WithContext(ReadingBatch(id.chunk))
          .WithContext(ReadingRecord(id.sample));
    }
  }
}

void ArrowStreamReader::Rewind(uint64_t pass) {
  chunk_ = Ref<Chunk>();
  pass_ = nullptr;
  start_.reset();
  error_ = nullptr;
  end_ = false;
  next_ = 0;
  sample_ = 0;
  pass_number_ = pass;
}

}  // namespace millhopper

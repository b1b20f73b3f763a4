// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow_stream_reader.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/memory_limit.h"
#include "framework/base/stop.h"

namespace millhopper {
namespace {

constexpr uint64_t kRowsAtOnce = 1 << 14;  // of a batch, which may be a whole table

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
  std::vector<ArrowColumn> columns;
  for (const Field& field : fields_.fields()) {
    columns.push_back(FindArrowColumn(*schema, field.name));
  }
  pass->rows = std::make_shared<ArrowRows>(fields_, *schema, columns);
  return pass;
}

bool ArrowStreamReader::NextBatch() {
  pass_->batch = nullptr;
  pass_->table = Ref<ArrowTable>();
  auto batch = std::make_unique<ArrowOwned<ArrowArray>>();
  ArrowArrayStream* const stream = pass_->stream.out();
  Check(stream, stream->get_next(stream, batch->out()), "the stream gives no more");
  if ((*batch)->release == nullptr) return false;
  pass_->batch_rows = static_cast<uint64_t>(std::max<int64_t>((*batch)->length, 0));
  pass_->batch = std::move(batch);
  pass_->next_row = 0;
  ++pass_->batches_begun;
  return true;
}

void ArrowStreamReader::ListRows(uint64_t begin, uint64_t end) {
  if (window_) {
    return pass_->rows->AppendRecords(**pass_->batch, static_cast<int64_t>(begin),
                                      static_cast<int64_t>(end), 0, chunk_.get());
  }
  if (!pass_->table) {
    Ref<ArrowPart> columns(new ArrowPart(pass_->rows, nullptr));
    columns->Add(std::move(pass_->batch));
    pass_->table = Ref<ArrowTable>(new ArrowTable(1, ""));
    pass_->table->Set(0, std::move(columns));
  }
  chunk_->holder = Ref<RecordHolder>(pass_->table.get());
  pass_->table->ListRows(begin, end, chunk_.get());
}

bool ArrowStreamReader::FillChunk() {
  if (pass_ == nullptr) pass_ = Begin();
  for (;;) {
    CheckStop();
    while (pass_->next_row == pass_->batch_rows) {
      CheckStop();  // a stream may give batches without rows for ever
      if (!NextBatch()) return false;
    }
    const uint64_t begin = pass_->next_row;
    const uint64_t end = std::min(pass_->batch_rows, begin + kRowsAtOnce);
    pass_->next_row = end;
    chunk_ = Pool<Chunk>::Take();
    chunk_->offset = pass_->batches_begun - 1;
    first_record_ = begin;
    next_ = 0;
    try {
      ListRows(begin, end);
    } catch (...) {
      error_ = std::make_exception_ptr(
          CurrentError().WithContext(ReadingBatch(pass_->batches_begun - 1)));
    }
    if (error_ != nullptr || !chunk_->pieces.empty()) return true;
  }
}

void ArrowStreamReader::PlanNext(size_t n, TicketRun* run) {
  // A stream cannot be asked again, so it is not asked while memory may be refused.
  if (MemoryScope::IsAhead()) MemoryScope::ThrowRefused();
  const WaitTimer timer(counters());
  const MemoryScope scope(account());
  try {
    while (n > 0 && !end_) {
      if (!chunk_ || next_ == chunk_->pieces.size()) {
        chunk_ = Ref<Chunk>();
        if (error_ != nullptr) std::rethrow_exception(error_);
        end_ = !FillChunk();
        continue;
      }
      const Piece piece = chunk_->pieces[next_];
      Ticket ticket;
      ticket.id.pass = pass_number_;
      ticket.id.sample = sample_;
      ticket.id.chunk = chunk_->offset;
      ticket.id.record = static_cast<uint32_t>(first_record_ + next_);
      if (chunk_->holder) {
        ticket.index = piece.offset;
      } else {
        ticket.bytes = chunk_->bytes->data() + piece.offset;
        ticket.size = piece.size;
      }
      ticket.owner = chunk_.get();
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

void ArrowStreamReader::Rewind(uint64_t pass) {
  chunk_ = Ref<Chunk>();
  pass_ = nullptr;
  error_ = nullptr;
  end_ = false;
  next_ = 0;
  sample_ = 0;
  pass_number_ = pass;
}

}  // namespace millhopper

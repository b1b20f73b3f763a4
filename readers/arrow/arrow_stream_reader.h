// SPDX-License-Identifier: Apache-2.0
// Yields the rows of an Arrow stream of any library that has the C stream interface
// (arrow_c_data.h).
#ifndef MILLHOPPER_READERS_ARROW_ARROW_STREAM_READER_H_
#define MILLHOPPER_READERS_ARROW_ARROW_STREAM_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "framework/reader/reader.h"
#include "readers/arrow/arrow_c_data.h"
#include "readers/arrow/arrow_columns.h"
#include "readers/fields/fields.h"

namespace millhopper {

// An element is a row; its slots are the fields, which name columns. Batches are pulled one after
// another by the thread that plans, ahead of the consumer if a double buffer is on top. They stay
// as they are until their last row is loaded; for a window, rows become records (arrow_columns.h).
//
// A position counts batches, and rows within one. A restored reader opens the stream anew, which
// must have the same batches, and skips through it; it opens it a second time only for rows before
// those that were skipped already.
class ArrowStreamReader final : public ReaderBase {
 public:
  // Makes the stream of a pass: fills *out, which is empty. Called by the thread that plans, with
  // no lock held. May throw.
  using Open = std::function<void(ArrowArrayStream* out)>;

  ArrowStreamReader(Open open, std::vector<Field> fields);

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  void ExpectWindow() override { window_ = true; }
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override {
    names->AddRecords(tickets, n);
  }
  void PlanAgain(const ElementNames& names, const TakeElement& take) override;

 private:
  // A stream and the batch of it whose rows are being planned.
  struct Pass {
    ArrowOwned<ArrowArrayStream> stream;
    std::shared_ptr<const ArrowRows> rows;
    std::unique_ptr<ArrowOwned<ArrowArray>> batch;  // until it is in the table
    Ref<ArrowTable> table;
    uint64_t rows_before = 0;  // in the batches before this one
    uint64_t batch_rows = 0;
    uint64_t next_row = 0;       // of the batch
    uint64_t batches_begun = 0;  // the number of the batch, from 1 on
  };

  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

  // Where the next row lies.
  struct Start {
    uint64_t batch = 0;
    uint64_t record = 0;       // as in the names of elements
    uint64_t rows_before = 0;  // as in Pass
  };

  std::unique_ptr<Pass> Begin() const;
  bool NextBatch(Pass* pass) const;
  // Has the chunk give out rows of the batch.
  void ListRows(uint64_t begin, uint64_t end, Pass* pass, Chunk* chunk) const;
  // Lists some more rows. Returns false at the end of the stream.
  bool FillChunk();
  // Goes forward to this batch; throws kDataLoss if the stream ends before it.
  void GoTo(uint64_t batch, Pass* pass) const;
  // Goes to start_. Returns how many records of the next chunk were taken.
  size_t GoToStart();
  // A stream that leads to this batch of a pass: the one that is being read, if it is still before
  // it, or a new one, which *own then has.
  Pass* PassTo(uint64_t pass, uint64_t batch, std::unique_ptr<Pass>* own);
  // The ticket of a record of a chunk, without its name.
  static Ticket TicketOf(Chunk* chunk, size_t record);

  const Open open_;
  const ArrowFields fields_;
  bool window_ = false;         // whether rows become records
  std::optional<Start> start_;  // until the pass has gone there
  std::unique_ptr<Pass> pass_;  // null before its first element is planned
  Ref<Chunk> chunk_;            // of rows, of which some may have been planned
  size_t next_ = 0;             // record of the chunk; after its end, too, if error_ comes first
  uint64_t first_record_ = 0;   // of the chunk: the row of its batch at which the chunk begins
  std::exception_ptr error_;    // comes after the records of the chunk
  bool end_ = false;
  uint64_t pass_number_ = 0;
  uint64_t sample_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_ARROW_STREAM_READER_H_

// SPDX-License-Identifier: Apache-2.0
// Streams of Arrow's: batches of any length, passes, errors of the stream, and that all is
// released.
#include "readers/arrow_stream_reader.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "readers/batch_reader.h"
#include "tests/arrow_arrays.h"
#include "tests/field_readers.h"

namespace millhopper {
namespace {

// What a stream is made of, and what has become of it.
struct Script {
  explicit Script(std::vector<ColumnPtr> all, std::string last = "")
      : batches(std::move(all)), problem(std::move(last)) {}

  const std::vector<ColumnPtr> batches;
  const std::string problem;  // in place of the end
  int streams = 0, released = 0, batches_released = 0;
};

struct Position {
  Script* script;
  size_t next = 0;
};

Position* PositionOf(ArrowArrayStream* stream) {
  return static_cast<Position*>(stream->private_data);
}

void Open(Script* script, ArrowArrayStream* out) {
  ++script->streams;
  out->private_data = new Position{script};
  out->get_schema = [](ArrowArrayStream* stream, ArrowSchema* schema) {
    *schema = PositionOf(stream)->script->batches[0]->schema;
    schema->release = [](ArrowSchema* released) { released->release = nullptr; };
    return 0;
  };
  out->get_next = [](ArrowArrayStream* stream, ArrowArray* array) {
    Position* const position = PositionOf(stream);
    Script* const played = position->script;
    *array = ArrowArray{};
    if (position->next == played->batches.size()) return played->problem.empty() ? 0 : EIO;
    *array = played->batches[position->next++]->array;
    array->private_data = played;
    array->release = [](ArrowArray* released) {
      ++static_cast<Script*>(released->private_data)->batches_released;
      released->release = nullptr;
    };
    return 0;
  };
  out->get_last_error = [](ArrowArrayStream* stream) {
    return PositionOf(stream)->script->problem.c_str();
  };
  out->release = [](ArrowArrayStream* stream) {
    ++PositionOf(stream)->script->released;
    delete PositionOf(stream);
    stream->release = nullptr;
  };
}

std::unique_ptr<ReaderBase> ReaderOf(Script* script, const Strings& fields) {
  return std::make_unique<ArrowStreamReader>([script](ArrowArrayStream* out) { Open(script, out); },
                                             ParseFields(fields));
}

ColumnPtr NumbersFrom(int64_t first, int64_t count) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(first + i);
  return Batch({Numbers<int64_t>("n", "l", numbers)});
}

TEST(ArrowStreamReader, YieldsRowsPassAfterPass) {
  Script script({NumbersFrom(0, 3), NumbersFrom(3, 0), NumbersFrom(3, 2)});
  {
    const std::unique_ptr<ReaderBase> reader = ReaderOf(&script, {"n int32[]"});
    const Strings expected{"0", "1", "2", "3", "4"};
    EXPECT_EQ(script.streams, 0);
    EXPECT_EQ(TextsOf(reader.get()), expected);
    EXPECT_EQ(script.released, 1);
    reader->ReInit();
    EXPECT_EQ(TextsOf(reader.get()), expected);
    reader->ReInit();
    EXPECT_TRUE(reader->HasNext());
  }
  EXPECT_EQ(script.streams, 3);
  EXPECT_EQ(script.released, 3);
  EXPECT_EQ(script.batches_released, 7);
}

TEST(ArrowStreamReader, ABatchMayBeATable) {
  constexpr int64_t kRows = 50000;
  Script script({NumbersFrom(0, kRows)});
  auto below = ReaderOf(&script, {"n int64[]"});
  BatchReader reader(std::move(below), kRows, false, BatchMode::kConcat);
  std::vector<LoDTensor> batch;
  reader.ReadNext(&batch);
  ASSERT_EQ(batch[0].numel(), kRows);
  for (int64_t i = 0; i < kRows; ++i) ASSERT_EQ(batch[0].data<int64_t>()[i], i);
  EXPECT_FALSE(reader.HasNext());
}

TEST(ArrowStreamReader, RowsBeforeAnErrorAreYielded) {
  const auto read = [](Script* script, const Strings& fields) {
    const std::unique_ptr<ReaderBase> reader = ReaderOf(script, fields);
    std::vector<LoDTensor> element;
    Strings texts;
    try {
      for (;;) {
        reader->ReadNext(&element);
        texts.push_back(TextOf(element));
      }
    } catch (const Error& error) {
      texts.push_back(error.message());
    }
    EXPECT_LE(script->released, script->streams);
    return texts;
  };
  Script cut({NumbersFrom(7, 1)}, "the line is dead");
  EXPECT_EQ(read(&cut, {"n int64[]"}),
            (Strings{"7", "the stream gives no more: the line is dead"}));
  Script large({NumbersFrom(126, 3)});
  EXPECT_EQ(read(&large, {"n int8[]"}),
            (Strings{"126", "127", "row 2: column 'n': 128 is no int8"}));
  Script other({NumbersFrom(0, 1)});
  EXPECT_EQ(read(&other, {"m int8[]"}), (Strings{"no column is named 'm'; there are 'n'"}));
}

TEST(ArrowStreamReader, AStreamOfBatchesWithoutRowsCanBeStopped) {
  constexpr int kBatchesUntilStop = 100;
  static int batches;
  batches = 0;
  Script script({NumbersFrom(0, 0)});
  ArrowStreamReader reader(
      [&](ArrowArrayStream* out) {
        Open(&script, out);
        out->get_next = [](ArrowArrayStream* stream, ArrowArray* array) {
          *array = PositionOf(stream)->script->batches[0]->array;  // for ever
          array->release = [](ArrowArray* released) { released->release = nullptr; };
          if (++batches == kBatchesUntilStop) RequestStop();
          return 0;
        };
      },
      ParseFields({"n int64[]"}));
  ExpectError(ErrorCode::kCancelled, "stopped", [&] { reader.HasNext(); });
  ClearStop();
  EXPECT_EQ(batches, kBatchesUntilStop);
}

TEST(ArrowStreamReader, ABatchLivesUntilItsRowsAreLoaded) {
  Script script({NumbersFrom(0, 3), NumbersFrom(3, 2)});
  const std::unique_ptr<ReaderBase> reader = ReaderOf(&script, {"n int64[]"});
  {
    TicketRun run;
    EXPECT_EQ(reader->Plan(3, &run), 3u);
    reader->ReInit();
    EXPECT_EQ(script.batches_released, 0);
    Rows rows(reader->row_slots());
    reader->Load(run.tickets.data(), 3, &rows);
    std::vector<LoDTensor> element;
    rows.MoveTo(&element);
    EXPECT_EQ(TextOf(element), "0 1 2");
  }
  EXPECT_EQ(script.batches_released, 1);
}

TEST(ArrowStreamReader, AWindowKeepsRecordsAndNoBatches) {
  Script script({NumbersFrom(0, 3), NumbersFrom(3, 2)});
  const std::unique_ptr<ReaderBase> reader = ReaderOf(&script, {"n int64[]"});
  reader->ExpectWindow();
  TicketRun run;
  for (size_t planned = 0; planned < 5;) planned += reader->Plan(5 - planned, &run);
  TicketRun none;
  EXPECT_EQ(reader->Plan(1, &none), 0u);
  EXPECT_EQ(script.batches_released, 2);
  for (const Ticket& ticket : run.tickets) EXPECT_EQ(ticket.size, sizeof(int64_t));
  Rows rows(reader->row_slots());
  reader->Load(run.tickets.data(), 5, &rows);
  std::vector<LoDTensor> element;
  rows.MoveTo(&element);
  EXPECT_EQ(TextOf(element), "0 1 2 3 4");
}

TEST(ArrowStreamReader, AStreamThatWasReadIsRefused) {
  ArrowStreamReader reader([](ArrowArrayStream*) {}, ParseFields({"n int64[]"}));
  EXPECT_THROW(reader.HasNext(), Error);
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Streams of Arrow's: batches of any length, passes, errors of the stream, and that all is
// released.
#include "readers/arrow/arrow_stream_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/base/stop.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "tests/files/arrow_arrays.h"
#include "tests/files/field_files.h"
#include "tests/readers/field_readers.h"

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

struct PlaceInScript {
  Script* script;
  size_t next = 0;
};

PlaceInScript* PositionOf(ArrowArrayStream* stream) {
  return static_cast<PlaceInScript*>(stream->private_data);
}

void Open(Script* script, ArrowArrayStream* out) {
  ++script->streams;
  out->private_data = new PlaceInScript{script};
  out->get_schema = [](ArrowArrayStream* stream, ArrowSchema* schema) {
    *schema = PositionOf(stream)->script->batches[0]->schema;
    schema->release = [](ArrowSchema* released) { released->release = nullptr; };
    return 0;
  };
  out->get_next = [](ArrowArrayStream* stream, ArrowArray* array) {
    PlaceInScript* const position = PositionOf(stream);
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

// Numbers of which every third one is missing.
ColumnPtr SomeNumbers(int64_t count) {
  std::vector<int64_t> numbers;
  std::vector<int> present;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(i);
    present.push_back(i % 3 == 0 ? 0 : 1);
  }
  return Batch({Numbers<int64_t>("n", "l", numbers, Bits(present))});
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

// All fields of the columns, in many orders, as rows of columns and, for a window, as records.
TEST(ArrowStreamReader, FieldsMayStandInAnyOrder) {
  constexpr int64_t kRows = 20;
  std::vector<int64_t> numbers[2];
  for (int64_t n = 0; n < kRows; ++n) numbers[n < 7 ? 0 : 1].push_back(n);
  Script script({ColumnsAbout(numbers[0]), ColumnsAbout(numbers[1])});
  const FieldFormat& format = FieldFormatOf("columns");
  Strings entries;
  for (const ListedField& field : format.fields) entries.push_back(field.entry);
  std::mt19937 dice(5);
  for (int order = 0; order < 50; ++order) {
    std::shuffle(entries.begin(), entries.end(), dice);
    const Strings some(entries.begin(),
                       entries.begin() + 1 + order % static_cast<int>(entries.size()));
    std::vector<ElementValue> wanted;
    for (int64_t n = 0; n < kRows; ++n) {
      ElementValue record;
      if (RecordWithFields(format, some, n, &record)) wanted.push_back(record);
    }
    EXPECT_EQ(ReadAll(ReaderOf(&script, some).get()), wanted);
    ShuffleReader window(ReaderOf(&script, some), 1, RandomKey(1, 2, "shuffled"));
    EXPECT_EQ(ReadAll(&window), wanted) << "as records";
  }
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
  EXPECT_EQ(read(&other, {"m int8[]"}),
            (Strings{"no column is named 'm'; there are 'n'; did you mean 'n'?"}));
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

// Rows of two fields, of which some are left out, in batches that end anywhere.
class SavedStream : public testing::TestWithParam<bool> {
 protected:
  // With a window, or with batches that are loaded ahead.
  std::unique_ptr<ReaderBase> Reader(Script* script) const {
    std::unique_ptr<ReaderBase> reader = ReaderOf(script, {"n int64[]"});
    if (GetParam()) {
      reader = std::make_unique<ShuffleReader>(std::move(reader), 1000, RandomKey(1, 2, "x"));
    }
    reader = std::make_unique<BatchReader>(std::move(reader), 70, false, BatchMode::kConcat);
    return std::make_unique<DoubleBufferReader>(std::move(reader), Place(), 3);
  }
  static std::unique_ptr<ReaderBase> From(const std::string& position,
                                          std::unique_ptr<ReaderBase> reader) {
    reader->Restore(Position::Parse(position));
    return reader;
  }
};

INSTANTIATE_TEST_SUITE_P(WindowOrNot, SavedStream, testing::Bool());

TEST_P(SavedStream, GoesOnFromEverywhere) {
  Script script(
      {NumbersFrom(0, 3), NumbersFrom(3, 0), NumbersFrom(3, 40000), NumbersFrom(40003, 97)});
  const std::vector<ElementValue> wanted = ReadAll(Reader(&script).get());
  ASSERT_EQ(wanted.size(), 573u);
  std::unique_ptr<ReaderBase> reader = Reader(&script);
  reader->ExpectSave();
  reader->ReInit();
  size_t read = 0;
  const auto pass = [&] {
    const std::unique_ptr<ReaderBase> whole = Reader(&script);
    whole->ReInit();
    return ReadAll(whole.get());
  }();
  for (const size_t place :
       {size_t{0}, size_t{1}, size_t{100}, size_t{235}, size_t{572}, size_t{573}}) {
    SCOPED_TRACE(place);
    for (; read < place; ++read) ASSERT_EQ(ReadSome(reader.get(), 1).at(0), pass[read]);
    reader = From(reader->Save().Serialize(), Reader(&script));
    const std::unique_ptr<ReaderBase> next = From(reader->Save().Serialize(), Reader(&script));
    EXPECT_EQ(
        ReadAll(next.get()),
        std::vector<ElementValue>(pass.begin() + static_cast<std::ptrdiff_t>(place), pass.end()));
    next->ReInit();
    EXPECT_EQ(ReadAll(next.get()).size(), wanted.size());
  }
  reader.reset();
  EXPECT_EQ(script.released, script.streams);
}

TEST_P(SavedStream, MustHaveTheSameBatches) {
  Script script({NumbersFrom(0, 300), NumbersFrom(300, 20000)});
  const std::unique_ptr<ReaderBase> reader = Reader(&script);
  reader->ExpectSave();
  ReadSome(reader.get(), 100);
  const std::string position = reader->Save().Serialize();
  Script shorter({NumbersFrom(0, 300)});
  ExpectError(ErrorCode::kDataLoss, "the stream has 1 batches now",
              [&] { ReadAll(From(position, Reader(&shorter)).get()); });
  Script other({NumbersFrom(0, 200), NumbersFrom(200, 20000)});
  ExpectError(ErrorCode::kDataLoss, "other batches than when the position was saved",
              [&] { ReadAll(From(position, Reader(&other)).get()); });
}

TEST(ArrowStreamReader, GoesOnBetweenRowsThatAreLeftOut) {
  Script script({SomeNumbers(40000)});
  const auto make = [&] { return ReaderOf(&script, {"n int64[] missing=skip"}); };
  const Strings wanted = TextsOf(make().get());
  ASSERT_LT(wanted.size(), 30000u);
  for (const size_t place : {size_t{1}, size_t{9000}, size_t{20000}, wanted.size()}) {
    const std::unique_ptr<ReaderBase> reader = make();
    reader->ExpectSave();
    ReadSome(reader.get(), place);
    reader->HasNext();
    const std::unique_ptr<ReaderBase> next = make();
    next->Restore(Position::Parse(reader->Save().Serialize()));
    EXPECT_EQ(TextsOf(next.get()),
              Strings(wanted.begin() + static_cast<std::ptrdiff_t>(place), wanted.end()));
  }
}

TEST(ArrowStreamReader, MustLeaveOutTheSameRows) {
  Script script({SomeNumbers(100)});
  const std::unique_ptr<ReaderBase> reader = ReaderOf(&script, {"n int64[] missing=skip"});
  reader->ExpectSave();
  ReadSome(reader.get(), 10);
  const std::string position = reader->Save().Serialize();
  const std::unique_ptr<ReaderBase> other = ReaderOf(&script, {"n int64[] default=0"});
  ExpectError(ErrorCode::kInvalidArgument, "columns",
              [&] { other->Restore(Position::Parse(position)); });
}

// Where it resumes, the stream ends or fails before the first row that is still to come.
TEST(ArrowStreamReader, AStopOnTheWayLosesNoPlace) {
  Script script({NumbersFrom(0, 300), NumbersFrom(300, 20000)});
  const std::unique_ptr<ReaderBase> reader = ReaderOf(&script, {"n int64[]"});
  reader->ExpectSave();
  ReadSome(reader.get(), 400);
  const std::string position = reader->Save().Serialize();
  const Strings rest = TextsOf(reader.get());
  static int (*next_of)(ArrowArrayStream*, ArrowArray*);
  ArrowStreamReader stopped(
      [&](ArrowArrayStream* out) {
        Open(&script, out);
        next_of = out->get_next;
        out->get_next = [](ArrowArrayStream* stream, ArrowArray* array) {
          if (PositionOf(stream)->next == 1) RequestStop();
          return next_of(stream, array);
        };
      },
      ParseFields({"n int64[]"}));
  stopped.Restore(Position::Parse(position));
  EXPECT_TRUE(stopped.HasNext()) << "the stop comes when the place is reached";
  EXPECT_TRUE(StopRequested());
  ClearStop();
  const std::unique_ptr<ReaderBase> next = ReaderOf(&script, {"n int64[]"});
  next->Restore(Position::Parse(stopped.Save().Serialize()));
  EXPECT_EQ(TextsOf(next.get()), rest);
}

TEST(ArrowStreamReader, AnErrorOnTheWayLosesNoPlace) {
  const auto make = [](Script* script) {
    std::unique_ptr<ReaderBase> reader = ReaderOf(script, {"n int8[]"});
    reader->ExpectWindow();  // so that rows are converted when they are planned
    return reader;
  };
  Script script({NumbersFrom(0, 120)});
  const std::unique_ptr<ReaderBase> reader = make(&script);
  reader->ExpectSave();
  ReadSome(reader.get(), 100);
  const std::string position = reader->Save().Serialize();
  const Strings rest = TextsOf(reader.get());
  ASSERT_EQ(rest.size(), 20u);
  Script wrong({NumbersFrom(78, 120)});  // row 50 has 128
  const std::unique_ptr<ReaderBase> failed = make(&wrong);
  failed->Restore(Position::Parse(position));
  ExpectError(ErrorCode::kDataLoss, "128 is no int8", [&] { failed->HasNext(); });
  const std::unique_ptr<ReaderBase> next = make(&script);
  next->Restore(Position::Parse(failed->Save().Serialize()));
  EXPECT_EQ(TextsOf(next.get()), rest);
}

TEST(ArrowStreamReader, OfABatchWithMoreRowsThanAPositionCanNameIsRefused) {
  const ColumnPtr large = NumbersFrom(0, 1);
  large->array.length = int64_t{1} << 33;
  Script script({NumbersFrom(0, 1), large});
  const std::unique_ptr<ReaderBase> reader = ReaderOf(&script, {"n int64[]"});
  reader->ExpectSave();
  EXPECT_EQ(ReadSome(reader.get(), 1).size(), 1u);
  ExpectError(ErrorCode::kResourceLimit, "a batch of 8589934592 rows", [&] { reader->HasNext(); });
}

TEST(ArrowStreamReader, MeetsItsErrorAgain) {
  Script script({NumbersFrom(0, 3), NumbersFrom(3, 2)}, "the disk is on fire");
  const auto make = [&] { return ReaderOf(&script, {"n int64[]"}); };
  const std::unique_ptr<ReaderBase> reader = make();
  reader->ExpectSave();
  ReadSome(reader.get(), 4);
  for (const bool behind : {false, true}) {
    if (behind) {
      EXPECT_TRUE(ErrorOf([&] { ReadAll(reader.get()); }));
    }
    const std::unique_ptr<ReaderBase> next = make();
    next->Restore(Position::Parse(reader->Save().Serialize()));
    EXPECT_EQ(ReadSome(next.get(), behind ? 0 : 1).size(), behind ? 0u : 1u);
    ExpectError(ErrorCode::kDataLoss, "the disk is on fire", [&] { next->HasNext(); });
  }
}

// What is made of an iterator of batches. Rows after those in flight are skipped through once.
TEST(ArrowStreamReader, AStreamThatCanBeMadeOnceIsGoneOnWith) {
  Script script({NumbersFrom(0, 300), NumbersFrom(300, 20000)});
  const auto make = [&]() -> std::unique_ptr<ReaderBase> {
    auto reader = ReaderOf(&script, {"n int64[]"});
    reader = std::make_unique<BatchReader>(std::move(reader), 70, false, BatchMode::kConcat);
    return std::make_unique<DoubleBufferReader>(std::move(reader), Place(), 3);
  };
  const std::unique_ptr<ReaderBase> reader = make();
  reader->ExpectSave();
  ReadSome(reader.get(), 10);
  const std::string position = reader->Save().Serialize();
  const std::vector<ElementValue> rest = ReadAll(reader.get());
  const int before = script.streams;
  const std::unique_ptr<ReaderBase> next = make();
  next->Restore(Position::Parse(position));
  EXPECT_EQ(ReadAll(next.get()), rest);
  EXPECT_EQ(script.streams, before + 1);
}

}  // namespace
}  // namespace millhopper

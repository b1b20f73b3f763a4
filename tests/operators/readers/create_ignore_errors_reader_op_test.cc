// SPDX-License-Identifier: Apache-2.0
// The operator create_ignore_errors_reader.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "readers/decorate/map_reader.h"
#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr int64_t kRecords = 300;

std::unique_ptr<ReaderBase> Numbers() {
  SourceSpec spec;
  spec.records = kRecords;
  spec.jitter = 5;
  return MakePlannedSource(spec);
}

bool IsBad(int64_t number) { return number % 3 == 1 || (number > 80 && number < 200); }

// Numbers that are decoded by what fails for some of them.
std::unique_ptr<ReaderBase> Decoded(ErrorCode code = ErrorCode::kDataLoss) {
  std::unique_ptr<ReaderBase> numbers = Numbers();
  const std::vector<SlotSpec> slots = numbers->slots();
  return std::make_unique<MapReader>(
      std::move(numbers), slots,
      [code](const RecordId& id, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out, Rows*) {
        if (IsBad(static_cast<int64_t>(id.sample))) Throw(code, "it is no image");
        std::swap(*in, *out);
      });
}

std::vector<ElementValue> Good() {
  std::vector<ElementValue> good;
  const std::vector<ElementValue> all = ReadAll(Numbers().get());
  for (int64_t i = 0; i < kRecords; ++i) {
    if (!IsBad(i)) good.push_back(all[static_cast<size_t>(i)]);
  }
  return good;
}

// A program with the reader on top of a source.
class IgnoreErrors {
 public:
  explicit IgnoreErrors(std::unique_ptr<ReaderBase> source) {
    runner_.Reader("source").Reset(std::move(source));
    runner_.Startup(DecoratorProgram("create_ignore_errors_reader", {}));
  }
  std::unique_ptr<ReaderBase> reader() { return runner_.Reader("out").NewHandle(); }

 private:
  ProgramRunner runner_;
};

TEST(CreateIgnoreErrorsReaderOp, YieldsTheOthersInOrderWithAnyNumberOfThreads) {
  const std::vector<ElementValue> good = Good();
  for (const int threads : {0, 1, 2, 7}) {
    SCOPED_TRACE(threads);
    const PoolSize size(threads);
    IgnoreErrors program(Decoded());
    const std::unique_ptr<ReaderBase> reader = program.reader();
    for (int pass = 0; pass < 3; ++pass) {
      EXPECT_EQ(ReadAll(reader.get()), good);
      reader->ReInit();
    }
  }
}

TEST(CreateIgnoreErrorsReaderOp, GoesOnWhereItWasSaved) {
  const std::vector<ElementValue> good = Good();
  for (size_t n = 0; n <= good.size(); n += 7) {
    SCOPED_TRACE(n);
    IgnoreErrors first(Decoded()), second(Decoded());
    const std::unique_ptr<ReaderBase> saved = first.reader(), resumed = second.reader();
    saved->ExpectSave();
    std::vector<ElementValue> all = ReadSome(saved.get(), n);
    ASSERT_EQ(all.size(), n);
    resumed->Restore(saved->Save());
    const std::vector<ElementValue> rest = ReadAll(resumed.get());
    std::copy(rest.begin(), rest.end(), std::back_inserter(all));
    EXPECT_EQ(all, good);
  }
}

TEST(CreateIgnoreErrorsReaderOp, LeavesOutAllThereIs) {
  SourceSpec spec;
  spec.records = 1;
  spec.load_error = 0;
  IgnoreErrors program(MakePlannedSource(spec));
  const std::unique_ptr<ReaderBase> reader = program.reader();
  EXPECT_TRUE(ReadAll(reader.get()).empty());
}

TEST(CreateIgnoreErrorsReaderOp, KeepsErrorsThatAreNotOfTheData) {
  IgnoreErrors program(Decoded(ErrorCode::kInvalidArgument));
  const std::unique_ptr<ReaderBase> reader = program.reader();
  EXPECT_EQ(ReadSome(reader.get(), 1).size(), 1u);
  ExpectError(ErrorCode::kInvalidArgument, "it is no image", [&] { reader->HasNext(); });
}

// Where the reader below cannot go on, there is nothing to leave out.
TEST(CreateIgnoreErrorsReaderOp, KeepsErrorsOfPlanning) {
  SourceSpec spec;
  spec.records = 10;
  spec.plan_error = 4;
  IgnoreErrors program(MakePlannedSource(spec));
  const std::unique_ptr<ReaderBase> reader = program.reader();
  EXPECT_EQ(ReadSome(reader.get(), 4).size(), 4u);
  ExpectError(ErrorCode::kDataLoss, "record 4", [&] { reader->HasNext(); });
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Batches, beyond the contract of all readers: arguments, layouts, errors.
#include "readers/decorate/batch_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/map_reader.h"
#include "tests/fakes/fake_device.h"
#include "tests/fakes/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(BatchReader, RefusesSizesBelowOne) {
  for (const int64_t size : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    ExpectError(ErrorCode::kInvalidArgument, "it must be at least 1",
                [&] { BatchReader(MakePlannedSource(3), size, false, BatchMode::kConcat); });
  }
}

TEST(BatchReader, RefusesToStackWhatIsRagged) {
  ExpectError(ErrorCode::kInvalidArgument, "ragged and cannot be stacked",
              [] { BatchReader(MakePlannedSource(3, true), 2, false, BatchMode::kStack); });
}

TEST(BatchReader, RefusesElementsOnADevice) {
  ExpectError(ErrorCode::kInvalidArgument, "fake:0", [] {
    BatchReader(
        std::make_unique<DoubleBufferReader>(MakePlannedSource(3), Place(FakeDevice::Get()), 1), 2,
        false, BatchMode::kConcat);
  });
}

TEST(BatchReader, YieldsAShortLastBatchOrDiscardsIt) {
  BatchReader keeps(MakePlannedSource(5), 2, false, BatchMode::kConcat);
  const std::vector<ElementValue> batches = ReadAll(&keeps);
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[0][0].dims, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(batches[2][0].dims, (std::vector<int64_t>{1, 1}));
  BatchReader discards(MakePlannedSource(5), 2, true, BatchMode::kConcat);
  EXPECT_EQ(ReadAll(&discards).size(), 2u);
  BatchReader even(MakePlannedSource(4), 2, true, BatchMode::kConcat);
  EXPECT_EQ(ReadAll(&even).size(), 2u);
}

TEST(BatchReader, StacksAlongANewAxis) {
  BatchReader reader(MakePlannedSource(5), 3, false, BatchMode::kStack);
  EXPECT_EQ(reader.shape(0), (Dims{-1, 1, 1}));
  const std::vector<ElementValue> batches = ReadAll(&reader);
  EXPECT_EQ(batches.at(0)[0].dims, (std::vector<int64_t>{3, 1, 1}));
  EXPECT_EQ(batches.at(1)[0].dims, (std::vector<int64_t>{2, 1, 1}));
}

TEST(BatchReader, RefusesToStackElementsOfOtherLengths) {
  auto batches = std::make_unique<BatchReader>(MakePlannedSource(5), 2, false, BatchMode::kConcat);
  BatchReader reader(std::move(batches), 3, false, BatchMode::kStack);
  ExpectError(ErrorCode::kDataLoss, "length 1 cannot be stacked on one of length 2",
              [&] { ReadAll(&reader); });
}

TEST(BatchReader, AppendsOffsetsOfRaggedElements) {
  BatchReader reader(MakePlannedSource(4, true), 4, false, BatchMode::kConcat);
  const std::vector<ElementValue> batches = ReadAll(&reader);
  EXPECT_EQ(batches.at(0)[0].dims, (std::vector<int64_t>{6, 1}));
  EXPECT_EQ(batches.at(0)[0].lod, (Lod{{0, 0, 1, 3, 6}}));
}

// A batch takes any length, but its elements are what the reader below declares.
TEST(BatchReader, DoesNotTakeElementsThatAreNotAsDeclared) {
  for (const int workers : {0, 2}) {
    const PoolSize pool(workers);
    auto source = MakePlannedSource(100);
    const std::vector<SlotSpec> slots = source->slots();
    auto doubled = std::make_unique<MapReader>(
        std::move(source), slots,
        [](const RecordId&, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out, Rows*) {
          const int64_t value = (*in)[0].scalar<int64_t>();
          *out = {value == 40 ? MakeTensor<int64_t>({2, 1}, {value, value}) : (*in)[0]};
        });
    BatchReader reader(std::move(doubled), 60, false, BatchMode::kConcat);
    ExpectError(ErrorCode::kDataLoss, "int64 [1, 1] is declared, int64 [2, 1] was found",
                [&] { ReadAll(&reader); });
  }
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Unbatching, beyond the contract of all readers: levels of detail, names, and elements that are no
// batches.
#include "readers/decorate/unbatch_reader.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "framework/reader/sequential_reader.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

SlotSpec Slot(DataType dtype, const Dims& dims, int lod_level) {
  SlotSpec slot;
  slot.dtype = dtype;
  slot.dims = dims;
  slot.lod_level = lod_level;
  return slot;
}

LoDTensor Tensor(const Dims& dims, const std::vector<std::vector<uint64_t>>& lod) {
  LoDTensor tensor;
  auto* values = tensor.Allocate<int64_t>(dims);
  for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = i;
  Lod levels;
  for (const auto& level : lod) levels.emplace_back(level.begin(), level.end());
  tensor.set_lod(std::move(levels));
  return tensor;
}

// Yields the one element that it is given.
class OneElement final : public SequentialReader {
 public:
  OneElement(std::vector<SlotSpec> slots, std::vector<LoDTensor> element)
      : SequentialReader(std::move(slots)), element_(std::move(element)) {}

 private:
  bool ReadNextImpl(std::vector<LoDTensor>* out) override {
    if (std::exchange(read_, true)) return false;
    *out = element_;
    return true;
  }
  void ReInitImpl() override { read_ = false; }

  const std::vector<LoDTensor> element_;
  bool read_ = false;
};

TEST(UnbatchReader, TakesEveryLevelOfDetailApart) {
  // Two instances: of two sequences of 1 and 2 steps, and of one sequence of 3.
  auto batch = std::make_unique<OneElement>(
      std::vector<SlotSpec>{Slot(DataType::kInt64, {-1, 2}, 2), Slot(DataType::kInt64, {-1, 1}, 0)},
      std::vector<LoDTensor>{Tensor({6, 2}, {{0, 2, 3}, {0, 1, 3, 6}}), Tensor({2, 1}, {})});
  UnbatchReader reader(std::move(batch), BatchMode::kConcat);
  std::vector<LoDTensor> element;
  reader.ReadNext(&element);
  EXPECT_EQ(ValuesOf<int64_t>(element[0]), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(ToString(element[0].lod()), ToString(Tensor({3, 2}, {{0, 2}, {0, 1, 3}}).lod()));
  EXPECT_EQ(element[1].scalar<int64_t>(), 0);
  reader.ReadNext(&element);
  EXPECT_EQ(ValuesOf<int64_t>(element[0]), (std::vector<int64_t>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(ToString(element[0].lod()), ToString(Tensor({3, 2}, {{0, 1}, {0, 3}}).lod()));
  EXPECT_EQ(element[1].scalar<int64_t>(), 1);
  EXPECT_FALSE(reader.HasNext());
}

TEST(UnbatchReader, NamesInstancesApart) {
  auto batch =
      std::make_unique<OneElement>(std::vector<SlotSpec>{Slot(DataType::kInt64, {-1, 1}, 0)},
                                   std::vector<LoDTensor>{Tensor({3, 1}, {})});
  UnbatchReader reader(std::move(batch), BatchMode::kConcat);
  TicketRun run;
  while (reader.Plan(10, &run) > 0) {
  }
  ASSERT_EQ(run.tickets.size(), 3u);
  for (uint32_t part = 0; part < 3; ++part) EXPECT_EQ(run.tickets[part].id.part, part);
}

TEST(UnbatchReader, NamesInstancesOfInstancesApart) {
  auto batches =
      std::make_unique<OneElement>(std::vector<SlotSpec>{Slot(DataType::kInt64, {-1, 4, 1}, 0)},
                                   std::vector<LoDTensor>{Tensor({3, 4, 1}, {})});
  auto rows = std::make_unique<UnbatchReader>(std::move(batches), BatchMode::kStack);
  UnbatchReader reader(std::move(rows), BatchMode::kStack);
  TicketRun run;
  while (reader.Plan(10, &run) > 0) {
  }
  ASSERT_EQ(run.tickets.size(), 12u);
  std::set<uint64_t> parts;
  for (const Ticket& ticket : run.tickets) parts.insert(ticket.id.part);
  EXPECT_EQ(parts.size(), 12u);
  reader.ReInit();
  std::vector<LoDTensor> element;
  for (int64_t i = 0; i < 12; ++i) {
    reader.ReadNext(&element);
    EXPECT_EQ(element[0].scalar<int64_t>(), i);
  }
  EXPECT_FALSE(reader.HasNext());
}

// No instance takes memory before it is asked for, however many there are.
TEST(UnbatchReader, MayHaveMoreInstancesThanMemoryHasRoomFor) {
  const auto batch = [](int64_t count) {
    return std::make_unique<OneElement>(std::vector<SlotSpec>{Slot(DataType::kInt64, {-1, 0}, 0)},
                                        std::vector<LoDTensor>{Tensor({count, 0}, {})});
  };
  UnbatchReader many(batch(int64_t{1} << 31), BatchMode::kConcat);
  std::vector<LoDTensor> element;
  for (int i = 0; i < 3; ++i) {
    many.ReadNext(&element);
    EXPECT_EQ(element[0].dims(), Dims({1, 0}));
  }
  UnbatchReader too_many(batch(int64_t{1} << 33), BatchMode::kConcat);
  ExpectError(ErrorCode::kResourceLimit, "it becomes 8589934592 elements",
              [&] { too_many.HasNext(); });
}

TEST(UnbatchReader, TakesTheAxisFromABatchOfOne) {
  auto batch =
      std::make_unique<OneElement>(std::vector<SlotSpec>{Slot(DataType::kInt64, {-1, 3}, 0)},
                                   std::vector<LoDTensor>{Tensor({1, 3}, {})});
  UnbatchReader reader(std::move(batch), BatchMode::kStack);
  std::vector<LoDTensor> element;
  reader.ReadNext(&element);
  EXPECT_EQ(element[0].dims(), Dims({3}));
  EXPECT_EQ(ValuesOf<int64_t>(element[0]), (std::vector<int64_t>{0, 1, 2}));
}

TEST(UnbatchReader, RefusesSlotsWithDifferentNumbersOfInstances) {
  auto batch = std::make_unique<OneElement>(
      std::vector<SlotSpec>{Slot(DataType::kInt64, {-1, 1}, 0), Slot(DataType::kInt64, {-1, 1}, 0)},
      std::vector<LoDTensor>{Tensor({3, 1}, {}), Tensor({2, 1}, {})});
  UnbatchReader reader(std::move(batch), BatchMode::kConcat);
  ExpectError(ErrorCode::kDataLoss, "slot 1 has 2 instances, but slot 0 has 3",
              [&] { reader.HasNext(); });
}

}  // namespace
}  // namespace millhopper

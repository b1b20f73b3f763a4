// SPDX-License-Identifier: Apache-2.0
#include "framework/tensor/rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "framework/memory/memory.h"
#include "framework/memory/place.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

SlotSpec Spec(DataType dtype, const Dims& dims, int lod_level = 0) {
  SlotSpec spec;
  spec.dtype = dtype;
  spec.dims = dims;
  spec.lod_level = lod_level;
  return spec;
}

SlotSpec Ints(const Dims& dims, int lod_level = 0) {
  return Spec(DataType::kInt64, dims, lod_level);
}

void AppendInts(Rows* rows, size_t slot, const Dims& dims, const std::vector<int64_t>& values) {
  char* place = rows->Append(slot, DataType::kInt64, dims);
  if (!values.empty()) std::memcpy(place, values.data(), 8 * values.size());
}

LoDTensor Only(Rows* rows) {
  std::vector<LoDTensor> out;
  rows->MoveTo(&out);
  EXPECT_EQ(out.size(), 1u);
  return out.at(0);
}

TEST(SlotSpec, KnowsWhetherEachElementIsOneStep) {
  EXPECT_TRUE(Ints({1, 28}).one_step());
  EXPECT_TRUE(Ints({1}).one_step());
  EXPECT_FALSE(Ints({2, 28}).one_step());
  EXPECT_FALSE(Ints({-1, 28}).one_step());
  EXPECT_FALSE(Ints({1, -1}).one_step());
  EXPECT_FALSE(Ints({1, 28}, 1).one_step());
  SlotSpec unknown = Ints({1, 28});
  unknown.known = false;
  EXPECT_FALSE(unknown.one_step());
}

TEST(SlotSpec, FitsWhatIsDeclared) {
  EXPECT_TRUE(Fits(Ints({1, -1}), DataType::kInt64, {1, 5}, 0));
  EXPECT_FALSE(Fits(Ints({1, -1}), DataType::kInt64, {2, 5}, 0));
  EXPECT_FALSE(Fits(Ints({1, -1}), DataType::kInt32, {1, 5}, 0));
  EXPECT_FALSE(Fits(Ints({1, -1}), DataType::kInt64, {1}, 0));
  EXPECT_FALSE(Fits(Ints({1, -1}), DataType::kInt64, {1, 5}, 1));
  EXPECT_FALSE(Fits(Ints({-1, 1}), DataType::kInt64, {-5, 1}, 0));
  ExpectError(ErrorCode::kDataLoss,
              "slot 3: int64 [1, 2] is declared, float32 [1, 2] with 1 level of detail was found",
              [] {
                CheckFits(Ints({1, 2}), 3, DataType::kFp32, {1, 2}, 1);
              });
}

TEST(SlotSpec, OfUnknownDimsTakesAnyButNotOtherLevels) {
  SlotSpec unknown;
  unknown.known = false;
  EXPECT_TRUE(Fits(unknown, DataType::kUint8, {3, 4}, 0));
  EXPECT_FALSE(Fits(unknown, DataType::kUint8, {}, 0));
  EXPECT_FALSE(Fits(unknown, DataType::kUint8, {3, -4}, 0));
  EXPECT_FALSE(Fits(unknown, DataType::kUint8, {3, 4}, 1));
}

TEST(Rows, LayElementsEndToEnd) {
  Rows rows({Ints({-1, 2}), Spec(DataType::kUint8, {1})});
  AppendInts(&rows, 0, {1, 2}, {1, 2});
  *rows.Append(1, DataType::kUint8, {1}) = 'a';
  AppendInts(&rows, 0, {2, 2}, {3, 4, 5, 6});
  *rows.Append(1, 1) = 'b';
  EXPECT_EQ(rows.steps(0), 3);
  EXPECT_EQ(rows.bytes(), 3 * 16 + 2u);
  std::vector<LoDTensor> out;
  rows.MoveTo(&out);
  EXPECT_EQ(out.at(0).dims(), (Dims{3, 2}));
  EXPECT_EQ(ValuesOf<int64_t>(out.at(0)), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(out.at(1).dims(), (Dims{2}));
  EXPECT_EQ(ValuesOf<uint8_t>(out.at(1)), (std::vector<uint8_t>{'a', 'b'}));
  EXPECT_TRUE(rows.untouched());
}

TEST(Rows, LaySequencesEndToEnd) {
  Rows rows({{DataType::kUint8, {-1, 2}, 1}});
  for (const size_t steps : {2, 0, 3}) {
    std::memset(rows.AppendSequence(0, steps), 'a' + static_cast<int>(steps), 2 * steps);
  }
  std::vector<LoDTensor> tensors;
  rows.MoveTo(&tensors);
  EXPECT_EQ(tensors[0].dims(), Dims({5, 2}));
  EXPECT_EQ(tensors[0].lod(), (Lod{{0, 2, 2, 5}}));
  EXPECT_EQ(std::string(static_cast<const char*>(tensors[0].raw_data()), 10), "ccccdddddd");
}

TEST(Rows, WithoutElementsAreEmptyTensors) {
  Rows rows({Ints({-1, 2}), Ints({-1, -1}, 1)});
  std::vector<LoDTensor> out;
  rows.MoveTo(&out);
  EXPECT_EQ(out.at(0).dims(), (Dims{0, 2}));
  EXPECT_EQ(out.at(1).dims(), (Dims{0, 0}));
  EXPECT_EQ(out.at(1).lod(), (Lod{{0}}));
}

TEST(Rows, RefuseInnerDimsThatDiffer) {
  Rows rows({Ints({-1, -1})});
  AppendInts(&rows, 0, {1, 2}, {1, 2});
  ExpectError(ErrorCode::kDataLoss, "dims [1, 3] cannot follow others of dims [-1, 2]", [&] {
    AppendInts(&rows, 0, {1, 3}, {1, 2, 3});
  });
}

TEST(Rows, RefuseInnerDimsThatDifferFromThoseOfAnEmptyElement) {
  Rows rows({Ints({-1, -1})});
  AppendInts(&rows, 0, {0, 2}, {});
  ExpectError(ErrorCode::kDataLoss, "cannot follow", [&] {
    AppendInts(&rows, 0, {1, 3}, {1, 2, 3});
  });
  Rows part({Ints({-1, -1})});
  AppendInts(&part, 0, {0, 2}, {});
  Rows other({Ints({-1, -1})});
  AppendInts(&other, 0, {1, 3}, {1, 2, 3});
  ExpectError(ErrorCode::kDataLoss, "cannot follow", [&] { other.Join(part); });
}

TEST(Rows, RefuseSizesThatCannotBe) {
  Rows rows({Spec(DataType::kUint8, {-1})});
  ExpectError(ErrorCode::kResourceLimit, "out of reach",
              [&] { rows.Append(0, DataType::kUint8, {int64_t{1} << 62}); });
  Rows wide({Spec(DataType::kFp64, {-1, 1 << 20})});
  ExpectError(ErrorCode::kResourceLimit, "", [&] {
    wide.Append(0, DataType::kFp64, {int64_t{1} << 45, 1 << 20});
  });
}

TEST(Rows, LearnSlotsThatOnlyTheFileKnows) {
  SlotSpec unknown;
  unknown.known = false;
  Rows rows({unknown});
  std::memset(rows.Append(0, DataType::kUint8, {2, 3}), 1, 6);
  ExpectError(ErrorCode::kDataLoss, "int64", [&] { rows.Append(0, DataType::kInt64, {2, 3}); });
  std::memset(rows.Append(0, DataType::kUint8, {1, 3}), 2, 3);
  const LoDTensor tensor = Only(&rows);
  EXPECT_EQ(tensor.dims(), (Dims{3, 3}));
  EXPECT_EQ(tensor.dtype(), DataType::kUint8);
}

TEST(Rows, ShareTheFirstTensorAndLeaveItAlone) {
  const LoDTensor first = MakeTensor<int64_t>({1, 2}, {1, 2});
  {
    Rows rows({Ints({-1, 2})});
    rows.Append(0, first);
    EXPECT_EQ(Only(&rows).raw_data(), first.raw_data());
  }
  Rows rows({Ints({-1, 2})});
  rows.Append(0, first);
  rows.Append(0, MakeTensor<int64_t>({1, 2}, {3, 4}));
  AppendInts(&rows, 0, {1, 2}, {5, 6});
  EXPECT_EQ(ValuesOf<int64_t>(Only(&rows)), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(ValuesOf<int64_t>(first), (std::vector<int64_t>{1, 2}));
}

TEST(Rows, ShareAnEmptyFirstTensorAndLeaveItAlone) {
  LoDTensor roomy = MakeTensor<int64_t>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  LoDTensor empty;
  empty.Share(roomy.buffer(), DataType::kInt64, {0, 2});
  Rows rows({Ints({-1, 2})});
  rows.Append(0, empty);
  AppendInts(&rows, 0, {1, 2}, {9, 9});
  EXPECT_EQ(ValuesOf<int64_t>(Only(&rows)), (std::vector<int64_t>{9, 9}));
  EXPECT_EQ(ValuesOf<int64_t>(roomy)[0], 1);
}

// The room after the values of a shared buffer belongs to its owner.
TEST(Rows, MakePartsInMemoryOfTheirOwnBehindASharedTensor) {
  const LoDTensor roomy = MakeTensor<int64_t>({8}, {0, 1, 2, 3, 4, 5, 6, 7});
  LoDTensor first;
  first.Share(roomy.buffer(), DataType::kInt64, {1});
  Rows rows({Ints({1})});
  rows.Append(0, first);
  rows.Expect(2);
  for (size_t k = 0; k < 2; ++k) {
    Rows part;
    rows.MakePart(k, &part);
    AppendInts(&part, 0, {1}, {static_cast<int64_t>(100 + k)});
  }
  rows.AdvanceParts(2);
  EXPECT_EQ(ValuesOf<int64_t>(Only(&rows)), (std::vector<int64_t>{0, 100, 101}));
  EXPECT_EQ(ValuesOf<int64_t>(roomy), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Rows, PartsWriteInPlaceInAnyOrder) {
  Rows rows({Ints({-1, 2}), Spec(DataType::kUint8, {1})});
  AppendInts(&rows, 0, {1, 2}, {0, 0});
  *rows.Append(1, 1) = 'z';
  rows.Expect(6);
  for (const size_t k : {2, 0, 1}) {  // of two elements each
    Rows part;
    rows.MakePart(2 * k, &part);
    for (size_t i = 0; i < 2; ++i) {
      const auto value = static_cast<int64_t>(2 * k + i + 1);
      AppendInts(&part, 0, {1, 2}, {value, -value});
      *part.Append(1, 1) = static_cast<char>('a' + value);
    }
    EXPECT_EQ(part.steps(0), 2);
  }
  rows.AdvanceParts(6);
  std::vector<LoDTensor> out;
  rows.MoveTo(&out);
  EXPECT_EQ(ValuesOf<int64_t>(out[0]),
            (std::vector<int64_t>{0, 0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6}));
  EXPECT_EQ(ValuesOf<uint8_t>(out[1]), (std::vector<uint8_t>{'z', 'b', 'c', 'd', 'e', 'f', 'g'}));
}

TEST(Rows, PartsRefuseElementsOfSeveralSteps) {
  Rows rows({Ints({-1, 2})});
  rows.Expect(2);
  Rows part;
  rows.MakePart(0, &part);
  ExpectError(ErrorCode::kDataLoss, "[2, 2] was found", [&] {
    AppendInts(&part, 0, {2, 2}, {1, 2, 3, 4});
  });
}

TEST(Rows, ResetLikeTakesTheSameElements) {
  Rows rows({Ints({-1, -1}), Ints({-1, 1}, 1)});
  AppendInts(&rows, 0, {1, 2}, {1, 2});
  Rows like;
  like.ResetLike(rows);
  EXPECT_TRUE(like.untouched());
  ExpectError(ErrorCode::kDataLoss, "dims [1, 3] cannot follow others of dims [-1, 2]", [&] {
    AppendInts(&like, 0, {1, 3}, {1, 2, 3});
  });
  like.ResetLike(rows);
  AppendInts(&like, 0, {1, 2}, {3, 4});
  like.Append(1, MakeTensor<int64_t>({2, 1}, {5, 6}, {{0, 2}}));
  rows.Append(1, MakeTensor<int64_t>({1, 1}, {4}, {{0, 1}}));
  rows.Join(like);
  std::vector<LoDTensor> out;
  rows.MoveTo(&out);
  EXPECT_EQ(ValuesOf<int64_t>(out[0]), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(out[1].lod(), (Lod{{0, 1, 3}}));
}

TEST(Rows, StackMakesAnOuterAxis) {
  Rows rows({Ints({-1, 2})});
  for (int64_t i = 0; i < 3; ++i) AppendInts(&rows, 0, {2, 2}, {i, i, i, i});
  rows.Stack(0, 3, 2);
  EXPECT_EQ(rows.steps(0), 3);
  const LoDTensor tensor = Only(&rows);
  EXPECT_EQ(tensor.dims(), (Dims{3, 2, 2}));
  EXPECT_EQ(ValuesOf<int64_t>(tensor)[4], 1);
}

TEST(Rows, StackKeepsAnInnerLengthOfNothing) {
  Rows rows({Ints({-1, 2})});
  for (int i = 0; i < 3; ++i) AppendInts(&rows, 0, {0, 2}, {});
  rows.Stack(0, 3, 0);
  EXPECT_EQ(Only(&rows).dims(), (Dims{3, 0, 2}));
}

// ---- Levels of detail: what is merged can be split again. ----

// One element with `levels` levels of detail, each unit made of 0 to 3 units of the next.
LoDTensor RandomElement(size_t levels, std::mt19937_64* bits, int64_t* next_value) {
  Lod lod;
  uint64_t units = 1;
  for (size_t level = 0; level < levels; ++level) {
    LodLevel offsets = {0};
    for (uint64_t i = 0; i < units; ++i) offsets.push_back(offsets.back() + (*bits)() % 4);
    units = offsets.back();
    lod.push_back(std::move(offsets));
  }
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < units; ++i) values.push_back((*next_value)++);
  return MakeTensor<int64_t>({static_cast<int64_t>(units), 1}, values, lod);
}

// Element k of a batch whose outermost level has one unit an element.
ElementValue Split(const LoDTensor& batch, size_t k) {
  uint64_t begin = k, end = k + 1;
  Lod lod;
  for (const LodLevel& level : batch.lod()) {
    LodLevel offsets;
    for (uint64_t i = begin; i <= end; ++i) offsets.push_back(level[i] - level[begin]);
    lod.push_back(std::move(offsets));
    begin = level[begin];
    end = level[end];
  }
  const std::vector<int64_t> all = ValuesOf<int64_t>(batch);
  return ValueOf({MakeTensor<int64_t>({static_cast<int64_t>(end - begin), 1},
                                      {all.begin() + begin, all.begin() + end}, lod)});
}

TEST(Rows, MergeLevelsOfDetailSoThatTheySplitAgain) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 bits(seed);
    const size_t levels = 1 + bits() % 3;
    const std::vector<SlotSpec> slots = {Ints({-1, 1}, static_cast<int>(levels))};
    std::vector<LoDTensor> elements;
    int64_t next_value = 0;
    for (size_t n = bits() % 6; n > 0; --n) {
      elements.push_back(RandomElement(levels, &bits, &next_value));
    }
    // Appended one by one, or in parts that are joined, cut anywhere.
    const size_t cut = elements.empty() ? 0 : bits() % (elements.size() + 1);
    Rows whole(slots), first(slots), second(slots), joined(slots);
    for (size_t i = 0; i < elements.size(); ++i) {
      whole.Append(0, elements[i]);
      (i < cut ? first : second).Append(0, elements[i]);
    }
    joined.Join(first);
    joined.Join(second);
    const LoDTensor batch = Only(&whole);
    if (!elements.empty()) CheckLod(batch.lod(), batch.rows());
    EXPECT_EQ(ValueOf({Only(&joined)}), ValueOf({batch})) << "seed " << seed;
    ASSERT_EQ(batch.lod().at(0).size(), elements.size() + 1) << "seed " << seed;
    for (size_t k = 0; k < elements.size(); ++k) {
      EXPECT_EQ(Split(batch, k), ValueOf({elements[k]})) << "seed " << seed << " element " << k;
    }
  }
}

TEST(Rows, GiveTheirMemoryBack) {
  const size_t before = BufferPool::At(Place()).in_use_bytes();
  Rows rows({Ints({-1})});
  AppendInts(&rows, 0, {3}, {1, 2, 3});
  EXPECT_GT(BufferPool::At(Place()).in_use_bytes(), before);
  rows.Release();
  EXPECT_EQ(BufferPool::At(Place()).in_use_bytes(), before);
  rows.Reset({Ints({-1})});
  AppendInts(&rows, 0, {1}, {7});
  EXPECT_EQ(ValuesOf<int64_t>(Only(&rows)), std::vector<int64_t>{7});
  EXPECT_EQ(BufferPool::At(Place()).in_use_bytes(), before);
}

}  // namespace
}  // namespace millhopper

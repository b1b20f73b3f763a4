// SPDX-License-Identifier: Apache-2.0
// Records of one size, cut by the declared slots.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/reader/file_reader.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

SlotSpec Slot(DataType dtype, const Dims& dims, int lod_level = 0) {
  SlotSpec slot;
  slot.dtype = dtype;
  slot.dims = dims;
  slot.lod_level = lod_level;
  return slot;
}

std::unique_ptr<ReaderBase> Reader(const std::string& path, std::vector<SlotSpec> slots) {
  FormatArguments arguments;
  arguments.declared = std::move(slots);
  return OpenFile(*FindFileFormat("fixed"), path, "", arguments);
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// 13 bytes a record: two uint8, one int64 ... of record i everything follows from i.
const std::vector<SlotSpec>& SampleSlots() {
  static const auto* slots = new std::vector<SlotSpec>{
      Slot(DataType::kUint8, {1, 2}), Slot(DataType::kInt64, {1, 1}), Slot(DataType::kInt8, {3})};
  return *slots;
}

ElementValue SampleElement(int64_t i) {
  const std::vector<uint8_t> pair{static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8)};
  const std::vector<int8_t> three{static_cast<int8_t>(-i), 1, static_cast<int8_t>(i * 3)};
  return {{DataType::kUint8, {1, 2}, {}, BytesOf(pair)},
          {DataType::kInt64, {1, 1}, {}, BytesOf<int64_t>({i * 1000003})},
          {DataType::kInt8, {3}, {}, BytesOf(three)}};
}

std::vector<ElementValue> SampleElements(int64_t n) {
  std::vector<ElementValue> elements;
  for (int64_t i = 0; i < n; ++i) elements.push_back(SampleElement(i));
  return elements;
}

std::string SampleFile(int64_t n) {
  std::string bytes;
  for (const ElementValue& element : SampleElements(n)) {
    for (const SlotValue& slot : element) bytes += slot.bytes;
  }
  return bytes;
}

TEST(Fixed, CutsTheSlotsInOrder) {
  const TempFile file("three", SampleFile(3));
  EXPECT_EQ(ReadAll(Reader(file.path(), SampleSlots()).get()), SampleElements(3));
  EXPECT_EQ(ReadAll(Reader("fixed:" + file.path(), SampleSlots()).get()), SampleElements(3));
}

TEST(Fixed, AnEmptyFileHasNoRecords) {
  const TempFile file("empty", "");
  EXPECT_TRUE(ReadAll(Reader(file.path(), SampleSlots()).get()).empty());
}

TEST(Fixed, AnyNumberOfThreadsReadsTheSame) {
  constexpr size_t kRecords = 5000;  // of 1 KiB, in several chunks
  std::string content;
  std::vector<ElementValue> model;
  for (size_t i = 0; i < kRecords; ++i) {
    const std::string bytes = BytesOf(std::vector<uint32_t>(256, static_cast<uint32_t>(i * 77)));
    model.push_back({{DataType::kInt32, {1, 255}, {}, bytes.substr(4)},
                     {DataType::kUint8, {2, 2}, {}, bytes.substr(0, 4)}});
    content += bytes.substr(4) + bytes.substr(0, 4);
  }
  const std::vector<SlotSpec> slots{Slot(DataType::kInt32, {1, 255}),
                                    Slot(DataType::kUint8, {2, 2})};
  const TempFile plain("plain", content);
  const TempFile compressed("compressed", Gzipped(content));
  for (const int workers : {0, 1, 2, 7, 16}) {
    const PoolSize pool(workers);
    for (const TempFile* file : {&plain, &compressed}) {
      EXPECT_TRUE(ReadAll(Reader(file->path(), slots).get()) == model) << workers;
    }
  }
}

TEST(Fixed, APartialRecordAtTheEndIsAnErrorBehindTheWholeOnes) {
  const std::string content = SampleFile(3);
  for (size_t size = 0; size <= content.size(); ++size) {
    const TempFile plain("cut", content.substr(0, size));
    const TempFile compressed("cut.gz", Gzipped(content.substr(0, size)));
    for (const TempFile* file : {&plain, &compressed}) {
      const std::unique_ptr<ReaderBase> reader = Reader(file->path(), SampleSlots());
      const size_t whole = size / 13;
      EXPECT_EQ(ReadSome(reader.get(), whole), SampleElements(static_cast<int64_t>(whole)));
      if (size % 13 == 0) {
        EXPECT_FALSE(reader->HasNext());
        continue;
      }
      ExpectError(ErrorCode::kDataLoss,
                  StrCat(file->path(), ": the file ends at byte ", size,
                         file == &plain ? "" : " of the decompressed content", " in record ", whole,
                         ", of which it has ", size % 13,
                         " of 13 bytes; the attribute drop_last leaves such a rest out"),
                  [&] { reader->HasNext(); });
    }
  }
}

TEST(Fixed, APartialRecordAtTheEndMayBeLeftOut) {
  const std::string content = SampleFile(3);
  for (size_t size = 0; size <= content.size(); ++size) {
    const TempFile plain("cut", content.substr(0, size));
    const TempFile compressed("cut.gz", Gzipped(content.substr(0, size)));
    const auto whole = static_cast<int64_t>(size / 13);
    for (const TempFile* file : {&plain, &compressed}) {
      FormatArguments arguments;
      arguments.declared = SampleSlots();
      arguments.attributes.Set("drop_last", true);
      const auto reader = OpenFile(*FindFileFormat("fixed"), file->path(), "", arguments);
      for (int pass = 0; pass < 2; ++pass) {
        EXPECT_EQ(ReadAll(reader.get()), SampleElements(whole));
        reader->ReInit();
      }
      if (file == &plain) {
        EXPECT_EQ(reader->PassLength(), static_cast<uint64_t>(whole));
      }
    }
  }
}

TEST(Fixed, ACompressedFileThatIsCutOffGivesWhatPrecedesTheCut) {
  const std::string whole = Gzipped(SampleFile(40));
  for (size_t size = 2; size < whole.size(); ++size) {
    const TempFile file("cut.gz", whole.substr(0, size));
    const std::unique_ptr<ReaderBase> reader = Reader(file.path(), SampleSlots());
    std::vector<ElementValue> read;
    ExpectError(ErrorCode::kDataLoss, file.path(), [&] {
      for (;;) read.push_back(ReadSome(reader.get(), 1).at(0));
    });
    EXPECT_EQ(read, SampleElements(static_cast<int64_t>(read.size())));
  }
}

TEST(Fixed, ARecordMayBeLargerThanABlock) {
  const std::vector<SlotSpec> slots{Slot(DataType::kFp32, {1, 300, 1000})};
  std::vector<float> values(size_t{2} * 300 * 1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const std::string content = BytesOf(values);
  for (const std::string& stored : {content, Gzipped(content)}) {
    const TempFile file("large", stored);
    const std::vector<ElementValue> read = ReadAll(Reader(file.path(), slots).get());
    ASSERT_EQ(read.size(), 2u);
    EXPECT_TRUE(read[0][0].bytes + read[1][0].bytes == content);
  }
  // Larger than anything that a small file can hold: no memory is taken for it.
  const TempFile small("small", Gzipped("abc"));
  const size_t before = BufferPool::At(Place()).in_use_bytes();
  const auto reader = Reader(small.path(), {Slot(DataType::kUint8, {1, int64_t{1} << 30})});
  ExpectError(ErrorCode::kDataLoss, "of which it has 3 of 1073741824 bytes",
              [&] { reader->HasNext(); });
  EXPECT_LT(BufferPool::At(Place()).in_use_bytes(), before + (1 << 20));
}

TEST(Fixed, ABoolIsZeroOrOne) {
  const TempFile file("bools", std::string("\0\1\1\2", 4));
  const auto reader = Reader(file.path(), {Slot(DataType::kBool, {1, 2})});
  EXPECT_EQ(ReadSome(reader.get(), 1)[0][0].bytes, std::string("\0\1", 2));
  ExpectError(ErrorCode::kDataLoss, "a bool is 0 or 1, not 2", [&] { ReadSome(reader.get(), 1); });
}

TEST(Fixed, TheSlotsMustTellTheSize) {
  const TempFile file("any", "abc");
  const auto expect = [&](const std::string& words, const std::vector<SlotSpec>& slots) {
    ExpectError(ErrorCode::kInvalidArgument, words, [&] { Reader(file.path(), slots); });
  };
  expect("must be declared", {});
  expect("slot 0 has dims [1, -1]", {Slot(DataType::kUint8, {1, -1})});
  expect("slot 1 has levels of detail",
         {Slot(DataType::kUint8, {1}), Slot(DataType::kUint8, {1}, 1)});
  expect("have no bytes", {Slot(DataType::kUint8, {1, 0})});
  ExpectError(ErrorCode::kResourceLimit, "a record of more than", [&] {
    Reader(file.path(), {Slot(DataType::kFp64, {1, int64_t{1} << 29})});
  });
}

TEST(Fixed, AFileThatShrinksIsAnErrorAndNoEnd) {
  const TempFile file("shrinks", SampleFile(300000));
  const PoolSize pool(0);
  const std::unique_ptr<ReaderBase> reader = Reader(file.path(), SampleSlots());
  EXPECT_EQ(ReadSome(reader.get(), 2), SampleElements(2));
  WriteFile(file.path(), SampleFile(2));
  ExpectError(ErrorCode::kDataLoss, "file is shorter than when it was opened",
              [&] { ReadAll(reader.get()); });
}

TEST(Fixed, MayBeginAnewAtAnyMoment) {
  constexpr size_t kRecords = 70000;  // more than a chunk
  const TempFile file("anew", SampleFile(kRecords));
  const PoolSize pool(2);
  StartPoolThreads();
  const Holdings before = CurrentHoldings();
  {
    const std::unique_ptr<ReaderBase> reader = Reader(file.path(), SampleSlots());
    for (const size_t read : {size_t{0}, size_t{1}, kRecords - 1, kRecords, size_t{5}}) {
      reader->ReInit();
      EXPECT_EQ(ReadSome(reader.get(), read).size(), read);
    }
    reader->ReInit();
    EXPECT_TRUE(ReadAll(reader.get()) == SampleElements(kRecords));
    reader->ReInit();
    ReadSome(reader.get(), 2);
  }
  EXPECT_TRUE(HoldingsReturnTo(before));
}

// The label or labels of an image, and its planes of red, green and blue.
std::string CifarRecord(const std::string& labels, char first) {
  std::string pixels(size_t{3} * 32 * 32, first);
  pixels.back() = 'z';
  return labels + pixels;
}

TEST(Fixed, ReadsTheBinaryFilesOfCifar) {
  const SlotSpec label = Slot(DataType::kUint8, {1, 1});
  const SlotSpec image = Slot(DataType::kUint8, {1, 3, 32, 32});
  const TempFile ten("data_batch_1.bin", CifarRecord("\6", 'a') + CifarRecord("\11", 'b'));
  const std::vector<ElementValue> tens = ReadAll(Reader(ten.path(), {label, image}).get());
  ASSERT_EQ(tens.size(), 2u);
  EXPECT_EQ(tens[0][0].bytes, "\6");
  EXPECT_EQ(tens[1][0].bytes, "\11");
  EXPECT_EQ(tens[1][1].dims, (std::vector<int64_t>{1, 3, 32, 32}));
  EXPECT_EQ(tens[1][1].bytes, CifarRecord("", 'b'));
  const TempFile hundred("train.bin", CifarRecord("\13\23", 'c'));
  const std::vector<ElementValue> hundreds =
      ReadAll(Reader(hundred.path(), {label, label, image}).get());
  ASSERT_EQ(hundreds.size(), 1u);
  EXPECT_EQ(hundreds[0][0].bytes, "\13");
  EXPECT_EQ(hundreds[0][1].bytes, "\23");
  EXPECT_EQ(hundreds[0][2].bytes, CifarRecord("", 'c'));
}

}  // namespace
}  // namespace millhopper

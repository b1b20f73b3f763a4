// SPDX-License-Identifier: Apache-2.0
// idx files: every type and rank, labels zipped in, headers that lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/random.h"
#include "framework/reader/file_reader.h"
#include "readers/decorate/batch_reader.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/fakes/memory_files.h"
#include "tests/files/compressed.h"
#include "tests/left_waits.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Reader(const std::string& path, const std::string& labels = "",
                                   std::vector<SlotSpec> declared = {}) {
  FormatArguments arguments;
  arguments.declared = std::move(declared);
  return OpenFile(*FindFileFormat("idx"), path, labels, arguments);
}

SlotSpec Slot(DataType dtype, const Dims& dims) {
  SlotSpec slot;
  slot.dtype = dtype;
  slot.dims = dims;
  return slot;
}

std::string Header(int type, const std::vector<uint32_t>& dims) {
  std::string bytes{0, 0, static_cast<char>(type), static_cast<char>(dims.size())};
  for (const uint32_t dim : dims) bytes += BigEndian(dim, 4);
  return bytes;
}

// n images of 2 x 3 pixels; pixel k of image i is 10 i + k.
std::string Pixels(size_t first, size_t n) {
  std::string bytes;
  for (size_t i = 6 * first; i < 6 * (first + n); ++i) {
    bytes += static_cast<char>(10 * (i / 6) + i % 6);
  }
  return bytes;
}

std::string Images(uint32_t n) { return Header(0x08, {n, 2, 3}) + Pixels(0, n); }

std::string Labels(uint32_t n) {
  std::string bytes = Header(0x08, {n});
  for (uint32_t i = 0; i < n; ++i) bytes += static_cast<char>(i * 7);
  return bytes;
}

template <typename T>
std::string BytesOf(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

ElementValue Image(size_t i) { return {{DataType::kUint8, {1, 2, 3}, {}, Pixels(i, 1)}}; }

ElementValue LabelledImage(size_t i) {
  ElementValue element = Image(i);
  element.push_back({DataType::kInt64, {1, 1}, {}, BytesOf<int64_t>({uint8_t(i * 7)})});
  return element;
}

template <typename Make>
std::vector<ElementValue> Elements(size_t n, const Make& make) {
  std::vector<ElementValue> elements;
  for (size_t i = 0; i < n; ++i) elements.push_back(make(i));
  return elements;
}

TEST(Idx, AnInstanceHasALeadingAxisOfOne) {
  const TempFile file("images-idx3-ubyte", Images(5));
  EXPECT_EQ(ReadAll(Reader(file.path()).get()), Elements(5, Image));
}

// The size of records is known once the file is open, so no batch grows step by step.
TEST(Idx, BatchesTakeAsMuchMemoryAsTheyNeed) {
  const PoolSize pool(0);
  const TempFile images("images", Images(5000));
  const TempFile labels("labels", Labels(5000));
  for (const std::string& second : {std::string(), labels.path()}) {
    BatchReader batches(Reader(images.path(), second), 5000, false, BatchMode::kConcat);
    std::vector<LoDTensor> batch;
    batches.ReadNext(&batch);
    for (const LoDTensor& tensor : batch) {
      EXPECT_EQ(tensor.buffer()->capacity(), SizeClass(tensor.bytes()));
    }
  }
}

TEST(Idx, LabelsAreASecondSlot) {
  const TempFile images("images", Images(30));
  const TempFile images_gz("images.gz", Gzipped(Images(30)));
  const TempFile labels("labels", Labels(30));
  const TempFile labels_gz("labels.gz", Gzipped(Labels(30)));
  for (const TempFile* image_file : {&images, &images_gz}) {
    for (const TempFile* label_file : {&labels, &labels_gz}) {
      const auto reader = Reader(image_file->path(), label_file->path());
      EXPECT_EQ(ReadAll(reader.get()), Elements(30, LabelledImage));
    }
  }
}

TEST(Idx, AnyNumberOfThreadsReadsTheSame) {
  constexpr uint32_t kRecords = 5000;  // of 1 KiB, in several chunks
  std::string content = Header(0x08, {kRecords, 1024});
  std::vector<ElementValue> model;
  for (uint32_t i = 0; i < kRecords; ++i) {
    const std::string bytes(1024, static_cast<char>(i * 31));
    content += bytes;
    model.push_back({{DataType::kUint8, {1, 1024}, {}, bytes}, LabelledImage(i)[1]});
  }
  const TempFile images("images", content);
  const TempFile images_gz("images.gz", Gzipped(content));
  const TempFile labels("labels", Labels(kRecords));
  for (const int workers : {0, 1, 2, 7, 16}) {
    const PoolSize pool(workers);
    for (const TempFile* file : {&images, &images_gz}) {
      EXPECT_TRUE(ReadAll(Reader(file->path(), labels.path()).get()) == model) << workers;
    }
  }
}

struct TypeCase {
  int type;
  DataType dtype;
  size_t size;
  std::string values;  // two of them, as they lie in the file
  std::string bytes;   // and as they shall be
};

std::vector<TypeCase> Types() {
  return {
      {0x08, DataType::kUint8, 1, "\x01\xff", BytesOf<uint8_t>({1, 255})},
      {0x09, DataType::kInt8, 1, "\x01\xff", BytesOf<int8_t>({1, -1})},
      {0x0b, DataType::kInt16, 2, FromHex("0102 fffe"), BytesOf<int16_t>({258, -2})},
      {0x0c, DataType::kInt32, 4, FromHex("01020304 fffffffe"), BytesOf<int32_t>({16909060, -2})},
      {0x0d, DataType::kFp32, 4, FromHex("3fc00000 c2280000"), BytesOf<float>({1.5f, -42.0f})},
      {0x0e, DataType::kFp64, 8, FromHex("3ff8000000000000 c045000000000000"),
       BytesOf<double>({1.5, -42.0})},
  };
}

TEST(Idx, ValuesOfEveryTypeGetOurByteOrder) {
  for (const TypeCase& type : Types()) {
    const TempFile pairs("pairs", Header(type.type, {1, 2}) + type.values);
    EXPECT_EQ(ReadAll(Reader(pairs.path()).get()),
              (std::vector<ElementValue>{{{type.dtype, {1, 2}, {}, type.bytes}}}));
    const TempFile scalars("scalars", Header(type.type, {2}) + type.values);
    EXPECT_EQ(ReadAll(Reader(scalars.path()).get()),
              (std::vector<ElementValue>{{{type.dtype, {1}, {}, type.bytes.substr(0, type.size)}},
                                         {{type.dtype, {1}, {}, type.bytes.substr(type.size)}}}));
  }
}

TEST(Idx, LabelsOfEveryIntegerTypeBecomeInt64) {
  const TempFile images("images", Images(2));
  for (const TypeCase& type : Types()) {
    const TempFile labels("labels", Header(type.type, {2}) + type.values);
    const auto reader = Reader(images.path(), labels.path());
    if (type.dtype == DataType::kFp32 || type.dtype == DataType::kFp64) {
      ExpectError(ErrorCode::kDataLoss, "labels are one integer a record, not float",
                  [&] { reader->HasNext(); });
      continue;
    }
    std::vector<int64_t> expected;
    for (size_t i = 0; i < 2; ++i) {
      const char* value = type.bytes.data() + i * type.size;
      expected.push_back(type.dtype == DataType::kUint8  ? static_cast<uint8_t>(*value)
                         : type.dtype == DataType::kInt8 ? static_cast<int8_t>(*value)
                         : type.dtype == DataType::kInt16
                             ? *reinterpret_cast<const int16_t*>(value)
                             : *reinterpret_cast<const int32_t*>(value));
    }
    const std::vector<ElementValue> read = ReadAll(reader.get());
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(read[0][1].bytes + read[1][1].bytes, BytesOf(expected)) << type.type;
  }
}

TEST(Idx, TheRankIsThatOfTheFile) {
  const std::vector<uint32_t> dims{2, 1, 2, 1, 1, 1, 1, 1, 3};
  const TempFile file("nine", Header(0x08, dims) + "abcdefghijkl");
  const std::vector<ElementValue> read = ReadAll(Reader(file.path()).get());
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1][0].dims, (std::vector<int64_t>{1, 1, 2, 1, 1, 1, 1, 1, 3}));
  EXPECT_EQ(read[1][0].bytes, "ghijkl");
  const TempFile ten("ten", Header(0x08, std::vector<uint32_t>(10, 1)) + "x");
  ExpectError(ErrorCode::kResourceLimit, "an idx file of rank 10; the limit is 9",
              [&] { Reader(ten.path())->HasNext(); });
}

TEST(Idx, ThereMayBeNoRecordsAndNoValues) {
  EXPECT_TRUE(ReadAll(Reader(TempFile("none", Images(0)).path()).get()).empty());
  const TempFile hollow("hollow", Header(0x08, {3, 0, 28}));
  const TempFile labels("labels", Labels(3));
  for (const std::string& second : {std::string(), labels.path()}) {
    const std::vector<ElementValue> read = ReadAll(Reader(hollow.path(), second).get());
    ASSERT_EQ(read.size(), 3u);
    EXPECT_EQ(read[2][0].dims, (std::vector<int64_t>{1, 0, 28}));
    EXPECT_EQ(read[2].size(), second.empty() ? 1u : 2u);
    EXPECT_EQ(read[2].back().bytes, second.empty() ? "" : BytesOf<int64_t>({14}));
  }
}

// F16: twelve bytes that promise four thousand million records.
TEST(Idx, RecordsWithoutBytesAreNoMoreThanTheBytesOfTheFile) {
  for (const uint32_t records : {13u, 0xffffffffu}) {
    const TempFile file("hollow", Header(0x08, {records, 0}));
    ExpectError(
        ErrorCode::kDataLoss,
        StrCat(file.path(), ": its header promises ", records, " records without any bytes"),
        [&] { Reader(file.path())->HasNext(); });
  }
  EXPECT_EQ(ReadAll(Reader(TempFile("hollow", Header(0x08, {12, 0})).path()).get()).size(), 12u);
}

TEST(Idx, AFileOfAnotherLengthThanItsHeaderSaysIsAnErrorAtTheRightRecord) {
  const std::string whole = Images(3) + "x";
  const size_t head = 16;
  for (size_t size = 0; size <= whole.size(); ++size) {
    const TempFile plain("cut", whole.substr(0, size));
    const TempFile compressed("cut.gz", Gzipped(whole.substr(0, size)));
    for (const TempFile* file : {&plain, &compressed}) {
      const std::unique_ptr<ReaderBase> reader = Reader(file->path());
      if (size < head) {
        ExpectError(
            ErrorCode::kDataLoss,
            StrCat(file->path(), ": the file ends at byte ", size,
                   file == &plain ? "" : " of the decompressed content", " in its idx header"),
            [&] { reader->HasNext(); });
        continue;
      }
      const size_t records = (size - head) / 6;
      EXPECT_EQ(ReadSome(reader.get(), records), Elements(records, Image));
      if (size + 1 == whole.size()) {
        EXPECT_FALSE(reader->HasNext());
      } else {
        const std::string words =
            size == whole.size()
                ? "more bytes follow the last record at byte 34"
                : StrCat(" in record ", records, ", of which it has ", (size - head) % 6,
                         " of 6 bytes; its header promises 3 records");
        ExpectError(ErrorCode::kDataLoss, words, [&] { reader->HasNext(); });
      }
    }
  }
}

TEST(Idx, LabelsThatEndEarlyOrLateAreAnErrorOfTheirFile) {
  const TempFile images("images", Images(3));
  const std::string whole = Labels(3);
  const auto expect = [&](const std::string& content, size_t records, const std::string& words) {
    for (const std::string& stored : {content, Gzipped(content)}) {
      const TempFile labels("labels", stored);
      const auto reader = Reader(images.path(), labels.path());
      EXPECT_EQ(ReadSome(reader.get(), records), Elements(records, LabelledImage));
      ExpectError(ErrorCode::kDataLoss, labels.path() + ": " + words, [&] { reader->HasNext(); });
    }
  };
  expect(whole.substr(0, whole.size() - 1), 2, "the file ends at byte 10");
  expect(whole + "x", 3, "more bytes follow the last record at byte 11");
}

TEST(Idx, BothFilesMustHaveAsManyRecords) {
  const TempFile images("images", Images(3));
  const TempFile labels("labels", Labels(4));
  ExpectError(ErrorCode::kDataLoss,
              labels.path() + ": 4 labels for the 3 records of " + images.path(),
              [&] { Reader(images.path(), labels.path())->HasNext(); });
  const TempFile pairs("pairs", Header(0x08, {3, 2}) + "abcdef");
  ExpectError(ErrorCode::kDataLoss, "labels are one integer a record, not uint8 [1, 2]",
              [&] { Reader(images.path(), pairs.path())->HasNext(); });
}

TEST(Idx, WhatIsNoIdxIsSaidSo) {
  for (const std::string& content : {Header(0x0a, {1}) + "x", std::string("\1\0\x08\1\0\0\0\1x", 9),
                                     Header(0x08, {}) + "xxxx", std::string("a text")}) {
    const TempFile file("other", content);
    ExpectError(ErrorCode::kDataLoss, file.path() + ": no idx file",
                [&] { Reader(file.path())->HasNext(); });
  }
}

// F16
TEST(Idx, APromiseOfMoreThanTheFileHoldsTakesNoMemory) {
  constexpr uint32_t kMany = 0xffffffffu;
  const std::string huge = Header(0x08, {kMany, kMany});
  const TempFile file("huge", huge);
  ExpectError(ErrorCode::kResourceLimit, "declares records of more than",
              [&] { Reader(file.path())->HasNext(); });
  const std::string content = Header(0x08, {kMany, 1u << 30}) + "abc";
  const size_t before = BufferPool::At(Place()).in_use_bytes();
  for (const std::string& stored : {content, Gzipped(content)}) {
    const TempFile lies("lies", stored);
    const auto reader = Reader(lies.path());
    ExpectError(ErrorCode::kDataLoss, "of which it has 3 of 1073741824 bytes",
                [&] { reader->HasNext(); });
    EXPECT_LT(BufferPool::At(Place()).in_use_bytes(), before + (1 << 20));
  }
}

TEST(Idx, ADeclarationMustAgreeWithTheFile) {
  const TempFile images("images", Images(3));
  const TempFile labels("labels", Labels(3));
  const SlotSpec label = Slot(DataType::kInt64, {1, 1});
  for (const Dims& dims : {Dims{1, 2, 3}, Dims{-1, -1, -1}, Dims{1, 2, -1}}) {
    const auto reader = Reader(images.path(), labels.path(), {Slot(DataType::kUint8, dims), label});
    EXPECT_EQ(reader->shape(0), dims);
    EXPECT_EQ(ReadAll(reader.get()), Elements(3, LabelledImage));
  }
  const auto wrong = Reader(images.path(), "", {Slot(DataType::kUint8, {1, 28, 28})});
  ExpectError(ErrorCode::kDataLoss,
              images.path() + ": slot 0: uint8 [1, 28, 28] is declared, uint8 [1, 2, 3] was found",
              [&] { wrong->HasNext(); });
  ExpectError(ErrorCode::kInvalidArgument, "1 slots are declared, but the format has 2", [&] {
    Reader(images.path(), labels.path(), {Slot(DataType::kUint8, {1, 2, 3})});
  });
  ExpectError(ErrorCode::kInvalidArgument, "slot 1: int32 [1, 1] is declared", [&] {
    Reader(images.path(), labels.path(),
           {Slot(DataType::kUint8, {1, 2, 3}), Slot(DataType::kInt32, {1, 1})});
  });
}

TEST(Idx, AllFilesOfAReaderHoldTheSame) {
  const TempFile first("first.idx", Images(2));
  const TempFile other("other.idx", Header(0x08, {1, 3, 2}) + "abcdef");
  MultiFileOptions options;
  options.cycle_length = 1;
  const auto reader = OpenFiles({first.path(), other.path()}, {}, {}, options);
  EXPECT_EQ(ReadSome(reader.get(), 2), Elements(2, Image));
  ExpectError(ErrorCode::kDataLoss,
              other.path() + ": records of uint8 [1, 3, 2] after files of uint8 [1, 2, 3]",
              [&] { reader->HasNext(); });
  const TempFile narrow("narrow", Labels(2));
  const TempFile wide("wide", Header(0x0b, {2}) + std::string(4, 'x'));
  const auto labelled =
      OpenFiles({first.path(), first.path()}, {narrow.path(), wide.path()}, {}, options);
  EXPECT_EQ(ReadSome(labelled.get(), 2), Elements(2, LabelledImage));
  ExpectError(ErrorCode::kDataLoss, wide.path() + ": labels of type int16 after files of uint8",
              [&] { labelled->HasNext(); });
}

TEST(Idx, MayBeginAnewAtAnyMoment) {
  constexpr size_t kRecords = 70000;  // more than a chunk
  const TempFile images("images", Images(kRecords));
  const TempFile labels("labels.gz", Gzipped(Labels(kRecords)));
  const PoolSize pool(2);
  StartPoolThreads();
  const Holdings before = CurrentHoldings();
  {
    for (const std::string& second : {std::string(), labels.path()}) {
      const auto reader = Reader(images.path(), second);
      for (const size_t read : {size_t{0}, size_t{1}, kRecords - 1, kRecords, kRecords + 1}) {
        reader->ReInit();
        EXPECT_EQ(ReadSome(reader.get(), read).size(), std::min(read, kRecords));
      }
      reader->ReInit();
      EXPECT_EQ(ReadSome(reader.get(), 1),
                (std::vector<ElementValue>{second.empty() ? Image(0) : LabelledImage(0)}));
    }
  }
  EXPECT_TRUE(HoldingsReturnTo(before));
}

TEST(Idx, IsRecognisedByNameAndContent) {
  const FormatSchema* idx = FindFileFormat("idx");
  for (const char* name : {"train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz",
                           "t10k-images.idx3-ubyte", "data/a.idx", "idx:anything"}) {
    EXPECT_EQ(ChooseFormat(name).schema, idx) << name;
  }
  const TempFile file("nameless", Gzipped(Images(3)));
  EXPECT_EQ(ChooseFormat(file.path()).schema, nullptr);
  FormatArguments arguments;
  arguments.declared = {Slot(DataType::kUint8, {1, 2, 3})};
  EXPECT_EQ(ReadAll(OpenFiles({file.path()}, {}, arguments, {}).get()), Elements(3, Image));
}

TEST(Idx, ReadsMnist) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  const std::string folder = TestData() + "/idx_mnist/";
  const auto reader =
      Reader(folder + "t10k-images-idx3-ubyte.gz", folder + "t10k-labels-idx1-ubyte.gz");
  std::vector<int64_t> labels;
  size_t bytes = 0;
  for (const ElementValue& element : ReadAll(reader.get())) {
    EXPECT_EQ(element[0].dims, (std::vector<int64_t>{1, 28, 28}));
    bytes += element[0].bytes.size();
    labels.push_back(*reinterpret_cast<const int64_t*>(element[1].bytes.data()));
  }
  EXPECT_EQ(bytes, 10000u * 784);
  labels.resize(10);
  EXPECT_EQ(labels, (std::vector<int64_t>{7, 2, 1, 0, 4, 1, 4, 9, 5, 9}));

  const auto train = Reader(folder + "train-labels-idx1-ubyte.gz");
  const std::vector<ElementValue> all = ReadAll(train.get());
  EXPECT_EQ(all.size(), 60000u);
  std::string first;
  for (size_t i = 0; i < 10; ++i) first += all[i][0].bytes;
  EXPECT_EQ(first, (std::string{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}));
}

// Images and labels are two streams, of which one may have been read further than the other.
TEST(Idx, ThreadsThatLeaveCompressedFilesLoseNothing) {
  constexpr uint32_t kImages = 300'000;
  std::string images = Header(0x08, {kImages, 2}), labels = Header(0x08, {kImages});
  for (uint32_t i = 0; i < kImages; ++i) {
    const uint64_t bits = MixBits(i);
    images += {static_cast<char>(bits), static_cast<char>(bits >> 8)};
    labels += static_cast<char>(bits >> 16);
  }
  const std::string path = "memory://images.gz", labels_path = "memory://labels.gz";
  MemoryFiles::Get().Write(path, Gzipped(images));
  MemoryFiles::Get().Write(labels_path, Gzipped(labels));
  const auto make = [&] {
    return std::make_unique<BatchReader>(Reader(path, labels_path), 1000, false,
                                         BatchMode::kConcat);
  };
  const std::vector<ElementValue> whole = ReadAll(make().get());
  int calls = 0;
  for (bool hit = true; hit; ++calls) {
    SCOPED_TRACE(StrCat("at call ", calls));
    MemoryFiles::Get().Break(FileTrouble::kStall, calls);
    const PoolSize none(0);
    const Outcome outcome = ReadLeavingWaits(make);
    hit = MemoryFiles::Get().hit();
    MemoryFiles::Get().Mend();
    ASSERT_FALSE(outcome.error.has_value()) << outcome.error->what();
    ASSERT_TRUE(outcome.elements == whole);
  }
  EXPECT_GT(calls, 8);
}

}  // namespace
}  // namespace millhopper

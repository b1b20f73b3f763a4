// SPDX-License-Identifier: Apache-2.0
// RecordIO through FileReader: every dialect and compressor, what the lineage wrote, and damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_reader.h"
#include "framework/tensor/tensor_stream.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "tests/bytes.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ::testing::HasSubstr;

using Records = std::vector<std::string>;

constexpr RecordIODialect kDialects[] = {RecordIODialect::kFluid, RecordIODialect::kGo,
                                         RecordIODialect::kCrc32c};
constexpr RecordIOCompressor kCompressors[] = {
    RecordIOCompressor::kNone, RecordIOCompressor::kSnappy, RecordIOCompressor::kGzip};

const std::vector<SlotSpec>& FixedSlots() {
  static const std::vector<SlotSpec> slots = {{DataType::kFp32, {1, 4}, 0, true},
                                              {DataType::kInt64, {1, 1}, 0, true}};
  return slots;
}

std::vector<LoDTensor> FixedElement(int i) {
  const auto value = static_cast<float>(i);
  return {MakeTensor<float>({1, 4}, {value, value + 0.25F, -value, 0.5F}),
          MakeTensor<int64_t>({1, 1}, {i})};
}

const std::vector<SlotSpec>& RaggedSlots() {
  static const std::vector<SlotSpec> slots = {{DataType::kUint8, {-1}, 1, true},
                                              {DataType::kInt32, {-1, 2}, 2, true}};
  return slots;
}

std::vector<LoDTensor> RaggedElement(int i) {
  const std::vector<uint8_t> text(static_cast<size_t>(i % 5), static_cast<uint8_t>(i));
  const std::vector<int32_t> words(static_cast<size_t>(2 * (i % 3 + 1)), i);
  const auto length = static_cast<uint64_t>(i % 5);
  const auto rows = static_cast<uint64_t>(i % 3 + 1);
  return {MakeTensor<uint8_t>({i % 5}, text, {{0, length}}),
          MakeTensor<int32_t>({i % 3 + 1, 2}, words, {{0, 1}, {0, rows}})};
}

std::string RecordOf(const std::vector<LoDTensor>& element) {
  const auto count = static_cast<uint32_t>(element.size());
  std::string record(reinterpret_cast<const char*>(&count), sizeof(count));
  for (const LoDTensor& tensor : element) AppendTensor(tensor, &record);
  return record;
}

RecordIOOptions Options(RecordIODialect dialect, RecordIOCompressor compressor,
                        uint32_t chunk_records = 1000) {
  RecordIOOptions options;
  options.dialect = dialect;
  options.compressor = compressor;
  options.chunk_records = chunk_records;
  return options;
}

std::string FileOf(const Records& records, const RecordIOOptions& options = {}) {
  const std::string path = TempName("made.recordio");
  RecordIOWriter writer(path, options);
  for (const std::string& record : records) writer.Write(record);
  writer.Close();
  std::string bytes = ReadFile(path);
  ::unlink(path.c_str());
  return bytes;
}

std::unique_ptr<ReaderBase> MakeReader(const std::string& path, const std::string& content,
                                       const std::vector<SlotSpec>& slots) {
  FormatArguments arguments;
  arguments.declared = slots;
  arguments.attributes.Set("content", content);
  auto reader = std::make_unique<FileReader>(FindFileFormat("recordio")->Make(arguments),
                                             FileEntry{path, ""});
  reader->set_origin("reader 'files'");
  return reader;
}

// The records of a file with content "bytes".
Records BytesOf(ReaderBase* reader) {
  Records records;
  for (const ElementValue& element : ReadAll(reader)) records.push_back(element[0].bytes);
  return records;
}

Records BytesOf(const std::string& content) {
  const TempFile file("bytes", content);
  return BytesOf(MakeReader(file.path(), "bytes", {}).get());
}

// The records of a file up to its end or its error.
struct Outcome {
  Records records;
  std::string error;
};

Outcome OutcomeOf(const std::string& path) {
  const std::unique_ptr<ReaderBase> reader = MakeReader(path, "bytes", {});
  Outcome outcome;
  std::vector<LoDTensor> element;
  try {
    while (reader->HasNext()) {
      reader->ReadNext(&element);
      outcome.records.push_back(ValueOf(element)[0].bytes);
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
    outcome.error = error.what();
  }
  return outcome;
}

// Loads the next n elements as a batch does.
std::vector<LoDTensor> LoadBatch(ReaderBase* reader, size_t n) {
  TicketRun run;
  while (run.tickets.size() < n && reader->Plan(n - run.tickets.size(), &run) > 0) continue;
  Rows rows(reader->row_slots());
  reader->LoadInParallel(run.tickets.data(), run.tickets.size(), &rows);
  std::vector<LoDTensor> batch;
  rows.MoveTo(&batch);
  return batch;
}

TEST(RecordIO, ReadsWhatTheLineageWrote) {
  const Records letters = {"ABC", "BCD", "CDE"};
  EXPECT_EQ(BytesOf(FromHex("0403020103000000cb3cd3ef0000000015000000"
                            "03000000414243 03000000424344 03000000434445")),
            letters);
  EXPECT_EQ(BytesOf(FromHex("040302010300000056ab05090100000023000000 736e6170707900 00 0015"
                            "b3f18a3c 030000004142430300000042434403000000434445")),
            letters);
  EXPECT_EQ(BytesOf(FromHex("0403020101000000b5bc04f6010000001b000000 736e6170707900 01 000d"
                            "6f2c4aa5 68106400000078fe01008a0100")),
            Records{std::string(100, 'x')});
  EXPECT_EQ(BytesOf(FromHex("04030201030000003c0c5dbc000000000d000000 00000000 01000000 61"
                            "00000000")),
            (Records{"", "a", ""}));
  EXPECT_EQ(BytesOf(FromHex("04030201020000007104c763000000000e000000 03000000414243"
                            "03000000424344 040302010100000064c9fb4c0000000007000000"
                            "03000000434445")),
            letters);
  EXPECT_EQ(BytesOf(FromHex("040302019362159b010000003800000002000000ff060000734e61507059012a0000"
                            "585d4c3c0f0000002849310a49320a49330a7470310a2e0f0000002849340a49350a"
                            "49360a7470310a2e")),
            (Records{"(I1\nI2\nI3\ntp1\n.", "(I4\nI5\nI6\ntp1\n."}));
}

TEST(RecordIO, ReadsTheFilesOfTheGoPackage) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  const std::string path = TestData() + "/recordio_paddle/test_recordio_creator.dat";
  Records digits;
  for (char digit = '0'; digit <= '9'; ++digit) digits.emplace_back(1, digit);
  EXPECT_EQ(BytesOf(MakeReader(path, "bytes", {}).get()), digits);
}

TEST(RecordIO, ReadsTheGoldenFilesOfTheLineage) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  const std::vector<SlotSpec> slots = {{DataType::kFp32, {1, 2}, 0, true},
                                       {DataType::kInt64, {1, 1}, 0, true}};
  std::vector<ElementValue> expected;
  for (int i = 0; i < 3; ++i) {
    const auto value = static_cast<float>(i);
    expected.push_back(ValueOf(
        {MakeTensor<float>({1, 2}, {value, value + 0.5F}), MakeTensor<int64_t>({1, 1}, {i})}));
  }
  for (const char* name : {"three_plain", "three_plain_2chunks", "three_snappy_stored"}) {
    const std::string path = TestData() + "/recordio_paddle/golden/" + name + ".recordio";
    EXPECT_EQ(ReadAll(MakeReader(path, "tensors", slots).get()), expected) << name;
  }
}

TEST(RecordIO, ReadsBackEveryDialectAndCompressorOnAnyNumberOfThreads) {
  Records fixed, ragged;
  std::vector<ElementValue> fixed_values, ragged_values;
  for (int i = 0; i < 300; ++i) {
    fixed.push_back(RecordOf(FixedElement(i)));
    fixed_values.push_back(ValueOf(FixedElement(i)));
    ragged.push_back(RecordOf(RaggedElement(i)));
    ragged_values.push_back(ValueOf(RaggedElement(i)));
  }
  for (const RecordIODialect dialect : kDialects) {
    for (const RecordIOCompressor compressor : kCompressors) {
      SCOPED_TRACE(StrCat(ToString(dialect), " ", ToString(compressor)));
      const RecordIOOptions options = Options(dialect, compressor, 17);
      const TempFile fixed_file("fixed.recordio", FileOf(fixed, options));
      const TempFile ragged_file("ragged.recordio", FileOf(ragged, options));
      for (const int workers : {0, 1, 2, 7}) {
        const PoolSize pool(workers);
        const auto fixed_reader = MakeReader(fixed_file.path(), "tensors", FixedSlots());
        EXPECT_EQ(ReadAll(fixed_reader.get()), fixed_values);
        fixed_reader->ReInit();
        EXPECT_EQ(ReadAll(fixed_reader.get()), fixed_values);
        EXPECT_EQ(ReadAll(MakeReader(ragged_file.path(), "tensors", RaggedSlots()).get()),
                  ragged_values);
        EXPECT_EQ(BytesOf(MakeReader(fixed_file.path(), "bytes", {}).get()), fixed);
      }
    }
  }
}

TEST(RecordIO, LoadsManyRecordsInPlace) {
  Records records;
  for (int i = 0; i < 200; ++i) records.push_back(RecordOf(FixedElement(i)));
  const TempFile file("batch.recordio",
                      FileOf(records, Options(RecordIODialect::kGo, RecordIOCompressor::kNone, 9)));
  for (const int workers : {0, 2}) {
    const PoolSize pool(workers);
    const auto reader = MakeReader(file.path(), "tensors", FixedSlots());
    const std::vector<LoDTensor> batch = LoadBatch(reader.get(), 200);
    ASSERT_EQ(batch[0].dims(), Dims({200, 4}));
    ASSERT_EQ(batch[1].dims(), Dims({200, 1}));
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(batch[0].data<float>()[4 * i + 1], static_cast<float>(i) + 0.25F);
      EXPECT_EQ(batch[1].data<int64_t>()[i], i);
    }
  }
}

TEST(RecordIO, LaysBytesOfSeveralRecordsEndToEnd) {
  const TempFile file("bytes.recordio", FileOf({"abc", "", "defg"}));
  const std::vector<LoDTensor> batch = LoadBatch(MakeReader(file.path(), "bytes", {}).get(), 3);
  EXPECT_EQ(batch[0].dims(), Dims({7}));
  EXPECT_EQ(batch[0].lod(), (Lod{{0, 3, 3, 7}}));
  EXPECT_EQ(ValueOf(batch)[0].bytes, "abcdefg");
}

// Headers of short sequences are compared and those of long ones are parsed, with the same results.
TEST(RecordIO, LaysSequencesOfAnyLengthEndToEnd) {
  std::vector<std::string> records;
  Lod lod{{0}};
  std::string values;
  for (const int64_t length : {5, 0, 127, 128, 1, 300, 126}) {
    LoDTensor sequence;
    auto* value = sequence.Allocate<int64_t>({length, 1});
    for (int64_t i = 0; i < length; ++i) value[i] = 1000 * length + i;
    sequence.set_lod({{0, static_cast<uint64_t>(length)}});
    records.push_back(RecordOf({sequence}));
    lod[0].push_back(lod[0].back() + static_cast<uint64_t>(length));
    values.append(static_cast<const char*>(sequence.raw_data()), sequence.bytes());
  }
  const TempFile file("sequences.recordio", FileOf(records));
  const std::vector<SlotSpec> slots = {{DataType::kInt64, {-1, 1}, 1, true}};
  const std::vector<LoDTensor> batch =
      LoadBatch(MakeReader(file.path(), "tensors", slots).get(), records.size());
  EXPECT_EQ(batch[0].lod(), lod);
  EXPECT_EQ(ValueOf(batch)[0].bytes, values);
}

TEST(RecordIO, SaysWhatIsMissingOfASequence) {
  LoDTensor sequence;
  sequence.Allocate<int64_t>({3, 1});
  sequence.set_lod({{0, 3}});
  std::string record = RecordOf({sequence});
  record.pop_back();
  const TempFile file("cut.recordio", FileOf({record}));
  const auto reader = MakeReader(file.path(), "tensors", {{DataType::kInt64, {-1, 1}, 1, true}});
  std::vector<LoDTensor> element;
  ExpectError(ErrorCode::kDataLoss, "slot 0: ", [&] { reader->ReadNext(&element); });
}

TEST(RecordIO, ReadsTensorsInTheLayoutOfVersion011) {
  // The first of two slots, its dims [1, 4, 1] spelled in both ways that protobuf allows.
  std::string record = FromHex(
      "02000000 00000000 08000000 0805 1001 12020401"
      "0000803f 00000040 00004040 00008040 0000000000000000");
  AppendTensor(MakeTensor<int64_t>({1, 1}, {7}), &record);
  const TempFile file("old.recordio", FileOf({record, record}));
  for (const int64_t rows : {1, -1}) {
    const std::vector<SlotSpec> slots = {{DataType::kFp32, {rows, 4, 1}, 0, true},
                                         {DataType::kInt64, {1, 1}, 0, true}};
    const auto reader = MakeReader(file.path(), "tensors", slots);
    for (int i = 0; i < 2; ++i) {
      std::vector<LoDTensor> element;
      reader->ReadNext(&element);
      EXPECT_EQ(ValuesOf<float>(element[0]), (std::vector<float>{1, 2, 3, 4}));
      EXPECT_EQ(ValuesOf<int64_t>(element[1]), std::vector<int64_t>{7});
    }
  }
}

TEST(RecordIO, IgnoresBytesBehindTheTensors) {
  const TempFile file("behind.recordio", FileOf({RecordOf(FixedElement(1)) + "and more"}));
  EXPECT_EQ(ReadAll(MakeReader(file.path(), "tensors", FixedSlots()).get()),
            std::vector<ElementValue>{ValueOf(FixedElement(1))});
}

TEST(RecordIO, ReadsFilesOfSeveralCompressors) {
  for (const RecordIODialect dialect : kDialects) {
    const std::string content = FileOf({"a", "b"}, Options(dialect, RecordIOCompressor::kSnappy)) +
                                FileOf({"c"}, Options(dialect, RecordIOCompressor::kNone)) +
                                FileOf({"d", "e"}, Options(dialect, RecordIOCompressor::kGzip)) +
                                FileOf({"f"}, Options(dialect, RecordIOCompressor::kSnappy));
    EXPECT_EQ(BytesOf(content), (Records{"a", "b", "c", "d", "e", "f"}));
  }
}

TEST(RecordIO, KeepsRecordsWithoutBytesAndFilesWithoutRecords) {
  for (const RecordIODialect dialect : kDialects) {
    for (const RecordIOCompressor compressor : kCompressors) {
      EXPECT_EQ(BytesOf(FileOf({"", "", "x", ""}, Options(dialect, compressor, 2))),
                (Records{"", "", "x", ""}));
    }
  }
  EXPECT_EQ(BytesOf(std::string()), Records());
  const TempFile file("empty.recordio", FileOf({""}));
  std::vector<LoDTensor> element;
  MakeReader(file.path(), "bytes", {})->ReadNext(&element);
  EXPECT_EQ(element[0].dims(), Dims({0}));
  EXPECT_EQ(element[0].lod(), (Lod{{0, 0}}));
}

// A chunk without records as a writer of the dialect leaves it, or with no payload at all.
std::string EmptyChunk(RecordIODialect dialect, RecordIOCompressor compressor, bool payload) {
  const std::string stored = payload ? CompressRecordIO(dialect, compressor, "") : "";
  RecordIOHeader header;
  header.checksum = RecordIOChecksum(dialect, stored.data(), stored.size());
  header.compressor_code = RecordIOCompressorCode(dialect, compressor);
  header.payload_bytes = static_cast<uint32_t>(stored.size());
  char bytes[kRecordIOHeaderBytes];
  WriteRecordIOHeader(header, dialect, bytes);
  return std::string(bytes, sizeof(bytes)) + stored;
}

// The dialect may become known late: the header of an empty chunk is valid in several.
TEST(RecordIO, FindsTheDialectOfFilesWhoseFirstChunksAreEmpty) {
  for (const RecordIODialect dialect : kDialects) {
    for (const RecordIOCompressor empty : kCompressors) {
      for (const bool payload : {true, false}) {
        std::string begin;
        for (int chunks = 1; chunks <= 3; ++chunks) {
          SCOPED_TRACE(StrCat(ToString(dialect), " ", ToString(empty), " ", payload, " ", chunks));
          begin += EmptyChunk(dialect, empty, payload);
          EXPECT_EQ(BytesOf(begin), Records());
          for (const RecordIOCompressor compressor : kCompressors) {
            const std::string rest = FileOf({"a", "", "bc"}, Options(dialect, compressor, 2));
            EXPECT_EQ(BytesOf(begin + rest), (Records{"a", "", "bc"})) << ToString(compressor);
            EXPECT_EQ(BytesOf(StrCat(begin, rest, begin)), (Records{"a", "", "bc"}));
          }
        }
      }
    }
  }
}

TEST(RecordIO, SaysWhatIsWrongBehindEmptyChunks) {
  for (const RecordIODialect dialect : kDialects) {
    const std::string empty = EmptyChunk(dialect, RecordIOCompressor::kNone, true);
    std::string bad = FileOf({"abc"}, Options(dialect, RecordIOCompressor::kNone));
    bad.back() = 'x';
    const std::string good = FileOf({"ok"}, Options(dialect, RecordIOCompressor::kNone));
    const auto expect = [](const std::string& content, const std::string& words) {
      const TempFile file("bad.recordio", content);
      ExpectError(ErrorCode::kDataLoss, words,
                  [&] { ReadAll(MakeReader(file.path(), "bytes", {}).get()); });
    };
    expect(StrCat(empty, empty, bad, good), "chunk 2 at byte 40: payload checksum ");
    expect(empty + good.substr(0, 10), "chunk 1 at byte 20: the file ends 10 bytes into a header");
    expect(empty + "no chunk of twenty bytes", "chunk 1 at byte 20: it begins with 6e6f2063");
  }
}

LoDTensor Flags(const Dims& dims, const std::string& values, const Lod& lod) {
  LoDTensor tensor;
  std::memcpy(tensor.Allocate<bool>(dims), values.data(), values.size());
  tensor.set_lod(lod);
  return tensor;
}

// For each way to read a record: into its place, as a sequence, or as any tensor.
TEST(RecordIO, ABoolIsZeroOrOne) {
  const std::vector<SlotSpec> declared = {{DataType::kBool, {1, 11}, 0, true},
                                          {DataType::kBool, {-1}, 1, true},
                                          {DataType::kBool, {11}, 0, true}};
  for (const SlotSpec& slot : declared) {
    const Lod lod = slot.lod_level > 0 ? Lod{{0, 11}} : Lod{};
    const Dims dims = slot.dims.size() == 2 ? Dims{1, 11} : Dims{11};
    const std::string values = FromHex("01 00 01 01 00 00 01 01 00 01 01");
    const std::string good = RecordOf({Flags(dims, values, lod)});
    for (const int bad : {2, 7, 128, 255}) {
      for (const size_t at : {0, 7, 8, 10}) {
        std::string others = values;
        others[at] = static_cast<char>(bad);
        const TempFile file("flags.recordio",
                            FileOf({good, RecordOf({Flags(dims, others, lod)}), good}));
        const auto reader = MakeReader(file.path(), "tensors", {slot});
        EXPECT_EQ(ReadSome(reader.get(), 1).size(), 1u);
        std::vector<LoDTensor> element;
        ExpectError(ErrorCode::kDataLoss,
                    StrCat("a bool is 0 or 1, not ", bad, "\n  in record 1 of the chunk at byte 0"),
                    [&] { reader->ReadNext(&element); });
      }
    }
  }
}

TEST(RecordIO, SaysWhichSlotIsNotAsDeclared) {
  const TempFile file("slots.recordio",
                      FileOf({RecordOf(FixedElement(0)), RecordOf(FixedElement(1))}));
  const auto expect = [&](const std::vector<SlotSpec>& slots, const std::string& words) {
    const auto reader = MakeReader(file.path(), "tensors", slots);
    std::vector<LoDTensor> element;
    ExpectError(ErrorCode::kDataLoss, words, [&] { reader->ReadNext(&element); });
  };
  const SlotSpec floats = FixedSlots()[0];
  const SlotSpec label = FixedSlots()[1];
  expect({floats, {DataType::kInt32, {1, 1}, 0, true}},
         "slot 1: int32 [1, 1] is declared, int64 [1, 1] was found");
  expect({floats, {DataType::kInt64, {-1, 1}, 1, true}},
         "slot 1: int64 [-1, 1] with 1 level of detail is declared, int64 [1, 1] was found");
  expect({floats},
         "a record of 2 tensors, but 1 slot is declared; the record has the slots float32[1,4] "
         "int64[1,1]");
  expect({floats, label, label}, "a record of 2 tensors, but 3 slots are declared");
  expect({{DataType::kFp32, {1, 5}, 0, true}, label},
         file.path() +
             ": slot 0: float32 [1, 5] is declared, float32 [1, 4] was found; the record has the "
             "slots float32[1,4] int64[1,1]\n"
             "  in record 0 of the chunk at byte 0\n"
             "  while reading record 0 of reader 'files'");
}

TEST(RecordIO, SaysWhereARecordIsNoTensors) {
  const std::string whole = RecordOf(FixedElement(2));
  const std::vector<SlotSpec> any_rows = {{DataType::kFp32, {-1, 4}, 0, true}, FixedSlots()[1]};
  for (const std::vector<SlotSpec>& slots : {FixedSlots(), any_rows}) {
    for (const std::string& bad : {std::string("abc"), whole.substr(0, whole.size() - 1),
                                   std::string(), std::string("\2\0\0\0junk", 8)}) {
      const TempFile file("bad.recordio",
                          FileOf({RecordOf(FixedElement(0)), RecordOf(FixedElement(1)), bad}));
      const auto reader = MakeReader(file.path(), "tensors", slots);
      EXPECT_EQ(ReadSome(reader.get(), 2).size(), 2u);
      EXPECT_TRUE(reader->HasNext());
      std::vector<LoDTensor> element;
      ExpectError(ErrorCode::kDataLoss, "in record 2 of the chunk at byte 0",
                  [&] { reader->ReadNext(&element); });
      ExpectError(ErrorCode::kDataLoss, "while reading record 2 of reader 'files'",
                  [&] { reader->HasNext(); });
      // All of them at once fail with the error of the same record.
      reader->ReInit();
      ExpectError(ErrorCode::kDataLoss, "in record 2 of the chunk at byte 0",
                  [&] { LoadBatch(reader.get(), 3); });
    }
  }
}

TEST(RecordIO, NeedsSlotsOnlyForTensors) {
  ExpectError(ErrorCode::kInvalidArgument, "must be declared",
              [] { MakeReader("any", "tensors", {}); });
  ExpectError(ErrorCode::kInvalidArgument, "float32 [1, 4] is declared",
              [] { MakeReader("any", "bytes", {FixedSlots()[0]}); });
  const TempFile file("bytes.recordio", FileOf({"abc", "defg"}));
  EXPECT_EQ(MakeReader(file.path(), "bytes", {})->slots(),
            std::vector<SlotSpec>({{DataType::kUint8, {-1}, 1, true}}));
  // A record of another length than declared.
  const auto reader = MakeReader(file.path(), "bytes", {{DataType::kUint8, {3}, 1, true}});
  EXPECT_EQ(ReadSome(reader.get(), 1).size(), 1u);
  std::vector<LoDTensor> element;
  ExpectError(ErrorCode::kDataLoss, "uint8 [3] with 1 level of detail is declared",
              [&] { reader->ReadNext(&element); });
}

TEST(RecordIO, IsRecognisedByExtensionAndByMagic) {
  ASSERT_NE(ChooseFormat("some/file.recordio").schema, nullptr);
  EXPECT_EQ(ChooseFormat("some/file.recordio").schema->tag, "recordio");
  EXPECT_EQ(ChooseFormat("recordio:some/file").schema->tag, "recordio");
  const TempFile file("no extension", FileOf({RecordOf(FixedElement(3))}));
  EXPECT_EQ(ChooseFormat(file.path()).schema, nullptr);
  FormatArguments arguments;
  arguments.declared = FixedSlots();
  FileReader reader(MakeFormatByContent(arguments), FileEntry{file.path(), ""});
  EXPECT_EQ(ReadAll(&reader), std::vector<ElementValue>{ValueOf(FixedElement(3))});
}

TEST(RecordIO, DeliversWhatPrecedesADamagedChunk) {
  Records records;
  for (int i = 0; i < 12; ++i) records.push_back(StrCat("record ", i));
  for (const RecordIODialect dialect : kDialects) {
    for (const RecordIOCompressor compressor : kCompressors) {
      SCOPED_TRACE(StrCat(ToString(dialect), " ", ToString(compressor)));
      const RecordIOOptions options = Options(dialect, compressor, 4);
      const std::string good = FileOf(records, options);
      const size_t second = FileOf({records.begin(), records.begin() + 4}, options).size();
      const std::string damaged = FlipBit(good, 8 * (second + 30));
      const TempFile file("damaged.recordio", damaged);
      for (const int workers : {0, 1, 7}) {
        const PoolSize pool(workers);
        const auto reader = MakeReader(file.path(), "bytes", {});
        for (int pass = 0; pass < 2; ++pass) {
          const std::vector<ElementValue> read = ReadSome(reader.get(), 4);
          ASSERT_EQ(read.size(), 4u);
          EXPECT_EQ(read[3][0].bytes, "record 3");
          std::vector<LoDTensor> element;
          const auto error = ErrorOf([&] { reader->HasNext(); });
          ASSERT_TRUE(error.has_value());
          EXPECT_EQ(error->code, ErrorCode::kDataLoss);
          EXPECT_THAT(error->text, HasSubstr(StrCat(file.path(), ": chunk 1 at byte ", second,
                                                    ": payload checksum ")));
          EXPECT_THAT(error->text, HasSubstr(", header says "));
          EXPECT_THAT(error->text, HasSubstr("\n  while reading record 4 of reader 'files'"));
          EXPECT_EQ(ErrorOf([&] { reader->ReadNext(&element); }), error);
          EXPECT_EQ(ErrorOf([&] { reader->HasNext(); }), error);
          reader->ReInit();
        }
        // A file that is repaired is read from the next pass on.
        WriteFile(file.path(), good);
        reader->ReInit();
        EXPECT_EQ(BytesOf(reader.get()), records);
        WriteFile(file.path(), damaged);
      }
    }
  }
}

TEST(RecordIO, DeliversTheRightRecordsOfAChunkWhoseCountLies) {
  for (const RecordIODialect dialect : kDialects) {
    const std::string good = FileOf({"a", "bc", "d"}, Options(dialect, RecordIOCompressor::kNone));
    for (const char count : {2, 4}) {
      std::string content = good;
      content[dialect == RecordIODialect::kGo ? 16 : 4] = count;
      const TempFile file("lies.recordio", content);
      const Outcome outcome = OutcomeOf(file.path());
      EXPECT_EQ(outcome.records, count == 2 ? (Records{"a", "bc"}) : (Records{"a", "bc", "d"}));
      EXPECT_THAT(outcome.error, HasSubstr(StrCat("the header says ", +count, " records, but")));
    }
  }
}

TEST(RecordIO, NamesWhatFollowsTheLastChunk) {
  const std::string good = FileOf({"abc"});
  const auto error_of = [&](const std::string& more) {
    const TempFile file("more.recordio", good + more);
    const Outcome outcome = OutcomeOf(file.path());
    EXPECT_EQ(outcome.records, Records{"abc"});
    return outcome.error;
  };
  EXPECT_THAT(error_of("xy"),
              HasSubstr("chunk 1 at byte 27: the file ends 2 bytes into a header of 20"));
  EXPECT_THAT(error_of(std::string(20, '\x11')),
              HasSubstr("chunk 1 at byte 27: it begins with 11111111, which is no chunk"));
  EXPECT_THAT(
      error_of(good.substr(0, 26)),
      HasSubstr("chunk 1 at byte 27: the header says 7 bytes of payload, but the file has 6"));
  std::string unknown = good;
  unknown[12] = 9;
  EXPECT_THAT(error_of(unknown),
              HasSubstr("chunk 1 at byte 27: compressor 9 is unknown in the fluid dialect"));
}

TEST(RecordIO, SaysThatAFileShrinksWhileItIsRead) {
  const PoolSize pool(0);  // so that not all of it has been read ahead
  const std::string content = FileOf(
      Records(40, "0123456789"), Options(RecordIODialect::kFluid, RecordIOCompressor::kNone, 1));
  const TempFile file("shrinks.recordio", content);
  const auto reader = MakeReader(file.path(), "bytes", {});
  EXPECT_EQ(ReadSome(reader.get(), 1).size(), 1u);
  ASSERT_EQ(::truncate(file.path().c_str(), static_cast<off_t>(content.size() / 2 + 3)), 0);
  size_t read = 1;
  ExpectError(ErrorCode::kDataLoss, "file is shorter than when it was opened", [&] {
    for (std::vector<LoDTensor> element; reader->HasNext(); ++read) reader->ReadNext(&element);
  });
  EXPECT_EQ(read, 20u);
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// The operator open_files.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

const SlotsText kSlots = {{"FP32", {1, 2}}, {"INT64", {1, 1}}};

std::string OpenFiles(const std::string& names, const AttributeTexts& more = {},
                      const SlotsText& slots = kSlots) {
  AttributeTexts attributes = {{"file_names", names}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return BlockText(
      0, -1,
      {ReaderText("files", slots), OpText("open_files", {}, {{"Out", {"files"}}}, attributes)});
}

// Four files of three records each.
class OpenFilesOp : public testing::Test {
 protected:
  OpenFilesOp() : folder_(NewFolder("open_files_op")) { WriteNumbers(folder_, 4, 3); }

  std::string Names(const std::string& pattern) const {
    return "strings: \"" + folder_ + "/" + pattern + "\"";
  }

  std::vector<int64_t> Read(const std::string& names, const AttributeTexts& more = {},
                            const SlotsText& slots = kSlots, uint64_t seed = 0) {
    RunState run;
    run.seed = seed;
    ProgramRunner runner({}, run);
    runner.Startup(OpenFiles(names, more, slots));
    const std::unique_ptr<ReaderBase> reader = runner.Reader("files").NewHandle();
    std::vector<int64_t> numbers;
    std::vector<LoDTensor> element;
    while (reader->HasNext()) {
      reader->ReadNext(&element);
      numbers.push_back(element[1].scalar<int64_t>());
      EXPECT_EQ(ValuesOf<float>(element[0])[0], static_cast<float>(numbers.back()));
    }
    return numbers;
  }

  const std::string folder_;
};

// A file has a chunk of two records and one of one. They are dealt to the lanes in turn, one of
// each file.
TEST_F(OpenFilesOp, DealsFilesToLanes) {
  const std::string names = Names("numbers-{0..3}.recordio");
  EXPECT_EQ(Read(names, {{"lanes", "i: 2"}}),
            (std::vector<int64_t>{0, 100, 1, 101, 200, 300, 201, 301, 2, 102, 202, 302}));
  EXPECT_EQ(Read(names, {{"lanes", "i: 2"}, {"stripe", "i: 2"}}),
            (std::vector<int64_t>{0, 1, 100, 101, 200, 201, 300, 301, 2, 202, 102, 302}));
  // Fewer files than lanes may have few chunks, of which each lane has every seventh record.
  EXPECT_EQ(Read(names, {{"lanes", "i: 7"}}),
            (std::vector<int64_t>{0, 1, 100, 101, 200, 201, 300, 301, 2, 102, 202, 302}));
  ProgramRunner().ExpectProblem(OpenFiles(names, {{"lanes", "i: 2147483647"}}),
                                "attribute 'lanes' is 2147483647; there can be 1024");
  ExpectError(ErrorCode::kInvalidArgument, "shuffle_chunks reads in one random order", [&] {
    Read(names, {{"lanes", "i: 2"}, {"shuffle_chunks", "b: true"}});
  });
}

// A batch need not be whole stripes, unless ranks share it.
TEST_F(OpenFilesOp, MakesBatchesOfAnySizeOfLanes) {
  ProgramRunner runner;
  const auto batches = [&](const std::string& name, const std::string& of) {
    return CreatedReaderText(name, "create_batch_reader", {of}, {{"batch_size", "i: 5"}});
  };
  const std::string files =
      ReaderText("files", kSlots) +
      OpText("open_files", {}, {{"Out", {"files"}}},
             {{"file_names", Names("numbers-*.recordio")}, {"lanes", "i: 2"}, {"stripe", "i: 2"}});
  runner.Startup(BlockText(0, -1, {files, batches("batches", "files")}));
  EXPECT_EQ(runner.ReadAllOf("batches").size(), 3u);
  ExpectError(ErrorCode::kInvalidArgument, "batches of 5 cannot be shared by 2 ranks", [&] {
    runner.Startup(BlockText(0, -1,
                             {files,
                              CreatedReaderText("part", "create_shard_reader", {"files"},
                                                {{"num_shards", "i: 2"}, {"index", "i: 1"}}),
                              batches("batches", "part")}));
  });
}

// An error in a lane names the reader that reads the file, whatever stands on it.
TEST_F(OpenFilesOp, IsNamedByErrorsInLanes) {
  const std::string path = folder_ + "/numbers-1.recordio";
  const std::string whole = ReadFile(path);
  WriteFile(path, whole.substr(0, whole.size() - 1));
  for (const char* const index : {"i: 0", "i: 1"}) {
    ProgramRunner runner;
    runner.Startup(BlockText(
        0, -1,
        {ReaderText("files", kSlots),
         OpText("open_files", {}, {{"Out", {"files"}}},
                {{"file_names", Names("numbers-{0..3}.recordio")}, {"lanes", "i: 2"}}),
         CreatedReaderText("part", "create_shard_reader", {"files"},
                           {{"num_shards", "i: 2"}, {"index", index}}),
         CreatedReaderText("batches", "create_batch_reader", {"part"}, {{"batch_size", "i: 2"}})}));
    ExpectError(ErrorCode::kDataLoss, "of reader 'files' (open_files, startup.pbtxt:", [&] {
      runner.ReadAllOf("batches");
    });
  }
}

// A shuffle and a batch are made of lanes, and leave none for a second reader.
TEST_F(OpenFilesOp, HasLanesForOneReader) {
  ProgramRunner runner;
  runner.Startup(BlockText(
      0, -1,
      {ReaderText("files", kSlots),
       OpText("open_files", {}, {{"Out", {"files"}}},
              {{"file_names", Names("numbers-*.recordio")}, {"lanes", "i: 2"}}),
       CreatedReaderText("shuffled", "create_shuffle_reader", {"files"}, {{"buffer_size", "i: 4"}}),
       CreatedReaderText("batches", "create_batch_reader", {"shuffled"},
                         {{"batch_size", "i: 4"}})}));
  std::vector<int64_t> numbers;
  for (const ElementValue& batch : runner.ReadAllOf("batches")) {
    EXPECT_EQ(batch[1].bytes.size(), 4 * sizeof(int64_t));
    numbers.resize(numbers.size() + 4);
    batch[1].bytes.copy(reinterpret_cast<char*>(&numbers[numbers.size() - 4]), 4 * sizeof(int64_t));
  }
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, (std::vector<int64_t>{0, 1, 2, 100, 101, 102, 200, 201, 202, 300, 301, 302}));
  ExpectError(ErrorCode::kInvalidArgument, "has lanes, which the reader on top of it runs",
              [&] { runner.Reader("files").NewHandle(); });
  ExpectError(ErrorCode::kInvalidArgument, "has lanes, which the reader on top of it runs", [&] {
    runner.Startup(BlockText(0, -1,
                             {CreatedReaderText("again", "create_batch_reader", {"shuffled"},
                                                {{"batch_size", "i: 4"}})}));
  });
}

TEST_F(OpenFilesOp, NeedsAWindowForEachLane) {
  ProgramRunner runner;
  ExpectError(ErrorCode::kInvalidArgument, "less than one element for each of 5 lanes", [&] {
    runner.Startup(BlockText(
        0, -1,
        {ReaderText("files", kSlots),
         OpText("open_files", {}, {{"Out", {"files"}}},
                {{"file_names", Names("numbers-*.recordio")}, {"lanes", "i: 5"}}),
         CreatedReaderText("out", "create_shuffle_reader", {"files"}, {{"buffer_size", "i: 4"}})}));
  });
}

TEST_F(OpenFilesOp, TakesOneRecordOfEachFileInTurn) {
  EXPECT_EQ(Read(Names("numbers-{0..3}.recordio")),
            (std::vector<int64_t>{0, 100, 200, 300, 1, 101, 201, 301, 2, 102, 202, 302}));
  EXPECT_EQ(Read(Names("numbers-*.recordio"), {{"cycle_length", "i: 1"}}),
            (std::vector<int64_t>{0, 1, 2, 100, 101, 102, 200, 201, 202, 300, 301, 302}));
}

TEST_F(OpenFilesOp, HandsItsAttributesOn) {
  EXPECT_EQ(Read(Names("numbers-0.recordio"), {{"pass_num", "i: 2"},
                                               {"thread_num", "i: 1"},
                                               {"buffer_size", "i: 1"},
                                               {"deterministic", "b: true"}}),
            (std::vector<int64_t>{0, 1, 2, 0, 1, 2}));
  const AttributeTexts shuffle = {{"shuffle_files", "b: true"}, {"cycle_length", "i: 1"}};
  std::vector<std::vector<int64_t>> orders;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    orders.push_back(Read(Names("numbers-*.recordio"), shuffle, kSlots, seed));
    EXPECT_EQ(orders.back(), Read(Names("numbers-*.recordio"), shuffle, kSlots, seed));
    std::sort(orders.back().begin(), orders.back().end());
    EXPECT_EQ(orders.back(), Read(Names("numbers-{0..3}.recordio"), {{"cycle_length", "i: 1"}}));
  }
}

TEST_F(OpenFilesOp, TakesSlotsAsTheLineageDeclaresThem) {
  const AttributeTexts attributes = {{"shape_concat", "ints: 1 ints: 2 ints: 1 ints: 1"},
                                     {"ranks", "ints: 2 ints: 2"},
                                     {"lod_levels", "ints: 0 ints: 0"},
                                     {"dtypes", "ints: 5 ints: 3"}};
  EXPECT_EQ(Read(Names("numbers-1.recordio"), attributes, {}),
            (std::vector<int64_t>{100, 101, 102}));
  EXPECT_EQ(Read(Names("numbers-1.recordio"), attributes), (std::vector<int64_t>{100, 101, 102}));
  // Without dtypes, the types of the variable count.
  EXPECT_EQ(Read(Names("numbers-1.recordio"), {attributes.begin(), attributes.begin() + 3}),
            (std::vector<int64_t>{100, 101, 102}));
  ExpectError(
      ErrorCode::kInvalidArgument, "slot 0: float32 [1, 3] is declared, but shape_concat", [&] {
        Read(Names("numbers-1.recordio"), attributes, {{"FP32", {1, 3}}, {"INT64", {1, 1}}});
      });
}

TEST_F(OpenFilesOp, TakesTheFormatFromAPrefixOrTheFirstBytes) {
  WriteFile(folder_ + "/plain", ReadFile(folder_ + "/numbers-2.recordio"));
  const std::vector<int64_t> expected = {200, 201, 202};
  EXPECT_EQ(Read("strings: \"recordio:" + folder_ + "/plain\""), expected);
  EXPECT_EQ(Read(Names("plain")), expected);
  EXPECT_EQ(Read(Names("plain"), {{"content", "s: \"tensors\""}}), expected);
}

TEST_F(OpenFilesOp, TakesTheAttributesOfTheFormat) {
  ProgramRunner runner;
  runner.Startup(OpenFiles(Names("numbers-0.recordio"), {{"content", "s: \"bytes\""}}, {}));
  const std::vector<ElementValue> elements = runner.ReadAllOf("files");
  ASSERT_EQ(elements.size(), 3u);
  EXPECT_EQ(elements[0].size(), 1u);
  EXPECT_EQ(elements[0][0].dtype, DataType::kUint8);
  runner.ExpectProblem(OpenFiles(Names("numbers-0.recordio"), {{"content", "s: \"tensor\""}}),
                       "did you mean 'tensors'?");
  runner.ExpectProblem(
      OpenFiles("strings: \"text:" + folder_ + "/x\"", {{"content", "s: \"tensors\""}}),
      "no attribute 'content'");
}

TEST_F(OpenFilesOp, PairsImagesWithLabels) {
  WriteFile(folder_ + "/images.idx3-ubyte",
            std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x01\x05\x06", 18));
  WriteFile(folder_ + "/labels.idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\x02\x07\x08", 10));
  ProgramRunner runner;
  runner.Startup(OpenFiles("strings: \"idx:" + folder_ + "/images.idx3-ubyte\"",
                           {{"label_file_names", Names("labels.idx1-ubyte")}}, {}));
  EXPECT_EQ(runner.ReadAllOf("files"),
            (std::vector<ElementValue>{
                ValueOf({MakeTensor<uint8_t>({1, 1, 1}, {5}), MakeTensor<int64_t>({1, 1}, {7})}),
                ValueOf({MakeTensor<uint8_t>({1, 1, 1}, {6}), MakeTensor<int64_t>({1, 1}, {8})})}));
  // shape_concat declares only dims; the types are those of the format.
  runner.Startup(OpenFiles("strings: \"idx:" + folder_ + "/images.idx3-ubyte\"",
                           {{"label_file_names", Names("labels.idx1-ubyte")},
                            {"shape_concat", "ints: 1 ints: 1 ints: 1 ints: 1 ints: 1"},
                            {"ranks", "ints: 3 ints: 2"}},
                           {}));
  EXPECT_EQ(runner.ReadAllOf("files").size(), 2u);
}

TEST_F(OpenFilesOp, NamesAllMissingFilesBeforeAnythingIsRead) {
  const std::optional<Thrown> thrown = ErrorOf([&] {
    Read(Names("a.recordio") + " " + Names("numbers-0.recordio") + " " + Names("b.recordio"));
  });
  ASSERT_TRUE(thrown);
  EXPECT_EQ(thrown->code, ErrorCode::kIo);
  EXPECT_NE(thrown->text.find("/a.recordio"), std::string::npos) << thrown->text;
  EXPECT_NE(thrown->text.find("/b.recordio"), std::string::npos) << thrown->text;
}

TEST_F(OpenFilesOp, InfersTheSlotsOfRecordsOfTensors) {
  EXPECT_EQ(Read(Names("numbers-1.recordio"), {}, {}), (std::vector<int64_t>{100, 101, 102}));
}

TEST_F(OpenFilesOp, RefusesWrongAttributesWhenChecked) {
  ProgramRunner runner;
  const auto expect = [&](const AttributeTexts& more, const std::string& words) {
    runner.ExpectProblem(OpenFiles(Names("numbers-0.recordio"), more), words);
  };
  expect({{"thread_num", "i: -1"}}, "attribute 'thread_num' is -1; it must be at least 0");
  expect({{"buffer_size", "i: 0"}}, "attribute 'buffer_size' is 0; it must be at least 1");
  expect({{"cycle_length", "i: 0"}}, "attribute 'cycle_length' is 0; it must be at least 1");
  expect({{"pass_num", "i: 0"}}, "attribute 'pass_num' is 0; it must be at least 1");
  expect({{"shape_concat", "ints: 1"}}, "'shape_concat' has 1");
  runner.ExpectProblem(OpenFiles(Names("numbers-0.recordio") + " " + Names("x.txt")),
                       "must have one format");
  runner.ExpectProblem(OpenFiles("type: STRINGS"), "attribute 'file_names' is empty");
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// The operator create_cache_reader.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "framework/reader/file_format.h"
#include "operators/readers/support/reader_creation.h"
#include "tests/fakes/http_server.h"
#include "tests/fakes/sources.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/launcher_environment.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRecords = 500;

// Reads three passes, the first of them in part, and says how often records were loaded.
std::shared_ptr<Ledger> ReadPasses(const std::string& memory_bytes, size_t most_of_first) {
  SourceSpec spec;
  spec.records = kRecords;
  spec.ragged = true;
  const std::vector<ElementValue> expected = ReadAll(MakePlannedSource(spec).get());
  spec.jitter = 3;
  spec.ledger = std::make_shared<Ledger>(kRecords);
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  runner.Startup(DecoratorProgram("create_cache_reader", {{"memory_bytes", memory_bytes}}));
  ReadSome(runner.Reader("out").NewHandle().get(), most_of_first);
  for (int pass = 0; pass < 2; ++pass) {
    runner.Reader("out").ReInit();
    EXPECT_EQ(runner.ReadAllOf("out"), expected);
  }
  return spec.ledger;
}

TEST(CreateCacheReaderOp, ReadsFromBelowOnceWhatFits) {
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize size(threads);
    const auto ledger = ReadPasses("i: 100000000", kRecords + 1);
    for (int64_t i = 0; i < kRecords; ++i) ASSERT_EQ(ledger->loads(i), 1) << "record " << i;
  }
}

TEST(CreateCacheReaderOp, ReadsWhatDoesNotFitAgain) {
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize size(threads);
    const auto ledger = ReadPasses("i: 60000", kRecords + 1);
    EXPECT_EQ(ledger->loads(0), 1);
    EXPECT_EQ(ledger->loads(kRecords - 1), 3);
    for (int64_t i = 1; i < kRecords; ++i) ASSERT_GE(ledger->loads(i), ledger->loads(i - 1));
    for (int64_t i = 0; i < kRecords; ++i) {
      ASSERT_TRUE(ledger->loads(i) == 1 || ledger->loads(i) == 3) << "record " << i;
    }
  }
}

TEST(CreateCacheReaderOp, GoesOnWhereAFirstPassStopped) {
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize size(threads);
    const auto ledger = ReadPasses("i: 100000000", 70);
    EXPECT_EQ(ledger->loads(0), 1);
    // Workers may have loaded some ahead when the pass stopped.
    EXPECT_LE(ledger->loads(kRecords - 1), 2);
  }
}

TEST(CreateCacheReaderOp, KeepsNothingWithoutMemory) {
  const auto ledger = ReadPasses("i: 0", kRecords + 1);
  for (int64_t i = 0; i < kRecords; ++i) ASSERT_EQ(ledger->loads(i), 3) << "record " << i;
}

TEST(CreateCacheReaderOp, EveryPassHasTheOrderOfPass0) {
  SourceSpec spec;
  spec.records = kRecords;
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  runner.Startup(BlockText(0, -1,
                           {ReaderText("source"), ReaderText("shuffled"), ReaderText("out"),
                            OpText("create_shuffle_reader", {{"UnderlyingReader", {"source"}}},
                                   {{"Out", {"shuffled"}}}, {{"buffer_size", "i: 50"}}),
                            OpText("create_cache_reader", {{"UnderlyingReader", {"shuffled"}}},
                                   {{"Out", {"out"}}}, {{"memory_bytes", "i: 20000"}})}));
  const std::vector<ElementValue> first = runner.ReadAllOf("out");
  EXPECT_EQ(first.size(), static_cast<size_t>(kRecords));
  for (int pass = 0; pass < 2; ++pass) {
    runner.Reader("out").ReInit();
    EXPECT_EQ(runner.ReadAllOf("out"), first);
  }
}

TEST(CreateCacheReaderOp, KeepsWhatCameBeforeAnError) {
  SourceSpec spec;
  spec.records = kRecords;
  spec.load_error = 100;
  ProgramRunner runner;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  runner.Startup(DecoratorProgram("create_cache_reader", {{"memory_bytes", "i: 100000000"}}));
  for (int pass = 0; pass < 3; ++pass) {
    const auto reader = runner.Reader("out").NewHandle();
    EXPECT_EQ(ReadSome(reader.get(), 100).size(), 100u);
    ExpectError(ErrorCode::kDataLoss, "record 100 cannot be loaded", [&] { reader->HasNext(); });
    runner.Reader("out").ReInit();
  }
}

// ---- On a disk. ----

// Formats of lines of text, whose schemas say which other files are read with them. No file of the
// tree but this one knows them.
std::unique_ptr<FileFormat> MakeLines(const FormatArguments& arguments) {
  return FindFileFormat("text")->Make(arguments);
}

FormatSchema OwnAttributesSchema() {
  return FormatSchema("lines, with attributes of its own that name files")
      .Attr(AttributeSchema("images", "", "a folder").NamesFolders())
      .Attr(AttributeSchema("parts", "", "a file of records").NamesRecords());
}

FormatSchema NamesBesideSchema() {
  return FormatSchema("lines that name files beside them")
      .NamesFilesBeside("parts.list")
      .Magic([](const char* head, size_t size) { return size > 3 && head[3] == '\n'; });
}

FormatSchema NamesAnywhereSchema() {
  return FormatSchema("lines that name files anywhere").NamesFilesAnywhere();
}

REGISTER_FILE_FORMAT(cache_test_own, OwnAttributesSchema, MakeLines);
REGISTER_FILE_FORMAT(cache_test_beside, NamesBesideSchema, MakeLines);
REGISTER_FILE_FORMAT(cache_test_anywhere, NamesAnywhereSchema, MakeLines);

// A reader of elements that this process has under a number.
OpSchema FedSchema() {
  return ReaderCreationSchema("Yields five elements.")
      .Attr(AttributeSchema("number", int64_t{}, "another one in each process").Required())
      .Attr({"count", int64_t{5}, "is no number of theirs"})
      .FedByProcess({"number"});
}

void CreateFed(OpContext& context) {
  SourceSpec spec;
  spec.records = context.Attr<int64_t>("count");
  StoreReader(context, MakePlannedSource(spec));
}

REGISTER_OPERATOR(create_cache_test_fed, FedSchema, CreateFed);

// A chain of a text file, and a block that adds a number to lengths, and what it takes to see
// whether a cache was used: it was not if the folder has got one more file.
class DiskCacheOp : public ::testing::Test {
 protected:
  DiskCacheOp() { WriteFile(text_, "one\ntwo\nthree\n"); }

  // How many cache files there are.
  size_t Files() const {
    size_t files = 0;
    if (!fs::exists(cache_)) return 0;
    for (const auto& file : fs::directory_iterator(cache_)) {
      files += file.path().extension() == ".mhcache" ? 1 : 0;
    }
    return files;
  }

  AttributeTexts Attributes() const {
    AttributeTexts attributes = {{"directory", "s: \"" + cache_ + "\""},
                                 {"disk_bytes", "l: 1000000000"}};
    if (!data_version_.empty()) {
      attributes.emplace_back("data_version", "s: \"" + data_version_ + "\"");
    }
    return attributes;
  }
  std::string Program() const {
    return BlockText(0, -1,
                     {ReaderText("lines"), ReaderText("shuffled"), ReaderText("out"),
                      ReaderText("batches"), OpText(operator_, {}, {{"Out", {"lines"}}}, source_),
                      OpText("create_shuffle_reader", {{"UnderlyingReader", {"lines"}}},
                             {{"Out", {"shuffled"}}}, {{"buffer_size", "i: 2"}, {"seed", seed_}}),
                      OpText("create_cache_reader", {{"UnderlyingReader", {"shuffled"}}},
                             {{"Out", {"out"}}}, Attributes()),
                      OpText("create_batch_reader", {{"UnderlyingReader", {"out"}}},
                             {{"Out", {"batches"}}}, {{"batch_size", batch_size_}})});
  }
  // What a new chain yields. Says by how many files the folder has grown.
  size_t Read(std::vector<ElementValue>* elements = nullptr) const {
    const size_t before = Files();
    RunState run;
    run.seed = run_seed_;
    ProgramRunner runner({}, run);
    runner.Startup(Program());
    const std::vector<ElementValue> read = runner.ReadAllOf("batches");
    if (elements != nullptr) *elements = read;
    return Files() - before;
  }

  const std::string folder_ = NewFolder("disk_cache_op");
  const std::string cache_ = folder_ + "/cache";
  const std::string text_ = folder_ + "/lines.txt";
  std::string operator_ = "create_text_file_reader";
  AttributeTexts source_ = {{"filename", "s: \"" + text_ + "\""}};
  std::string seed_ = "l: 1", batch_size_ = "i: 2", data_version_;
  uint64_t run_seed_ = 0;
};

TEST_F(DiskCacheOp, IsUsedWhileNothingChanges) {
  std::vector<ElementValue> first, second, third;
  EXPECT_EQ(Read(&first), 1u);
  EXPECT_EQ(Read(&second), 0u);
  EXPECT_EQ(first, second);
  // What stands above does not matter.
  batch_size_ = "i: 3";
  EXPECT_EQ(Read(&third), 0u);
  EXPECT_EQ(third.size(), 1u);
}

TEST_F(DiskCacheOp, IsNotUsedForAnotherChain) {
  EXPECT_EQ(Read(), 1u);
  seed_ = "l: 2";
  EXPECT_EQ(Read(), 1u);
  run_seed_ = 3;
  EXPECT_EQ(Read(), 1u);
  data_version_ = "4";
  EXPECT_EQ(Read(), 1u);
  source_.emplace_back("buffer_type", "s: \"mmap\"");
  EXPECT_EQ(Read(), 1u);
  EXPECT_EQ(Read(), 0u);
}

TEST_F(DiskCacheOp, IsUsedWithANewSignatureAndNotForAnotherVersion) {
  HttpServer server;
  server.Put("/lines.txt", "one\ntwo\n");
  const auto added = [&](const std::string& query) {
    source_ = {{"filename", StrCat("s: \"", server.Url("/lines.txt"), query, "\"")}};
    return Read();
  };
  EXPECT_EQ(added("?id=1&X-Amz-Signature=2"), 1u);
  EXPECT_EQ(added("?X-Amz-Date=3&id=1&X-Amz-Signature=4"), 0u);
  EXPECT_EQ(added("?id=2&X-Amz-Signature=4"), 1u);
  EXPECT_EQ(added("?versionId=1&X-Amz-Signature=4"), 1u);
  EXPECT_EQ(added("?versionId=2&X-Amz-Signature=4"), 1u);
}

TEST_F(DiskCacheOp, IsNotUsedForOtherFiles) {
  std::vector<ElementValue> elements;
  EXPECT_EQ(Read(), 1u);
  WriteFile(text_, "ONE\ntwo\nthree\n");  // of the same size
  fs::last_write_time(text_, fs::last_write_time(text_) + std::chrono::seconds(1));
  EXPECT_EQ(Read(&elements), 1u);
  EXPECT_EQ(Read(), 0u);
  const auto time = fs::last_write_time(text_);
  WriteFile(text_, "one\ntwo\nthree\nfour\n");  // of the same time
  fs::last_write_time(text_, time);
  EXPECT_EQ(Read(&elements), 1u);
  EXPECT_EQ(elements.size(), 2u);
}

TEST_F(DiskCacheOp, IsNotUsedWhenAPatternFindsMore) {
  operator_ = "open_files";
  source_ = {{"file_names", "strings: \"" + folder_ + "/*.txt\""}};
  std::vector<ElementValue> elements;
  EXPECT_EQ(Read(), 1u);
  WriteFile(folder_ + "/more.txt", "x\ny\n");
  EXPECT_EQ(Read(&elements), 1u);
  EXPECT_EQ(elements.size(), 3u);
  EXPECT_EQ(Read(), 0u);
}

// Each process of a launcher runs the same program, and has its own elements.
TEST_F(DiskCacheOp, IsNotUsedForAnotherShard) {
  const std::string program = BlockText(
      0, -1,
      {ReaderText("lines"), ReaderText("shard"), ReaderText("out"),
       OpText(operator_, {}, {{"Out", {"lines"}}}, source_),
       OpText("create_shard_reader", {{"UnderlyingReader", {"lines"}}}, {{"Out", {"shard"}}}),
       OpText("create_cache_reader", {{"UnderlyingReader", {"shard"}}}, {{"Out", {"out"}}},
              Attributes())});
  const auto read = [&](const char* shards, const char* index) {
    const LauncherEnvironment environment({{"WORLD_SIZE", shards}, {"RANK", index}});
    ProgramRunner runner;
    runner.Startup(program);
    return runner.ReadAllOf("out").size();
  };
  for (const size_t files : {3u, 3u}) {
    EXPECT_EQ(read("2", "0"), 2u);
    EXPECT_EQ(read("2", "1"), 1u);
    EXPECT_EQ(read("3", "1"), 1u);
    EXPECT_EQ(Files(), files);
  }
}

// A reader may have looked at a file when it was created, so what it yields then is neither the old
// nor the new content.
TEST_F(DiskCacheOp, IsNotUsedForFilesThatChangeBeforeTheFirstPass) {
  ProgramRunner runner;
  runner.Startup(Program());
  WriteFile(text_, "one\ntwo\nthree\nfour\n");
  EXPECT_EQ(runner.ReadAllOf("batches").size(), 2u);
  EXPECT_EQ(Files(), 0u);
  EXPECT_EQ(Read(), 1u);
}

// The operator has read the file when the program first ran, and does not read it again.
TEST_F(DiskCacheOp, IsNotUsedForFilesThatOperatorsHaveOtherwise) {
  const std::string words = folder_ + "/words";
  WriteFile(words, "one\ntwo\nthree\n");
  const std::string program =
      BlockText(
          0, -1,
          {ReaderText("lines"), ReaderText("numbers"), ReaderText("out"),
           OpText(operator_, {}, {{"Out", {"lines"}}}, source_),
           OpText("create_custom_reader", {{"UnderlyingReader", {"lines"}}}, {{"Out", {"numbers"}}},
                  {{"sub_block", "block_idx: 1"},
                   {"source_var_names", "strings: \"word\""},
                   {"sink_var_names", "strings: \"number\""}}),
           OpText("create_cache_reader", {{"UnderlyingReader", {"numbers"}}}, {{"Out", {"out"}}},
                  Attributes())}) +
      BlockText(1, 0,
                {TensorText("word", "UINT8", {-1}), TensorText("number", "INT64", {1}),
                 OpText("lookup", {{"X", {"word"}}}, {{"Out", {"number"}}},
                        {{"vocab", "s: \"" + words + "\""}})});
  ProgramRunner runner;
  runner.Startup(program);
  const std::vector<ElementValue> old = runner.ReadAllOf("out");
  EXPECT_EQ(Files(), 1u);
  WriteFile(words, "three\ntwo\none\nfour\n");
  runner.Again();
  EXPECT_EQ(runner.ReadAllOf("out"), old);
  EXPECT_EQ(Files(), 1u);
  ProgramRunner later;
  later.Startup(program);
  EXPECT_NE(later.ReadAllOf("out"), old);
  EXPECT_EQ(Files(), 2u);
}

// A vocabulary is named within a text.
TEST_F(DiskCacheOp, IsNotUsedForOtherVocabularies) {
  const std::string words = folder_ + "/words";
  WriteFile(words, "one\ntwo\nthree\n");
  WriteFile(folder_ + "/table.csv", "word\nthree\none\n");
  operator_ = "open_files";
  source_ = {{"file_names", "strings: \"" + folder_ + "/table.csv\""},
             {"fields", "strings: 'word int64[] vocab=" + words + "'"}};
  EXPECT_EQ(Read(), 1u);
  EXPECT_EQ(Read(), 0u);
  WriteFile(words, "one\nthree\ntwo\nfour\n");
  EXPECT_EQ(Read(), 1u);
}

// A block reads a variable from outside.
TEST_F(DiskCacheOp, IsNotUsedForOtherValuesOfVariables) {
  const auto read = [this](const std::string& value, const std::string& bias,
                           const std::string& behind = "") {
    const size_t before = Files();
    ProgramRunner runner;
    runner.Startup(
        BlockText(0, -1,
                  {ReaderText("numbers", {{"FP32", {1, 1}}}), ReaderText("sums"), ReaderText("out"),
                   TensorText("term", "FP32", {1}, 0, true),
                   OpText("create_random_data_generator", {}, {{"Out", {"numbers"}}},
                          {{"count", "l: 5"}}),
                   OpText("fill_constant", {}, {{"Out", {"term"}}},
                          {{"shape", "ints: 1"}, {"value", "f: " + value}}),
                   OpText("create_custom_reader", {{"UnderlyingReader", {"numbers"}}},
                          {{"Out", {"sums"}}},
                          {{"sub_block", "block_idx: 1"},
                           {"source_var_names", "strings: \"x\""},
                           {"sink_var_names", "strings: \"y\""}}),
                   behind,
                   OpText("create_cache_reader", {{"UnderlyingReader", {"sums"}}},
                          {{"Out", {"out"}}}, Attributes())}) +
        BlockText(1, 0,
                  {TensorText("x", "FP32", {1, 1}), TensorText("y", "FP32", {1, 1}),
                   TensorText("sum", "FP32", {1, 1}),
                   OpText("elementwise_add", {{"X", {"x"}}, {"Y", {"term"}}}, {{"Out", {"sum"}}}),
                   OpText("scale", {{"X", {"sum"}}}, {{"Out", {"y"}}}, {{"bias", "f: " + bias}})}));
    runner.ReadAllOf("out");
    return Files() - before;
  };
  EXPECT_EQ(read("1", "0"), 1u);
  EXPECT_EQ(read("1", "0"), 0u);
  EXPECT_EQ(read("2", "0"), 1u);
  EXPECT_EQ(read("2", "5"), 1u);
  EXPECT_EQ(read("1", "0"), 0u);
  // The elements have the value from before; the cache would be taken for one with the value since.
  ExpectError(ErrorCode::kInvalidArgument,
              "what changes in variable 'term', which create_custom_reader 'sums' has read and "
              "fill_constant 'term' has written since: give data_version",
              [&] { read("3", "0", FillText("term", "FP32", 4)); });
}

TEST_F(DiskCacheOp, NeedsAVersionWhereItCannotSee) {
  const std::string list = folder_ + "/list";
  WriteFile(list, "lines.txt 1\n");
  operator_ = "open_files";
  source_ = {{"file_names", "strings: \"image_list:" + list + "\""}};
  ExpectError(ErrorCode::kInvalidArgument,
              "a cache on a disk cannot see what changes in open_files 'lines', whose files name "
              "other files: give data_version, a text that you change whenever the data does",
              [&] { Read(); });
  ProgramRunner runner;
  SourceSpec spec;
  spec.records = 5;
  runner.Reader("source").Reset(MakePlannedSource(spec));
  ExpectError(
      ErrorCode::kInvalidArgument,
      "in reader 'source', which no operator before it in its program creates: give data_version",
      [&] { runner.Startup(DecoratorProgram("create_cache_reader", Attributes())); });
  data_version_ = "first";
  runner.Startup(DecoratorProgram("create_cache_reader", Attributes()));
  EXPECT_EQ(runner.ReadAllOf("out").size(), 5u);
  EXPECT_EQ(Files(), 1u);
}

// What an attribute says of itself counts, whatever its name is: the names of files in it are seen
// in any case, but neither what is in a folder nor what those files name.
TEST_F(DiskCacheOp, IsNotUsedForOtherFilesThatAttributesOfAFormatLeadTo) {
  const std::string images = folder_ + "/images", parts = folder_ + "/parts";
  fs::create_directories(images + "/inner");
  fs::create_directories(parts);
  WriteFile(images + "/inner/1.png", "one");
  WriteFile(parts + "/all", "part\n");
  operator_ = "create_cache_test_own_file_reader";
  const AttributeTexts file = source_;
  source_.emplace_back("images", "s: \"" + images + "\"");
  EXPECT_EQ(Read(), 1u);
  EXPECT_EQ(Read(), 0u);
  WriteFile(images + "/inner/1.png", "two of another size");
  EXPECT_EQ(Read(), 1u);
  EXPECT_EQ(Read(), 0u);
  source_ = file;
  source_.emplace_back("parts", "s: \"cache_test_beside:" + parts + "/all\"");
  EXPECT_EQ(Read(), 1u);
  EXPECT_EQ(Read(), 0u);
  WriteFile(parts + "/part", "more");
  EXPECT_EQ(Read(), 1u);
  EXPECT_EQ(Read(), 0u);
  source_.back().second = "s: \"cache_test_anywhere:" + parts + "/all\"";
  ExpectError(ErrorCode::kInvalidArgument,
              "in create_cache_test_own_file_reader 'lines', whose files name other files: give "
              "data_version",
              [&] { Read(); });
}

TEST_F(DiskCacheOp, IsNotUsedForOtherFilesThatFilesNameBesideThem) {
  const std::string listed = folder_ + "/listed", list = listed + "/parts.list";
  fs::create_directories(listed);
  WriteFile(list, "one\ntwo\n");
  WriteFile(listed + "/all", "one\ntwo\n");
  const AttributeTexts named = {
      {"file_names", "strings: \"cache_test_beside:" + listed + "/all\""}};
  const AttributeTexts known_by_content = {{"file_names", "strings: \"" + list + "\""},
                                           {"shape_concat", "ints: -1"},
                                           {"ranks", "ints: 1"},
                                           {"lod_levels", "ints: 1"},
                                           {"dtypes", "ints: 20"}};
  operator_ = "open_files";
  std::string content;
  for (const AttributeTexts& source : {named, known_by_content}) {
    source_ = source;
    EXPECT_EQ(Read(), 1u);
    EXPECT_EQ(Read(), 0u);
    WriteFile(listed + "/part", content += "more");
    EXPECT_EQ(Read(), 1u);
    EXPECT_EQ(Read(), 0u);
  }
}

TEST_F(DiskCacheOp, IsUsedWhateverNumberTheProcessGives) {
  operator_ = "create_cache_test_fed";
  source_ = {{"number", "l: 1"}};
  ExpectError(ErrorCode::kInvalidArgument,
              "in create_cache_test_fed 'lines', whose elements come from this process: give "
              "data_version",
              [&] { Read(); });
  data_version_ = "first";
  EXPECT_EQ(Read(), 1u);
  source_ = {{"number", "l: 2"}};
  EXPECT_EQ(Read(), 0u);
  source_.emplace_back("count", "l: 4");
  EXPECT_EQ(Read(), 1u);
}

// An operator reads its own format, whatever the name of the file looks like.
TEST_F(DiskCacheOp, KnowsTheFormatOfAnOperatorThatReadsOne) {
  const std::string list = folder_ + "/list.csv";
  WriteFile(list, "lines.txt 1\n");
  operator_ = "create_image_list_file_reader";
  source_ = {{"filename", "s: \"" + list + "\""}};
  ExpectError(ErrorCode::kInvalidArgument,
              "in create_image_list_file_reader 'lines', whose files name other files: give "
              "data_version",
              [&] { Read(); });
}

TEST_F(DiskCacheOp, RefusesWeightsThatMayChange) {
  ProgramRunner runner;
  data_version_ = "first";  // does not help
  ExpectError(
      ErrorCode::kInvalidArgument, "create_mix_reader 'mixed' reads the variable 'weights'", [&] {
        runner.Startup(
            BlockText(0, -1,
                      {ReaderText("lines"), ReaderText("mixed"), ReaderText("out"),
                       TensorText("weights", "FP32", {1}, 0, true),
                       OpText("fill_constant", {}, {{"Out", {"weights"}}},
                              {{"shape", "ints: 1"}, {"value", "f: 1"}}),
                       OpText(operator_, {}, {{"Out", {"lines"}}}, source_),
                       OpText("create_mix_reader",
                              {{"UnderlyingReaders", {"lines"}}, {"WeightsTensor", {"weights"}}},
                              {{"Out", {"mixed"}}}),
                       OpText("create_cache_reader", {{"UnderlyingReader", {"mixed"}}},
                              {{"Out", {"out"}}}, Attributes())}));
      });
}

TEST_F(DiskCacheOp, ChecksItsAttributes) {
  const ProgramRunner runner;
  const auto expect = [&](const AttributeTexts& attributes, const std::string& words) {
    runner.ExpectProblem(BlockText(0, -1,
                                   {ReaderText("lines"), ReaderText("out"),
                                    OpText(operator_, {}, {{"Out", {"lines"}}}, source_),
                                    OpText("create_cache_reader", {{"UnderlyingReader", {"lines"}}},
                                           {{"Out", {"out"}}}, attributes)}),
                         words);
  };
  expect({}, "give either attribute 'memory_bytes', for a cache in memory, or 'directory'");
  expect({{"memory_bytes", "i: 1"}, {"directory", "s: \"x\""}, {"disk_bytes", "i: 1"}},
         "give either attribute 'memory_bytes'");
  expect({{"directory", "s: \"x\""}}, "attribute 'disk_bytes' must be given with 'directory'");
  expect({{"memory_bytes", "i: 1"}, {"disk_bytes", "i: 1"}},
         "attribute 'disk_bytes' is for a cache in a 'directory'");
  expect({{"memory_bytes", "i: 1"}, {"data_version", "s: \"x\""}},
         "attribute 'data_version' is for a cache in a 'directory'");
}

}  // namespace
}  // namespace millhopper

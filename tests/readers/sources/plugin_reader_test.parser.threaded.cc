// SPDX-License-Identifier: Apache-2.0
// Parsers of plugins: what they make of records, and every way to misbehave that can be noticed.
// tests/tools/commands/parser_crash_test.cc has the ways that end the process.
#include "readers/sources/plugin_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/plugin.h"
#include "framework/reader/parser_plugins.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/shard_reader.h"
#include "tests/child.h"
#include "tests/files/compressed.h"
#include "tests/files/index_files.h"
#include "tests/files/record_files.h"
#include "tests/files/tfrecords.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

const ParserPlugin& Plugin(const std::string& library) {
  const std::string path = Runfile("tests/" + library);
  LoadPlugin(path);
  return *FindParserPlugin(path);
}

std::unique_ptr<ReaderBase> Open(const ParserPlugin& plugin, const std::string& name,
                                 size_t thread_num = 0,
                                 BufferType buffer_type = BufferType::kMemory) {
  const FormatSchema* const named = ChooseFormat(name).schema;
  const FormatSchema& format = *(named == nullptr ? FindFileFormat("text") : named);
  FormatArguments arguments;
  arguments.buffer_type = buffer_type;
  MultiFileOptions options;
  options.thread_num = thread_num;
  return OpenPluginReader({name}, format, arguments, plugin, options);
}

// Sets an environment variable while it lives. The misbehaving parser looks at it.
class Misbehave {
 public:
  explicit Misbehave(const char* way) { setenv("MISBEHAVE", way, 1); }
  ~Misbehave() { unsetenv("MISBEHAVE"); }
};

TEST(PluginReader, YieldsWhatTheParserMakes) {
  const TempFile file("scores.txt", "3 0.5 1.25\r\n-7\n9 2");
  const auto reader = Open(Plugin("libscores.so"), file.path());
  ASSERT_EQ(reader->slots().size(), 2u);
  EXPECT_EQ(ToString(reader->slots()[0]), "int64 [1, 1]");
  EXPECT_EQ(ToString(reader->slots()[1]), "float32 [-1] with 1 level of detail");
  const std::vector<ElementValue> elements = ReadAll(reader.get());
  ASSERT_EQ(elements.size(), 3u);
  EXPECT_EQ(elements[0], ValueOf({MakeTensor<int64_t>({1, 1}, {3}),
                                  MakeTensor<float>({2}, {0.5, 1.25}, {{0, 2}})}));
  EXPECT_EQ(elements[1],
            ValueOf({MakeTensor<int64_t>({1, 1}, {-7}), MakeTensor<float>({0}, {}, {{0, 0}})}));
  reader->ReInit();
  EXPECT_EQ(ReadAll(reader.get()), elements);
}

TEST(PluginReader, ParsesWithAClassOfCpp) {
  const TempFile file("points.txt", "0.5,-2\n1,4\n1;4\n");
  const ParserPlugin& plugin = Plugin("libpoints.so");
  const auto reader = Open(plugin, file.path());
  const std::vector<ElementValue> elements = ReadSome(reader.get(), 2);
  EXPECT_EQ(elements[0], ValueOf({MakeTensor<float>({1, 2}, {0.5, -2})}));
  EXPECT_EQ(elements[1], ValueOf({MakeTensor<float>({1, 2}, {1, 4})}));
  std::vector<LoDTensor> element;
  ExpectError(ErrorCode::kDataLoss, "a comma is missing behind x",
              [&] { reader->ReadNext(&element); });
}

// The records of other formats, of compressed files and of mapped ones are parsed as well.
TEST(PluginReader, TakesBytesFromAnyFormat) {
  const ParserPlugin& plugin = Plugin("libscores.so");
  const std::string lines = "1 0.5\n2\n3 1 2\n";
  const TempFile text("scores.txt", lines), packed("scores.txt.zst", Zstd(lines));
  const TempFile tfrecord("scores.tfrecord", TFRecords({"1 0.5", "2", "3 1 2"}));
  const std::vector<ElementValue> elements = ReadAll(Open(plugin, text.path()).get());
  ASSERT_EQ(elements.size(), 3u);
  EXPECT_EQ(ReadAll(Open(plugin, packed.path()).get()), elements);
  EXPECT_EQ(ReadAll(Open(plugin, tfrecord.path()).get()), elements);
  EXPECT_EQ(ReadAll(Open(plugin, text.path(), 0, BufferType::kMmap).get()), elements);
}

TEST(PluginReader, IsShardedByChunkWhereFilesHaveIndexes) {
  const ParserPlugin& plugin = Plugin("libscores.so");
  const std::string folder = NewFolder("plugin_indexes");
  for (const char* name : {"1.tfrecord", "2.tfrecord"}) {
    const std::string path = folder + "/" + name;
    WriteFile(path, TFRecords({"1 0.5", "2", "3 1 2"}));
  }
  const std::string pattern = "tfrecord:" + folder + "/*.tfrecord";
  ExpectError(ErrorCode::kInvalidArgument, "recordio index",
              [&] { ShardReader(Open(plugin, pattern), 2, 0, ShardBy::kChunk); });
  WriteIndex("tfrecord", folder + "/1.tfrecord");
  WriteIndex("tfrecord", folder + "/2.tfrecord");
  EXPECT_EQ(Open(plugin, pattern)->PassLength(), 6u);
  for (int64_t index = 0; index < 2; ++index) {
    ShardReader shard(Open(plugin, pattern), 2, index, ShardBy::kChunk);
    EXPECT_EQ(ReadAll(&shard).size(), 3u);
  }
}

TEST(PluginReader, RefusesAFormatWhoseRecordsAreNoBytes) {
  const TempFile file("x.idx3-ubyte", "x");
  ExpectError(ErrorCode::kInvalidArgument, "a parser takes records that are bytes",
              [&] { Open(Plugin("libscores.so"), "idx:" + file.path()); });
}

// Batches are parsed on all threads, or on as many as are allowed, in the order of the file.
TEST(PluginReader, OrderDependsOnNoThreads) {
  std::string lines;
  for (int i = 0; i < 20000; ++i) lines += StrCat(i, i % 2 == 0 ? " 0.5 " : " ", i, "\n");
  const TempFile file("scores.txt", lines);
  std::vector<ElementValue> expected;
  for (const int workers : {0, 1, 3, 7}) {
    const PoolSize size(workers);
    for (const size_t thread_num : {0, 1, 2}) {
      DoubleBufferReader reader(
          std::make_unique<BatchReader>(Open(Plugin("libscores.so"), file.path(), thread_num), 1000,
                                        false, BatchMode::kConcat),
          Place(), 3);
      const std::vector<ElementValue> batches = ReadAll(&reader);
      ASSERT_EQ(batches.size(), 20u);
      if (expected.empty()) expected = batches;
      EXPECT_EQ(batches, expected) << workers << " workers, thread_num " << thread_num;
    }
  }
  EXPECT_EQ(expected[19][0].dims, (std::vector<int64_t>{1000, 1}));
  EXPECT_EQ(expected[19][1].dims, (std::vector<int64_t>{1500}));
}

struct Misbehaviour {
  std::string way;  // what the record says
  ErrorCode code;
  std::string words;
};

class Misbehaving : public ::testing::TestWithParam<Misbehaviour> {};

// After two records that are good, alone and in a batch, on one thread or on several.
TEST_P(Misbehaving, GivesAnErrorWithFileRecordAndPlugin) {
  const ParserPlugin& plugin = Plugin("libmisbehaving_parser.so");
  const TempFile file("lines.txt", "good\nfine\n" + GetParam().way + "\ngood\n");
  for (const int workers : {0, 2}) {
    const PoolSize size(workers);
    const auto reader = Open(plugin, file.path());
    EXPECT_EQ(ReadSome(reader.get(), 2).size(), 2u);
    const auto batches =
        std::make_unique<BatchReader>(Open(plugin, file.path()), 4, false, BatchMode::kConcat);
    for (ReaderBase* const reading :
         {static_cast<ReaderBase*>(reader.get()), static_cast<ReaderBase*>(batches.get())}) {
      std::vector<LoDTensor> element;
      const std::optional<Thrown> error = ErrorOf([&] { reading->ReadNext(&element); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->code, GetParam().code) << error->text;
      EXPECT_EQ(error->text.rfind(file.path() + ": ", 0), 0u) << error->text;
      for (const std::string& words : {GetParam().words, "\n  while parsing it with " + plugin.path,
                                       std::string("\n  in line 3, which begins at byte 10"),
                                       std::string("while reading record 2 of")}) {
        EXPECT_NE(error->text.find(words), std::string::npos) << error->text << "\nlacks " << words;
      }
    }
    // What came before is as it was, and the process is well.
    reader->ReInit();
    EXPECT_EQ(ReadSome(reader.get(), 2)[1],
              ValueOf({MakeTensor<float>({1, 2}, {0.5, 1.5}),
                       MakeTensor<bool>({3}, {true, false, true}, {{0, 3}})}));
  }
}

constexpr ErrorCode kWrong = ErrorCode::kPlugin;

INSTANTIATE_TEST_SUITE_P(
    Ways, Misbehaving,
    ::testing::Values(
        Misbehaviour{"refuse", ErrorCode::kDataLoss, "refuses the record: no \\x01number"},
        Misbehaviour{"refuse_silently", ErrorCode::kDataLoss, "it does not say why"},
        Misbehaviour{"few", kWrong, "it has made 1 tensors, but it declares 2 slots"},
        Misbehaviour{"many", kWrong, "it has made 3 tensors, but it declares 2 slots"},
        Misbehaviour{"unfilled", kWrong, "slot 1: its tensor has no dims; was it filled?"},
        Misbehaviour{"write_behind", kWrong, "it has written past the 2 tensors of its slots"},
        Misbehaviour{"long_error", kWrong, "past the 1024 bytes for the text of its error"},
        Misbehaviour{"rank_0", kWrong, "slot 0: its tensor has 0 axes; 1 to 9 are possible"},
        Misbehaviour{"rank_1000", kWrong, "slot 0: its tensor has 1000 axes"},
        Misbehaviour{"no_type", kWrong, "slot 0: its tensor has values of type 99"},
        Misbehaviour{"other_type", kWrong, "declares float32 [1, 2] and has made int64 [1, 2]"},
        Misbehaviour{"other_dims", kWrong, "declares float32 [1, 2] and has made float32 [1, 3]"},
        Misbehaviour{"negative_dims", kWrong, "and has made float32 [1, -2]"},
        Misbehaviour{"huge_dims", kWrong, "dims [9223372036854775807] has more than 2147483648"},
        Misbehaviour{"short_data", kWrong, "values have 4 bytes, but float32 [1, 2] has 8"},
        Misbehaviour{"null_data", kWrong, "slot 0: its values are null"},
        Misbehaviour{"no_levels", kWrong, "with 1 level of detail and has made bool [3]"},
        Misbehaviour{"many_levels", kWrong, "slot 1: its tensor has 32 levels of detail"},
        Misbehaviour{"null_levels", kWrong, "slot 1: the levels of detail of its tensor are null"},
        Misbehaviour{"null_offsets", kWrong, "level 0 of the levels of detail has no offsets"},
        Misbehaviour{"no_offsets", kWrong, "level 0 of the levels of detail has no offsets"},
        Misbehaviour{"descends", kWrong, "level 0 of the levels of detail descends from 3 to 0"},
        Misbehaviour{"ends_early", kWrong, "ends at 2 but there are 3 rows"},
        Misbehaviour{"no_bool", kWrong, "slot 1: value 1 is 7, which is no bool"},
        Misbehaviour{"throw", kWrong, "`parse` has let out an exception: no such word"},
        Misbehaviour{"throw_number", kWrong, "an exception that is no std::exception"},
        Misbehaviour{"behind", kWrong, "in the memory of the record, but not within it"}),
    [](const auto& way) { return way.param.way; });

// A parser keeps the address of its last record and says that its values are there.
TEST(PluginReader, NoticesValuesInAnEarlierRecord) {
  const TempFile file("lines.txt", "good\nearlier\n");
  BatchReader reader(Open(Plugin("libmisbehaving_parser.so"), file.path()), 2, false,
                     BatchMode::kConcat);
  std::vector<LoDTensor> element;
  ExpectError(ErrorCode::kPlugin, "an earlier record, which was valid during its own call only",
              [&] { reader.ReadNext(&element); });
}

// When a batch fails, its records are parsed again one by one. Where none fails then, the first
// error is the one that is told, with its place.
TEST(PluginReader, TellsAnErrorThatDoesNotComeAgain) {
  const TempFile file("lines.txt", "good\nsometimes\n");
  BatchReader reader(Open(Plugin("libmisbehaving_parser.so"), file.path()), 2, false,
                     BatchMode::kConcat);
  std::vector<LoDTensor> element;
  ExpectError(ErrorCode::kPlugin, file.path() + ": the parser misbehaves: it has made 1 tensors",
              [&] { reader.ReadNext(&element); });
}

TEST(PluginReader, ErrorsOfTheBeginningNameThePlugin) {
  const ParserPlugin& plugin = Plugin("libmisbehaving_parser.so");
  const TempFile file("lines.txt", "good\n");
  for (const auto& [way, words] : std::vector<std::pair<const char*, std::string>>{
           {"create_null", "the parser cannot begin: it does not say why"},
           {"create_fail", "the parser cannot begin: cannot open its word list"},
           {"create_throw", "its function `create` has let out an exception: no word list"}}) {
    const Misbehave misbehave(way);
    const auto reader = Open(plugin, file.path(), 1);
    std::vector<LoDTensor> element;
    for (int attempt = 0; attempt < 2; ++attempt) {
      ExpectError(ErrorCode::kPlugin, words, [&] { reader->ReadNext(&element); });
      ExpectError(ErrorCode::kPlugin, plugin.path, [&] { reader->ReadNext(&element); });
      reader->ReInit();
    }
  }
  const Misbehave misbehave("destroy_throw");
  EXPECT_EQ(ReadAll(Open(plugin, file.path()).get()).size(), 1u);
}

// What a parser says of itself when its library is loaded.
class Declared : public ::testing::Test {
 protected:
  static std::string Refusal(const MillhopperParser* said) {
    static const MillhopperParser* parser;
    parser = said;
    try {
      AddParserPlugin("/nowhere/libparser.so", [](uint32_t) { return parser; });
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kPlugin);
      EXPECT_EQ(error.file(), "/nowhere/libparser.so");
      EXPECT_EQ(FindParserPlugin("/nowhere/libparser.so"), nullptr);
      return error.message();
    }
    return "it was taken";
  }

  static int32_t Parse(void*, const char*, size_t, MillhopperTensor*, char*, size_t) { return 0; }

  const int64_t dims_[2] = {1, 4};
  MillhopperSlot slot_ = {MILLHOPPER_FP32, 0, 2, dims_};
  MillhopperParser parser_ = {MILLHOPPER_PARSER_ABI, 1, &slot_, nullptr, nullptr, &Parse};
};

TEST_F(Declared, IsCheckedBeforeTheParserIsUsed) {
  const int64_t negative[] = {1, -2};
  const auto expect = [&](const std::string& words, const std::function<void()>& spoil) {
    const MillhopperSlot slot = slot_;
    const MillhopperParser parser = parser_;
    spoil();
    EXPECT_NE(Refusal(&parser_).find(words), std::string::npos) << Refusal(&parser_);
    slot_ = slot;
    parser_ = parser;
  };
  EXPECT_NE(Refusal(nullptr).find("has no parser for version 1"), std::string::npos);
  expect("is of version 7", [&] { parser_.abi_version = 7; });
  expect("no function `parse`", [&] { parser_.parse = nullptr; });
  expect("only one of the functions", [&] { parser_.destroy = [](void*) {}; });
  expect("it declares 0 slots", [&] { parser_.slot_count = 0; });
  expect("it declares 4097 slots", [&] { parser_.slot_count = 4097; });
  expect("list of slots is null", [&] { parser_.slots = nullptr; });
  expect("slot 0 has 0 axes", [&] { slot_.rank = 0; });
  expect("slot 0 has 10 axes", [&] { slot_.rank = 10; });
  expect("dims of slot 0 are null", [&] { slot_.dims = nullptr; });
  expect("slot 0 has 17 levels", [&] { slot_.lod_levels = 17; });
  expect("99", [&] { slot_.dtype = 99; });
  expect("an axis is -1 (any) or more", [&] { slot_.dims = negative; });
}

TEST(PluginReader, ALibraryThatOffersNoParserIsRefused) {
  const Misbehave misbehave("no_parser");
  const TempFile copy("libcopy.so", ReadFile(Runfile("tests/libmisbehaving_parser.so")));
  ExpectError(ErrorCode::kPlugin, "has no parser for version 1", [&] { LoadPlugin(copy.path()); });
  const TempFile text("libtext.so", StrCat("millhopper_parser", '\0'));
  ExpectError(ErrorCode::kPlugin, "cannot load: ", [&] { LoadPlugin(text.path()); });
}

}  // namespace
}  // namespace millhopper

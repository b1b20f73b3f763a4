// SPDX-License-Identifier: Apache-2.0
// Indexes: what readers gain by them, and that one which is older than its file is noticed.
#include "readers/index/chunk_index.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "readers/decorate/shard_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/index/indexable_format.h"
#include "readers/sources/file_list.h"
#include "readers/sources/open_files.h"
#include "readers/support/byte_records.h"
#include "tests/bytes.h"
#include "tests/bytes_read.h"
#include "tests/fakes/memory_files.h"
#include "tests/fifo.h"
#include "tests/files/index_files.h"
#include "tests/files/indexable_kinds.h"
#include "tests/files/mxnet_records.h"
#include "tests/files/record_files.h"
#include "tests/files/tars.h"
#include "tests/files/tfrecords.h"
#include "tests/outcome.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

class ChunkIndexes : public ::testing::TestWithParam<IndexableKind> {
 protected:
  std::string Write(const std::string& name, const std::string& content) const {
    const std::string path = folder_ + "/" + name;
    WriteFile(path, content);
    return path;
  }
  // A file of some chunks.
  std::string WriteTexts(const std::string& name, const Texts& texts) const {
    return Write(name, GetParam().file(texts));
  }
  void Index(const std::string& path) const { WriteIndex(GetParam().tag, path, GetParam().fields); }

  std::unique_ptr<ReaderBase> Open(const Texts& paths, const MultiFileOptions& options = {},
                                   Texts fields = {}) const {
    FormatArguments arguments;
    if (fields.empty()) fields = GetParam().fields;
    if (fields.empty()) {
      arguments.declared = {BytesSlot()};  // so that nothing is looked at before it is read
    } else {
      arguments.attributes.Set("fields", fields);
    }
    Texts names;
    for (const std::string& path : paths) names.push_back(GetParam().tag + ":" + path);
    std::unique_ptr<ReaderBase> reader = OpenFiles(names, {}, std::move(arguments), options);
    reader->set_origin("reader 'files'");
    return reader;
  }

  // The file is read as its index says, or an error says that this is of another file.
  void ExpectNoticed(const std::string& path, const std::string& what) const {
    const std::vector<ElementValue> all = Unindexed(path);
    for (const int threads : {0, 2}) {
      const PoolSize pool(threads);
      const std::unique_ptr<ReaderBase> reader = Open({path});
      const Outcome outcome = OutcomeOf(reader.get());
      ASSERT_TRUE(outcome.error.has_value()) << what;
      EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss) << outcome.error->what();
      EXPECT_NE(std::string(outcome.error->what()).find("recordio index"), std::string::npos)
          << what << ": " << outcome.error->what();
      EXPECT_NE(std::string(outcome.error->what()).find(path), std::string::npos);
      ASSERT_LE(outcome.elements.size(), all.size()) << what;
      for (size_t i = 0; i < outcome.elements.size(); ++i) {
        ASSERT_TRUE(outcome.elements[i] == all[i]) << what << ": element " << i;
      }
    }
  }

  // What the file holds, read without its index.
  std::vector<ElementValue> Unindexed(const std::string& path) const {
    const std::string copy = folder_ + "/unindexed";
    fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
    return ReadAll(Open({copy}).get());
  }

  const std::string folder_ = NewFolder("chunk_indexes");
};

// The name of an element: its sample, file, chunk and record.
using Name = std::tuple<uint64_t, uint32_t, uint64_t, uint32_t>;

// Those of a pass.
std::vector<Name> NamesOf(ReaderBase* reader) {
  std::vector<Name> names;
  TicketRun run;
  for (; reader->Plan(7, &run) > 0; run.Clear()) {
    for (const Ticket& ticket : run.tickets) {
      names.emplace_back(ticket.id.sample, ticket.id.file, ticket.id.chunk, ticket.id.record);
    }
  }
  return names;
}

// Those of one chunk of the only file, by its number among the chunks that have records.
std::vector<Name> OfChunk(const std::vector<Name>& names, size_t number) {
  std::set<uint64_t> chunks;
  for (const Name& name : names) chunks.insert(std::get<2>(name));
  EXPECT_GT(chunks.size(), number);
  EXPECT_LE(chunks.size(), 8u);
  std::vector<Name> of_chunk;
  for (const Name& name : names) {
    const auto before = std::distance(chunks.begin(), chunks.find(std::get<2>(name)));
    if (static_cast<size_t>(before) == number) of_chunk.push_back(name);
  }
  return of_chunk;
}

TEST_P(ChunkIndexes, ChangeNoElementItsNameItsPlaceOrTheOrder) {
  const std::string one = WriteTexts("1", TextsOf(400, 10000));
  const std::string two = WriteTexts("2", TextsOf(90, 30000));
  const auto streams = [&] {
    std::vector<std::vector<ElementValue>> streams;
    for (const int threads : {0, 1, 2, 7}) {
      const PoolSize pool(threads);
      streams.push_back(ReadAll(Open({one, two}).get()));
      ShuffleReader shuffled(Open({one, two}), 50, RandomKey(1, 2, "shuffled"));
      streams.push_back(ReadAll(&shuffled));
      ShardReader shard(Open({one, two}), 3, 1);
      streams.push_back(ReadAll(&shard));
    }
    return streams;
  };
  const auto names = [&] { return NamesOf(Open({one, two}).get()); };
  const std::vector<std::vector<ElementValue>> expected = streams();
  const std::vector<Name> expected_names = names();
  ASSERT_EQ(expected[0].size(), 490u);
  Index(one);
  EXPECT_TRUE(streams() == expected) << "one file has an index";
  Index(two);
  EXPECT_TRUE(streams() == expected);
  EXPECT_EQ(names(), expected_names);
}

TEST_P(ChunkIndexes, TakePositionsOfReadersWithoutThemAndGiveThem) {
  const std::string path = WriteTexts("1", TextsOf(400, 10000));
  const std::string index_path = IndexPathOf(path);
  const std::vector<ElementValue> all = ReadAll(Open({path}).get());
  for (const bool saves_with_index : {false, true}) {
    for (const size_t at : {size_t{0}, size_t{1}, size_t{250}, size_t{399}, size_t{400}}) {
      fs::remove(index_path);
      if (saves_with_index) Index(path);
      const std::unique_ptr<ReaderBase> reader = Open({path});
      reader->ExpectSave();
      ReadSome(reader.get(), at);
      const auto position = reader->Save();
      fs::remove(index_path);
      if (!saves_with_index) Index(path);
      const std::unique_ptr<ReaderBase> other = Open({path});
      other->Restore(position);
      EXPECT_TRUE(ReadAll(other.get()) ==
                  std::vector<ElementValue>(all.begin() + static_cast<int64_t>(at), all.end()))
          << "from element " << at;
    }
  }
}

TEST_P(ChunkIndexes, TakePositionsOfShuffleBuffersAndGiveThem) {
  const std::string path = WriteTexts("1", TextsOf(400, 10000));
  const std::string index_path = IndexPathOf(path);
  const RandomKey key(1, 2, "shuffled");
  ShuffleReader whole(Open({path}), 50, key);
  const std::vector<ElementValue> all = ReadAll(&whole);
  ASSERT_EQ(all.size(), 400u);
  for (const bool saves_with_index : {false, true}) {
    for (const size_t at : {size_t{0}, size_t{1}, size_t{250}, size_t{399}, size_t{400}}) {
      fs::remove(index_path);
      if (saves_with_index) Index(path);
      ShuffleReader reader(Open({path}), 50, key);
      reader.ExpectSave();
      ReadSome(&reader, at);
      const auto position = reader.Save();
      fs::remove(index_path);
      if (!saves_with_index) Index(path);
      ShuffleReader other(Open({path}), 50, key);
      other.Restore(position);
      EXPECT_TRUE(ReadAll(&other) ==
                  std::vector<ElementValue>(all.begin() + static_cast<int64_t>(at), all.end()))
          << "from element " << at;
    }
  }
}

TEST_P(ChunkIndexes, TellHowManyElementsThereAre) {
  const std::string one = WriteTexts("1", TextsOf(400, 10000));
  const std::string two = WriteTexts("2", TextsOf(7, 10));
  const std::string empty = WriteTexts("3", {});
  EXPECT_EQ(Open({one, two, empty})->PassLength(), std::nullopt);
  Index(one);
  Index(two);
  EXPECT_EQ(Open({one, two})->PassLength(), 407u);
  EXPECT_EQ(Open({one, two, empty})->PassLength(), std::nullopt);
  Index(empty);
  EXPECT_EQ(Open({one, two, empty})->PassLength(), 407u);
  EXPECT_EQ(ReadAll(Open({one, two, empty}).get()).size(), 407u);
  const ShardReader shard(Open({one, two}), 8, 1);
  EXPECT_EQ(shard.PassLength(), 51u);
}

TEST_P(ChunkIndexes, LetAShardReadItsChunksAlone) {
  const std::string one = WriteTexts("1", TextsOf(16000, 1000));
  const std::string two = WriteTexts("2", TextsOf(16000, 1000));
  const uint64_t bytes = fs::file_size(one) + fs::file_size(two);
  ExpectError(ErrorCode::kInvalidArgument, "recordio index", [&] {
    ShardReader(Open({one, two}), 8, 0, ShardBy::kChunk);
  });
  Index(one);
  Index(two);
  const std::vector<Name> whole = NamesOf(Open({one, two}).get());
  for (const int threads : {0, 2}) {
    const PoolSize pool(threads);
    std::set<Name> together;
    for (int64_t index = 0; index < 8; ++index) {
      ShardReader shard(Open({one, two}), 8, index, ShardBy::kChunk);
      const uint64_t before = BytesRead();
      for (const Name& name : NamesOf(&shard)) EXPECT_TRUE(together.insert(name).second);
      const uint64_t read = BytesRead() - before;
      // A chunk, its neighbours' ends, the indexes and the ends of the files.
      const uint64_t beside = 2 * ((1 << 20) + (160 << 10));
      EXPECT_LE(read, bytes / 8 + beside) << "shard " << index << " of " << bytes << " bytes";
      EXPECT_GE(read, bytes / 8 - beside);
    }
    EXPECT_EQ(together, std::set<Name>(whole.begin(), whole.end()));
  }
}

// To see that an index fits takes little of a small file, and less than to read it.
TEST_P(ChunkIndexes, LetAShardReadItsPartOfManySmallFiles) {
  Texts paths;
  uint64_t bytes = 0;
  for (int i = 0; i < 40; ++i) {
    paths.push_back(WriteTexts(std::to_string(i), TextsOf(100, 1000)));
    bytes += fs::file_size(paths.back());
    Index(paths.back());
  }
  const PoolSize pool(0);
  uint64_t before = BytesRead();
  EXPECT_EQ(Open(paths)->PassLength(), 4000u);
  EXPECT_LE(BytesRead() - before, bytes / 4);
  const std::vector<Name> whole = NamesOf(Open(paths).get());
  EXPECT_EQ(whole.size(), 4000u);
  std::set<Name> together;
  for (int64_t index = 0; index < 8; ++index) {
    before = BytesRead();
    ShardReader shard(Open(paths), 8, index, ShardBy::kChunk);
    for (const Name& name : NamesOf(&shard)) EXPECT_TRUE(together.insert(name).second);
    EXPECT_LE(BytesRead() - before, bytes / 2) << "shard " << index << " of " << bytes << " bytes";
  }
  EXPECT_EQ(together, std::set<Name>(whole.begin(), whole.end()));
}

TEST_P(ChunkIndexes, LetChunksBeShuffledWithoutAFirstPass) {
  const std::string one = WriteTexts("1", TextsOf(16000, 1000));
  const std::string two = WriteTexts("2", TextsOf(800, 1000));
  const uint64_t bytes = fs::file_size(one) + fs::file_size(two);
  std::map<std::string, int> expected;
  for (const ElementValue& element : ReadAll(Open({one, two}).get())) ++expected[DigestOf(element)];
  Index(one);
  Index(two);
  MultiFileOptions options;
  options.shuffle_chunks = true;
  options.key = RandomKey(3, 4, "files");
  const PoolSize pool(0);
  const std::unique_ptr<ReaderBase> reader = Open({one, two}, options);
  const uint64_t before = BytesRead();
  std::vector<ElementValue> first = ReadSome(reader.get(), 1);
  EXPECT_LE(BytesRead() - before, bytes / 4) << "before the first element";
  std::vector<std::vector<ElementValue>> passes(2);
  for (std::vector<ElementValue>& pass : passes) {
    pass = std::move(first);
    first.clear();
    for (ElementValue& element : ReadAll(reader.get())) pass.push_back(std::move(element));
    std::map<std::string, int> found;
    for (const ElementValue& element : pass) ++found[DigestOf(element)];
    EXPECT_EQ(found, expected);
    reader->ReInit();
  }
  EXPECT_FALSE(passes[0] == passes[1]);
}

TEST_P(ChunkIndexes, LetAPositionBeFoundWithoutReadingUpToIt) {
  const std::string path = WriteTexts("1", TextsOf(16000, 1000));
  Index(path);
  const std::unique_ptr<ReaderBase> reader = Open({path});
  reader->ExpectSave();
  ReadSome(reader.get(), 15990);
  const auto position = reader->Save();
  const std::unique_ptr<ReaderBase> other = Open({path});
  const uint64_t before = BytesRead();
  other->Restore(position);
  EXPECT_EQ(ReadAll(other.get()).size(), 10u);
  EXPECT_LE(BytesRead() - before, fs::file_size(path) / 4);
}

// The file changes, the index does not.
TEST_P(ChunkIndexes, AreNoticedWhenTheyAreStale) {
  const Texts texts = TextsOf(400, 10000);
  const std::string path = WriteTexts("1", texts);
  Index(path);
  const std::string content = ReadFile(path);
  const std::string index = ReadFile(IndexPathOf(path));
  const auto time = fs::last_write_time(path);
  const auto write = [&](const Texts& changed) { WriteFile(path, GetParam().file(changed)); };

  Texts changed = texts;
  changed.push_back("one more");
  write(changed);
  ExpectNoticed(path, "a record was appended");
  EXPECT_TRUE(ErrorOf([&] { Open({path})->PassLength(); }).has_value());

  changed = texts;
  changed.pop_back();
  write(changed);
  ExpectNoticed(path, "the last record is gone");
  EXPECT_TRUE(ErrorOf([&] { Open({path})->PassLength(); }).has_value());

  write({});
  ExpectNoticed(path, "all records are gone");

  // A record becomes another one of its size: at the beginning, at the end, and in each chunk.
  for (size_t i = 0; i < texts.size(); i += i == 0 ? 1 : 57) {
    changed = texts;
    changed[i][50] = 'X';
    write(changed);
    ASSERT_EQ(ReadFile(path).size(), content.size());
    ExpectNoticed(path, StrCat("record ", i, " is another one"));
    fs::last_write_time(path, time);
    ExpectNoticed(path, StrCat("record ", i, " is another one, and the time is the old one"));
  }

  // The same size, other records: two exchange some of their letters.
  changed = texts;
  changed[200] += changed[201].substr(changed[201].size() - 30);
  changed[201].resize(changed[201].size() - 30);
  write(changed);
  ExpectNoticed(path, "another number of letters in a record");

  // Another file of that size, under the same name.
  changed = texts;
  for (std::string& text : changed) {
    const size_t digits = text.find_first_not_of("0123456789");  // libsvm has them as numbers
    text = text.substr(0, digits) + Letters(text.size() - digits, 13);
  }
  WriteTexts("2", changed);
  ASSERT_EQ(ReadFile(folder_ + "/2").size(), content.size());
  fs::rename(folder_ + "/2", path);
  ExpectNoticed(path, "another file");

  write(texts);
  fs::last_write_time(path, time + std::chrono::hours(1));
  EXPECT_EQ(ReadAll(Open({path}).get()).size(), 400u) << "only the time is another one";

  write(changed);
  Index(path);
  EXPECT_NE(ReadFile(IndexPathOf(path)), index);
  EXPECT_TRUE(ReadAll(Open({path}).get()) == Unindexed(path)) << "the index was made again";
  fs::remove(IndexPathOf(path));
  EXPECT_TRUE(ReadAll(Open({path}).get()) == Unindexed(path)) << "the index was deleted";
}

// A reader of the chunk that has changed notices it, however it got there.
TEST_P(ChunkIndexes, AreNoticedWhenTheyAreStaleByOtherReaders) {
  const Texts texts = TextsOf(400, 10000);
  const std::string path = WriteTexts("1", texts);
  Index(path);
  std::set<std::string> known;
  for (const ElementValue& element : ReadAll(Open({path}).get())) known.insert(DigestOf(element));
  const auto position = [&] {
    const std::unique_ptr<ReaderBase> reader = Open({path});
    reader->ExpectSave();
    ReadSome(reader.get(), 50);
    return reader->Save();
  }();
  const uint64_t size = fs::file_size(path);
  Texts changed = texts;
  changed[300][50] = 'X';
  WriteTexts("1", changed);
  ASSERT_EQ(fs::file_size(path), size);
  const auto expect_noticed = [&](const std::string& what, ReaderBase* reader) {
    const Outcome outcome = OutcomeOf(reader);
    ASSERT_TRUE(outcome.error.has_value()) << what;
    EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss) << what;
    EXPECT_NE(std::string(outcome.error->what()).find("recordio index"), std::string::npos)
        << what << ": " << outcome.error->what();
    EXPECT_LT(outcome.elements.size(), texts.size()) << what;
    for (const ElementValue& element : outcome.elements) {
      EXPECT_EQ(known.count(DigestOf(element)), 1u) << what;
    }
  };
  const std::unique_ptr<ReaderBase> restored = Open({path});
  restored->Restore(position);
  expect_noticed("from a position on", restored.get());
  MultiFileOptions options;
  options.shuffle_chunks = true;
  options.key = RandomKey(3, 4, "files");
  const std::unique_ptr<ReaderBase> in_random_chunks = Open({path}, options);
  expect_noticed("in random chunks", in_random_chunks.get());
  ShuffleReader shuffled(Open({path}), 50, RandomKey(1, 2, "shuffled"));
  expect_noticed("through a shuffle buffer", &shuffled);
  ShardReader shard(Open({path}), 3, 1);
  expect_noticed("in a shard by record", &shard);
}

TEST_P(ChunkIndexes, AreErrorsWhereverTheyAreDamaged) {
  const std::string path = WriteTexts("1", TextsOf(20, 100));
  Index(path);
  const std::string index = ReadFile(IndexPathOf(path));
  const auto expect_error = [&](const std::string& what, const std::string& damaged) {
    WriteFile(IndexPathOf(path), damaged);
    const std::optional<Thrown> thrown = ErrorOf([&] { ReadAll(Open({path}).get()); });
    ASSERT_TRUE(thrown.has_value()) << what;
    EXPECT_EQ(thrown->code, ErrorCode::kDataLoss) << what << ": " << thrown->text;
    EXPECT_NE(thrown->text.find("recordio index"), std::string::npos) << thrown->text;
  };
  for (size_t bit = 0; bit < 8 * index.size(); ++bit) {
    std::string damaged = index;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    expect_error(StrCat("bit ", bit), damaged);
  }
  for (size_t size = 0; size < index.size(); ++size) {
    expect_error(StrCat(size, " bytes are left"), index.substr(0, size));
  }
  expect_error("a byte more", index + '\0');
  expect_error("a chunk more", index + std::string(16, '\0'));
  // It says, with right checksums, what the file does not hold.
  const size_t table = index.size() - 16;
  for (const size_t byte :
       {size_t{16}, size_t{24}, size_t{32}, size_t{40}, table, table + 4, table + 8}) {
    for (const int change : {1, -1}) {
      std::string lying = index;
      lying[byte] = static_cast<char>(lying[byte] + change);
      expect_error(StrCat("byte ", byte, " by ", change), WithRightIndexChecksums(lying));
    }
  }
  std::string lying = index;  // the head and the table agree on the number of records
  ++lying[40];
  ++lying[table + 4];
  expect_error("a record more", WithRightIndexChecksums(lying));
  for (const char huge : {'\x7f', '\xff'}) {
    lying = index;
    std::memset(&lying[16], huge, 8);
    std::memset(&lying[32], huge, 8);
    expect_error("a huge file", WithRightIndexChecksums(lying));
    lying = index;
    std::memset(&lying[table], huge, 8);
    expect_error("a huge chunk", WithRightIndexChecksums(lying));
  }
}

TEST_P(ChunkIndexes, AreOfPlainFilesAndPassedOverByPatterns) {
  const std::string path = WriteTexts("1", TextsOf(20, 100));
  const std::string gzipped = Write("2.gz", Gzipped(ReadFile(path)));
  ExpectError(ErrorCode::kInvalidArgument, "compressed as a whole",
              [&] { IndexOf(GetParam().tag, gzipped, GetParam().fields); });
  const std::vector<ElementValue> expected = ReadAll(Open({path, gzipped}).get());
  Index(path);
  EXPECT_EQ(ExpandFileNames({folder_ + "/*"}), (Texts{path, gzipped}));
  EXPECT_EQ(ExpandFileNames({folder_ + "/*.mhi"}), Texts{IndexPathOf(path)});
  EXPECT_EQ(ReadAll(Open({path, gzipped}).get()), expected);
}

// Of files elsewhere none is looked for, but it may be named.
TEST_P(ChunkIndexes, MayBeNamedAndLieElsewhere) {
  const std::string local = WriteTexts("1", TextsOf(4000, 1000));
  const std::string content = ReadFile(local);
  const std::string path = "memory://indexed/1", index_path = "memory://indexed/its_index";
  MemoryFiles& files = MemoryFiles::Get();
  files.Write(path, content);
  files.Write(IndexPathOf(path), "no index");
  files.Write(index_path, IndexOf(GetParam().tag, local, GetParam().fields));
  const auto open = [&](const std::string& index) {
    FormatArguments arguments;
    if (!GetParam().fields.empty()) arguments.attributes.Set("fields", GetParam().fields);
    return OpenFiles({GetParam().tag + ":" + path}, {index}, std::move(arguments), {});
  };
  EXPECT_EQ(Open({path})->PassLength(), std::nullopt);
  const std::vector<ElementValue> expected = ReadAll(Open({path}).get());
  EXPECT_EQ(open(index_path)->PassLength(), 4000u);
  EXPECT_TRUE(ReadAll(open(index_path).get()) == expected);
  const std::vector<Name> whole = NamesOf(open(index_path).get());
  ShardReader shard(open(index_path), 8, 1, ShardBy::kChunk);
  const uint64_t before = files.bytes_read();
  EXPECT_EQ(NamesOf(&shard), OfChunk(whole, 1));
  EXPECT_LE(files.bytes_read() - before, content.size() / 2);
  std::string stale = content;
  stale[stale.size() / 2] = static_cast<char>(stale[stale.size() / 2] ^ 1);
  files.Write(path, stale);
  ExpectError(ErrorCode::kDataLoss, "recordio index", [&] { ReadAll(open(index_path).get()); });
  files.Write(path, content);
  ChunkIndex other;
  other.rules = "other";
  files.Write(index_path, other.ToBytes());
  ExpectError(ErrorCode::kDataLoss, "was not made by the rules of this reader",
              [&] { ReadAll(open(index_path).get()); });
  for (const std::string& name : {path, IndexPathOf(path), index_path}) files.Remove(name);
}

// Named, because mxnet and tfrecord map no file unless they know that it has an index.
TEST_P(ChunkIndexes, AreOfMappedFilesToo) {
  if (GetParam().tag == "csv") GTEST_SKIP() << "a file with quotes is not mapped";
  const std::string path = WriteTexts("1", TextsOf(400, 10000));
  const std::vector<ElementValue> expected = ReadAll(Open({path}).get());
  Index(path);
  FormatArguments arguments;
  arguments.buffer_type = BufferType::kMmap;
  if (!GetParam().fields.empty()) arguments.attributes.Set("fields", GetParam().fields);
  for (const int threads : {0, 2}) {
    const PoolSize pool(threads);
    const std::unique_ptr<ReaderBase> reader =
        OpenFiles({GetParam().tag + ":" + path}, {IndexPathOf(path)}, arguments, {});
    EXPECT_TRUE(ReadAll(reader.get()) == expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, ChunkIndexes, ::testing::ValuesIn(SearchedKinds()),
                         [](const auto& info) { return info.param.tag; });

TEST(ChunkIndex, ByOtherRulesIsLeftAside) {
  const std::string path = NewFolder("rules") + "/a.csv";
  WriteFile(path, "n\n1\n2\n3\n");
  WriteIndex("csv", path, {"n int64[]"});
  const auto open = [&](const Texts& fields) {
    FormatArguments arguments;
    arguments.attributes.Set("fields", fields);
    return OpenFiles({path}, {}, std::move(arguments), {});
  };
  EXPECT_EQ(open({"n int64[]"})->PassLength(), 3u);
  const std::unique_ptr<ReaderBase> without_header = open({"#0 bytes"});
  EXPECT_EQ(without_header->PassLength(), std::nullopt);
  EXPECT_EQ(ReadAll(without_header.get()).size(), 4u);
  // Said when the shard is made, and not when its files are read.
  ExpectError(ErrorCode::kInvalidArgument, "recordio index",
              [&] { ShardReader(open({"#0 bytes"}), 2, 0, ShardBy::kChunk); });
  ShardReader shard(open({"n int64[]"}), 2, 0, ShardBy::kChunk);
  EXPECT_EQ(ReadAll(&shard).size(), 3u);
  const std::unique_ptr<ReaderBase> text = OpenFiles({"text:" + path}, {}, {}, {});
  EXPECT_EQ(text->PassLength(), std::nullopt);
  EXPECT_EQ(ReadAll(text.get()).size(), 4u);
}

TEST(ChunkIndex, IsReadByReadersThatLeaveRecordsOut) {
  const std::string path = NewFolder("skips") + "/a.jsonl";
  WriteFile(path, "{\"a\": 1}\n{\"b\": 2}\n{\"a\": 3}\n");
  ExpectError(ErrorCode::kInvalidArgument, "missing=skip",
              [&] { IndexOf("jsonl", path, {"a int64[] missing=skip"}); });
  WriteIndex("jsonl", path, {"a int64[]"});
  FormatArguments arguments;
  arguments.attributes.Set("fields", Texts{"a int64[] missing=skip"});
  const std::unique_ptr<ReaderBase> reader = OpenFiles({path}, {}, std::move(arguments), {});
  EXPECT_EQ(reader->PassLength(), std::nullopt);
  EXPECT_EQ(ReadAll(reader.get()).size(), 2u);
}

// Chunks in which no line begins, one that ends with the file without a line end, and none between.
TEST(ChunkIndex, KnowsLinesThatAreLongerThanAChunk) {
  const std::string path = NewFolder("long_lines") + "/lines";
  const std::string content = "one\n" + Letters(size_t{3} << 20, 0) + "\ntwo\n" +
                              Letters(size_t{2} << 20, 5) + "\nthree\nlast";
  WriteFile(path, content);
  const auto open = [&] { return OpenFiles({"text:" + path}, {}, {}, {}); };
  const std::vector<ElementValue> all = ReadAll(open().get());
  const std::vector<Name> names = NamesOf(open().get());
  ASSERT_EQ(all.size(), 6u);
  for (size_t at = 0; at <= all.size(); ++at) {
    fs::remove(IndexPathOf(path));
    const std::unique_ptr<ReaderBase> reader = open();
    reader->ExpectSave();
    ReadSome(reader.get(), at);
    const auto position = reader->Save();
    WriteIndex("text", path);
    const std::unique_ptr<ReaderBase> other = open();
    other->Restore(position);
    EXPECT_TRUE(ReadAll(other.get()) ==
                std::vector<ElementValue>(all.begin() + static_cast<int64_t>(at), all.end()))
        << "from line " << at;
  }
  EXPECT_TRUE(ReadAll(open().get()) == all);
  EXPECT_EQ(NamesOf(open().get()), names);
  EXPECT_EQ(open()->PassLength(), 6u);
  std::set<Name> together;
  for (int64_t index = 0; index < 3; ++index) {
    ShardReader shard(open(), 3, index, ShardBy::kChunk);
    for (const Name& name : NamesOf(&shard)) EXPECT_TRUE(together.insert(name).second);
  }
  EXPECT_EQ(together, std::set<Name>(names.begin(), names.end()));
  std::string stale = content;
  stale[size_t{2} << 20] = 'X';  // in a chunk where no line begins
  WriteFile(path, stale);
  ExpectError(ErrorCode::kDataLoss, "recordio index", [&] { ReadAll(open().get()); });
}

// Lines that were found before an error are given out, but not if the chunk is another one.
TEST(ChunkIndex, GivesNoLineOfAChunkThatCannotBeChecked) {
  const std::string path = NewFolder("too_long") + "/lines";
  std::string content;
  for (int i = 0; content.size() < (size_t{20} << 20); ++i) {
    content += std::to_string(i) + " is the number of a line\n";
  }
  WriteFile(path, content);
  WriteIndex("text", path);
  content[content.find("number", 100000)] = 'X';
  std::replace(content.begin() + 200000, content.end() - 200000, '\n', ' ');
  WriteFile(path, content);
  const Outcome outcome = OutcomeOf(OpenFiles({"text:" + path}, {}, {}, {}).get());
  EXPECT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.elements.size(), 0u);
}

// An index that says so with right checksums.
TEST(ChunkIndex, OfAChunkThatEndsWithinQuotesIsAnError) {
  const std::string path = NewFolder("quotes") + "/a.csv";
  const std::string content = "1,\"two\nlines\"\n3,four\n";
  WriteFile(path, content);
  WriteIndex("csv", path, {"#1 bytes"});
  ChunkIndex index;
  index.rules = RulesOf(IndexPathOf(path));
  index.file_bytes = content.size();
  index.ends = ChunkIndex::EndsOf(*File::Open(path));
  index.records = 2;
  const size_t cut = content.find("lines");
  const auto add = [&](size_t begin, size_t end) {
    index.chunks.push_back(
        {static_cast<uint32_t>(end - begin), 1, XXH3_64bits(content.data() + begin, end - begin)});
  };
  add(0, cut);
  add(cut, content.size());
  WriteFile(IndexPathOf(path), index.ToBytes());
  FormatArguments arguments;
  arguments.attributes.Set("fields", Texts{"#1 bytes"});
  const std::unique_ptr<ReaderBase> reader = OpenFiles({path}, {}, arguments, {});
  ExpectError(ErrorCode::kDataLoss, "not closed where the chunk ends",
              [&] { ReadAll(reader.get()); });
}

// Each file could have as many records as its index says, but not both.
TEST(ChunkIndex, SaysNoMoreRecordsThanCanBeCounted) {
  const std::string folder = NewFolder("sparse");
  ChunkIndex index;
  index.rules = "recordio";
  index.file_bytes = uint64_t{1} << 37;
  index.records = uint64_t{1} << 63;
  Texts names;
  for (const char* name : {"1", "2"}) {
    const std::string path = folder + "/" + name;
    WriteFile(path, "");
    std::error_code refused;
    fs::resize_file(path, index.file_bytes, refused);
    if (refused) GTEST_SKIP() << "no file of this size can be made here: " << refused.message();
    index.ends = ChunkIndex::EndsOf(*File::Open(path));
    WriteFile(IndexPathOf(path), index.ToBytes());
    names.push_back("recordio:" + path);
  }
  FormatArguments arguments;
  arguments.attributes.Set("content", std::string("bytes"));
  EXPECT_EQ(OpenFiles({names[0]}, {}, arguments, {})->PassLength(), index.records);
  ExpectError(ErrorCode::kDataLoss, "more than files can have",
              [&] { OpenFiles(names, {}, arguments, {})->PassLength(); });
  fs::remove_all(folder);
}

// An index of another kind, which the format knows, may be what a command writes.
TEST(ChunkIndex, LeavesIndexesThatAreReadOnceToTheirFormats) {
  const Texts texts = TextsOf(20, 100);
  const std::string folder = NewFolder("read_once");
  const auto expect_read = [&](const std::string& tag, const std::string& file,
                               const std::string& index) {
    const std::string path = folder + "/" + tag;
    WriteFile(path, file);
    const Fifo fifo("index");
    const std::unique_ptr<ReaderBase> reader =
        OpenFile(*FindFileFormat(tag), path, fifo.path(), {});
    const FifoWriter writer(fifo, index);
    EXPECT_EQ(ReadAll(reader.get()).size(), texts.size()) << tag;
  };
  expect_read("tfrecord", TFRecords(texts), TFRecordIndex(texts));
  expect_read("mxnet", MxnetRecords(texts), MxnetIndex(texts));
}

// Formats whose chunks tell their counts have an index without a table.
class RecordIOIndexes : public ::testing::Test {
 protected:
  std::unique_ptr<ReaderBase> Open() const {
    FormatArguments arguments;
    arguments.attributes.Set("content", std::string("bytes"));
    return OpenFiles({path_}, {}, std::move(arguments), {});
  }

  const std::string path_ = NewFolder("recordio_index") + "/a.recordio";
};

TEST_F(RecordIOIndexes, TellTheLengthWithoutAManifest) {
  WriteFile(path_, ChunkOf({"one", "two"}) + ChunkOf({}) + ChunkOf({"three"}));
  EXPECT_EQ(Open()->PassLength(), std::nullopt);
  WriteIndex("recordio", path_);
  const std::unique_ptr<ReaderBase> reader = Open();
  EXPECT_EQ(reader->PassLength(), 3u);
  EXPECT_EQ(ReadAll(reader.get()).size(), 3u);
}

TEST_F(RecordIOIndexes, AreNoticedWhenTheyAreStale) {
  const std::string middle = ChunkOf({"1234567890"});
  const std::string end = ChunkOf({std::string(70000, 'x')});
  const std::string file = end + middle + end;
  WriteFile(path_, file);
  WriteIndex("recordio", path_);
  EXPECT_EQ(ReadAll(Open().get()).size(), 3u);
  const std::string two = ChunkOf({"123", "456"});
  ASSERT_EQ(two.size(), middle.size());
  for (const std::string& stale :
       {file + end, file.substr(0, file.size() - end.size()), end + two + end, std::string()}) {
    WriteFile(path_, stale);
    ExpectError(ErrorCode::kDataLoss, "recordio index", [&] { ReadAll(Open().get()); });
  }
}

TEST_F(RecordIOIndexes, AreNoticedWhenTheyAreStaleBehindAPosition) {
  const std::string end = ChunkOf({std::string(70000, 'x')});
  const std::string one = ChunkOf({"1234567890"});
  const std::string two = ChunkOf({"123", "456"});
  ASSERT_EQ(one.size(), two.size());
  const std::string file = end + one + one + end;
  WriteFile(path_, file);
  const auto save = [&] {
    const std::unique_ptr<ReaderBase> reader = Open();
    reader->ExpectSave();
    EXPECT_EQ(ReadSome(reader.get(), 3).size(), 3u);
    return reader->Save();
  };
  const auto left_behind = [&](const auto& position) {
    const std::unique_ptr<ReaderBase> reader = Open();
    reader->Restore(position);
    return ReadAll(reader.get()).size();
  };
  const auto without_index = save();
  WriteIndex("recordio", path_);
  const auto with_index = save();
  EXPECT_EQ(left_behind(without_index), 1u);
  EXPECT_EQ(left_behind(with_index), 1u);
  WriteFile(path_, end + two + one + end);  // before the position
  ExpectError(ErrorCode::kDataLoss, "recordio index", [&] { left_behind(with_index); });
  WriteFile(path_, file);
  fs::remove(IndexPathOf(path_));
  EXPECT_EQ(left_behind(with_index), 1u);
}

TEST_F(RecordIOIndexes, AreLeftAsideByOtherFormats) {
  WriteFile(path_, ChunkOf({"one\n", "two\n"}));
  WriteIndex("recordio", path_);
  const std::unique_ptr<ReaderBase> lines = OpenFiles({"text:" + path_}, {}, {}, {});
  EXPECT_EQ(lines->PassLength(), std::nullopt);
  EXPECT_GE(ReadAll(lines.get()).size(), 2u);
}

TEST_F(RecordIOIndexes, AreErrorsWhereTheyAreDamaged) {
  WriteFile(path_, ChunkOf({"one", "two"}));
  WriteIndex("recordio", path_);
  const std::string index = ReadFile(IndexPathOf(path_));
  for (size_t byte = 0; byte < index.size(); ++byte) {
    std::string damaged = index;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 0x10);
    WriteFile(IndexPathOf(path_), damaged);
    ExpectError(ErrorCode::kDataLoss, "recordio index", [&] { ReadAll(Open().get()); });
    ExpectError(ErrorCode::kDataLoss, "recordio index", [&] { Open()->PassLength(); });
  }
  std::string lying = index;  // with right checksums
  std::memset(&lying[40], '\xff', 8);
  WriteFile(IndexPathOf(path_), WithRightIndexChecksums(lying));
  ExpectError(ErrorCode::kDataLoss, "records in a file of", [&] { Open()->PassLength(); });
}

TEST(TarIndex, TellsTheLengthAndIsNoticedWhenItIsStale) {
  const std::string path = NewFolder("tar_index") + "/a.tar";
  const auto open = [&](const std::string& field = "a bytes") {
    FormatArguments arguments;
    arguments.attributes.Set("fields", Texts{field});
    return OpenFiles({path}, {}, std::move(arguments), {});
  };
  const std::string large(70000, 'x');  // what is at the ends is another matter
  const std::string file =
      TarOf({{"0.a", large}, {"1.a", "x"}, {"2.a", "y"}, {"2.b", "z"}, {"3.a", large}});
  WriteFile(path, file);
  EXPECT_EQ(open()->PassLength(), std::nullopt);
  WriteIndex("tar", path, {"a bytes"});
  EXPECT_EQ(open()->PassLength(), 4u);
  EXPECT_EQ(ReadAll(open().get()).size(), 4u);
  EXPECT_EQ(open("b bytes missing=skip")->PassLength(), std::nullopt);
  EXPECT_EQ(ReadAll(open("b bytes missing=skip").get()).size(), 1u);
  const std::string other =
      TarOf({{"0.a", large}, {"1.a", "x"}, {"2.a", "y"}, {"4.a", "z"}, {"3.a", large}});
  ASSERT_EQ(other.size(), file.size());
  for (const std::string& stale : {other, file + std::string(512, '\0')}) {
    WriteFile(path, stale);
    ExpectError(ErrorCode::kDataLoss, "recordio index", [&] { ReadAll(open().get()); });
  }
  WriteFile(path, Gzipped(file));
  ExpectError(ErrorCode::kInvalidArgument, "compressed as a whole",
              [&] { IndexOf("tar", path, {"a bytes"}); });
}

}  // namespace
}  // namespace millhopper

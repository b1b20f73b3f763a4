// SPDX-License-Identifier: Apache-2.0
// Indexes that a first pass leaves: those of `recordio index`, and none where something was left
// out, was wrong or has changed.
#include "readers/index/first_pass_index.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/cache/remote_cache.h"
#include "framework/reader/first_pass_indexes.h"
#include "readers/decorate/shard_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/index/cached_index.h"
#include "readers/index/chunk_index.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/fakes/http_server.h"
#include "tests/fakes/memory_files.h"
#include "tests/fifo.h"
#include "tests/files/index_files.h"
#include "tests/files/indexable_kinds.h"
#include "tests/files/record_files.h"
#include "tests/outcome.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

// Readers leave indexes while one of these lives.
class IndexesAreLeft {
 public:
  IndexesAreLeft() { FirstPassIndexes::Leave(true); }
  ~IndexesAreLeft() { FirstPassIndexes::Leave(false); }
  IndexesAreLeft(const IndexesAreLeft&) = delete;
  IndexesAreLeft& operator=(const IndexesAreLeft&) = delete;
};

// A cache in a new folder is used while one of these lives.
class CacheInUse {
 public:
  CacheInUse() {
    fs::permissions(folder_, fs::perms::owner_all);
    RemoteCache::Use(folder_);
  }
  ~CacheInUse() { RemoteCache::Use(""); }
  CacheInUse(const CacheInUse&) = delete;
  CacheInUse& operator=(const CacheInUse&) = delete;

 private:
  const std::string folder_ = NewFolder("cache");
};

std::unique_ptr<ReaderBase> OpenAs(const IndexableKind& kind, const std::string& path,
                                   const MultiFileOptions& options = {},
                                   BufferType buffer_type = BufferType::kMemory) {
  FormatArguments arguments;
  arguments.buffer_type = buffer_type;
  if (!kind.fields.empty()) arguments.attributes.Set("fields", kind.fields);
  if (kind.tag == "recordio") arguments.attributes.Set("content", std::string("bytes"));
  return OpenFiles({kind.tag + ":" + path}, {}, std::move(arguments), options);
}

// An index cannot be written beside this file: a folder has its name.
void TakeNameOfIndex(const std::string& path) { fs::create_directory(IndexPathOf(path)); }

// Changes the file until that can be seen by its version.
void Rewrite(const std::string& path, const std::string& content) {
  const std::string before = File::Open(path)->version();
  do {
    WriteFile(path, content);
  } while (File::Open(path)->version() == before);
}

class FirstPass : public ::testing::TestWithParam<IndexableKind> {
 protected:
  std::string Write(const Texts& texts) const {
    const std::string path = folder_ + "/file";
    WriteFile(path, GetParam().file(texts));
    return path;
  }
  std::unique_ptr<ReaderBase> Open(const std::string& path,
                                   const MultiFileOptions& options = {}) const {
    return OpenAs(GetParam(), path, options);
  }
  // What `recordio index` writes.
  std::string Right(const std::string& path) const {
    return IndexOf(GetParam().tag, path, GetParam().fields);
  }
  // Nothing lies in the folder but the file.
  void ExpectNothingLeft(const std::string& what) const {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
      EXPECT_EQ(entry.path().filename(), "file") << what;
    }
  }
  // Chunks are found without reading them.
  bool ClaimsByArithmetic() const {
    const std::string& tag = GetParam().tag;
    return tag != "csv" && tag != "tfrecord" && tag != "mxnet";
  }
  // Chunks tell how many records they have before they are read.
  bool ChunksTellRecords() const { return GetParam().tag == "recordio" || GetParam().tag == "tar"; }

  const std::string folder_ = NewFolder("first_pass");
  const Texts texts_ = TextsOf(400, 10000);  // some chunks
};

TEST_P(FirstPass, LeavesTheIndexThatTheCommandMakes) {
  const std::string path = Write(texts_);
  const std::string right = Right(path);
  const std::vector<ElementValue> expected = ReadAll(Open(path).get());
  ExpectNothingLeft("nobody has asked for an index");
  const IndexesAreLeft left;
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize pool(threads);
    fs::remove(IndexPathOf(path));
    EXPECT_EQ(Open(path)->PassLength(), std::nullopt);
    EXPECT_TRUE(ReadAll(Open(path).get()) == expected);
    EXPECT_TRUE(ReadFile(IndexPathOf(path)) == right) << threads << " threads";
    EXPECT_EQ(Open(path)->PassLength(), expected.size());
    EXPECT_TRUE(ReadAll(Open(path).get()) == expected) << "with the index";
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
  }
}

TEST_P(FirstPass, LeavesOneOfSmallAndOfEmptyFiles) {
  const IndexesAreLeft left;
  for (const size_t count : {size_t{1}, size_t{0}}) {
    const std::string path = Write(TextsOf(count, 10));
    const std::string right = Right(path);
    EXPECT_EQ(ReadAll(Open(path).get()).size(), count);
    EXPECT_TRUE(ReadFile(IndexPathOf(path)) == right) << count;
    fs::remove(IndexPathOf(path));
  }
}

TEST_P(FirstPass, LeavesOneWhateverTheOrder) {
  const std::string path = Write(texts_);
  const std::string right = Right(path);
  const IndexesAreLeft left;
  const auto expect_left = [&](const std::string& what) {
    EXPECT_TRUE(ReadFile(IndexPathOf(path)) == right) << what;
    fs::remove(IndexPathOf(path));
  };
  ShuffleReader shuffled(Open(path), 50, RandomKey(1, 2, "shuffled"));
  EXPECT_EQ(ReadAll(&shuffled).size(), texts_.size());
  expect_left("through a shuffle buffer");
  ShardReader shard(Open(path), 3, 1);
  ReadAll(&shard);
  expect_left("in a shard by record, which reads all");
  const std::unique_ptr<ReaderBase> again = Open(path);
  ReadSome(again.get(), 100);
  again->ReInit();
  EXPECT_EQ(ReadAll(again.get()).size(), texts_.size());
  expect_left("in a second pass");
  if (!ClaimsByArithmetic()) return;
  MultiFileOptions options;
  options.shuffle_chunks = true;
  options.key = RandomKey(3, 4, "files");
  for (const int threads : {0, 2}) {
    const PoolSize pool(threads);
    EXPECT_EQ(ReadAll(Open(path, options).get()).size(), texts_.size());
    expect_left("in chunks in a random order");
  }
}

TEST_P(FirstPass, LeavesNoneWhereSomethingWasLeftOut) {
  const std::string path = Write(texts_);
  const IndexesAreLeft left;
  const PoolSize pool(0);  // nothing is read ahead
  ReadSome(Open(path).get(), 200);
  ExpectNothingLeft("the reader stops in the middle");
  MultiFileOptions options;
  options.shuffle_chunks = true;
  if (ClaimsByArithmetic()) {
    ReadSome(Open(path, options).get(), 200);
    ExpectNothingLeft("the same in chunks in a random order");
  }
  const std::unique_ptr<ReaderBase> reader = Open(path);
  reader->ExpectSave();
  ReadSome(reader.get(), 250);
  const std::unique_ptr<ReaderBase> restored = Open(path);
  restored->Restore(reader->Save());
  EXPECT_EQ(ReadAll(restored.get()).size(), 150u);
  ExpectNothingLeft("from a saved position on");
  if (!ChunksTellRecords()) return;
  for (int64_t index = 0; index < 2; ++index) {
    ShardReader shard(Open(path), 2, index, ShardBy::kChunk);
    EXPECT_LT(ReadAll(&shard).size(), texts_.size());
    ExpectNothingLeft("in a shard by chunk");
  }
}

TEST_P(FirstPass, LeavesNoneAfterAnError) {
  // A line that has been cut off is a line.
  if (ClaimsByArithmetic() && !ChunksTellRecords()) return;
  const std::string content = GetParam().file(texts_);
  const std::string path = folder_ + "/file";
  const IndexesAreLeft left;
  for (const size_t size : {content.size() / 2 + 3, content.size() / 4 + 5}) {
    WriteFile(path, content.substr(0, size));
    for (const int threads : {0, 2}) {
      const PoolSize pool(threads);
      ExpectError(ErrorCode::kDataLoss, path, [&] { ReadAll(Open(path).get()); });
      ExpectNothingLeft(StrCat(size, " bytes"));
    }
  }
}

TEST_P(FirstPass, LeavesNoneElsewhereThroughALink) {
  const std::string path = Write(texts_);
  const IndexesAreLeft left;
  fs::create_symlink(folder_ + "/elsewhere", IndexPathOf(path));
  ExpectError(ErrorCode::kIo, IndexPathOf(path), [&] { ReadAll(Open(path).get()); });
  EXPECT_FALSE(fs::exists(folder_ + "/elsewhere"));
}

TEST_P(FirstPass, LeavesNoneOfAFileThatHasChanged) {
  Texts changed = texts_;
  for (std::string& text : changed) {
    const size_t digits = text.find_first_not_of("0123456789");  // libsvm has them as numbers
    text = text.substr(0, digits) + Letters(text.size() - digits, 13);
  }
  const IndexesAreLeft left;
  const PoolSize pool(0);
  for (const bool in_place : {true, false}) {
    const std::string path = Write(texts_);
    const std::unique_ptr<ReaderBase> reader = Open(path);
    ReadSome(reader.get(), 100);
    if (in_place) {
      Rewrite(path, GetParam().file(changed));
    } else {
      WriteFile(folder_ + "/new", GetParam().file(changed));
      fs::rename(folder_ + "/new", path);
    }
    const Outcome outcome = OutcomeOf(reader.get());
    ExpectNothingLeft(in_place ? "written to" : "replaced");
    // The old one is read on; only its name has come to mean another file.
    if (in_place) continue;
    EXPECT_EQ(outcome.elements.size(), texts_.size() - 100);
  }
}

TEST_P(FirstPass, IsNotTakenForOneThatIsThere) {
  const std::string path = Write(texts_);
  WriteIndex(GetParam().tag, path, GetParam().fields);
  const std::string index = ReadFile(IndexPathOf(path));
  std::string stale = ReadFile(path);
  stale.resize(stale.size() / 2);
  WriteFile(path, stale);
  const IndexesAreLeft left;
  for (int i = 0; i < 2; ++i) {
    ExpectError(ErrorCode::kDataLoss, "recordio index", [&] { ReadAll(Open(path).get()); });
    EXPECT_TRUE(ReadFile(IndexPathOf(path)) == index);
  }
}

TEST_P(FirstPass, IsLeftByManyAtOnce) {
  const std::string path = Write(texts_);
  const std::string right = Right(path);
  const IndexesAreLeft left;
  const PoolSize pool(2);
  ::testing::internal::CaptureStderr();
  for (int round = 0; round < 3; ++round) {
    fs::remove(IndexPathOf(path));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { EXPECT_EQ(ReadAll(Open(path).get()).size(), texts_.size()); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(ReadFile(IndexPathOf(path)) == right);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_P(FirstPass, LeavesNoneOfWhatIsCompressedOrReadOnce) {
  const std::string content = GetParam().file(TextsOf(20, 100));
  const std::string path = folder_ + "/file";
  const IndexesAreLeft left;
  if (GetParam().tag != "recordio") {
    WriteFile(path, Gzipped(content));
    EXPECT_EQ(ReadAll(Open(path).get()).size(), 20u);
    ExpectNothingLeft("compressed");
  }
  const Fifo fifo("file");
  const std::unique_ptr<ReaderBase> reader = Open(fifo.path());
  const FifoWriter writer(fifo, content);
  EXPECT_EQ(ReadAll(reader.get()).size(), 20u);
  EXPECT_FALSE(fs::exists(IndexPathOf(fifo.path())));
}

// A file in a folder that cannot be written to has its index in the cache.
TEST_P(FirstPass, IsKeptInTheCacheWhereNoneCanLieBeside) {
  const std::string path = Write(texts_);
  TakeNameOfIndex(path);
  const std::vector<ElementValue> expected = ReadAll(Open(path).get());
  const auto cached = [&] {
    const std::unique_ptr<const File> file = File::Open(path);
    ChunkIndex any;
    const std::string right = Right(path);
    any.rules = right.substr(56, static_cast<uint8_t>(right[12]));
    const std::unique_ptr<const File> index = FindCachedIndex(*file, any.rules);
    if (index == nullptr) return std::string();
    std::string bytes(index->size(), '\0');
    index->Read(0, bytes.data(), bytes.size());
    return bytes;
  };
  const CacheInUse cache;
  {
    const IndexesAreLeft left;
    EXPECT_TRUE(ReadAll(Open(path).get()) == expected);
  }
  EXPECT_TRUE(cached() == Right(path));
  EXPECT_EQ(Open(path)->PassLength(), texts_.size());
  EXPECT_TRUE(ReadAll(Open(path).get()) == expected);
  size_t of_shards = 0;
  for (int64_t index = 0; index < 2; ++index) {
    ShardReader shard(Open(path), 2, index, ShardBy::kChunk);
    of_shards += ReadAll(&shard).size();
  }
  EXPECT_EQ(of_shards, texts_.size());
  // Of another content there is none yet.
  Rewrite(path, GetParam().file(TextsOf(390, 10000)));
  EXPECT_EQ(Open(path)->PassLength(), std::nullopt);
  EXPECT_EQ(ReadAll(Open(path).get()).size(), 390u);
  const IndexesAreLeft left;
  EXPECT_EQ(ReadAll(Open(path).get()).size(), 390u);
  EXPECT_EQ(Open(path)->PassLength(), 390u);
  EXPECT_TRUE(cached() == Right(path));
}

TEST_P(FirstPass, IsKeptInTheCacheOfFilesOnServers) {
  HttpServer server;
  const std::string content = GetParam().file(texts_);
  server.Put("/file", content);
  const std::string url = server.Url("/file?which=1&X-Amz-Signature=");
  const CacheInUse cache;
  const std::vector<ElementValue> expected = ReadAll(OpenAs(GetParam(), url + "1").get());
  EXPECT_EQ(OpenAs(GetParam(), url + "1")->PassLength(), std::nullopt);
  {
    const IndexesAreLeft left;
    EXPECT_TRUE(ReadAll(OpenAs(GetParam(), url + "2").get()) == expected);
  }
  const uint64_t sent = server.bytes_sent();
  EXPECT_EQ(OpenAs(GetParam(), url + "3")->PassLength(), texts_.size());
  EXPECT_TRUE(ReadAll(OpenAs(GetParam(), url + "4").get()) == expected);
  size_t of_shards = 0;
  for (int64_t index = 0; index < 2; ++index) {
    ShardReader shard(OpenAs(GetParam(), url + "5"), 2, index, ShardBy::kChunk);
    of_shards += ReadAll(&shard).size();
  }
  EXPECT_EQ(of_shards, texts_.size());
  EXPECT_LT(server.bytes_sent() - sent, 100u) << "the cache has the blocks";
  EXPECT_EQ(OpenAs(GetParam(), server.Url("/file?which=2"))->PassLength(), std::nullopt);

  // Another version: the server tells it by its size.
  const Texts changed = TextsOf(390, 10000);
  server.Put("/file", GetParam().file(changed));
  EXPECT_EQ(OpenAs(GetParam(), url)->PassLength(), std::nullopt);
  const std::vector<ElementValue> others = ReadAll(OpenAs(GetParam(), url).get());
  EXPECT_EQ(others.size(), changed.size());
  const IndexesAreLeft left;
  EXPECT_TRUE(ReadAll(OpenAs(GetParam(), url).get()) == others);
  EXPECT_EQ(OpenAs(GetParam(), url)->PassLength(), changed.size());
  EXPECT_TRUE(ReadAll(OpenAs(GetParam(), url).get()) == others);
}

// A file that is replaced, or whose server fails, at each of its requests.
TEST_P(FirstPass, LeavesNoneOfFilesOnServersAfterAnError) {
  HttpServer server;
  server.Put("/file", GetParam().file(texts_));
  server.set_status(404);
  const IndexesAreLeft left;
  const PoolSize pool(2);
  for (const HttpTrouble trouble : {HttpTrouble::kReplace, HttpTrouble::kStatus}) {
    for (int64_t call = 0;; ++call) {
      const CacheInUse cache;
      server.Break(trouble, call);
      Outcome outcome;
      try {
        outcome = OutcomeOf(OpenAs(GetParam(), server.Url("/file")).get());
      } catch (const Error& error) {
        outcome.error = error;
      }
      const bool hit = server.hit();
      server.Mend();
      const std::optional<uint64_t> length = OpenAs(GetParam(), server.Url("/file"))->PassLength();
      if (outcome.error.has_value()) {
        EXPECT_EQ(length, std::nullopt) << "at request " << call;
      } else if (length.has_value()) {
        EXPECT_EQ(length, texts_.size()) << "at request " << call;
      }
      if (!hit) break;
    }
  }
}

// Versions that a server does not tell apart.
TEST_P(FirstPass, LeavesNoneOfFilesWithoutAVersion) {
  HttpServer server;
  server.set_validators(HttpServer::Validators::kNone);
  server.Put("/file", GetParam().file(TextsOf(20, 100)));
  const CacheInUse cache;
  const IndexesAreLeft left;
  EXPECT_EQ(ReadAll(OpenAs(GetParam(), server.Url("/file")).get()).size(), 20u);
  EXPECT_EQ(OpenAs(GetParam(), server.Url("/file"))->PassLength(), std::nullopt);
  MemoryFiles::Get().Write("memory://file", GetParam().file(TextsOf(20, 100)));
  EXPECT_EQ(ReadAll(OpenAs(GetParam(), "memory://file").get()).size(), 20u);
  EXPECT_EQ(OpenAs(GetParam(), "memory://file")->PassLength(), std::nullopt);
  MemoryFiles::Get().Remove("memory://file");
}

INSTANTIATE_TEST_SUITE_P(Formats, FirstPass, ::testing::ValuesIn(IndexableKinds()),
                         [](const auto& info) { return info.param.tag; });

TEST(FirstPassIndex, IsForTheRulesOfTheReader) {
  const std::string path = NewFolder("rules") + "/a.csv";
  WriteFile(path, "n\n1\n2\n3\n");
  const IndexableKind with_header = {"csv", {"n int64[]"}, nullptr};
  const IndexableKind without = {"csv", {"#0 bytes"}, nullptr};
  const IndexesAreLeft left;
  EXPECT_EQ(ReadAll(OpenAs(without, path).get()).size(), 4u);
  const std::string index = ReadFile(IndexPathOf(path));
  EXPECT_TRUE(index == IndexOf("csv", path, without.fields));
  EXPECT_EQ(ReadAll(OpenAs(with_header, path).get()).size(), 3u);
  EXPECT_TRUE(ReadFile(IndexPathOf(path)) == index) << "it is left alone";
  EXPECT_EQ(OpenAs(without, path)->PassLength(), 4u);
}

TEST(FirstPassIndex, IsNotLeftByReadersThatLeaveRecordsOut) {
  const std::string path = NewFolder("skips") + "/a.jsonl";
  WriteFile(path, "{\"a\": 1}\n{\"b\": 2}\n{\"a\": 3}\n");
  const IndexesAreLeft left;
  EXPECT_EQ(ReadAll(OpenAs({"jsonl", {"a int64[] missing=skip"}, nullptr}, path).get()).size(), 2u);
  EXPECT_FALSE(fs::exists(IndexPathOf(path)));
}

TEST(FirstPassIndex, IsOfMappedFilesToo) {
  const IndexesAreLeft left;
  for (const IndexableKind& kind : IndexableKinds()) {
    if (kind.tag == "csv" || kind.tag == "tfrecord" || kind.tag == "mxnet") continue;
    const std::string path = NewFolder("mapped") + "/" + kind.tag;
    WriteFile(path, kind.file(TextsOf(400, 10000)));
    const std::string right = IndexOf(kind.tag, path, kind.fields);
    EXPECT_EQ(ReadAll(OpenAs(kind, path, {}, BufferType::kMmap).get()).size(), 400u);
    EXPECT_TRUE(ReadFile(IndexPathOf(path)) == right) << kind.tag;
  }
}

}  // namespace
}  // namespace millhopper

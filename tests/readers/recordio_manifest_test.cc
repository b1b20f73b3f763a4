// SPDX-License-Identifier: Apache-2.0
// Manifests: whose they are, what they say, and what becomes of those that lie.
#include "readers/recordio_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "framework/error.h"
#include "framework/file_format.h"
#include "readers/file_list.h"
#include "readers/open_files.h"
#include "tests/file_watch.h"
#include "tests/record_files.h"
#include "tests/testing.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

std::string Manifest(const std::string& files) {
  return R"({"format": "recordio-manifest", "version": 1, "files": [)" + files + "]}";
}

std::string Entry(const std::string& name, uint64_t bytes, uint64_t chunks, uint64_t records) {
  return StrCat(R"({"name": ")", name, R"(", "bytes": )", bytes, R"(, "chunks": )", chunks,
                R"(, "records": )", records, "}");
}

std::unique_ptr<ReaderBase> Reader(const std::vector<std::string>& names) {
  FormatArguments arguments;
  arguments.attributes.Set("content", std::string("bytes"));
  auto reader = OpenFiles(names, {}, arguments, {});
  reader->set_origin("reader 'files'");
  return reader;
}

size_t ReadUntilError(ReaderBase* reader, const std::string& words) {
  size_t read = 0;
  std::vector<LoDTensor> element;
  ExpectError(ErrorCode::kDataLoss, words, [&] {
    for (; reader->HasNext(); ++read) reader->ReadNext(&element);
  });
  return read;
}

TEST(RecordIOManifest, IsSharedByTheShardsOfASet) {
  const auto path = &RecordIOManifest::PathOf;
  EXPECT_EQ(path("d/train-00012.recordio"), "d/train.recordio.manifest.json");
  EXPECT_EQ(path("d/train-0012.recordio"), "d/train-0012.recordio.manifest.json");
  EXPECT_EQ(path("d/day-20260102.recordio"), "d/day-20260102.recordio.manifest.json");
  EXPECT_EQ(path("train-00012"), "train-00012.manifest.json");
  EXPECT_EQ(path("lines.recordio"), "lines.recordio.manifest.json");
  EXPECT_EQ(path("-00012.recordio"), "-00012.recordio.manifest.json");
}

TEST(RecordIOManifest, KeepsWhatItIsTold) {
  const std::string path = NewFolder("kept") + "/m.manifest.json";
  RecordIOManifest manifest;
  const std::string odd = "a \"name\"\n\xff with \\ all";
  manifest.Set("some/folder/" + odd, {1, 2, 3});
  manifest.Set("b", {uint64_t{1} << 60, 0, 0});
  manifest.Save(path);
  manifest = RecordIOManifest::Load(path);
  EXPECT_EQ(manifest.Find("another/" + odd), (RecordIOCounts{1, 2, 3}));
  EXPECT_EQ(manifest.Find("b"), (RecordIOCounts{uint64_t{1} << 60, 0, 0}));
  EXPECT_EQ(manifest.Find("c"), std::nullopt);
  EXPECT_TRUE(manifest.Remove("x/b"));
  EXPECT_FALSE(manifest.Remove("b"));
  EXPECT_TRUE(manifest.Remove(odd));
  manifest.Save(path);
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "an empty manifest needs no file";
  ExpectError(ErrorCode::kIo,
              "/no/such: ", [&] { manifest.Set("a", {}), manifest.Save("/no/such"); });
}

TEST(RecordIOManifest, IsNoData) {
  const std::string folder = NewFolder("globs");
  WriteNumbers(folder, 1, 2);
  const std::string manifest = folder + "/numbers-0.recordio.manifest.json";
  WriteFile(manifest, Manifest(""));
  const std::vector<std::string> data = {folder + "/numbers-0.recordio"};
  for (const char* pattern : {"/*", "/numbers*", "/*.recordio*", "/numbers-0.recordio"}) {
    EXPECT_EQ(ExpandFileNames({folder + pattern}), data) << pattern;
  }
  EXPECT_EQ(ExpandFileNames({folder + "/*.json"}), std::vector<std::string>{manifest});
}

TEST(RecordIOManifest, IsBelievedBehindAllRecordsOfTheFile) {
  const std::string folder = NewFolder("counts");
  WriteNumbers(folder, 1, 6);
  const std::string file = folder + "/numbers-0.recordio";
  const std::string manifest = RecordIOManifest::PathOf(file);
  const uint64_t size = ReadFile(file).size();
  for (const int workers : {0, 2}) {
    const PoolSize pool(workers);
    const auto reader = Reader({file});
    // Of another length each, for the clock of files is slow.
    std::string spaces;
    for (const std::string& wrong :
         {Entry("numbers-0.recordio", size + 1, 3, 6), Entry("numbers-0.recordio", size, 4, 6),
          Entry("numbers-0.recordio", size, 3, 5), Entry("numbers-0.recordio", 0, 0, 0)}) {
      WriteFile(manifest, Manifest(wrong) + (spaces += ' '));
      EXPECT_EQ(ReadUntilError(reader.get(), StrCat("the file ends at byte ", size,
                                                    " with 6 records "
                                                    "in 3 chunks and ",
                                                    size, " bytes, but its ", "manifest says ")),
                6u);
      reader->ReInit();
    }
    // The manifest counts as it is when the file is opened; without one nothing is checked.
    for (const std::string& right :
         {Entry("numbers-0.recordio", size, 3, 6), Entry("other", 1, 1, 1)}) {
      WriteFile(manifest, Manifest(right) + (spaces += ' '));
      EXPECT_EQ(ReadAll(reader.get()).size(), 6u);
      reader->ReInit();
    }
    ::unlink(manifest.c_str());
    EXPECT_EQ(ReadAll(reader.get()).size(), 6u);
  }
}

TEST(RecordIOManifest, ThatIsNoneIsAnErrorOfItsFiles) {
  const std::string folder = NewFolder("none");
  WriteNumbers(folder, 1, 2);
  const std::string file = folder + "/numbers-0.recordio";
  const std::string path = RecordIOManifest::PathOf(file);
  const std::string entry = Entry("a", 1, 1, 1);
  const std::string deep(1 << 20, '[');
  std::string keys = "{\"x\": 0";
  for (int i = 0; i < 100000; ++i) keys += StrCat(",\"", i, "\": 0");
  for (const std::string& content :
       {std::string(),
        std::string("\xff\xfe"),
        std::string("[]"),
        std::string("null"),
        deep,
        keys + "}",
        "{\"files\":" + deep,
        std::string("{\"files\": []}"),
        Manifest("1"),
        Manifest("null"),
        Manifest("[]"),
        Manifest("{}"),
        Manifest("{\"name\": {}}"),
        Manifest(StrCat(entry, ",", entry)),
        Manifest(entry) + "x",
        Manifest(R"({"name": 1, "bytes": 1, "chunks": 1, "records": 1})"),
        Manifest(R"({"name": "a", "bytes": -1, "chunks": 1, "records": 1})"),
        Manifest(R"({"name": "a", "bytes": 1.5, "chunks": 1, "records": 1})"),
        Manifest(R"({"name": "a", "bytes": 1e400, "chunks": 1, "records": 1})"),
        Manifest(R"({"name": "a", "bytes": 99999999999999999999, "chunks": 1, "records": 1})"),
        Manifest(R"({"name": "a", "bytes": "1", "chunks": 1, "records": 1})"),
        std::string(R"({"format": "recordio-manifest", "version": 2, "files": []})"),
        std::string(R"({"format": "other", "version": 1, "files": []})"),
        std::string(R"({"format": "recordio-manifest", "version": 1, "files": {}})"),
        std::string(R"({"format": "recordio-manifest", "version": 1})")}) {
    SCOPED_TRACE(content.substr(0, 100));
    WriteFile(path, content);
    EXPECT_EQ(ReadUntilError(Reader({file}).get(), path + ": no manifest of RecordIO files ("), 0u);
  }
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  ExpectError(ErrorCode::kIo, path + ": is not a regular file", [&] { Reader({file})->HasNext(); });
  ASSERT_EQ(::unlink(path.c_str()), 0);
  WriteFile(path, "");
  ASSERT_EQ(::truncate(path.c_str(), (64 << 20) + 1), 0);
  ExpectError(ErrorCode::kResourceLimit, path + ": a manifest of 67108865 bytes",
              [&] { Reader({file})->HasNext(); });
}

TEST(RecordIOManifest, OfASetIsReadOnce) {
  const std::string folder = NewFolder("once");
  WriteNumbers(folder, 1, 2);
  const std::string content = ReadFile(folder + "/numbers-0.recordio");
  for (int i = 0; i < 20; ++i) WriteFile(StrCat(folder, "/s-", 10000 + i, ".recordio"), content);
  const std::string manifest = folder + "/s.recordio.manifest.json";
  WriteFile(manifest, Manifest(Entry("s-10007.recordio", content.size(), 1, 2)));
  const FileWatch watch({manifest});
  EXPECT_EQ(ReadAll(Reader({folder + "/s-*.recordio"}).get()).size(), 40u);
  EXPECT_EQ(watch.Opened().size(), 1u);
}

}  // namespace
}  // namespace millrace

// SPDX-License-Identifier: Apache-2.0
// Manifests: which files they belong to, what they hold, and how wrong ones are refused.
#include "readers/formats/recordio/recordio_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "readers/fields/named_slots.h"
#include "readers/sources/file_list.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/file_watch.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
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
  manifest.Set("some/folder/" + odd, {{1, 2, 3}, std::nullopt});
  manifest.Set("b", {{uint64_t{1} << 60, 0, 0}, RecordIOCounts{4, 5, 6}, "x float32[1]"});
  manifest.SetReplacing("some/d");
  manifest.SetReplacing("e");
  WriteFile(path, manifest.ToText());
  manifest = RecordIOManifest::Load(path);
  EXPECT_EQ(manifest.Find("another/" + odd)->counts, (RecordIOCounts{1, 2, 3}));
  EXPECT_EQ(manifest.Find("another/" + odd)->old, std::nullopt);
  EXPECT_EQ(manifest.Find("b")->counts, (RecordIOCounts{uint64_t{1} << 60, 0, 0}));
  EXPECT_EQ(manifest.Find("b")->old, (RecordIOCounts{4, 5, 6}));
  EXPECT_EQ(manifest.Find("b")->slots, "x float32[1]");
  EXPECT_FALSE(manifest.Find("c").has_value());
  ExpectError(ErrorCode::kDataLoss, "x/d: is one of 2 files that were being replaced together",
              [&] { manifest.Find("x/d"); });
}

// Files of records (x float32 [1, 2], label int64 [1, 1]), and the manifest that tells their slots.
std::string WriteStored(const std::string& folder, const std::vector<std::string>& slots) {
  WriteNumbers(folder, static_cast<int>(slots.size()), 5);
  RecordIOManifest manifest;
  for (size_t i = 0; i < slots.size(); ++i) {
    const std::string shard = StrCat(folder, "/s-0000", i, ".recordio");
    const std::string bytes = ReadFile(StrCat(folder, "/numbers-", i, ".recordio"));
    WriteFile(shard, bytes);
    manifest.Set(shard, {{bytes.size(), 3, 5}, std::nullopt, slots[i]});
  }
  WriteFile(folder + "/s.recordio.manifest.json", manifest.ToText());
  return folder + "/s-0000";
}

std::string StoredText(const std::vector<std::string>& files) {
  const std::optional<NamedSlots> stored = StoredSlots(files);
  return stored ? ToText(*stored) : "none";
}

std::unique_ptr<ReaderBase> Tensors(const std::vector<std::string>& names,
                                    const std::string& declared = "") {
  FormatArguments arguments;
  arguments.declared = ParseSlots(declared).slots;
  auto reader = OpenFiles(names, {}, arguments, {});
  reader->set_origin("reader 'files'");
  return reader;
}

TEST(RecordIOManifest, TellsSlots) {
  const std::string slots = "x float32[1,2] label int64[1,1]";
  const std::string stem = WriteStored(NewFolder("told"), {slots, slots});
  const std::string first = stem + "0.recordio", second = stem + "1.recordio";
  EXPECT_EQ(StoredText({first, second}), slots);
  const auto reader = Tensors({stem + "*"});
  EXPECT_EQ(reader->slots(), ParseSlots(slots).slots);
  EXPECT_EQ(ReadAll(reader.get()), ReadAll(Tensors({stem + "*"}, slots).get()));
  EXPECT_EQ(StoredText({}), "none");
  EXPECT_EQ(StoredText({first, stem + "2.recordio"}), "none");
}

// A manifest beside it is of another file. A look at its records would wait for a writer.
TEST(RecordIOManifest, TellsNothingOfAFifo) {
  const std::string file = WriteStored(NewFolder("fifo"), {"float32[1,2]"}) + "0.recordio";
  ASSERT_EQ(::unlink(file.c_str()), 0);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(StoredText({file}), "none");
  ExpectError(ErrorCode::kInvalidArgument, "the slots of this reader must be declared",
              [&] { Tensors({file}); });
}

TEST(RecordIOManifest, TellsSlotsThatFitAllFiles) {
  const auto stored = [](const std::string& left, const std::string& right) {
    const std::string stem = WriteStored(NewFolder("kinds"), {left, right});
    return StoredText({stem + "0.recordio", stem + "1.recordio"});
  };
  EXPECT_EQ(stored("x float32[1,2] y int64[1,1]", "x float32[1,-1] y int64[7,1]"),
            "x float32[1,-1] y int64[-1,1]");
  EXPECT_EQ(stored("x float32[1,2]", "y float32[1,2]"), "float32[1,2]");
  EXPECT_EQ(stored("x float32[1,2]", "float32[1,2]"), "float32[1,2]");
  EXPECT_EQ(stored("float32[1,2]", "float64[1,2]"), "none");
  EXPECT_EQ(stored("float32[1,2]", ""), "none");
}

TEST(RecordIOManifest, AnswersAWrongDeclaration) {
  const std::string slots = "x float32[1,2] label int64[1,1]";
  const std::string stem = WriteStored(NewFolder("wrong"), {slots});
  const auto expect = [&](const std::string& declared, const std::string& words) {
    const auto reader = Tensors({stem + "*"}, declared);
    EXPECT_EQ(ReadUntilError(reader.get(), "s-00000.recordio: " + words +
                                               "; its records have the "
                                               "slots " +
                                               slots),
              0u);
  };
  expect("float32[1,3] int64[1,1]",
         "slot 0: float32 [1, 3] is declared, but the manifest of the file says float32 [1, 2]");
  expect("float32[1,2]", "1 slots are declared, but the manifest of the file says 2");
  EXPECT_EQ(ReadAll(Tensors({stem + "*"}, "float32[-1,-1] int64[1,1]").get()).size(), 5u);
}

TEST(RecordIOManifest, LeavesSlotsOutRatherThanGrowTooLarge) {
  RecordIOManifest manifest;
  manifest.Set("a", {{1, 2, 3}, std::nullopt, "x float32[1,2]"});
  const std::string text = manifest.ToText();
  EXPECT_NE(text.find("x float32[1,2]"), std::string::npos) << text;
  EXPECT_EQ(manifest.ToText(text.size()), text);
  const std::string bare = manifest.ToText(text.size() - 1);
  EXPECT_EQ(bare, Manifest("\n " + Entry("a", 1, 2, 3) + "\n") + "\n");
}

// A manifest is not trusted: what it says of slots is what was written, or it is refused.
TEST(RecordIOManifest, WithDamagedSlotsIsRefused) {
  const std::string slots = "x float32[1,2] \"a label\" int64[1,1]";
  const std::string folder = NewFolder("damaged");
  const std::string file = WriteStored(folder, {slots}) + "0.recordio";
  const std::string manifest = RecordIOManifest::PathOf(file);
  const std::string text = ReadFile(manifest);
  size_t refused = 0, kept = 0;
  const auto check = [&](const std::string& damaged) {
    WriteFile(manifest, damaged);
    try {
      const std::string told = StoredText({file});
      EXPECT_TRUE(told == slots || told == "none") << told;
      ++kept;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
      EXPECT_EQ(error.file(), manifest);
      ++refused;
    }
  };
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) check(FlipBit(text, bit));
  for (size_t size = 0; size < text.size(); ++size) check(text.substr(0, size));
  EXPECT_GT(refused, 8 * slots.size());
  EXPECT_GT(kept, 0u);  // where the number of bytes, chunks or records is another
  const size_t at = text.find("x float32");
  const auto expect = [&](const std::string& damaged, const std::string& words) {
    WriteFile(manifest, damaged);
    ExpectError(ErrorCode::kDataLoss, words, [&] { StoredText({file}); });
  };
  expect(text.substr(0, at) + "y" + text.substr(at + 1), "that do not fit their checksum, '");
  expect(text.substr(0, at - 10) + "7}]}", "slots of a file that are no text");
}

TEST(RecordIOManifest, WithSlotsThatAreNoneIsRefused) {
  for (const char* slots : {"x", "float32[1] float32", "x float32[1] x float32[1]", "int64[-7]"}) {
    const std::string stem = WriteStored(NewFolder("none"), {slots});
    ExpectError(ErrorCode::kDataLoss, "s.recordio.manifest.json: the slots of 's-00000.recordio': ",
                [&] { StoredText({stem + "0.recordio"}); });
    EXPECT_EQ(ReadUntilError(Tensors({stem + "*"}, "float32[1]").get(), "the slots of 's-00000"),
              0u);
  }
}

// A missing file is an error for programs whose pattern it matches, and only for those.
TEST(RecordIOManifest, TellsOfFilesThatAreMissing) {
  const std::string folder = NewFolder("missing \n");
  const std::string bytes = [&] {
    WriteNumbers(folder, 1, 2);
    return ReadFile(folder + "/numbers-0.recordio");
  }();
  std::string entries;
  for (const int i : {0, 1, 3}) {
    const std::string name = StrCat("s \t-0000", i, ".recordio");
    if (i != 3) WriteFile(StrCat(folder, "/", name), bytes);
    entries +=
        (i == 0 ? "" : ",") + Entry(StrCat("s \\\\t-0000", i, ".recordio"), bytes.size(), 1, 2);
  }
  // No files of this set.
  for (const char* name : {"../s-00000.recordio", "other-00000.recordio", "s-0.recordio", ""}) {
    entries += "," + Entry(name, 1, 1, 1);
  }
  WriteFile(folder + "/s \t.recordio.manifest.json", Manifest(entries));
  for (const char* pattern : {"/s*", "/s*.recordio", "/*-0000?.recordio",
                              "/s \t-0000[0-3].recordio", "/s*-0000{0,[13]}.recordio"}) {
    const auto reader = Reader({folder + pattern});
    EXPECT_EQ(
        ReadUntilError(reader.get(), "-00003.recordio: is not there, but the manifest of its"), 0u);
    ExpectError(ErrorCode::kDataLoss, "is not there, but the manifest",
                [&] { reader->PassLength(); });
  }
  for (const char* pattern : {"/s*-0000[01].recordio", "/s*-00000.recordio"}) {
    const auto reader = Reader({folder + pattern});
    EXPECT_EQ(ReadAll(reader.get()).size(), reader->PassLength()) << pattern;
  }
  const auto named = Reader({folder + "/s \t-00000.recordio", folder + "/s \t-00001.recordio"});
  EXPECT_EQ(named->PassLength(), 4u);
  EXPECT_EQ(ReadAll(named.get()).size(), 4u);
}

// A file that is replaced while it is listed may be the old one or the new one.
TEST(RecordIOManifest, MayPromiseOneOfTwo) {
  const std::string folder = NewFolder("either");
  WriteNumbers(folder, 1, 6);
  const std::string file = folder + "/numbers-0.recordio";
  const uint64_t size = ReadFile(file).size();
  RecordIOManifest manifest;
  const auto promise = [&](const RecordIOCounts& counts, const RecordIOCounts& old) {
    manifest.Set(file, {counts, old});
    WriteFile(RecordIOManifest::PathOf(file), manifest.ToText());
  };
  promise({1, 2, 3}, {size, 3, 6});
  EXPECT_EQ(ReadAll(Reader({file}).get()).size(), 6u);
  EXPECT_EQ(Reader({file})->PassLength(), std::nullopt);  // only reading tells the number
  promise({size, 3, 6}, {1, 2, 6});
  EXPECT_EQ(Reader({file})->PassLength(), 6u);
  promise({1, 2, 3}, {4, 5, 6});
  EXPECT_EQ(ReadUntilError(Reader({file}).get(),
                           "its manifest says 3 records in 2 chunks and 1 bytes, or while it is "
                           "replaced 6 records in 5 chunks and 4 bytes"),
            6u);
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
    // Each has another length, because two changes may have the same time.
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
    // The manifest at the time of opening counts. Without a manifest nothing is checked.
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
        Manifest(R"({"name": "a", "replacing": false})"),
        Manifest(R"({"name": "a", "replacing": "a"})"),
        Manifest(R"({"replacing": true})"),
        Manifest(R"({"name": "a", "bytes": 1, "chunks": 1, "records": 1, "old_bytes": 1})"),
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
  ExpectError(ErrorCode::kInvalidArgument, path + ": can be read once only",
              [&] { Reader({file})->HasNext(); });
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
}  // namespace millhopper

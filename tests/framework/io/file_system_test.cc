// SPDX-License-Identifier: Apache-2.0
// Which file system a path belongs to, and files that are not the operating system's.
#include "framework/io/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/reader/file_format.h"
#include "readers/formats/recordio/recordio_manifest.h"
#include "readers/sources/file_list.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/fakes/memory_files.h"
#include "tests/files/compressed.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// A file in memory that is removed in the end.
class InMemory {
 public:
  InMemory(const std::string& name, const std::string& content) : path_("memory://" + name) {
    MemoryFiles::Get().Write(path_, content);
  }
  ~InMemory() { MemoryFiles::Get().Remove(path_); }
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

FormatArguments Bytes() {
  FormatArguments arguments;
  arguments.attributes.Set("content", std::string("bytes"));
  return arguments;
}

Strings RecordsOf(ReaderBase* reader) {
  Strings records;
  for (const ElementValue& element : ReadAll(reader)) records.push_back(element.at(0).bytes);
  return records;
}

TEST(FileSystem, IsChosenByTheScheme) {
  const FileSystem* const local = &FileSystemOf("a/file");
  const FileSystem* const memory = &FileSystemOf("memory://a/file");
  EXPECT_NE(memory, local);
  for (const char* path : {"", "/", "memory", "memory:", "memory:/a", "memory:a//b", "x/memory://a",
                           "Memory://a", "other://a", "://a", " memory://a"}) {
    EXPECT_EQ(&FileSystemOf(path), local) << path;
  }
  EXPECT_EQ(&FileSystemOf(std::string("memory\0://a", 11)), local);
  EXPECT_EQ(&FileSystemOf("memory://"), memory);
  EXPECT_EQ(&FileSystemOf("memory://other://a"), memory);
}

// What looks like a scheme may be the name of a local folder.
TEST(FileSystem, LeavesLocalNamesThatLookLikeSchemesAlone) {
  const std::string folder = NewFolder("schemes");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directories(folder + "/other:");
  WriteFile(folder + "/other:/lines.txt", "one\ntwo\n");
  std::filesystem::current_path(folder);
  EXPECT_EQ(File::Open("other://lines.txt")->size(), 8u);
  EXPECT_EQ(ExpandFileNames({"other://l*"}), Strings{"other://lines.txt"});
  EXPECT_EQ(RecordsOf(OpenFiles({"other://lines.txt"}, {}, {}, {}).get()), (Strings{"one", "two"}));
  std::filesystem::current_path(before);
}

TEST(FileSystem, SaysThatNobodyIsThereForAScheme) {
  const char* const hint = "no file system is there for other://";
  ExpectError(ErrorCode::kIo, hint, [] { OpenFiles({"text:other://host/lines.txt"}, {}, {}, {}); });
  ExpectError(ErrorCode::kIo, hint, [] { ExpandFileNames({"other://host/*.txt"}); });
  EXPECT_EQ(UnknownSchemeHint("memory://a"), "");
  for (const char* path : {"gs://a/b", "abfs://a/b", "abfss://a/b", "hdfs://a/b"}) {
    EXPECT_THAT(UnknownSchemeHint(path), ::testing::HasSubstr("pip install millhopper[parquet]"));
    EXPECT_THAT(UnknownSchemeHint(path), ::testing::HasSubstr("tools/build_parquet_plugin"));
  }
  EXPECT_EQ(UnknownSchemeHint("a/b"), "");
  EXPECT_EQ(UnknownSchemeHint("not a scheme://b"), "");
}

// The prefix of a format comes before the scheme.
TEST(FileSystem, StandsBehindThePrefixOfAFormat) {
  const FormatChoice choice = ChooseFormat("fixed:memory://a.recordio");
  EXPECT_EQ(choice.path, "memory://a.recordio");
  EXPECT_EQ(choice.schema, FindFileFormat("fixed"));
  EXPECT_EQ(ChooseFormat("memory://a.recordio").schema, FindFileFormat("recordio"));
  EXPECT_EQ(ChooseFormat("memory://a.txt.zst").schema, FindFileFormat("text"));
  EXPECT_EQ(SplitFormatPrefix("text://a").path, "//a");
}

TEST(FileSystem, OfAnotherKindHasFilesOfItsOwn) {
  const InMemory digits("digits", "0123456789");
  const std::unique_ptr<const File> file = File::Open(digits.path());
  EXPECT_EQ(file->path(), digits.path());
  EXPECT_EQ(file->size(), 10u);
  const FileStatus status = FileSystemOf(digits.path()).Stat(digits.path());
  EXPECT_EQ(status.kind, FileStatus::Kind::kFile);
  EXPECT_EQ(status.id, file->id());
  EXPECT_EQ(status.size, 10u);
  std::string bytes(10, '.');
  file->ReadApart(1, bytes.data(), 2, 3, 3);
  EXPECT_EQ(bytes, "12.34.56..");
  ExpectError(ErrorCode::kDataLoss, "file is shorter than when it was opened",
              [&] { file->Read(8, bytes.data(), 3); });
  ExpectError(ErrorCode::kIo, "memory://none: cannot open", [] { File::Open("memory://none"); });
  EXPECT_FALSE(FileSystemOf("memory://none").Exists("memory://none"));
}

TEST(FileSystem, ScattersWhatIsReadInBlocks) {
  constexpr size_t kPiece = 3;
  constexpr size_t kStride = 4;
  constexpr size_t kCount = kReadBlockBytes / kPiece + 1000;
  std::string content;
  for (size_t i = 0; i < kCount * kPiece; ++i) content += static_cast<char>(i % 251);
  const InMemory source("pieces", content);
  std::string bytes(kCount * kStride, '.');
  File::Open(source.path())->ReadApart(0, bytes.data(), kPiece, kStride, kCount);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(bytes.compare(i * kStride, kStride, content.substr(i * kPiece, kPiece) + "."), 0)
        << i;
  }
}

TEST(FileSystem, FindsFilesByPatterns) {
  const InMemory a("set/a-0.txt", "zero\n");
  const InMemory b("set/a-1.txt", "one\n");
  const InMemory c("set/b.txt.zst", Zstd("two\nthree\n"));
  EXPECT_EQ(ExpandFileNames({"memory://set/a-*"}), (Strings{a.path(), b.path()}));
  EXPECT_EQ(ExpandFileNames({"text:memory://set/{b*,a-{0..1}.txt}"}),
            (Strings{"text:" + a.path(), "text:" + b.path(), "text:" + c.path()}));
  ExpectError(ErrorCode::kInvalidArgument, "no file matches 'memory://set/c*'",
              [] { ExpandFileNames({"memory://set/c*"}); });
  MultiFileOptions in_order;
  in_order.cycle_length = 1;
  EXPECT_EQ(RecordsOf(OpenFiles({"memory://set/*"}, {}, {}, in_order).get()),
            (Strings{"zero", "one", "two", "three"}));
}

TEST(FileSystem, HasManifestsAndContentThatTellsTheFormat) {
  const std::string first = ChunkOf(Strings{"one", "two"});
  const InMemory a("set/n-00000.recordio", first);
  const InMemory b("set/no extension", first);
  EXPECT_EQ(RecordsOf(OpenFiles({a.path()}, {}, Bytes(), {}).get()), (Strings{"one", "two"}));
  FormatArguments declared = Bytes();
  declared.declared = {{DataType::kUint8, {-1}, 1, true}};
  EXPECT_EQ(RecordsOf(OpenFiles({b.path()}, {}, declared, {}).get()), (Strings{"one", "two"}));

  RecordIOManifest manifest;
  manifest.Set("n-00000.recordio", {{first.size(), 1, 2}, std::nullopt});
  manifest.Set("n-00001.recordio", {{first.size(), 1, 2}, std::nullopt});
  const InMemory listed("set/n.recordio.manifest.json", manifest.ToText());
  EXPECT_EQ(RecordsOf(OpenFiles({a.path()}, {}, Bytes(), {}).get()), (Strings{"one", "two"}));
  EXPECT_EQ(OpenFiles({a.path()}, {}, Bytes(), {})->PassLength(), std::optional<uint64_t>(2));
  ExpectError(ErrorCode::kDataLoss, "is not there, but the manifest of its set lists it",
              [] { ReadAll(OpenFiles({"memory://set/n-*"}, {}, Bytes(), {}).get()); });
}

class NoFolders final : public FileSystem {
 public:
  std::unique_ptr<const File> Open(const std::string&) const override { return nullptr; }
  FileStatus Stat(const std::string&) const override { return {}; }
  Strings List(const std::string&) const override { return {}; }
};

TEST(FileSystem, MayBeUnableToListFolders) {
  ExpectError(ErrorCode::kInvalidArgument, "a/b: its file system cannot list folders",
              [] { NoFolders().ListFolder("a/b"); });
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Formats whose records are whole files: jpg, png, webp.
#include "readers/formats/images/whole_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "readers/decorate/shard_reader.h"
#include "readers/sources/open_files.h"
#include "readers/support/byte_records.h"
#include "tests/bytes.h"
#include "tests/files/compressed.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// The beginning of a file of each format.
struct Sample {
  std::string tag, kind, head;
};

const std::vector<Sample>& Samples() {
  static const auto* samples = new std::vector<Sample>{
      {"jpg", "a JPEG image", FromHex("ffd8ffe0 00104a46 494600")},
      {"png", "a PNG image", FromHex("89504e47 0d0a1a0a 0000000d")},
      {"webp", "a WebP image", "RIFF" + FromHex("0c000000") + "WEBPVP8 "},
  };
  return *samples;
}

std::unique_ptr<ReaderBase> Reader(const std::string& tag, const std::string& path,
                                   BufferType buffer_type = BufferType::kMemory) {
  FormatArguments arguments;
  arguments.buffer_type = buffer_type;
  return OpenFile(*FindFileFormat(tag), path, "", arguments);
}

Strings RecordsOf(ReaderBase* reader) {
  Strings records;
  for (const ElementValue& element : ReadAll(reader)) {
    EXPECT_EQ(element.size(), 1u);
    EXPECT_EQ(element[0].dtype, DataType::kUint8);
    EXPECT_EQ(element[0].lod, (Lod{{0, element[0].bytes.size()}}));
    records.push_back(element[0].bytes);
  }
  return records;
}

// The error of reading a file with this content, which is about its byte 0.
std::string ProblemOf(const std::string& tag, const std::string& content) {
  const TempFile file("image", content);
  try {
    ReadAll(Reader(tag, file.path()).get());
  } catch (const Error& error) {
    EXPECT_EQ(error.file(), file.path());
    EXPECT_EQ(error.offset(), 0);
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
    return error.message();
  }
  return "";
}

TEST(WholeFile, ReadsImagesOfOtherFormats) {
  const std::pair<std::string, std::string> files[] = {
      {"a.bmp", "BM" + FromHex("8a000000 00000000 36000000")},
      {"a.gif", "GIF89a"},
      {"a.tiff", FromHex("4d4d002a 00000008")},
      {"a.pgm", "P5 1 1 255 x"},
  };
  for (const auto& [name, head] : files) {
    const TempFile file(name, head);
    const FormatSchema* const schema = ChooseFormat(file.path()).schema;
    ASSERT_NE(schema, nullptr) << name;
    EXPECT_EQ(RecordsOf(Reader(schema->tag, file.path()).get()), Strings{head});
    const TempFile unnamed("a.dat", head);
    EXPECT_EQ(FormatByContent(unnamed.path()).tag, schema->tag);
    const TempFile other(name, "no image");
    ExpectError(ErrorCode::kDataLoss, "the file is not a ",
                [&] { RecordsOf(Reader(schema->tag, other.path()).get()); });
  }
}

TEST(WholeFile, IsOneRecordOfTheBytesThatItHas) {
  for (const auto& [tag, kind, head] : Samples()) {
    const std::string content = head + std::string(3 * kReadBlockBytes + 1, 'x');
    const TempFile file("image", content);
    for (const int threads : {0, 1, 2, 7}) {
      const PoolSize pool(threads);
      for (const BufferType buffer_type : {BufferType::kMemory, BufferType::kMmap}) {
        const auto reader = Reader(tag, file.path(), buffer_type);
        EXPECT_EQ(reader->PassLength(), 1u);
        EXPECT_EQ(RecordsOf(reader.get()), Strings{content}) << tag;
        reader->ReInit();
        EXPECT_EQ(RecordsOf(reader.get()), Strings{content}) << tag;
      }
    }
  }
}

TEST(WholeFile, OfManyFilesKeepsTheirOrderAndCountsThem) {
  const std::string folder = NewFolder("images");
  Strings names, contents;
  for (int i = 0; i < 100; ++i) {
    names.push_back(StrCat("jpg:", folder, "/", i));
    contents.push_back(Samples()[0].head + std::to_string(i));
    WriteFile(names.back().substr(4), contents.back());
  }
  for (const int threads : {0, 2, 7}) {
    const PoolSize pool(threads);
    const auto reader = OpenFiles(names, {}, {}, {});
    EXPECT_EQ(reader->PassLength(), 100u);
    EXPECT_EQ(RecordsOf(reader.get()), contents);
  }
  Strings shared;
  for (int64_t shard = 0; shard < 3; ++shard) {
    ShardReader reader(OpenFiles(names, {}, {}, {}), 3, shard, ShardBy::kChunk);
    const Strings some = RecordsOf(&reader);
    EXPECT_LE(some.size(), 34u);
    shared.insert(shared.end(), some.begin(), some.end());
  }
  EXPECT_EQ(shared.size(), 100u);
}

TEST(WholeFile, IsKnownByItsNameAndByItsFirstBytes) {
  const std::vector<Strings> names = {{"a.jpg", "a.jpeg", "a.JPG", "a.JPEG", "jpg:a.x"},
                                      {"a.png", "a.PNG", "png:a.x"},
                                      {"a.webp", "a.WEBP", "webp:a.jpg"}};
  for (size_t i = 0; i < names.size(); ++i) {
    for (const std::string& name : names[i]) {
      EXPECT_EQ(ChooseFormat(name).schema, FindFileFormat(Samples()[i].tag)) << name;
    }
    const TempFile file("no_extension", Samples()[i].head);
    FormatArguments arguments;
    arguments.declared = {BytesSlot()};
    EXPECT_EQ(RecordsOf(OpenFiles({file.path()}, {}, arguments, {}).get()),
              Strings{Samples()[i].head});
  }
}

TEST(WholeFile, OfAnotherKindIsAnErrorThatSaysWhatItIs) {
  for (const Sample& wanted : Samples()) {
    for (const Sample& found : Samples()) {
      if (wanted.tag == found.tag) continue;
      EXPECT_NE(ProblemOf(wanted.tag, found.head)
                    .find(StrCat("the file is not ", wanted.kind, ": it begins as ", found.kind)),
                std::string::npos);
    }
  }
  const std::vector<std::pair<std::string, std::string>> others = {
      {"GIF89a", "begins as a GIF image does"},
      {"BM" + FromHex("8a000000 00000000"), "begins as a BMP image does"},
      {FromHex("49492a00 08000000"), "begins as a TIFF image does"},
      {FromHex("4d4d002a 00000008"), "begins as a TIFF image does"},
      {"P5\n640 480\n255\n", "begins as a PNM image does"},
      {FromHex("0000001c") + "ftypavif", "begins as a HEIF or AVIF image does"},
      {Gzipped(Samples()[0].head), "begins as a file compressed by gzip does"},
      {"<!DOCTYPE html>404", "begins as a web page does"},
      {"plain text", "begins with the bytes 70 6c 61 69 6e 20 74 65"},
      {FromHex("ffd8"), "begins with the bytes ff d8"},
      {"", "it is empty"},
  };
  for (const auto& [content, words] : others) {
    const std::string problem = ProblemOf("jpg", content);
    EXPECT_NE(problem.find(words), std::string::npos) << problem << "\nlacks: " << words;
  }
}

TEST(WholeFile, TakesImagesOfSeveralFormatsTogether) {
  std::vector<std::unique_ptr<TempFile>> files;
  Strings names, contents;
  for (const auto& [tag, kind, head] : Samples()) {
    files.push_back(std::make_unique<TempFile>("a." + tag, head));
    names.push_back(files.back()->path());
    contents.push_back(head);
  }
  EXPECT_EQ(RecordsOf(OpenFiles(names, {}, {}, {}).get()), contents);
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(RecordsOf(Reader("image", names[i]).get()), Strings{contents[i]});
  }
  for (const auto& [content, words] :
       {std::pair<std::string, std::string>{"plain text", "begins with the bytes 70"},
        {FromHex("0000001c") + "ftypavif", "begins as a HEIF or AVIF image does"},
        {"", "the file is not an image that can be decoded: it is empty"}}) {
    const std::string problem = ProblemOf("image", content);
    EXPECT_NE(problem.find(words), std::string::npos) << problem;
  }
  const std::string problem = ProblemOf("jpg", contents[1]);
  EXPECT_NE(problem.find("it begins as a PNG image does; the prefix 'image:' reads images of any"),
            std::string::npos)
      << problem;
}

// A file that is cut off may keep its beginning: what is missing after it the decoder will tell.
TEST(WholeFile, IsCheckedAsFarAsItsBeginning) {
  for (const auto& [tag, kind, head] : Samples()) {
    const size_t checked = tag == "jpg" ? 3 : tag == "png" ? 8 : 12;
    for (size_t size = 0; size < head.size(); ++size) {
      const std::string cut = head.substr(0, size);
      EXPECT_EQ(ProblemOf(tag, cut).empty(), size >= checked) << tag << " " << size;
    }
    for (size_t bit = 0; bit < 8 * checked; ++bit) {
      const bool riff_size = tag == "webp" && bit / 8 >= 4 && bit / 8 < 8;
      EXPECT_EQ(ProblemOf(tag, FlipBit(head, bit)).empty(), riff_size) << tag << " " << bit;
    }
  }
}

TEST(WholeFile, TakesNoMemoryForOneThatIsTooLarge) {
  const TempFile file("large.jpg", Samples()[0].head);
  std::filesystem::resize_file(file.path(), kMaxRecordBytes + 1);  // a file of holes
  const size_t before = BufferPool::At(Place()).in_use_bytes();
  for (const BufferType buffer_type : {BufferType::kMemory, BufferType::kMmap}) {
    const auto reader = Reader("jpg", file.path(), buffer_type);
    ExpectError(ErrorCode::kResourceLimit, "the limit of a record is", [&] { reader->HasNext(); });
    EXPECT_EQ(BufferPool::At(Place()).in_use_bytes(), before);
  }
}

TEST(WholeFile, KnowsItsSlot) {
  FormatArguments arguments;
  arguments.declared = {{DataType::kFp32, {-1}, 1}};
  ExpectError(ErrorCode::kInvalidArgument, "slot 0: float32",
              [&] { FindFileFormat("png")->Make(arguments); });
}

// ---- Real files. ----

TEST(WholeFile, GivesTheFilesOfOthersUnchanged) {
  const std::string folder = TestData();
  if (folder.empty()) GTEST_SKIP() << kNoTestData;
  std::ifstream manifest(folder + "/truth/manifest.tsv");
  std::string line;
  int right = 0, wrong = 0;
  while (std::getline(manifest, line)) {
    std::istringstream fields(line);
    std::string name, size, sha256;
    fields >> name >> size >> sha256;
    if (name.find(".parquet") != std::string::npos) continue;  // its format is a plugin's
    const FormatSchema* const schema = ChooseFormat(name).schema;
    if (schema == nullptr || (schema->tag != "jpg" && schema->tag != "png")) continue;
    const auto reader = Reader(schema->tag, StrCat(folder, "/", name));
    if (name.find("dali_missnamed") != std::string::npos) {
      const std::optional<Thrown> error = ErrorOf([&] { RecordsOf(reader.get()); });
      ASSERT_TRUE(error.has_value());
      EXPECT_NE(error->text.find("is not a JPEG image: it begins as a"), std::string::npos)
          << error->text;
      ++wrong;
      continue;
    }
    const Strings records = RecordsOf(reader.get());
    ASSERT_EQ(records.size(), 1u) << name;
    EXPECT_EQ(std::to_string(records[0].size()), size) << name;
    Sha256 digest;
    digest.Add(records[0].data(), records[0].size());
    EXPECT_EQ(ToHex(digest.Value()), sha256) << name;
    ++right;
  }
  EXPECT_EQ(wrong, 4);
  EXPECT_GT(right, 300);
}

}  // namespace
}  // namespace millhopper

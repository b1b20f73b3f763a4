// SPDX-License-Identifier: Apache-2.0
// Lines of text: where they end, at every border of blocks, and files that are not whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/reader/file_reader.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Lines = std::vector<std::string>;

std::unique_ptr<ReaderBase> Reader(const std::string& path, FormatArguments arguments = {}) {
  return OpenFile(*FindFileFormat("text"), path, "", std::move(arguments));
}

Lines LinesOf(const std::vector<ElementValue>& elements) {
  Lines lines;
  for (const ElementValue& element : elements) {
    EXPECT_EQ(element.size(), 1u);
    const SlotValue& slot = element[0];
    const auto size = static_cast<int64_t>(slot.bytes.size());
    EXPECT_EQ(slot.dtype, DataType::kUint8);
    EXPECT_EQ(slot.dims, std::vector<int64_t>{size});
    EXPECT_EQ(slot.lod, (Lod{{0, static_cast<uint64_t>(size)}}));
    lines.push_back(slot.bytes);
  }
  return lines;
}

Lines Read(const std::string& content) {
  const TempFile plain("lines.txt", content);
  const TempFile compressed("lines.txt.gz", Gzipped(content));
  Lines lines = LinesOf(ReadAll(Reader(plain.path()).get()));
  EXPECT_EQ(LinesOf(ReadAll(Reader(compressed.path()).get())), lines);
  return lines;
}

// Ruling 13, character by character.
Lines Model(const std::string& content) {
  Lines lines;
  std::string line;
  bool open = false;
  for (const char c : content) {
    open = c != '\n';
    if (open) {
      line += c;
      continue;
    }
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
    line.clear();
  }
  if (open) lines.push_back(line);
  return lines;
}

TEST(Text, CutsAtLineEnds) {
  EXPECT_EQ(Read("one\ntwo\n"), (Lines{"one", "two"}));
  EXPECT_EQ(Read("one\ntwo"), (Lines{"one", "two"}));
  EXPECT_EQ(Read("one\r\ntwo\r\n"), (Lines{"one", "two"}));
  EXPECT_EQ(Read("a\rb\r\r\nc"), (Lines{"a\rb\r", "c"}));
  EXPECT_EQ(Read("no end but CR\r"), (Lines{"no end but CR\r"}));
  EXPECT_EQ(Read("\n"), (Lines{""}));
  EXPECT_EQ(Read("\n\r\n\n"), (Lines{"", "", ""}));
  EXPECT_EQ(Read(std::string("a\0b\n\0\n", 6)), (Lines{std::string("a\0b", 3), std::string(1, 0)}));
}

TEST(Text, AnEmptyFileHasNoRecords) { EXPECT_EQ(Read(""), Lines{}); }

// F45
TEST(Text, AnyStringOfEndsAndCharactersIsCutAsTheModelDoes) {
  const std::string alphabet("x\r\n", 3);
  for (int number = 0; number < 3 * 3 * 3 * 3 * 3; ++number) {
    std::string content;
    for (int rest = number; rest > 0; rest /= 3) content += alphabet[rest % 3];
    ASSERT_EQ(Read(content), Model(content)) << Escaped(content);
  }
}

TEST(Text, LinesMayLieAcrossBlocks) {
  // A CR LF, a lone LF and a long line, each at every place around the border of a block.
  for (int shift = -2; shift <= 2; ++shift) {
    const std::string filler(kReadBlockBytes - 10 + shift, 'f');
    for (const std::string end : {"\r\n", "\n", "\n\n", "\r\n\r\n"}) {
      const std::string content = StrCat("begin\n", filler, end, "rest", end, filler, end);
      EXPECT_EQ(Read(content), Model(content)) << shift << Escaped(end);
    }
  }
}

// Where the second chunk of a plain file begins.
uint64_t SecondStretch(const std::string& path) {
  TicketRun run;
  const std::unique_ptr<ReaderBase> reader = Reader(path);
  while (run.tickets.empty() || run.tickets.back().id.chunk == 0) {
    run.Clear();
    if (reader->Plan(1, &run) == 0) return 0;
  }
  return run.tickets.back().id.chunk;
}

TEST(Text, LinesMayLieAcrossStretches) {
  const TempFile many("many.txt", [] {
    std::string lines;
    while (lines.size() < 2 * kReadBlockBytes) lines += "line\n";
    return lines;
  }());
  const uint64_t border = SecondStretch(many.path());
  ASSERT_GT(border, kReadBlockBytes / 2);
  for (const std::string end : {"\n", "\r\n", "\n\n", "\r\n\r\n"}) {
    for (int shift = -6; shift <= 3; ++shift) {
      SCOPED_TRACE(StrCat(shift, Escaped(end)));
      // Ends at every place around the border, and a line that is three stretches long.
      const std::string filler(border + shift, 'f');
      for (const std::string last : {"", "x"}) {
        const std::string content = StrCat(filler, end, filler, filler, filler, end, last);
        ASSERT_TRUE(Read(content) == Model(content));
      }
    }
  }
  // A line that ends far after the stretch that it begins in, farther than is read on at once.
  const std::string content =
      StrCat(std::string(border - 5, 'a'), "\nb", std::string(100000, 'c'), "\nd");
  EXPECT_TRUE(Read(content) == Model(content));
}

TEST(Text, ManyBlocksGiveTheSameLinesForAnyNumberOfThreads) {
  std::string content;
  for (int i = 0; content.size() < 5 * kReadBlockBytes; ++i) {
    content +=
        std::to_string(i) + std::string(i % 3000, 'a' + i % 26) + (i % 3 == 0 ? "\r\n" : "\n");
  }
  const Lines model = Model(content);
  const TempFile plain("many.txt", content);
  const TempFile compressed("many.gz", Gzipped(content));
  for (const int workers : {0, 1, 2, 7, 16}) {
    const PoolSize pool(workers);
    for (const TempFile* file : {&plain, &compressed}) {
      EXPECT_TRUE(LinesOf(ReadAll(Reader(file->path()).get())) == model) << workers;
    }
  }
}

// F45
TEST(Text, ALineHasALimit) {
  const std::string longest(kMaxLineBytes, 'x');
  for (const std::string end : {"", "\n", "\r\n"}) {
    const TempFile file("longest.txt", StrCat("first\n", longest, end));
    EXPECT_TRUE(LinesOf(ReadAll(Reader(file.path()).get())) == (Lines{"first", longest}))
        << Escaped(end);
  }
  for (const std::string rest : {"x", "x\n", "x\r\n", "xx\nlast\n"}) {
    const TempFile file("longer.txt", StrCat("first\n", longest, rest));
    const std::unique_ptr<ReaderBase> reader = Reader(file.path());
    EXPECT_EQ(LinesOf(ReadSome(reader.get(), 1)), Lines{"first"});
    ExpectError(ErrorCode::kResourceLimit, file.path() + ": the line at byte 6 is longer",
                [&] { ReadAll(reader.get()); });
  }
}

TEST(Text, ACompressedFileThatIsCutOffGivesItsWholeLinesAndAnError) {
  const std::string content = "one\ntwo\r\nthree\nand a last line";
  const Lines lines = Model(content);
  const std::string whole = Gzipped(content);
  for (size_t size = 2; size < whole.size(); ++size) {
    const TempFile file("cut.txt.gz", whole.substr(0, size));
    const std::unique_ptr<ReaderBase> reader = Reader(file.path());
    Lines read;
    const auto next = [&] {
      for (const std::string& line : LinesOf(ReadSome(reader.get(), 1))) read.push_back(line);
    };
    while (read.size() < lines.size()) {
      try {
        next();
      } catch (const Error&) {
        break;
      }
    }
    EXPECT_LT(read.size(), lines.size()) << "the last line may have gone on";
    EXPECT_EQ(read, Lines(lines.begin(), lines.begin() + static_cast<int64_t>(read.size())));
    ExpectError(ErrorCode::kDataLoss, file.path(), next);
    ExpectError(ErrorCode::kDataLoss, "while reading record", [&] { reader->HasNext(); });
  }
}

TEST(Text, TheSlotIsKnownAndADeclarationMustAgree) {
  const TempFile file("lines.txt", "abc\nde\n");
  EXPECT_EQ(Reader(file.path())->slots().size(), 1u);
  SlotSpec slot;
  slot.dtype = DataType::kUint8;
  slot.dims = Dims{-1};
  slot.lod_level = 1;
  FormatArguments arguments;
  arguments.declared = {slot};
  EXPECT_EQ(ReadAll(Reader(file.path(), arguments).get()).size(), 2u);
  arguments.declared[0].dtype = DataType::kInt8;
  ExpectError(ErrorCode::kInvalidArgument, "slot 0: int8 [-1] with 1 level of detail is declared",
              [&] { Reader(file.path(), arguments); });
  arguments.declared[0] = slot;
  arguments.declared[0].dims[0] = 3;
  const std::unique_ptr<ReaderBase> reader = Reader(file.path(), arguments);
  EXPECT_EQ(ReadSome(reader.get(), 1).size(), 1u);
  ExpectError(ErrorCode::kDataLoss, "uint8 [2] with 1 level of detail was found",
              [&] { ReadSome(reader.get(), 1); });
}

TEST(Text, MayBeginAnewAtAnyMoment) {
  std::string content;
  for (int i = 0; i < 20; ++i) content += std::string(kReadBlockBytes / 7, 'a' + i) + "\n";
  const TempFile file("anew.txt", content);
  const Lines model = Model(content);
  const PoolSize pool(2);
  StartPoolThreads();
  const Holdings before = CurrentHoldings();
  {
    const std::unique_ptr<ReaderBase> reader = Reader(file.path());
    for (const size_t read : {0u, 1u, 7u, 20u, 21u, 3u}) {
      reader->ReInit();
      EXPECT_EQ(ReadSome(reader.get(), read).size(), std::min<size_t>(read, 20));
    }
    reader->ReInit();
    EXPECT_TRUE(LinesOf(ReadAll(reader.get())) == model);
    reader->ReInit();
    ReadSome(reader.get(), 2);
  }
  EXPECT_TRUE(HoldingsReturnTo(before));
}

TEST(Text, ReadsRealText) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  const std::string path = TestData() + "/text/input.txt";
  const std::string content = ReadFile(path);
  const Lines lines = LinesOf(ReadAll(Reader(path).get()));
  EXPECT_EQ(lines.size(), 40000u);
  EXPECT_TRUE(lines == Model(content));
  EXPECT_EQ(lines[0], "First Citizen:");
  EXPECT_EQ(FormatOf({path}), FindFileFormat("text"));
}

// Files of /proc, which report that they are empty; without workers and with some.
TEST(Text, ReadsFilesThatDoNotKnowTheirSize) {
  for (const int workers : {0, 2}) {
    const PoolSize pool(workers);
    EXPECT_EQ(LinesOf(ReadAll(Reader("/proc/sys/kernel/ostype").get())), Lines{"Linux"});
  }
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Streams of plain and compressed files, whole, cut off and damaged.
#include "framework/io/compression/byte_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "tests/bytes.h"
#include "tests/outcome.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

StreamOutcome ReadWhole(const std::string& path, size_t piece = 7) {
  return ReadStream(path, piece);
}

TEST(ByteStream, ReadsAPlainFileAsItLies) {
  const std::string content = Sample(1000);
  const TempFile file("plain", content);
  for (const size_t piece : {1, 3, 999, 1000, 1001}) {
    EXPECT_EQ(ReadWhole(file.path(), piece).content, content) << piece;
  }
  const ByteStream stream(file.path());
  EXPECT_TRUE(stream.plain());
  EXPECT_EQ(stream.most_left(), 1000u);
  EXPECT_EQ(stream.Describe(12), "byte 12");
}

// In pieces that cut characters, and beyond what is read at once.
TEST(ByteStream, DecodesText) {
  std::string utf8, latin1, utf16 = "\xff\xfe";
  for (int i = 0; i < 100000; ++i) {
    const bool odd = i % 3 == 0;
    utf8 += odd ? "\xc3\xa9" : "a";
    latin1 += odd ? '\xe9' : 'a';
    utf16 += odd ? '\xe9' : 'a';
    utf16 += '\0';
  }
  const TempFile one("latin1", latin1), two("utf16", utf16), packed("packed", Gzipped(utf16));
  const auto read = [](ByteStream* stream, size_t piece) {
    std::string text;
    for (std::string got(piece, 0); got.size() == piece; text += got) {
      got.resize(stream->Read(got.data(), piece));
    }
    return text;
  };
  for (const size_t piece : {1, 7, 200000}) {
    ByteStream stream(one.path());
    stream.DecodeText("Latin-1");
    EXPECT_FALSE(stream.plain());
    EXPECT_GE(stream.most_left(), utf8.size());
    EXPECT_TRUE(read(&stream, piece) == utf8) << piece;
    EXPECT_EQ(stream.position(), utf8.size());
    EXPECT_EQ(stream.Describe(12), "byte 12 of the text in UTF-8");
    for (const std::string& path : {two.path(), packed.path()}) {
      ByteStream marked(path);
      marked.DecodeText("");
      EXPECT_TRUE(read(&marked, piece) == "\xef\xbb\xbf" + utf8) << piece;
    }
  }
  ByteStream plain(one.path());
  plain.DecodeText("UTF-8");
  EXPECT_TRUE(plain.plain());
  // What precedes an error is given out.
  const TempFile bad("bad", std::string("\xff\xfe"
                                        "a\0"
                                        "\0\xdc",
                                        6));
  ByteStream wrong(bad.path());
  wrong.DecodeText("");
  char room[16];
  EXPECT_EQ(wrong.Read(room, sizeof(room)), 4u);
  for (int i = 0; i < 2; ++i) {
    ExpectError(ErrorCode::kDataLoss, "byte 4 is none of a text in UTF-16LE",
                [&] { wrong.Read(room, sizeof(room)); });
  }
}

TEST(ByteStream, ReadsGzipWhateverItsName) {
  const std::string content = Sample(100000);
  const TempFile file("compressed", Gzipped(content));
  for (const size_t piece : {1, 7, 99999, 100000, 200000}) {
    const StreamOutcome outcome = ReadWhole(file.path(), piece);
    EXPECT_EQ(outcome.content, content) << piece;
    EXPECT_FALSE(outcome.error.has_value());
  }
  const ByteStream stream(file.path());
  EXPECT_FALSE(stream.plain());
  EXPECT_EQ(stream.Describe(12), "byte 12 of the decompressed content");
}

// F44
TEST(ByteStream, GoesOnWithEveryMemberOfAGzipFile) {
  const TempFile file("members", Gzipped("one ") + Gzipped("") + Gzipped("two"));
  EXPECT_EQ(ReadWhole(file.path()).content, "one two");
}

TEST(ByteStream, GoesOnAfterARequestToStop) {
  const std::string content = Sample(4000000);  // more than is decoded at once
  const TempFile file("stopped", Gzipped(content));
  ByteStream stream(file.path());
  std::string got(content.size(), '\0');
  size_t size = stream.Read(got.data(), 10);
  RequestStop();
  for (int again = 0; again < 3; ++again) {
    try {
      size += stream.Read(got.data() + size, content.size() - size);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCancelled) << error.what();
    }
  }
  EXPECT_LT(size, content.size());
  ClearStop();
  EXPECT_EQ(stream.Read(got.data() + size, content.size() - size), content.size() - size);
  EXPECT_TRUE(got == content);
}

TEST(ByteStream, TakesWhatIsTooShortForGzipAsItIs) {
  EXPECT_EQ(ReadWhole(TempFile("empty", "").path()).content, "");
  EXPECT_EQ(ReadWhole(TempFile("one", "\x1f").path()).content, "\x1f");
  EXPECT_EQ(ReadWhole(TempFile("other", "\x1f\x8c").path()).content, "\x1f\x8c");
}

TEST(ByteStream, SaysWhereAGzipFileIsCutOff) {
  const std::string content = Sample(300);
  const std::string whole = Gzipped(content);
  for (size_t size = 2; size < whole.size(); ++size) {
    const TempFile file("cut", whole.substr(0, size));
    const StreamOutcome outcome = ReadWhole(file.path());
    ASSERT_TRUE(outcome.error.has_value()) << size;
    EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss);
    EXPECT_EQ(outcome.error->file(), file.path());
    EXPECT_EQ(outcome.error->offset(), static_cast<int64_t>(size));
    EXPECT_EQ(outcome.content, content.substr(0, outcome.content.size())) << size;
  }
}

TEST(ByteStream, NeverTakesDamageForContent) {
  const std::string content = Sample(300);
  const std::string whole = Gzipped(content);
  for (size_t bit = 16; bit < 8 * whole.size(); ++bit) {
    const TempFile file("damaged", FlipBit(whole, bit));
    const StreamOutcome outcome = ReadWhole(file.path());
    if (outcome.error.has_value()) {
      EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss) << outcome.error->what();
      EXPECT_EQ(outcome.error->file(), file.path());
    } else {  // in the time of the header, for instance
      EXPECT_EQ(outcome.content, content) << bit;
    }
  }
}

TEST(ByteStream, RefusesWhatFollowsGzip) {
  const std::string whole = Gzipped("content");
  const std::string zeros(600, '\0');
  for (const std::string& rest :
       {std::string("x"), std::string("\x1f"), std::string("\x1f\x8b"),
        std::string("\x1f\x8c garbage"), zeros + "x", zeros + whole, StrCat(zeros, "x", zeros)}) {
    const StreamOutcome outcome = ReadWhole(TempFile("followed", whole + rest).path());
    EXPECT_EQ(outcome.content, "content");
    ASSERT_TRUE(outcome.error.has_value()) << rest;
    EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss);
    EXPECT_GE(outcome.error->offset(), static_cast<int64_t>(whole.size()));
  }
}

// As gzip does: programs that write whole blocks fill up the last one with zeros.
TEST(ByteStream, TakesZerosBehindGzipForNothing) {
  const std::string whole = Gzipped("content") + Gzipped(" of two members");
  for (const size_t zeros : {1, 2, 17, 511, 300000}) {  // more than is read at once
    const StreamOutcome outcome =
        ReadWhole(TempFile("padded.gz", whole + std::string(zeros, '\0')).path());
    EXPECT_EQ(outcome.content, "content of two members") << zeros;
    EXPECT_FALSE(outcome.error.has_value()) << outcome.error->what();
  }
  const TempFile file("damaged.gz", whole + std::string(9, '\0') + "x");
  EXPECT_EQ(ReadWhole(file.path()).error->offset(), static_cast<int64_t>(whole.size()) + 9);
}

TEST(ByteStream, ThrowsAnErrorAgainAndAgainBehindWhatPrecedesIt) {
  const std::string second = Gzipped(Sample(300));
  const TempFile file("cut", Gzipped(Sample(300)) + second.substr(0, second.size() - 1));
  ByteStream stream(file.path());
  char bytes[400];
  EXPECT_EQ(stream.Read(bytes, sizeof(bytes)), 300u);
  const auto read = [&] { stream.Read(bytes, 1); };
  ExpectError(ErrorCode::kDataLoss, "in the middle of its gzip stream", read);
  EXPECT_EQ(ErrorOf(read), ErrorOf(read));
}

TEST(ByteStream, GivesNothingOfAMemberThatIsDamaged) {
  const std::string first = Gzipped("right");
  const std::string second = Gzipped(Sample(300));
  for (size_t bit = 0; bit < 8 * second.size(); ++bit) {
    const TempFile file("damaged", first + FlipBit(second, bit));
    const StreamOutcome outcome = ReadWhole(file.path());
    EXPECT_EQ(outcome.content, outcome.error ? "right" : "right" + Sample(300)) << bit;
  }
}

TEST(ByteStream, DemandsGzipWhereTheNameSaysSo) {
  for (const char* content : {"\x1f", "plain text"}) {
    const TempFile file("named.gz", content);
    ExpectError(ErrorCode::kDataLoss,
                file.path() + ": its name ends in .gz, but the bytes at byte 0",
                [&] { ByteStream stream(file.path()); });
  }
}

TEST(ByteStream, KnowsHowMuchCanFollowAtMost) {
  const std::string content(10 << 20, 'x');  // as well compressed as it can be
  const TempFile file("bomb", Gzipped(content));
  ByteStream stream(file.path());
  std::string buffer(100000, '\0');
  size_t left = content.size();
  for (size_t got = 1; got > 0;) {
    EXPECT_GE(stream.most_left(), left);
    got = stream.Read(buffer.data(), buffer.size());
    left -= got;
  }
  EXPECT_EQ(left, 0u);
}

TEST(ByteStream, NamesAFileThatIsNotThere) {
  ExpectError(ErrorCode::kIo, "no such: cannot open", [] { ByteStream(TempName("no such")); });
}

}  // namespace
}  // namespace millhopper

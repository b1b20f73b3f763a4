// SPDX-License-Identifier: Apache-2.0
// Streams of every compression: whole, of several frames, cut off, damaged, and followed by
// something else.
#include "framework/io/compression/compression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/compression/byte_stream.h"
#include "tests/bytes.h"
#include "tests/files/compressed.h"
#include "tests/outcome.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

StreamOutcome ReadBytes(const std::string& bytes, const std::string& name, size_t piece = 1000) {
  return ReadStream(TempFile(name, bytes).path(), piece);
}

// A compression and a way to use it.
struct Kind {
  std::string name;
  std::string extension;
  std::string magic_word;  // of error texts
  std::function<std::string(const std::string& content)> compress;
  bool checked;    // a checksum tells what is damaged
  bool skippable;  // frames to be skipped may lie among the others
};

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

std::vector<Kind> Kinds() {
  const auto zstd = [](const FrameOptions& options) {
    return [options](const std::string& content) { return Zstd(content, options); };
  };
  const auto lz4 = [](const FrameOptions& options) {
    return [options](const std::string& content) { return Lz4(content, options); };
  };
  FrameOptions bare;
  bare.checksum = false;
  bare.sized = false;
  FrameOptions high;
  high.level = 12;
  FrameOptions blocks;
  blocks.flush_every = 77;
  return {
      {"gzip", ".gz", "gzip", Gzipped, true, false},
      {"zstd", ".zst", "zstd", zstd({}), true, true},
      {"zstd_bare", ".zst", "zstd", zstd(bare), false, true},
      {"zstd_high", ".zst", "zstd", zstd(high), true, true},
      {"zstd_blocks", ".zst", "zstd", zstd(blocks), true, true},
      {"lz4", ".lz4", "lz4", lz4({}), true, true},
      {"lz4_bare", ".lz4", "lz4", lz4(bare), false, true},
      {"lz4_high", ".lz4", "lz4", lz4(high), true, true},
      {"bzip2", ".bz2", "bzip2", Bzip2, true, false},
      {"xz", ".xz", "xz", [](const std::string& content) { return Xz(content); }, true, false},
  };
}

class CompressionTest : public ::testing::TestWithParam<Kind> {
 protected:
  const Kind& kind_ = GetParam();
  const std::string name_ = "file" + kind_.extension;
};

TEST_P(CompressionTest, IsReadInPiecesOfAnySizeWhateverTheName) {
  for (const size_t size : {0, 1, 1000, 100000, 3000000}) {
    const std::string content = Sample(size);
    const TempFile file("named like any other", kind_.compress(content));
    for (const size_t piece : {size_t{13}, size_t{1} << 20, size_t{4} << 20}) {
      if (size / piece > 10000) continue;
      const StreamOutcome outcome = ReadStream(file.path(), piece);
      EXPECT_TRUE(outcome.content == content) << size << " in pieces of " << piece;
      EXPECT_FALSE(outcome.error.has_value()) << outcome.error->what();
    }
  }
}

TEST_P(CompressionTest, GoesOnWithEveryFrame) {
  const std::string frames = kind_.compress("one ") + kind_.compress("") + kind_.compress("two ") +
                             kind_.compress(Sample(2000000)) + kind_.compress("last");
  const StreamOutcome outcome = ReadBytes(frames, name_);
  EXPECT_TRUE(outcome.content == "one two " + Sample(2000000) + "last");
  EXPECT_FALSE(outcome.error.has_value());
}

TEST_P(CompressionTest, PassesOverFramesToBeSkipped) {
  if (!kind_.skippable) return;
  const std::string first = kind_.compress("one ");
  const std::string second = kind_.compress("two");
  for (const std::string& skipped :
       {Skippable(""), Skippable("x"), Skippable(std::string(400000, 'x'), 15),
        Skippable("abc", 3) + Skippable("") + Skippable("d", 7)}) {
    for (const std::string& bytes :
         {StrCat(skipped, first, second), StrCat(first, skipped, second),
          StrCat(first, second, skipped), StrCat(skipped, first, skipped, second, skipped)}) {
      const StreamOutcome outcome = ReadBytes(bytes, name_);
      EXPECT_EQ(outcome.content, "one two");
      EXPECT_FALSE(outcome.error.has_value()) << outcome.error->what();
    }
    const StreamOutcome nothing = ReadBytes(skipped, "only skipped");
    EXPECT_EQ(nothing.content, "");
    EXPECT_FALSE(nothing.error.has_value()) << nothing.error->what();
    const StreamOutcome cut = ReadBytes(first + skipped.substr(0, skipped.size() - 1), name_);
    EXPECT_EQ(cut.content, "one ");
    EXPECT_TRUE(cut.error.has_value());
    const StreamOutcome all_cut = ReadBytes(skipped.substr(0, skipped.size() - 1), name_);
    ASSERT_TRUE(all_cut.error.has_value());
    EXPECT_NE(std::string(all_cut.error->what()).find(kind_.magic_word), std::string::npos)
        << all_cut.error->what();
    EXPECT_TRUE(ReadBytes(skipped + "text", "followed").error.has_value());
  }
}

TEST_P(CompressionTest, SaysWhereItIsCutOff) {
  const std::string content = Sample(300);
  const std::string whole = kind_.compress("first") + kind_.compress(content);
  const size_t first = kind_.compress("first").size();
  for (size_t size = 0; size < whole.size(); ++size) {
    if (size == first) continue;
    const StreamOutcome outcome = ReadBytes(whole.substr(0, size), name_);
    ASSERT_TRUE(outcome.error.has_value()) << size;
    EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss);
    EXPECT_EQ(outcome.content, size < first ? "" : "first") << size;
    if (size < 8) continue;  // then the first bytes may already be none of a stream's
    EXPECT_EQ(outcome.error->offset(), static_cast<int64_t>(size)) << outcome.error->what();
    EXPECT_NE(std::string(outcome.error->what()).find("in the middle of its " + kind_.magic_word),
              std::string::npos)
        << outcome.error->what();
  }
}

TEST_P(CompressionTest, NeverTakesDamageForContent) {
  const std::string content = Sample(300);
  const std::string whole = kind_.compress(content);
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    const StreamOutcome outcome = ReadBytes(FlipBit(whole, bit), name_);
    if (outcome.error.has_value()) {
      EXPECT_TRUE(outcome.error->code() == ErrorCode::kDataLoss ||
                  outcome.error->code() == ErrorCode::kResourceLimit)
          << outcome.error->what();
      EXPECT_GE(outcome.error->offset(), 0);
      EXPECT_TRUE(!kind_.checked || outcome.content.empty() || outcome.content == content) << bit;
    } else if (kind_.checked) {
      EXPECT_EQ(outcome.content, content) << bit;
    }
  }
}

TEST_P(CompressionTest, GivesNothingOfAFrameThatIsDamagedButAllBeforeIt) {
  if (!kind_.checked) return;
  const std::string first = kind_.compress("right");
  const std::string second = kind_.compress(Sample(300));
  for (size_t bit = 0; bit < 8 * second.size(); ++bit) {
    const StreamOutcome outcome = ReadBytes(first + FlipBit(second, bit), name_);
    if (outcome.content == "right") {
      EXPECT_TRUE(outcome.error.has_value()) << bit;
    } else {
      EXPECT_EQ(outcome.content, "right" + Sample(300)) << bit;
    }
  }
}

// The second frame begins within the bytes that are decoded at once, and ends after them.
TEST_P(CompressionTest, GivesNothingOfADamagedFrameWhereverItBegins) {
  if (!kind_.checked) return;
  const std::string first = Sample(900 << 10);
  const std::string content = Sample(300 << 10);
  const std::string second = kind_.compress(content);
  for (const double part : {0.05, 0.5, 0.9, 0.99}) {
    const size_t bit = static_cast<size_t>(static_cast<double>(8 * second.size()) * part);
    for (const size_t piece : {size_t{1000}, size_t{4} << 20}) {
      const StreamOutcome outcome =
          ReadBytes(kind_.compress(first) + FlipBit(second, bit), name_, piece);
      EXPECT_TRUE(outcome.content == first)
          << outcome.content.size() << " bytes came, bit " << bit << " is wrong";
      EXPECT_TRUE(outcome.error.has_value()) << bit;
    }
  }
}

TEST_P(CompressionTest, RefusesWhatFollows) {
  const std::string whole = kind_.compress("content");
  std::vector<std::string> others = {"x", "garbage that is longer", std::string("\0x", 2)};
  for (const Kind& other : Kinds()) {
    if (other.extension != kind_.extension) others.push_back(other.compress("other"));
  }
  if (kind_.name != "gzip" && kind_.name != "xz") others.push_back(std::string(8, '\0'));
  for (const std::string& rest : others) {
    const StreamOutcome outcome = ReadBytes(whole + rest, name_);
    EXPECT_EQ(outcome.content, "content");
    ASSERT_TRUE(outcome.error.has_value()) << rest;
    EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss);
    EXPECT_GE(outcome.error->offset(), static_cast<int64_t>(whole.size()));
    EXPECT_NE(std::string(outcome.error->what()).find("is not " + kind_.magic_word),
              std::string::npos)
        << outcome.error->what();
  }
}

TEST_P(CompressionTest, DemandsWhatTheNameSays) {
  const TempFile empty(name_, "");
  ExpectError(ErrorCode::kDataLoss,
              StrCat(empty.path(), ": its name ends in ", kind_.extension,
                     ", but it is empty, as if it was cut off"),
              [&] { ByteStream stream(empty.path()); });
  for (const char* content : {"\x1f", "plain text"}) {
    const TempFile file(name_, content);
    ExpectError(
        ErrorCode::kDataLoss,
        StrCat(file.path(), ": its name ends in ", kind_.extension,
               ", but the bytes at byte 0 are not the first of a ", kind_.magic_word, " stream"),
        [&] { ByteStream stream(file.path()); });
  }
}

TEST_P(CompressionTest, KnowsHowMuchCanFollowAtMost) {
  const std::string content(10 << 20, 'x');  // as well compressed as it can be
  const TempFile file("bomb", kind_.compress(content));
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

INSTANTIATE_TEST_SUITE_P(All, CompressionTest, ::testing::ValuesIn(Kinds()),
                         [](const auto& info) { return info.param.name; });

TEST(Compression, LeavesPlainFilesAlone) {
  for (const std::string& content :
       {std::string(), std::string("P"), std::string("P*M"), std::string("\x28\xb5\x2f", 3),
        std::string("\x04\x22\x4d\x18", 4), std::string("\x02\x21\x4c\x18 old lz4"),
        std::string("P*M\x19 text"), std::string("plain")}) {
    const StreamOutcome outcome = ReadBytes(content, "plain");
    EXPECT_EQ(outcome.content, content);
    EXPECT_FALSE(outcome.error.has_value()) << outcome.error->what();
  }
}

// The header of the block says how large the dictionary is: 2^26 bytes with -9, and here more than
// any that is read.
TEST(Compression, LimitsTheMemoryOfXz) {
  EXPECT_EQ(ReadBytes(Xz("content", 9), "largest preset").content, "content");
  lzma_options_lzma options;
  lzma_lzma_preset(&options, 0);
  options.dict_size = uint32_t{1} << 28;
  lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}};
  std::string out(1000, '\0');
  size_t size = 0;
  ASSERT_EQ(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC64, nullptr,
                                      reinterpret_cast<const uint8_t*>("content"), 7,
                                      reinterpret_cast<uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  const StreamOutcome outcome = ReadBytes(out, "too large");
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->code(), ErrorCode::kResourceLimit);
}

TEST(Compression, LimitsTheWindowOfZstd) {
  FrameOptions options;
  options.sized = false;
  options.zstd_window_log = 27;
  options.flush_every = 10;
  EXPECT_EQ(ReadBytes(Zstd("content of a frame", options), "large").content, "content of a frame");
  std::string larger = Zstd("content of a frame", options);
  constexpr size_t kWindowByte = 5;
  larger[kWindowByte] = static_cast<char>((28 - 10) << 3);
  const StreamOutcome outcome = ReadBytes(larger, "larger");
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->code(), ErrorCode::kResourceLimit) << outcome.error->what();
}

TEST(Compression, SaysThatADictionaryIsNeeded) {
  LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
  preferences.frameInfo.dictID = 7;
  const std::string content = Sample(100);
  std::string frame(LZ4F_compressFrameBound(content.size(), &preferences), '\0');
  frame.resize(
      LZ4F_compressFrame(frame.data(), frame.size(), content.data(), content.size(), &preferences));
  const StreamOutcome lz4 = ReadBytes(frame, "frame.lz4");
  ASSERT_TRUE(lz4.error.has_value());
  EXPECT_NE(std::string(lz4.error->what()).find("it needs a dictionary"), std::string::npos);

  const std::string dictionary = Sample(5000);
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  frame.assign(1000, '\0');
  frame.resize(ZSTD_compress_usingDict(context, frame.data(), frame.size(), content.data(),
                                       content.size(), dictionary.data(), dictionary.size(), 3));
  ZSTD_freeCCtx(context);
  const StreamOutcome zstd = ReadBytes(frame, "frame.zst");
  EXPECT_TRUE(zstd.error.has_value());
  EXPECT_EQ(zstd.content, "");
}

TEST(Compression, IsLookedThroughByNames) {
  EXPECT_EQ(WithoutCompression("a/b.txt.gz"), "a/b.txt");
  EXPECT_EQ(WithoutCompression("a/b.txt.zst"), "a/b.txt");
  EXPECT_EQ(WithoutCompression("a/b.txt.lz4"), "a/b.txt");
  EXPECT_EQ(WithoutCompression("a/b.txt"), "a/b.txt");
  EXPECT_EQ(WithoutCompression(".gz"), ".gz");
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Files of tokens: both forms, and all that can be wrong with them.
#include "operators/text/tokens/token_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "readers/support/text_file.h"
#include "tests/files/base64.h"
#include "tests/operators/text/texts.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TokenTable ReadTokens(const std::string& path, const std::string& vocabulary) {
  return ParseTokens(ReadTextFile(path, "file of tokens"), path, vocabulary);
}

int32_t IdOf(const TokenTable& tokens, const std::string& bytes) {
  const uint32_t token = tokens.Find(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return token == TokenTable::kNone ? -1 : tokens.id(token);
}

// A file in tiktoken's form in which line 257 is this.
std::string BytesAnd(const std::string& line) { return TiktokenFile({}) + line; }

TEST(TokenFiles, TiktokensFormHasRanks) {
  const TokenTable tokens =
      ParseTiktoken(BytesAnd("\r\n" + Base64("xyz") + " 9000\r\n\n" + Base64("xy") + " 300"), "f");
  EXPECT_EQ(tokens.size(), 258u);
  EXPECT_EQ(tokens.longest(), 3u);
  EXPECT_EQ(IdOf(tokens, "xyz"), 9000);
  EXPECT_EQ(IdOf(tokens, "xy"), 300);
  EXPECT_EQ(IdOf(tokens, std::string(1, '\0')), 0);
  EXPECT_EQ(IdOf(tokens, "zz"), -1);
  EXPECT_LT(tokens.Find(reinterpret_cast<const uint8_t*>("xy"), 2),
            tokens.Find(reinterpret_cast<const uint8_t*>("xyz"), 3));
}

TEST(TokenFiles, TiktokensFormIsChecked) {
  struct Case {
    std::string line, problem;
  };
  const std::vector<Case> cases = {
      {"YWI=", "line 257: 'YWI=' is no token: a line is the bytes of a token in base64"},
      {"YW= 300", "is no token"},
      {"YWI 300", "is no token"},
      {"Y=I= 300", "is no token"},
      {"YWJ= 300", "is no token"},  // bits that stand for nothing
      {"==== 300", "is no token"},
      {"YW\xc3\xa9 300", "is no token"},
      {" 300", "is no token"},
      {"YWI= ", "line 257: '' is no rank"},
      {"YWI= -1", "'-1' is no rank"},
      {"YWI= 3x", "'3x' is no rank"},
      {"YWI=  3", "' 3' is no rank"},
      {"YWI= 2147483648", "it is 0 to 2147483647"},
      {"YWI= 65", "line 257: the rank of line 66 stands here, too"},
      {"YQ== 300", "line 257: the token of line 98 stands here, too"},
  };
  for (const Case& one : cases) {
    ExpectError(ErrorCode::kDataLoss, one.problem,
                [&] { ParseTiktoken(BytesAnd(one.line + "\n"), "f"); });
  }
  ExpectError(ErrorCode::kResourceLimit, "line 257: a token of 4098 bytes; the limit is 4096",
              [] { ParseTiktoken(BytesAnd(Base64(std::string(4098, 'x')) + " 300"), "f"); });
  ExpectError(ErrorCode::kDataLoss, "f: line 255: the file ends, and no token is the byte 255",
              [] { ParseTiktoken(TiktokenFile({}).substr(0, TiktokenFile({}).size() - 9), "f"); });
  ExpectError(ErrorCode::kDataLoss, "no token is the byte 0", [] { ParseTiktoken("", "f"); });
}

TEST(TokenFiles, Gpt2sFormHasMerges) {
  // A space is written as the character 0x120, the byte 0 as 0x100.
  const TokenTable tokens =
      ParseMerges("#version: 0.2\nt h\r\nth e\n\u0120 the\n\u0100 \u00ff\n", "f");
  EXPECT_EQ(tokens.size(), 260u);
  EXPECT_EQ(IdOf(tokens, "!"), 0);
  EXPECT_EQ(IdOf(tokens, "\xff"), 187);
  EXPECT_EQ(IdOf(tokens, std::string(1, '\0')), 188);
  EXPECT_EQ(IdOf(tokens, " "), 220);
  EXPECT_EQ(IdOf(tokens, "\xad"), 255);
  EXPECT_EQ(IdOf(tokens, " the"), 258);
  EXPECT_EQ(IdOf(tokens, std::string("\0\xff", 2)), 259);
}

TEST(TokenFiles, Gpt2sFormIsChecked) {
  struct Case {
    std::string line, problem;
  };
  const std::vector<Case> cases = {
      {"th", "line 2: 'th' is no merge: a line is two tokens with a space between"},
      {"t h e", "is no merge"},
      {"t ", "'' is not written in GPT-2's alphabet"},
      {" h", "'' is not written in GPT-2's alphabet"},
      {"t \xc4", "is not written in GPT-2's alphabet"},
      {"t \xc4\x20", "is no merge"},
      {"t \xc4z", "'\\xc4z' is not written in GPT-2's alphabet"},
      {"t \xc4\xff", "is not written in GPT-2's alphabet"},
      {"t \xc1\xb4", "is not written in GPT-2's alphabet"},
      {"t \u0144", "is not written in GPT-2's alphabet"},
      {"t \u00ad", "is not written in GPT-2's alphabet"},
      {"t \u4e2d", "is not written in GPT-2's alphabet"},
      {"th e", "line 2: 'th' is no token of an earlier line"},
  };
  for (const Case& one : cases) {
    ExpectError(ErrorCode::kDataLoss, one.problem,
                [&] { ParseMerges("#version: 0.2\n" + one.line + "\n", "f"); });
  }
  ExpectError(ErrorCode::kDataLoss, "f: line 5: 'a bc' makes a token that an earlier line has made",
              [] { ParseMerges("#version\na b\nb c\nab c\na bc\n", "f"); });
  ExpectError(ErrorCode::kDataLoss, "begins with a line '#version: ...'",
              [] { ParseMerges("t h\n", "f"); });
  ExpectError(ErrorCode::kDataLoss, "begins with a line '#version: ...'",
              [] { ParseMerges("", "f"); });
}

// A JSON object with the bytes, of which byte b has the id 1000 + b, and more.
std::string Ids(const std::string& more) {
  std::string json = "{";
  for (int byte = 0; byte < 256; ++byte) {
    const TokenTable tokens = ParseMerges("#version", "f");
    const auto number =
        static_cast<uint32_t>(IdOf(tokens, std::string(1, static_cast<char>(byte))));
    const uint32_t point = number < 188 ? static_cast<uint32_t>(byte) : 256 + number - 188;
    const std::string key = point == '"' || point == '\\' ? "\\" + Utf8(point) : Utf8(point);
    json += StrCat("\"", key, "\": ", 1000 + byte, ", ");
  }
  return json + more + "}";
}

TEST(TokenFiles, Gpt2sVocabularyGivesIds) {
  const TokenTable merges = ParseMerges("#version\nt h\n", "f");
  const TokenTable tokens = WithIds(merges, Ids("\"th\": 7, \"<|endoftext|>\": 50256"), "v");
  EXPECT_EQ(tokens.size(), 257u);
  EXPECT_EQ(IdOf(tokens, "th"), 7);
  EXPECT_EQ(IdOf(tokens, " "), 1032);
  EXPECT_EQ(IdOf(tokens, "<|endoftext|>"), -1);
}

TEST(TokenFiles, Gpt2sVocabularyIsChecked) {
  const TokenTable merges = ParseMerges("#version\nt h\n", "f");
  struct Case {
    std::string json, problem;
  };
  const std::vector<Case> cases = {
      {"[1]", "it is no JSON object of tokens and ids"},
      {"{", "it is no JSON object of tokens and ids"},
      {Ids("\"\xc4z\": 1"), "it is no JSON object"},  // a damaged second byte of UTF-8
      {Ids("\"t h\": 1"), "the token 't h' is not written in GPT-2's alphabet"},
      {Ids("\"th\": -1"), "the id of the token 'th' is no number from 0 to 2147483647"},
      {Ids("\"th\": 1.5"), "is no number from 0"},
      {Ids("\"th\": \"7\""), "is no number from 0"},
      {Ids("\"th\": 2147483648"), "is no number from 0"},
      {Ids("\"th\": 1, \"th\": 2"), "the token 'th' stands in it twice"},
      {Ids("\"th\": 1000"), "two tokens have the id 1000"},
      {Ids("\"xx\": 1"), "it has no id for token 256 of the merges, the bytes 'th'"},
  };
  for (const Case& one : cases) {
    ExpectError(ErrorCode::kDataLoss, one.problem, [&] { WithIds(merges, one.json, "v"); });
  }
}

TEST(TokenFiles, AreToldApartByTheirFirstLine) {
  const TempFile ranks("ranks.tiktoken", TiktokenFile({"th"}));
  const TempFile merges("merges.txt", "#version: 0.2\nt h\n");
  const TempFile vocabulary("vocab.json", Ids("\"th\": 7"));
  EXPECT_EQ(IdOf(ReadTokens(ranks.path(), ""), "th"), 256);
  EXPECT_EQ(IdOf(ReadTokens(merges.path(), ""), "th"), 256);
  EXPECT_EQ(IdOf(ReadTokens(merges.path(), vocabulary.path()), "th"), 7);
  ExpectError(ErrorCode::kInvalidArgument, "is for a file of merges",
              [&] { ReadTokens(ranks.path(), vocabulary.path()); });
  ExpectError(ErrorCode::kIo, "missing", [] { ReadTokens(TempName("missing"), ""); });
}

TEST(TokenFiles, MayBeginWithEmptyLines) {
  const TempFile ranks("ranks.tiktoken", "\n\r\n" + TiktokenFile({"th"}));
  const TempFile merges("merges.txt", "\r\n\n#version: 0.2\nt h\n");
  EXPECT_EQ(IdOf(ReadTokens(ranks.path(), ""), "th"), 256);
  EXPECT_EQ(IdOf(ReadTokens(merges.path(), ""), "th"), 256);
}

TEST(TokenFiles, EndLinesAtCrAlone) {
  std::string text = TiktokenFile({"th"});
  std::replace(text.begin(), text.end(), '\n', '\r');
  const TempFile ranks("ranks.tiktoken", text);
  const TempFile merges("merges.txt", "#version: 0.2\rt h\rth e\r");
  EXPECT_EQ(IdOf(ReadTokens(ranks.path(), ""), "th"), 256);
  EXPECT_EQ(IdOf(ReadTokens(merges.path(), ""), "the"), 257);
}

TEST(TokenFiles, MayNotBeginWithAByteOrderMark) {
  for (const std::string& text : {TiktokenFile({}), std::string("#version: 0.2\nt h\n")}) {
    const TempFile file("marked", "\xef\xbb\xbf" + text);
    ExpectError(ErrorCode::kDataLoss,
                "line 1: the file begins with a byte order mark (the bytes EF BB BF)",
                [&] { ReadTokens(file.path(), ""); });
  }
}

// Any single damaged byte is an error, or another vocabulary with all bytes in it.
TEST(TokenFiles, DamageIsNoCrash) {
  for (const std::string& whole :
       {TiktokenFile({"th", "the"}), std::string("#version: 0.2\nt h\nth e\n\u0120 the\n")}) {
    for (size_t i = 0; i < whole.size(); ++i) {
      for (const int bit : {0, 1, 4, 6, 7}) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
        try {
          const TokenTable tokens =
              whole[0] == '#' ? ParseMerges(damaged, "f") : ParseTiktoken(damaged, "f");
          EXPECT_GE(tokens.size(), 256u);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
          EXPECT_EQ(error.file(), "f") << error.what();
        }
      }
    }
  }
}

}  // namespace
}  // namespace millhopper

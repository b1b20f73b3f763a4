// SPDX-License-Identifier: Apache-2.0
// Byte pair encoding, compared with the rule as it is written.
#include "operators/text/tokens/byte_pairs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "framework/base/stop.h"
#include "operators/text/tokens/token_files.h"
#include "tests/operators/text/texts.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Ranks = std::map<std::string, int32_t>;

// Tokens of random merges over a few letters, so that many pairs compete; some tokens cannot be
// made by merges.
std::vector<std::string> RandomTokens(std::mt19937_64* random, size_t count) {
  std::vector<std::string> parts = {"a", "b", "c", " ", "\xc3", "\xa9"};
  std::set<std::string> seen(parts.begin(), parts.end());
  std::vector<std::string> tokens;
  while (tokens.size() < count) {
    std::string token = parts[(*random)() % parts.size()] + parts[(*random)() % parts.size()];
    if ((*random)() % 16 == 0) token += "ab";
    if (token.size() > 40 || !seen.insert(token).second) continue;
    parts.push_back(token);
    tokens.push_back(token);
  }
  return tokens;
}

Ranks RanksOf(const std::vector<std::string>& tokens) {
  Ranks ranks;
  for (int byte = 0; byte < 256; ++byte) ranks[std::string(1, static_cast<char>(byte))] = byte;
  for (const std::string& token : tokens) ranks.emplace(token, static_cast<int32_t>(ranks.size()));
  return ranks;
}

std::vector<int32_t> Expected(const Ranks& ranks, const std::string& piece) {
  const auto whole = ranks.find(piece);
  if (whole != ranks.end()) return {whole->second};
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  for (;;) {
    size_t best = SIZE_MAX;
    int32_t lowest = INT32_MAX;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find(parts[i] + parts[i + 1]);
      if (found == ranks.end() || found->second >= lowest) continue;
      best = i;
      lowest = found->second;
    }
    if (best == SIZE_MAX) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
  std::vector<int32_t> ids;
  ids.reserve(parts.size());
  for (const std::string& part : parts) ids.push_back(ranks.at(part));
  return ids;
}

std::vector<int32_t> Encode(const BytePairEncoder& encoder, PiecePattern pattern,
                            const std::string& text) {
  std::vector<int32_t> ids(text.size());
  ids.resize(encoder.Encode(pattern, reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                            ids.data()));
  return ids;
}

std::string Letters(std::mt19937_64* random, size_t size) {
  const char* const kLetters[] = {"a", "b", "c", " ", "\xc3\xa9", "\xff"};
  std::string text;
  while (text.size() < size) text += kLetters[(*random)() % 6];
  return text;
}

TEST(BytePairs, MergeTheLowestRankFirst) {
  std::mt19937_64 random(2);
  for (int vocabulary = 0; vocabulary < 20; ++vocabulary) {
    const std::vector<std::string> tokens = RandomTokens(&random, 5 + 10 * vocabulary);
    const Ranks ranks = RanksOf(tokens);
    const BytePairEncoder encoder(ParseTiktoken(TiktokenFile(tokens), "tokens"));
    for (size_t size = 0; size < 300; ++size) {
      const std::string text = Letters(&random, size);
      ASSERT_EQ(Encode(encoder, PiecePattern::kNone, text), Expected(ranks, text)) << Escaped(text);
    }
  }
}

TEST(BytePairs, OfTextAreThoseOfItsPieces) {
  std::mt19937_64 random(3);
  const std::vector<std::string> tokens = RandomTokens(&random, 200);
  const Ranks ranks = RanksOf(tokens);
  const BytePairEncoder encoder(ParseTiktoken(TiktokenFile(tokens), "tokens"));
  for (int i = 0; i < 3000; ++i) {
    const std::string text = RandomText(&random, 20, false) + Letters(&random, 50);
    for (const auto& [pattern, end_of_piece] :
         {std::pair(PiecePattern::kGpt2, &EndOfGpt2Piece),
          std::pair(PiecePattern::kCl100k, &EndOfCl100kPiece)}) {
      std::vector<int32_t> expected;
      const auto* here = reinterpret_cast<const uint8_t*>(text.data());
      for (const auto* const end = here + text.size(); here != end;) {
        const uint8_t* const next = end_of_piece(here, end);
        const std::vector<int32_t> ids = Expected(ranks, std::string(here, next));
        expected.insert(expected.end(), ids.begin(), ids.end());
        here = next;
      }
      ASSERT_EQ(Encode(encoder, pattern, text), expected) << Escaped(text);
    }
  }
}

// A piece of a million bytes, of which every pair can be merged, takes a moment, not hours.
TEST(BytePairs, OfALongPieceAreFound) {
  const std::vector<std::string> tokens = {"aa", "aaaa", "aaaaaaaa"};
  const BytePairEncoder encoder(ParseTiktoken(TiktokenFile(tokens), "tokens"));
  const std::vector<int32_t> ids = Encode(encoder, PiecePattern::kGpt2, std::string(1000004, 'a'));
  ASSERT_EQ(ids.size(), 125001u);
  EXPECT_EQ(ids.front(), 258);
  EXPECT_EQ(ids.back(), 257);
}

TEST(BytePairs, OfALongPieceTakeNoMemoryBeyondTheLimit) {
  const BytePairEncoder encoder(ParseTiktoken(TiktokenFile({"ab"}), "tokens"));
  const std::string text(1 << 20, 'a');
  const LimitInForce limit(size_t{24} << 20);
  ExpectError(ErrorCode::kResourceLimit, "memory",
              [&] { Encode(encoder, PiecePattern::kNone, text); });
  EXPECT_EQ(Encode(encoder, PiecePattern::kNone, text.substr(0, 1 << 18)).size(), 1u << 18);
}

TEST(BytePairs, AreNotLookedForOnceAStopIsRequested) {
  const BytePairEncoder encoder(ParseTiktoken(TiktokenFile({"ab"}), "tokens"));
  RequestStop();
  for (const PiecePattern pattern : {PiecePattern::kNone, PiecePattern::kGpt2}) {
    ExpectError(ErrorCode::kCancelled, "stopped",
                [&] { Encode(encoder, pattern, std::string(1000, 'a')); });
  }
  ClearStop();
}

TEST(BytePairs, OfTwoVocabulariesAreNotMixedUp) {
  const BytePairEncoder one(ParseTiktoken(TiktokenFile({"ab", "cd"}), "tokens"));
  const BytePairEncoder other(ParseTiktoken(TiktokenFile({"cd", "ab"}), "tokens"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Encode(one, PiecePattern::kNone, "abc"), (std::vector<int32_t>{256, 'c'}));
    EXPECT_EQ(Encode(other, PiecePattern::kNone, "abc"), (std::vector<int32_t>{257, 'c'}));
  }
}

TEST(BytePairs, AreTheSameOnAllThreads) {
  std::mt19937_64 random(4);
  const BytePairEncoder encoder(ParseTiktoken(TiktokenFile(RandomTokens(&random, 200)), "tokens"));
  const std::string text = Letters(&random, 20000);
  const std::vector<int32_t> expected = Encode(encoder, PiecePattern::kGpt2, text);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        EXPECT_EQ(Encode(encoder, PiecePattern::kGpt2, text), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace millhopper

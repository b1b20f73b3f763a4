// SPDX-License-Identifier: Apache-2.0
// The operator create_pack_reader.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/reader/file_reader.h"
#include "readers/gather/pack_reader.h"
#include "tests/fakes/documents.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// A packed row as the tests write it.
struct Row {
  std::vector<int64_t> tokens;
  std::vector<int32_t> ids;
  std::vector<int32_t> positions;
  bool operator==(const Row& other) const {
    return tokens == other.tokens && ids == other.ids && positions == other.positions;
  }
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << testing::PrintToString(row.tokens) << testing::PrintToString(row.ids)
       << testing::PrintToString(row.positions);
}

std::vector<Row> Packed(const std::vector<std::vector<int64_t>>& documents,
                        const AttributeTexts& attributes) {
  ProgramRunner runner;
  runner.Reader("source").Reset(MakeDocuments(documents));
  runner.Startup(DecoratorProgram("create_pack_reader", attributes));
  std::vector<Row> rows;
  std::vector<LoDTensor> element;
  const std::unique_ptr<ReaderBase> reader = runner.Reader("out").NewHandle();
  while (reader->HasNext()) {
    reader->ReadNext(&element);
    rows.push_back({ValuesOf<int64_t>(element[0]), ValuesOf<int32_t>(element[1]),
                    ValuesOf<int32_t>(element[2])});
  }
  return rows;
}

const std::vector<std::vector<int64_t>> kDocuments = {{1, 2, 3}, {4, 5, 6}, {7}, {}, {8, 9}};

TEST(CreatePackReaderOp, FirstFitTakesTheOldestRowWithRoom) {
  const std::vector<Row> expected = {{{1, 2, 3, 7, -1}, {1, 1, 1, 2, 0}, {0, 1, 2, 0, 0}},
                                     {{4, 5, 6, 8, 9}, {1, 1, 1, 2, 2}, {0, 1, 2, 0, 1}}};
  std::vector<Row> rows = Packed(kDocuments, {{"length", "i: 5"}, {"pad_values", "float64s: -1"}});
  // The second row is full before the pass ends.
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0], expected[1]);
  EXPECT_EQ(rows[1], expected[0]);
}

TEST(CreatePackReaderOp, BestFitTakesTheRowThatItLeavesLeastRoomIn) {
  const std::vector<Row> expected = {{{3, 3, 3, 3, 2, 2}, {1, 1, 1, 1, 2, 2}, {0, 1, 2, 3, 0, 1}},
                                     {{1, 1, 1, 4, 0, 0}, {1, 1, 1, 2, 0, 0}, {0, 1, 2, 0, 0, 0}}};
  EXPECT_EQ(Packed({{1, 1, 1}, {3, 3, 3, 3}, {2, 2}, {4}},
                   {{"length", "i: 6"}, {"method", "s: \"best_fit\""}}),
            expected);
}

TEST(CreatePackReaderOp, ConcatThenSplitCutsTheStream) {
  const std::vector<Row> expected = {{{1, 2, 3, 4}, {1, 1, 1, 2}, {0, 1, 2, 0}},
                                     {{5, 6, 7, 8}, {1, 1, 2, 3}, {0, 1, 0, 0}},
                                     {{9, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 0}}};
  EXPECT_EQ(Packed(kDocuments, {{"length", "i: 4"}, {"method", "s: \"concat_then_split\""}}),
            expected);
}

TEST(CreatePackReaderOp, YieldsTheFullestRowWhereNoneHasRoom) {
  const std::vector<Row> expected = {{{2, 2, 2, 0}, {1, 1, 1, 0}, {0, 1, 2, 0}},
                                     {{1, 1, 4, 4}, {1, 1, 2, 2}, {0, 1, 0, 1}},
                                     {{3, 3, 3, 0}, {1, 1, 1, 0}, {0, 1, 2, 0}}};
  EXPECT_EQ(Packed({{1, 1}, {2, 2, 2}, {3, 3, 3}, {4, 4}}, {{"length", "i: 4"}, {"bins", "i: 2"}}),
            expected);
}

TEST(CreatePackReaderOp, TreatsLongDocumentsAsTold) {
  const std::vector<std::vector<int64_t>> documents = {{1}, {2, 3, 4, 5, 6, 7, 8}, {9}};
  ExpectError(ErrorCode::kDataLoss, "a document of 7 steps is longer than a row of 3", [&] {
    Packed(documents, {{"length", "i: 3"}});
  });
  EXPECT_EQ(
      Packed(documents, {{"length", "i: 3"}, {"overlong", "s: \"truncate\""}}),
      (std::vector<Row>{{{2, 3, 4}, {1, 1, 1}, {0, 1, 2}}, {{1, 9, 0}, {1, 2, 0}, {0, 0, 0}}}));
  EXPECT_EQ(Packed(documents, {{"length", "i: 3"}, {"overlong", "s: \"split\""}}),
            (std::vector<Row>{{{2, 3, 4}, {1, 1, 1}, {0, 1, 2}},
                              {{5, 6, 7}, {1, 1, 1}, {0, 1, 2}},
                              {{1, 8, 9}, {1, 2, 3}, {0, 0, 0}}}));
}

// Tokens, and what follows each of them.
using Labelled = std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>;

Labelled PackedWithLabels(const std::vector<std::vector<int64_t>>& documents,
                          AttributeTexts attributes) {
  ProgramRunner runner;
  runner.Reader("source").Reset(MakeDocuments(documents));
  attributes.emplace_back("labels", "float64s: -100");
  runner.Startup(DecoratorProgram("create_pack_reader", attributes));
  Labelled rows;
  std::vector<LoDTensor> element;
  const std::unique_ptr<ReaderBase> reader = runner.Reader("out").NewHandle();
  EXPECT_EQ(reader->slots().size(), 4u);
  while (reader->HasNext()) {
    reader->ReadNext(&element);
    EXPECT_EQ(element[1].dims(), element[0].dims());
    EXPECT_EQ(ValuesOf<int32_t>(element[2])[0], 1);
    EXPECT_EQ(ValuesOf<int32_t>(element[3])[0], 0);
    rows.emplace_back(ValuesOf<int64_t>(element[0]), ValuesOf<int64_t>(element[1]));
  }
  return rows;
}

TEST(CreatePackReaderOp, LabelsAreTheNextTokensOfTheSameDocument) {
  EXPECT_EQ(PackedWithLabels(kDocuments, {{"length", "i: 5"}}),
            (Labelled{{{4, 5, 6, 8, 9}, {5, 6, -100, 9, -100}},
                      {{1, 2, 3, 7, 0}, {2, 3, -100, -100, -100}}}));
  // Where a document goes on in the next row, the label is there already.
  EXPECT_EQ(
      PackedWithLabels(kDocuments, {{"length", "i: 4"}, {"method", "s: \"concat_then_split\""}}),
      (Labelled{{{1, 2, 3, 4}, {2, 3, -100, 5}},
                {{5, 6, 7, 8}, {6, -100, -100, 9}},
                {{9, 0, 0, 0}, {-100, -100, -100, -100}}}));
  EXPECT_EQ(PackedWithLabels({{1, 2, 3, 4, 5}}, {{"length", "i: 2"}, {"overlong", "s: \"split\""}}),
            (Labelled{{{1, 2}, {2, 3}}, {{3, 4}, {4, 5}}, {{5, 0}, {-100, -100}}}));
}

TEST(CreatePackReaderOp, AnErrorComesBehindTheRowsBeforeIt) {
  ProgramRunner runner;
  runner.Reader("source").Reset(MakeDocuments({{1, 2}, {3, 4, 5}, {6}}));
  runner.Startup(DecoratorProgram("create_pack_reader", {{"length", "i: 2"}}));
  std::vector<LoDTensor> element;
  runner.Reader("out").ReadNext(&element);
  EXPECT_EQ(ValuesOf<int64_t>(element[0]), (std::vector<int64_t>{1, 2}));
  ExpectError(ErrorCode::kDataLoss, "while processing element 1 in reader 'out'",
              [&] { runner.Reader("out").HasNext(); });
}

TEST(CreatePackReaderOp, RefusesWhatCannotBePacked) {
  ProgramRunner runner;
  runner.Reader("source").Reset(MakeDocuments({{1}}));
  runner.ExpectProblem(DecoratorProgram("create_pack_reader", {{"length", "i: 0"}}),
                       "it must be at least 1");
  ExpectError(ErrorCode::kInvalidArgument, "the padding value 0.5 is no int64", [&] {
    runner.Startup(DecoratorProgram("create_pack_reader",
                                    {{"length", "i: 4"}, {"pad_values", "float64s: 0.5"}}));
  });
  ExpectError(ErrorCode::kInvalidArgument, "labels is 0.5, and labels are int64, as the tokens",
              [&] {
                runner.Startup(DecoratorProgram("create_pack_reader",
                                                {{"length", "i: 4"}, {"labels", "float64s: 0.5"}}));
              });
  runner.ExpectProblem(
      DecoratorProgram("create_pack_reader",
                       {{"length", "i: 4"}, {"labels", "float64s: -1 float64s: -2"}}),
      "attribute 'labels' has 2 values; it may have one");
}

// ---- Rows of real text, and of many lengths, against a plain implementation. ----

std::unique_ptr<ReaderBase> PackedReader(const std::vector<std::vector<int64_t>>& documents,
                                         PackMethod method, int64_t length, int64_t bins) {
  PackOptions options;
  options.length = length;
  options.method = method;
  options.bins = bins;
  options.overlong = Overlong::kSplit;
  return std::make_unique<PackReader>(MakeDocuments(documents), options);
}

// The number of rows of the plain way to pack: first fit into a few rows, all of which are yielded
// when a document fits into none of them.
int64_t PlainRows(const std::vector<std::vector<int64_t>>& documents, int64_t length, size_t bins) {
  int64_t rows = 0;
  std::vector<int64_t> used;
  for (const auto& document : documents) {
    auto left = static_cast<int64_t>(document.size());
    for (; left > length; left -= length) ++rows;
    if (left == 0) continue;
    const auto fits = [&](int64_t of) { return of + left <= length; };
    auto row = std::find_if(used.begin(), used.end(), fits);
    if (row == used.end()) {
      if (used.size() == bins) {
        rows += static_cast<int64_t>(used.size());
        used.clear();
      }
      used.push_back(left);
    } else {
      *row += left;
    }
  }
  return rows + static_cast<int64_t>(used.size());
}

// The documents that the rows hold, in the order of their first value; each is one run of an id.
std::vector<std::vector<int64_t>> Unpacked(ReaderBase* reader, int64_t* rows) {
  std::vector<std::vector<int64_t>> documents;
  std::vector<LoDTensor> element;
  for (*rows = 0; reader->HasNext(); ++*rows) {
    reader->ReadNext(&element);
    const auto tokens = ValuesOf<int64_t>(element[0]);
    const auto ids = ValuesOf<int32_t>(element[1]);
    const auto positions = ValuesOf<int32_t>(element[2]);
    for (size_t i = 0; i < tokens.size() && ids[i] > 0; ++i) {
      if (positions[i] == 0) documents.emplace_back();
      EXPECT_EQ(documents.back().size(), static_cast<size_t>(positions[i]));
      documents.back().push_back(tokens[i]);
    }
  }
  return documents;
}

void ExpectNothingLostAndFullRows(const std::vector<std::vector<int64_t>>& documents,
                                  int64_t length, int64_t bins, const std::string& name) {
  std::vector<std::vector<int64_t>> pieces;
  size_t tokens = 0;
  for (const auto& document : documents) {
    tokens += document.size();
    for (size_t first = 0; first < document.size(); first += static_cast<size_t>(length)) {
      const size_t end = std::min(document.size(), first + static_cast<size_t>(length));
      pieces.emplace_back(document.begin() + static_cast<std::ptrdiff_t>(first),
                          document.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  std::sort(pieces.begin(), pieces.end());
  const int64_t plain = PlainRows(documents, length, static_cast<size_t>(bins));
  for (const PackMethod method : {PackMethod::kFirstFit, PackMethod::kBestFit}) {
    int64_t rows = 0;
    auto unpacked = Unpacked(PackedReader(documents, method, length, bins).get(), &rows);
    std::sort(unpacked.begin(), unpacked.end());
    EXPECT_EQ(unpacked, pieces);
    EXPECT_LE(rows, plain);
    const auto fill = [&](int64_t of) {
      return static_cast<double>(tokens) / static_cast<double>(of * length);
    };
    std::cout << name << ", " << (method == PackMethod::kFirstFit ? "first fit" : "best fit")
              << ", " << bins << " bins: " << fill(rows) << " full; plain: " << fill(plain) << "\n";
  }
  int64_t rows = 0;
  std::vector<int64_t> all, read;
  for (const auto& document : documents) all.insert(all.end(), document.begin(), document.end());
  for (const auto& piece :
       Unpacked(PackedReader(documents, PackMethod::kConcatThenSplit, length, bins).get(), &rows)) {
    read.insert(read.end(), piece.begin(), piece.end());
  }
  EXPECT_EQ(read, all);
  EXPECT_EQ(rows, (static_cast<int64_t>(tokens) + length - 1) / length);
}

TEST(CreatePackReaderOp, PacksTextFullyAndLosesNothing) {
  if (TestData().empty()) GTEST_SKIP() << kNoTestData;
  std::vector<std::vector<int64_t>> documents(1);
  for (const char c : ReadFile(TestData() + "/text/input.txt")) {
    if (c == '\n') {
      documents.emplace_back();
    } else {
      documents.back().push_back(static_cast<unsigned char>(c));
    }
  }
  for (const int64_t bins : {1, 8, 64}) {
    ExpectNothingLostAndFullRows(documents, 128, bins, "lines");
  }
}

TEST(CreatePackReaderOp, PacksDocumentsOfManyLengths) {
  std::vector<std::vector<int64_t>> documents;
  uint64_t bits = 7;
  for (int64_t i = 0; i < 3000; ++i) {
    bits = bits * 6364136223846793005 + 1442695040888963407;
    documents.emplace_back((bits >> 33) % 300, i);
  }
  for (const int64_t bins : {1, 16}) {
    ExpectNothingLostAndFullRows(documents, 256, bins, "many lengths");
  }
}

TEST(CreatePackReaderOp, YieldsTheSameWithAnyNumberOfThreads) {
  std::vector<std::vector<int64_t>> documents;
  for (int64_t i = 0; i < 500; ++i) documents.emplace_back(i * i % 41, i);
  std::string digest;
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize size(threads);
    const auto reader = PackedReader(documents, PackMethod::kBestFit, 32, 5);
    const std::string read = DigestOf(ReadAll(reader.get()));
    if (digest.empty()) digest = read;
    EXPECT_EQ(read, digest) << threads << " threads";
  }
}

}  // namespace
}  // namespace millhopper

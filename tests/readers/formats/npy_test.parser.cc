// SPDX-License-Identifier: Apache-2.0
// numpy's arrays: every dtype, both orders, headers that lie, and the real files with known truth.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/reader/file_reader.h"
#include "readers/decorate/shard_reader.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/files/compressed.h"
#include "tests/files/npy_files.h"
#include "tests/testing.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Reader(const std::string& path,
                                   BufferType buffer_type = BufferType::kMemory) {
  FormatArguments arguments;
  arguments.buffer_type = buffer_type;
  return OpenFile(*FindFileFormat("npy"), path, "", arguments);
}

std::vector<ElementValue> ElementsIn(const std::string& content,
                                     const std::string& name = "a.npy") {
  const TempFile file(name, content);
  return ReadAll(Reader(file.path()).get());
}

std::string BytesOf(const std::vector<ElementValue>& elements) {
  std::string bytes;
  for (const ElementValue& element : elements) bytes += element[0].bytes;
  return bytes;
}

template <typename T>
std::string Raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// The values with the bytes of each in the other order.
std::string Swapped(std::string bytes, size_t size) {
  for (size_t i = 0; i < bytes.size(); i += size) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + size));
  }
  return bytes;
}

// The same array of rows in Fortran order.
std::string InFortranOrder(const std::string& rows, size_t n, const std::vector<size_t>& axes,
                           size_t size) {
  size_t row = 1;
  for (const size_t axis : axes) row *= axis;
  std::string out(rows.size(), '\0');
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < row; ++k) {
      size_t rest = k, place = 0;
      std::vector<size_t> index(axes.size());
      for (size_t axis = axes.size(); axis-- > 0; rest /= axes[axis]) {
        index[axis] = rest % axes[axis];
      }
      for (size_t axis = axes.size(); axis-- > 0;) place = place * axes[axis] + index[axis];
      std::memcpy(&out[(i + n * place) * size], &rows[(i * row + k) * size], size);
    }
  }
  return out;
}

TEST(Npy, ARecordIsARow) {
  const std::string values = Raw<float>({1, 2, 3, 4, 5, 6});
  const std::vector<ElementValue> rows = ElementsIn(Npy("<f4", "(2, 3)", values));
  EXPECT_EQ(rows,
            (std::vector<ElementValue>{{{DataType::kFp32, {1, 3}, {}, Raw<float>({1, 2, 3})}},
                                       {{DataType::kFp32, {1, 3}, {}, Raw<float>({4, 5, 6})}}}));
  EXPECT_EQ(ElementsIn(Npy("<f4", "(6,)", values))[5][0],
            (SlotValue{DataType::kFp32, {1}, {}, Raw<float>({6})}));
  EXPECT_EQ(ElementsIn(Npy("|u1", "()", "x")),
            (std::vector<ElementValue>{{{DataType::kUint8, {1}, {}, "x"}}}));
  EXPECT_EQ(ElementsIn(Npy("<f4", "(0, 3)", "")), std::vector<ElementValue>{});
}

TEST(Npy, HasEveryPlainTypeInBothByteOrders) {
  const struct {
    const char* kind;
    size_t bytes;
    DataType dtype;
    std::string stored, loaded;
    std::vector<int64_t> dims;
  } kinds[] = {
      {"b1", 1, DataType::kBool, FromHex("0100"), FromHex("0100"), {1}},
      {"i1", 1, DataType::kInt8, FromHex("80ff"), FromHex("80ff"), {1}},
      {"u1", 1, DataType::kUint8, FromHex("80ff"), FromHex("80ff"), {1}},
      {"i2", 2, DataType::kInt16, Raw<int16_t>({-2, 700}), Raw<int16_t>({-2, 700}), {1}},
      {"i4", 4, DataType::kInt32, Raw<int32_t>({-2, 1 << 30}), Raw<int32_t>({-2, 1 << 30}), {1}},
      {"i8", 8, DataType::kInt64, Raw<int64_t>({-2, 9}), Raw<int64_t>({-2, 9}), {1}},
      {"u2", 2, DataType::kUint16, Raw<uint16_t>({65535, 7}), Raw<uint16_t>({65535, 7}), {1}},
      {"u4", 4, DataType::kUint32, Raw<uint32_t>({~0U, 7}), Raw<uint32_t>({~0U, 7}), {1}},
      {"u8", 8, DataType::kUint64, Raw<uint64_t>({~0UL, 7}), Raw<uint64_t>({~0UL, 7}), {1}},
      {"f2", 2, DataType::kFp16, FromHex("003c00c0"), FromHex("003c00c0"), {1}},
      {"f4", 4, DataType::kFp32, Raw<float>({-1.5F, 3}), Raw<float>({-1.5F, 3}), {1}},
      {"f8", 8, DataType::kFp64, Raw<double>({-1.5, 3}), Raw<double>({-1.5, 3}), {1}},
      {"c8", 4, DataType::kFp32, Raw<float>({1, 2, 3, 4}), Raw<float>({1, 2, 3, 4}), {1, 2}},
      {"c16", 8, DataType::kFp64, Raw<double>({1, 2, 3, 4}), Raw<double>({1, 2, 3, 4}), {1, 2}},
  };
  for (const auto& kind : kinds) {
    for (const char order : kind.bytes == 1 ? std::string("|<>") : std::string("<>")) {
      const std::string descr = order + std::string(kind.kind);
      const std::string stored = order == '>' ? Swapped(kind.stored, kind.bytes) : kind.stored;
      const std::vector<ElementValue> rows = ElementsIn(Npy(descr, "(2,)", stored));
      ASSERT_EQ(rows.size(), 2u) << descr;
      EXPECT_EQ(rows[1][0].dtype, kind.dtype) << descr;
      EXPECT_EQ(rows[1][0].dims, kind.dims) << descr;
      EXPECT_EQ(BytesOf(rows), kind.loaded) << descr;
    }
  }
}

TEST(Npy, TextIsItsBytesOrCodePoints) {
  const std::vector<ElementValue> bytes = ElementsIn(Npy("|S3", "(2,)", std::string("abcde\0", 6)));
  EXPECT_EQ(bytes[1][0], (SlotValue{DataType::kUint8, {1, 3}, {}, std::string("de\0", 3)}));
  const std::string points = Raw<int32_t>({'a', 0x1f600, 'b', 0, 'c', 0, 'd', 'e'});
  const std::vector<ElementValue> rows = ElementsIn(Npy("<U2", "(2, 2)", points));
  EXPECT_EQ(rows[0][0].dims, (std::vector<int64_t>{1, 2, 2}));
  EXPECT_EQ(BytesOf(rows), points);
  EXPECT_EQ(ElementsIn(Npy(">U2", "(2, 2)", Swapped(points, 4))), rows);
  const std::string columns =
      points.substr(0, 8) + points.substr(16, 8) + points.substr(8, 8) + points.substr(24, 8);
  EXPECT_EQ(ElementsIn(Npy("<U2", "(2, 2)", columns, true)), rows);
  EXPECT_EQ(BytesOf(ElementsIn(Npy("|S3", "(2, 2)", "abcghidefjkl", true))), "abcdefghijkl");
}

// Pieces near each other, which are read together, and far from each other, which are not.
TEST(Npy, GathersTheRowsOfFortranOrder) {
  const std::vector<size_t> axes = {3, 2, 5};
  for (const size_t n : {size_t{1}, size_t{2}, size_t{7}, size_t{3000}, size_t{40000}}) {
    for (const size_t size : {size_t{1}, size_t{2}, size_t{4}, size_t{8}}) {
      const std::string rows = Sample(n * 30 * size);
      const std::string descr = StrCat(size == 1 ? "|u" : "<i", size);
      const std::string shape = StrCat("(", n, ", 3, 2, 5)");
      const std::string content = Npy(descr, shape, InFortranOrder(rows, n, axes, size), true);
      const std::vector<ElementValue> model = ElementsIn(Npy(descr, shape, rows));
      for (const int threads : {0, 2}) {
        const PoolSize pool(threads);
        EXPECT_TRUE(ElementsIn(content) == model) << n << " of " << size;
      }
      EXPECT_TRUE(ElementsIn(Zstd(content), "a.npy.zst") == model) << n << " of " << size;
    }
  }
  EXPECT_EQ(BytesOf(ElementsIn(
                Npy(">c8", "(2, 2)", Swapped(Raw<float>({1, 2, 5, 6, 3, 4, 7, 8}), 4), true))),
            Raw<float>({1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Npy, IsReadInEveryWay) {
  const std::string rows = Sample(size_t{5000} * 1024);
  const std::string content = Npy("|u1", "(5000, 1024)", rows);
  const TempFile file("a.npy", content);
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize pool(threads);
    EXPECT_TRUE(BytesOf(ReadAll(Reader(file.path()).get())) == rows);
    EXPECT_TRUE(BytesOf(ReadAll(Reader(file.path(), BufferType::kMmap).get())) == rows);
  }
  EXPECT_TRUE(BytesOf(ElementsIn(Gzipped(content), "a.npy.gz")) == rows);
  EXPECT_TRUE(BytesOf(ElementsIn(Zstd(content), "a.npy.zst")) == rows);
  EXPECT_TRUE(BytesOf(ElementsIn(Lz4(content), "a.npy.lz4")) == rows);
  EXPECT_EQ(Reader(file.path())->PassLength(), 5000u);
  size_t shared = 0;
  for (int64_t shard = 0; shard < 2; ++shard) {
    ShardReader reader(Reader(file.path()), 2, shard, ShardBy::kChunk);
    const size_t some = ReadAll(&reader).size();
    EXPECT_LT(some, 5000u);
    shared += some;
  }
  EXPECT_EQ(shared, 5000u);
}

TEST(Npy, KnowsTheHeadersOfOtherWriters) {
  for (const std::string dictionary : {"{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }",
                                       "{\"shape\":(3,),\"fortran_order\":False,\"descr\":\"<i2\"}",
                                       "{'shape': (3L,), 'fortran_order': True, 'descr': '<i2'}"}) {
    for (const int version : {1, 2, 3}) {
      EXPECT_EQ(ElementsIn(NpyOf(dictionary, "aabbcc", version)).size(), 3u) << dictionary;
    }
  }
}

// ---- Errors. ----

void ExpectProblem(const std::string& content, const std::string& words,
                   const std::string& name = "a.npy") {
  try {
    ElementsIn(content, name);
    ADD_FAILURE() << "nothing was thrown; expected: " << words;
  } catch (const Error& error) {
    EXPECT_NE(error.file().find(name), std::string::npos);
    EXPECT_GE(error.offset(), 0);
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos)
        << error.what() << "\nlacks: " << words;
  }
}

TEST(Npy, RefusesOtherTypesByName) {
  ExpectProblem(Npy("|O", "(2,)", "pickle"), "object arrays are pickles, which are never loaded");
  ExpectProblem(Npy("<U0", "(2,)", ""), "its dtype is '<U0': not one of bool");
  ExpectProblem(Npy("|S99999999999", "(2,)", ""), "its dtype is '|S99999999999': not one of");
  ExpectProblem(Npy("|U5", "(2,)", ""), "its dtype is '|U5': not one of bool");
  ExpectProblem(Npy("<U4294967295", "(2,)", ""), "declares records of more than");
  ExpectProblem(Npy("<M8[ns]", "(2,)", ""), "dates are not read; save them as int64");
  ExpectProblem(Npy("<f16", "(2,)", ""), "its dtype is '<f16': not one of bool");
  ExpectProblem(Npy("f4", "(2,)", ""), "its dtype is 'f4': not one of bool");
  ExpectProblem(Npy("|f4", "(2,)", ""), "its dtype is '|f4': not one of bool");
  ExpectProblem(Npy("", "(2,)", ""), "its dtype is '': not one of bool");
  ExpectProblem(NpyOf("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,), }", ""),
                "its dtype is structured");
}

TEST(Npy, BelievesNoHeader) {
  ExpectProblem("no array", "no npy array: it does not begin with");
  ExpectProblem("\x93NUM", "the array ends at byte 4 in its npy header");
  const std::string good = Npy("|u1", "(3, 2)", "aabbcc");
  for (size_t size = 0; size < 128; ++size) {
    ExpectProblem(good.substr(0, size), "npy header");
  }
  std::string other = good;
  other[6] = 4;
  ExpectProblem(other, "an npy array of version 4.0; versions 1.0, 2.0 and 3.0 are read");
  other = NpyOf("{}", "", 2);
  ExpectProblem(other.replace(8, 4, FromHex("ffffffff")),
                "declares 4294967295 bytes; the limit is");
  ExpectProblem(other.replace(8, 4, FromHex("ffff0000")), "declares 65535 bytes, which are more");
  ExpectProblem(NpyOf("{}", ""), "it lacks 'descr', 'fortran_order' or 'shape'");
  for (const char* shape : {"(3)", "(03,)", "(-3,)", "(3,,)", "(3 2)", "3", "(3,", "('a',)"}) {
    ExpectProblem(Npy("|u1", shape, "abc"), "its npy header is damaged at character");
  }
  ExpectProblem(Npy("|u1", "(99999999999999999999,)", ""), "a length beyond 64 bits");
  ExpectProblem(Npy("<f8", "(2, 1099511627776)", ""), "declares records of more than");
  ExpectProblem(Npy("<f8", "(2, 4294967296, 4294967296)", ""), "declares records of more than");
  ExpectProblem(Npy("<f8", "(9223372036854775807,)", ""), "which is more than any file has");
  ExpectProblem(Npy("<f8", "(9223372036854775807, 0)", ""), "records without any bytes");
  ExpectProblem(Npy("|u1", "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)", "a"), "the limit");
}

TEST(Npy, SaysWhereTheFileEndsTooEarlyOrTooLate) {
  const TempFile file("a.npy", Npy("|u1", "(3, 2)", "aabbc"));
  const auto reader = Reader(file.path());
  EXPECT_EQ(BytesOf(ReadSome(reader.get(), 2)), "aabb");
  ExpectError(ErrorCode::kDataLoss, "the file ends at byte 133 in record 2, of which it has 1 of 2",
              [&] { ReadSome(reader.get(), 1); });
  ExpectProblem(Npy("|u1", "(3, 2)", "aabbccd"), "more bytes follow the last record at byte 134");
  ExpectProblem(Npy("|u1", "(3, 2)", "aabbc", true),
                "the file ends at byte 133, 1 bytes too early for its array in Fortran order");
  ExpectProblem(Npy("|u1", "(3, 2)", "aabbccd", true), "more bytes follow the last record");
}

TEST(Npy, RefusesValuesThatDoNotFit) {
  ExpectProblem(Npy("|b1", "(2,)", FromHex("0102")), "slot 0: a bool is 0 or 1, not 2");
}

// Slots that are declared with a sign get unsigned arrays that they hold; others do not.
TEST(Npy, UnsignedArraysBecomeTheDeclaredSignedType) {
  const auto read = [](const std::string& content, DataType dtype) {
    const TempFile file("a.npy", content);
    FormatArguments arguments;
    arguments.declared = {SlotSpec{dtype, Dims{1}}};
    return BytesOf(ReadAll(OpenFile(*FindFileFormat("npy"), file.path(), "", arguments).get()));
  };
  const std::string shorts = Raw<uint16_t>({65535, 7});
  for (const bool swapped : {false, true}) {
    const std::string order = swapped ? ">" : "<";
    EXPECT_EQ(
        read(Npy(order + "u2", "(2,)", swapped ? Swapped(shorts, 2) : shorts), DataType::kInt32),
        Raw<int32_t>({65535, 7}));
  }
  EXPECT_EQ(read(Npy("<u4", "(2,)", Raw<uint32_t>({~0U, 7})), DataType::kInt64),
            Raw<int64_t>({4294967295, 7}));
  EXPECT_EQ(read(Npy("<u8", "(1,)", Raw<uint64_t>({INT64_MAX})), DataType::kInt64),
            Raw<int64_t>({INT64_MAX}));
  ExpectError(
      ErrorCode::kDataLoss,
      "value 0 is 9223372036854775808, which int64 cannot hold; declare the slot as uint64",
      [&] { read(Npy("<u8", "(1,)", Raw<uint64_t>({uint64_t{1} << 63})), DataType::kInt64); });
  ExpectError(ErrorCode::kDataLoss, "int16 [1] is declared, uint16 [1] was found",
              [&] { read(Npy("<u2", "(2,)", shorts), DataType::kInt16); });
}

TEST(Npy, AllFilesOfAReaderAgree) {
  const TempFile first("a.npy", Npy("<i4", "(1, 2)", "aaaabbbb"));
  const TempFile second("b.npy", Npy("<i4", "(1, 1)", "aaaa"));
  const TempFile third("c.npy", Npy(">i4", "(1, 2)", "aaaabbbb"));
  const auto open = [&](const TempFile& other) {
    ReadAll(OpenFiles({first.path(), other.path()}, {}, {}, {}).get());
  };
  ExpectError(ErrorCode::kDataLoss, "slot 0: int32 [1, 1] after files of int32 [1, 2]",
              [&] { open(second); });
  ExpectError(ErrorCode::kDataLoss, "stored otherwise (byte order or type)", [&] { open(third); });
}

// ---- Real files. ----

bool IsRefused(const std::string& descr) { return descr == "|O" || descr[0] == '['; }

TEST(Npy, ReadsTheFilesOfOthersAsTheTruthSays) {
  const std::string folder = TestData();
  if (folder.empty()) GTEST_SKIP() << kNoTestData;
  std::ifstream truth(folder + "/truth/npy_truth.tsv");
  std::string line;
  std::getline(truth, line);
  int files = 0, refused = 0;
  while (std::getline(truth, line)) {
    std::istringstream cells(line);
    std::string cell[8];
    for (std::string& text : cell) std::getline(cells, text, '\t');
    const auto& [name, version, descr, fortran, shape, begin, bytes, sha256] = cell;
    SCOPED_TRACE(name);
    const std::string path = StrCat(folder, "/", name);
    ++files;
    if (IsRefused(descr)) {
      ++refused;
      ExpectError(ErrorCode::kDataLoss, "dtype is", [&] { ReadAll(Reader(path).get()); });
      continue;
    }
    const std::vector<ElementValue> elements = ReadAll(Reader(path).get());
    std::string values = BytesOf(elements);
    if (fortran == "True") values = InFortranOrder(values, 2, {3, 4}, 8);  // the only such file
    EXPECT_EQ(std::to_string(elements.size()), shape.substr(1, shape.find(',') - 1));
    EXPECT_EQ(std::to_string(values.size()), bytes);
    Sha256 digest;
    digest.Add(values.data(), values.size());
    EXPECT_EQ(ToHex(digest.Value()), sha256);
  }
  EXPECT_EQ(files, 66);
  EXPECT_EQ(refused, 2);
}

}  // namespace
}  // namespace millhopper

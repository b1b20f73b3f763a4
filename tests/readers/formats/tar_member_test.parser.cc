// SPDX-License-Identifier: Apache-2.0
// Headers of tar archives: names, sizes, kinds of members, and what is refused.
#include "readers/formats/tar/tar_member.h"

#include <gtest/gtest.h>

#include <string>

#include "framework/base/error.h"
#include "tests/bytes.h"
#include "tests/files/tars.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

TarMember Parse(const std::string& bytes) {
  TarMember member;
  EXPECT_EQ(ReadTarHeaders(bytes.data(), bytes.size(), &member), TarHeaders::kMember);
  return member;
}

void ExpectRefused(const std::string& bytes, const std::string& words,
                   ErrorCode code = ErrorCode::kDataLoss) {
  ExpectError(code, words, [&] {
    TarMember member;
    ReadTarHeaders(bytes.data(), bytes.size(), &member);
  });
}

// The answers of webdataset 0.2's regular expressions, by Python.
TEST(TarMember, IsSplitAsWebDatasetDoes) {
  constexpr struct {
    const char *name, *key, *extension;  // no key: in no record
  } kCases[] = {
      {"a.jpg", "a", "jpg"},
      {"a.seg.PNG", "a", "seg.png"},
      {"dir/a.jpg", "dir/a", "jpg"},
      {"d.x/a.jpg", "d.x/a", "jpg"},
      {"a", nullptr, ""},
      {"dir/a", nullptr, ""},
      {"a.", "a", ""},
      {"a..b", "a", ".b"},
      {".hidden", nullptr, ""},
      {".hidden.jpg", nullptr, ""},
      {"dir/.hidden", "dir/", "hidden"},
      {"dir/.a.jpg", "dir/", "a.jpg"},
      {"d.x/.hidden", nullptr, ""},
      {"./a.jpg", "./a", "jpg"},
      {"./.hidden", nullptr, ""},
      {"/.x", "/", "x"},
      {"a//.x", "a//", "x"},
      {"x/y/.c", "x/y/", "c"},
      {"x.d/y/.c", "x.d/y/", "c"},
      {"a/..", "a/", "."},
      {"__meta__", nullptr, ""},
      {"__a__/b.jpg", nullptr, ""},
      {"__a.b__", nullptr, ""},
      {"__a__.json", "__a__", "json"},
      {"d/__a__/b.jpg", "d/__a__/b", "jpg"},
      {"____/a.b", nullptr, ""},
      {"__/a.b", "__/a", "b"},
      {"___/a.b", "___/a", "b"},
  };
  for (const auto& item : kCases) {
    const TarMember member = Parse(TarHeader(item.name, 7));
    EXPECT_EQ(member.name, item.name);
    EXPECT_EQ(member.in_record, item.key != nullptr) << item.name;
    if (item.key == nullptr) continue;
    EXPECT_EQ(member.key(), item.key);
    EXPECT_EQ(member.extension, item.extension) << item.name;
  }
}

TEST(TarMember, HasTheNameOfItsHeaders) {
  const std::string name(100, 'n');
  EXPECT_EQ(Parse(TarHeader(name, 0)).name, name);
  EXPECT_EQ(Parse(TarHeader(name, 0, '0', "some/folder")).name, "some/folder/" + name);
  EXPECT_EQ(Parse(TarHeader("a.b", 0, '0', std::string(155, 'p'))).name,
            std::string(155, 'p') + "/a.b");
  // GNU's headers of incremental archives have times in the place of the prefix.
  std::string gnu = TarHeader("a.b", 0, '0', "14071240417");
  EXPECT_EQ(Parse(WithTarChecksum(gnu.replace(257, 8, "ustar  \0", 8))).name, "a.b");
  // Unix V7 knew neither types nor prefixes.
  std::string v7 = TarHeader("a.b", 3, '\0', "x");
  const TarMember old = Parse(WithTarChecksum(v7.replace(257, 8, 8, '\0')));
  EXPECT_EQ(old.name, "a.b");
  EXPECT_TRUE(old.is_file);
  EXPECT_EQ(old.size, 3u);
}

TEST(TarMember, HasALongNameOfGnuOrPax) {
  const std::string name = std::string(300, 'd') + "/a.b";
  const std::string gnu = TarMemberBytes("././@LongLink", name + '\0', 'L');
  const std::string link = TarMemberBytes("././@LongLink", "target", 'K');
  const std::string pax = TarMemberBytes("./PaxHeaders/a", PaxRecord("path", name), 'x');
  const std::string other = TarMemberBytes("x", PaxRecord("comment", "no\nmatter"), 'x');
  for (const std::string& headers : {gnu, pax, link + gnu, gnu + other, other + pax}) {
    const TarMember member = Parse(headers + TarHeader("cut", 17));
    EXPECT_EQ(member.name, name);
    EXPECT_EQ(member.size, 17u);
    EXPECT_EQ(member.header_bytes, headers.size() + 512);
    EXPECT_EQ(member.content_end(), headers.size() + 512 + 17);
    EXPECT_EQ(member.end(), headers.size() + 1024);
  }
  EXPECT_EQ(Parse(TarMemberBytes("x", PaxRecord("path", ""), 'x') + TarHeader("a.b", 0)).name,
            "a.b");
}

TEST(TarMember, HasTheSizeOfItsHeaders) {
  const auto with_size = [](const std::string& field) {
    return WithTarChecksum(TarHeader("a.b", 0).replace(124, 12, field));
  };
  EXPECT_EQ(Parse(with_size("000000000012")).size, 10u);
  EXPECT_EQ(Parse(with_size("         12 ")).size, 10u);
  EXPECT_EQ(Parse(with_size(std::string("12\0 garbage ", 12))).size, 10u);
  EXPECT_EQ(Parse(with_size("777777777777")).size, (uint64_t{1} << 36) - 1);
  EXPECT_EQ(Parse(with_size(std::string(12, '\0'))).size, 0u);
  EXPECT_EQ(Parse(with_size(FromHex("80 0000000000000200000001"))).size, (uint64_t{1} << 33) + 1);
  EXPECT_EQ(Parse(with_size(FromHex("80 0000007fffffffffffffff"))).size, ~uint64_t{0} >> 1);
  for (const std::string& bad :
       {FromHex("80 0000008000000000000000"), FromHex("ff ffffffffffffffffffffff"),
        FromHex("81 0000000000000000000000"), std::string("00000000008 "),
        std::string("-00000000012"), std::string("0000 0000012")}) {
    ExpectRefused(with_size(bad), "is no number of bytes");
  }
  const auto with_pax = [](const std::string& size) {
    return TarMemberBytes("x", PaxRecord("size", size), 'x') + TarHeader("a.b", 5);
  };
  EXPECT_EQ(Parse(with_pax("8589934593")).size, 8589934593u);
  EXPECT_EQ(Parse(with_pax("")).size, 5u);
  for (const char* bad : {"-1", "1.5", "9223372036854775808", "99999999999999999999", "1 "}) {
    ExpectRefused(with_pax(bad), "is no number of bytes");
  }
}

TEST(TarMember, IsNoFileIfItIsAFolderOrALabel) {
  const std::string old_folder = WithTarChecksum(TarHeader("d.x/", 0, '\0'));
  for (const std::string& header : {TarHeader("d.x/", 512, '5'), TarHeader("d.x", 512, '5'),
                                    old_folder, TarHeader("a.b", 0, 'V')}) {
    const TarMember member = Parse(header);
    EXPECT_FALSE(member.is_file);
    EXPECT_FALSE(member.in_record);
    EXPECT_EQ(member.end(), 512u);  // whatever size a folder has by its header
  }
  EXPECT_EQ(Parse(TarHeader("d.x/", 512, 'D')).end(), 1024u);
  const TarMember global = Parse(TarMemberBytes("x", PaxRecord("comment", "of all"), 'g'));
  EXPECT_FALSE(global.is_file);
  EXPECT_EQ(global.end(), 1024u);
  EXPECT_TRUE(Parse(TarHeader("a.b", 1, '7')).in_record);
}

TEST(TarMember, IsRefusedByNameIfItIsNoPlainFile) {
  ExpectRefused(TarHeader("a.jpg", 0, '1'), "'a.jpg' is a hard link");
  ExpectRefused(TarHeader("a.jpg", 0, '2'), "'a.jpg' is a symbolic link");
  ExpectRefused(TarHeader("tty", 0, '3'), "'tty' is a device");
  ExpectRefused(TarHeader("sda", 0, '4'), "'sda' is a device");
  ExpectRefused(TarHeader("p", 0, '6'), "'p' is a named pipe");
  ExpectRefused(TarHeader("holes", 0, 'S'), "'holes' is a sparse file");
  ExpectRefused(TarHeader("rest", 0, 'M'), "'rest' is the rest of a file of another archive");
  ExpectRefused(TarHeader("z\n", 0, 'Z'), "'z\\n' is of an unknown type");
  ExpectRefused(TarMemberBytes("x", PaxRecord("GNU.sparse.major", "1"), 'x') + TarHeader("s", 0),
                "'s' is a sparse file");
}

TEST(TarMember, IsBelievedByItsChecksumOnly) {
  std::string high = TarHeader("n\xc3\xa4me.jpg", 3);
  EXPECT_TRUE(Parse(high).in_record);
  EXPECT_TRUE(Parse(WithTarChecksum(high, true)).in_record);
  for (const std::string& header : {high, WithTarChecksum(high, true), TarHeader("a.b", 3)}) {
    for (size_t bit = 0; bit < 8 * header.size(); ++bit) {
      const std::string flipped = FlipBit(header, bit);
      TarMember member;
      try {
        ReadTarHeaders(flipped.data(), flipped.size(), &member);
        // Between two forms of the same sum.
        EXPECT_TRUE(bit / 8 >= 148 && bit / 8 < 156) << bit;
        EXPECT_EQ(member.size, 3u);
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("the checksum of its header is"),
                  std::string::npos);
      }
    }
  }
}

TEST(TarMember, GoesOnBehindTheBytesThatThereAre) {
  const std::string bytes =
      TarMemberBytes("././@LongLink", std::string(600, 'n'), 'L') + TarHeader("cut", 17);
  for (size_t size = 0; size < bytes.size(); ++size) {
    TarMember member;
    EXPECT_EQ(ReadTarHeaders(bytes.data(), size, &member), TarHeaders::kCut) << size;
    EXPECT_GT(member.needed, size);
    EXPECT_LE(member.needed, bytes.size());
  }
  TarMember member;
  EXPECT_EQ(ReadTarHeaders(TarEnd().data(), 512, &member), TarHeaders::kEnd);
}

TEST(TarMember, IsRefusedForHeadersThatAreWrong) {
  const auto pax = [](const std::string& records) {
    return TarMemberBytes("x", records, 'x') + TarHeader("a.b", 0);
  };
  for (const char* bad : {"11 path=a.b", "12path=a.b\n", "99 path=a.b\n", "7 path\n", "0 a=b\n",
                          "2 a=b\n", "x", "-5 a=b\n", "99999999999999999999 a=b\n"}) {
    ExpectRefused(pax(bad), "is no \"length keyword=value\"");
  }
  EXPECT_EQ(Parse(pax(PaxRecord("path", "c.d") + std::string(9, '\0'))).name, "c.d");
  ExpectRefused(TarHeader("x", (1 << 20) - 511, 'L'), "the limit is 1048576",
                ErrorCode::kResourceLimit);
  ExpectRefused(TarHeader("x", uint64_t{1} << 35, 'x'), "the limit is 1048576",
                ErrorCode::kResourceLimit);
  ExpectRefused(TarMemberBytes("x", "name", 'L') + TarEnd(), "has no member after it");
  ExpectRefused(TarMemberBytes("x", PaxRecord("path", "all"), 'g'), "a global PAX header gives");
  ExpectRefused(TarMemberBytes("x", PaxRecord("size", "1"), 'g'), "a global PAX header gives");
  ExpectRefused(TarMemberBytes("x", "name", 'L') + TarMemberBytes("x", PaxRecord("a", "b"), 'g'),
                "a global PAX header stands between");
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Patterns of file names and the lists that they give.
#include "readers/sources/file_list.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Names = std::vector<std::string>;

// A folder with these files, empty ones.
class Folder {
 public:
  explicit Folder(const Names& names) : path_(TempName("folder")) {
    ::mkdir(path_.c_str(), 0700);
    for (const std::string& name : names) {
      files_.push_back(path_ + "/" + name);
      WriteFile(files_.back(), "");
    }
  }
  ~Folder() {
    for (const std::string& file : files_) ::unlink(file.c_str());
    ::rmdir(path_.c_str());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // The names that a pattern in this folder gives, without the folder.
  Names Expand(const std::string& pattern, const std::string& prefix = "") const {
    Names names = ExpandFileNames({prefix + path_ + "/" + pattern});
    for (std::string& name : names) {
      EXPECT_EQ(name.substr(0, prefix.size() + path_.size() + 1), prefix + path_ + "/");
      name = name.substr(prefix.size() + path_.size() + 1);
    }
    return names;
  }

 private:
  const std::string path_;
  Names files_;
};

// A folder with such files in folders within it, empty ones.
class FolderTree {
 public:
  explicit FolderTree(const Names& names) : path_(TempName("tree")) {
    for (const std::string& name : names) {
      const std::filesystem::path file = path_ + "/" + name;
      std::filesystem::create_directories(file.parent_path());
      WriteFile(file.string(), "");
    }
  }
  ~FolderTree() { std::filesystem::remove_all(path_); }
  FolderTree(const FolderTree&) = delete;
  FolderTree& operator=(const FolderTree&) = delete;

  const std::string& path() const { return path_; }
  // The names that a pattern after that of the folder gives, without the folder.
  Names Expand(const std::string& pattern) const {
    Names names = ExpandFileNames({path_ + pattern});
    for (std::string& name : names) name.erase(0, path_.size());
    return names;
  }

 private:
  const std::string path_;
};

TEST(FileList, ANameIsItself) {
  EXPECT_EQ(ExpandFileNames({"b", "a", "text:c", "b"}), (Names{"b", "a", "text:c", "b"}));
  EXPECT_EQ(ExpandFileNames({}), Names{});
}

TEST(FileList, WildcardsFindWhatIsThereInSortedOrder) {
  const Folder folder({"part-2", "part-10", "part-1", "other", ".part-hidden"});
  EXPECT_EQ(folder.Expand("part-*"), (Names{"part-1", "part-10", "part-2"}));
  EXPECT_EQ(folder.Expand("part-?"), (Names{"part-1", "part-2"}));
  EXPECT_EQ(folder.Expand("part-[13]"), Names{"part-1"});
  EXPECT_EQ(folder.Expand("*"), (Names{"other", "part-1", "part-10", "part-2"}));
  EXPECT_EQ(folder.Expand("part-?", "idx:"), (Names{"part-1", "part-2"}));
  ExpectError(ErrorCode::kInvalidArgument, "no file matches '", [&] { folder.Expand("q*"); });
  ExpectError(ErrorCode::kIo, "cannot look for files: No such file",
              [&] { folder.Expand("no folder/*"); });
  try {
    ExpandFileNames({"no folder/*"});
  } catch (const Error& error) {
    EXPECT_EQ(error.file(), "no folder/*");
  }
}

TEST(FileList, TwoStarsAreAnyFolders) {
  const FolderTree tree({"a.csv", "x/b.csv", "x/y/c.csv", "x/.hidden/d.csv", "x/y/e.tsv"});
  EXPECT_EQ(tree.Expand("/**/*.csv"), (Names{"/a.csv", "/x/b.csv", "/x/y/c.csv"}));
  EXPECT_EQ(tree.Expand("/x/**"), (Names{"/x/b.csv", "/x/y/c.csv", "/x/y/e.tsv"}));
  EXPECT_EQ(tree.Expand("/**/y/*.?sv"), (Names{"/x/y/c.csv", "/x/y/e.tsv"}));
  ExpectError(ErrorCode::kInvalidArgument, "no file matches '", [&] { tree.Expand("/**/*.txt"); });
  ExpectError(ErrorCode::kInvalidArgument, "one ** can be in a pattern",
              [&] { tree.Expand("/**/**/a"); });
  ExpectError(ErrorCode::kInvalidArgument, "no other wildcard before it",
              [&] { tree.Expand("/*/**/a"); });
}

TEST(FileList, AFolderStandsForTheColumnsInIt) {
  const FolderTree tree({"_SUCCESS", "k=1/a.parquet", "k=2/B.PARQUET", "_temporary/c.parquet",
                         ".d.parquet", "k=2/note.txt"});
  EXPECT_EQ(tree.Expand(""), (Names{"/k=1/a.parquet", "/k=2/B.PARQUET"}));
  EXPECT_EQ(tree.Expand("/k=1/"), (Names{"/k=1/a.parquet"}));
  const FolderTree other({"a.csv"});
  EXPECT_EQ(other.Expand(""), Names{""});  // opening it says what is wrong
}

// Its files would be there once more for each time around.
TEST(FileList, ALinkBackToAFolderAboveIsAnError) {
  const FolderTree tree({"x/a.parquet"});
  std::filesystem::create_directory_symlink(".", tree.path() + "/x/again");
  for (const char* const pattern : {"", "/**/*.parquet"}) {
    ExpectError(ErrorCode::kIo, "a symbolic link to a folder above it?",
                [&] { tree.Expand(pattern); });
  }
}

TEST(FileList, RangesAndListsNeedNoFiles) {
  EXPECT_EQ(ExpandFileNames({"f{0..3}"}), (Names{"f0", "f1", "f2", "f3"}));
  EXPECT_EQ(ExpandFileNames({"f{3..1}"}), (Names{"f1", "f2", "f3"}));
  EXPECT_EQ(ExpandFileNames({"f{008..11}.x"}), (Names{"f008.x", "f009.x", "f010.x", "f011.x"}));
  EXPECT_EQ(ExpandFileNames({"f{8..11}"}), (Names{"f10", "f11", "f8", "f9"}));
  EXPECT_EQ(ExpandFileNames({"{b,a}-{0..1}"}), (Names{"a-0", "a-1", "b-0", "b-1"}));
  EXPECT_EQ(ExpandFileNames({"x{,.gz}"}), (Names{"x", "x.gz"}));
  EXPECT_EQ(ExpandFileNames({"{a,b{1..2},{c,d}e}"}), (Names{"a", "b1", "b2", "ce", "de"}));
  EXPECT_EQ(ExpandFileNames({"{a,a}"}), Names{"a"});
  EXPECT_EQ(ExpandFileNames({"text:{00000..00127}"}).size(), 128u);
  EXPECT_EQ(ExpandFileNames({"text:{00000..00127}"})[127], "text:00127");
}

TEST(FileList, BracesThatSayNothingAreKept) {
  for (const char* name :
       {"{", "}", "{}", "{a}", "a{b", "a}b", "{1..}", "{a..b}", "{1..2..3}", "{-1..2}"}) {
    EXPECT_EQ(ExpandFileNames({name}), Names{name}) << name;
  }
  EXPECT_EQ(ExpandFileNames({"{x}{1,2}"}), (Names{"{x}1", "{x}2"}));
  EXPECT_EQ(ExpandFileNames({"{{1..2}"}), (Names{"{1", "{2"}));
}

TEST(FileList, BracesMayStandWithinBracesToAnyDepth) {
  std::string pattern = "x";
  Names names = {"x"};
  for (int i = 0; i < 500; ++i) {
    pattern = StrCat("{", i, ",", pattern, "}");
    names.push_back(std::to_string(i));
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(ExpandFileNames({pattern}), names);
  EXPECT_EQ(ExpandFileNames({"{{a,b}{1,2},{}c}"}), (Names{"a1", "a2", "b1", "b2", "{}c"}));
}

TEST(FileList, EachAlternativeMustMatch) {
  const Folder folder({"a1", "a2", "b1"});
  EXPECT_EQ(folder.Expand("{b,a}?"), (Names{"a1", "a2", "b1"}));
  EXPECT_EQ(folder.Expand("{a*,a1}"), (Names{"a1", "a2"}));
  ExpectError(ErrorCode::kInvalidArgument, "/c?'", [&] { folder.Expand("{a,c}?"); });
}

TEST(FileList, AFileOfExactlyThisNameIsTakenLiterally) {
  const Folder folder({"a[1]", "a1", "x{1..2}", "star*", "star1"});
  EXPECT_EQ(folder.Expand("a[1]"), Names{"a[1]"});
  EXPECT_EQ(folder.Expand("x{1..2}"), Names{"x{1..2}"});
  EXPECT_EQ(folder.Expand("star*"), Names{"star*"});
  EXPECT_EQ(folder.Expand("{star*,a1}"), (Names{"a1", "star*"}));
}

// F46
void ExpectTooMany(const std::string& pattern) {
  ExpectError(ErrorCode::kResourceLimit, "makes more than 1000000 file names",
              [&] { ExpandFileNames({pattern}); });
}

std::string Pairs(int count) {
  std::string pairs;
  for (int i = 0; i < count; ++i) pairs += "{a,b}";
  return pairs;
}

TEST(FileList, HasLimits) {
  ExpectTooMany("{0..999999999999999999}");
  ExpectTooMany("{1..2}{0..999999}");
  {
    const LimitInForce limit(size_t{8} << 20);
    ExpectError(ErrorCode::kResourceLimit, "which take more than half of the memory limit",
                [] { ExpandFileNames({"{1..100000}"}); });
    EXPECT_EQ(ExpandFileNames({"{1..30000}"}).size(), 30000u);
  }
  ExpectError(ErrorCode::kInvalidArgument, "a file name of 5000 bytes",
              [] { ExpandFileNames({std::string(5000, '{')}); });
  ExpectError(ErrorCode::kInvalidArgument, "zero byte",
              [] { ExpandFileNames({std::string("a\0*", 3)}); });
}

// Many names are made before these are refused.
TEST(FileList, HasLimitsOfWhatItMakes) {
  ExpectTooMany(Pairs(30));
  // Few names, but long ones. Braces without alternatives are not parsed again and again.
  const std::string nothing = std::string(1900, '{') + std::string(1900, '}');
  ExpectError(ErrorCode::kResourceLimit, "makes more than 134217728 bytes of file names",
              [&] { ExpandFileNames({Pairs(18) + nothing}); });
  ExpectError(ErrorCode::kResourceLimit, "makes more than 134217728 bytes of file names", [&] {
    ExpandFileNames(std::vector<std::string>(20, Pairs(12) + std::string(3900, 'x')));
  });
}

}  // namespace
}  // namespace millhopper

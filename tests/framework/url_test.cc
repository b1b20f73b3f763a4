// SPDX-License-Identifier: Apache-2.0
#include "framework/base/url.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "framework/base/error.h"
#include "framework/io/compression.h"
#include "framework/reader/position.h"

namespace millhopper {
namespace {

TEST(UrlTest, SecretsAreNotShown) {
  const std::pair<const char*, const char*> texts[] = {
      {"", ""},
      {"a?b", "a?b"},
      {"/data/a@b?c", "/data/a@b?c"},
      {"memory://me:word@host/a?b", "memory://me:word@host/a?b"},
      {"http://", "http://"},
      {"http://host/a@b", "http://host/a@b"},
      {"http://me:word@host", "http://...@host"},
      {"https://me@word@host/a?sig=1&b=2#c", "https://...@host/a?..."},
      {"https://host?sig=1", "https://host?..."},
      {"https://host/a#token", "https://host/a#..."},
      {"csv:https://host/a.csv?sig=1", "csv:https://host/a.csv?..."},
      {"HTTPS://me:word@host/a?sig=1", "HTTPS://...@host/a?..."},
      // Passwords that make a URL a broken one are in none of its parts.
      {"http://me:pa/ss@host/a", "http://..."},
      {"http://me:pa#ss@host/a?sig=b@c", "http://..."},
      {"http://me:pa?ss@host/a", "http://..."},
      {"http://me:my word@host/a and more", "http://... and more"},
      {"http://me:word", "http://..."},
      {"http://host:80/a@b", "http://host:80/a@b"},
      {"http://[::1]:80/a@b", "http://[::1]:80/a@b"},
      {"'http://host:80': cannot, http://host: x@y", "'http://host:80': cannot, http://host: x@y"},
      {"gs://bucket/a.csv?sig=1", "gs://bucket/a.csv?..."},
      {"csv:gs://anonymous@bucket/a", "csv:gs://anonymous@bucket/a"},
      {"'gs://bucket: it", "'gs://bucket: it"},
      {"abfs://data@me.dfs.core.windows.net/a?sig=1", "abfs://data@me.dfs.core.windows.net/a?..."},
      {"abfss://data:word@me.dfs.core.windows.net/a", "abfss://data:...@me.dfs.core.windows.net/a"},
      {"abfs://:word@me/a", "abfs://:...@me/a"},
      {"abfs://data:wo/rd@me/a", "abfs://..."},
      {"hdfs://me:word@name:8020/a?user=b", "hdfs://me:...@name:8020/a?..."},
      {"args://me:word@host/a?b", "args://me:word@host/a?b"},
      {"s3://bucket/a?b#c", "s3://bucket/a?b#c"},
      {"no http://a/b?c and no https://d@e", "no http://a/b?... and no https://...@e"},
  };
  for (const auto& [text, shown] : texts) {
    EXPECT_EQ(Escaped(text), shown);
    const Error error = Error(ErrorCode::kIo, "cannot").InFile(text, 0);
    EXPECT_EQ(error.file(), shown);
    EXPECT_EQ(error.message(), std::string(shown) + ": cannot");
  }
}

TEST(UrlTest, AQueryIsNoPartOfTheName) {
  EXPECT_EQ(WithoutQuery("https://host/a.csv.gz?sig=1.b"), "https://host/a.csv.gz");
  EXPECT_EQ(WithoutQuery("https://host/a.csv#b"), "https://host/a.csv");
  EXPECT_EQ(WithoutQuery("gs://bucket/a.csv?x=1.b"), "gs://bucket/a.csv");
  EXPECT_EQ(WithoutQuery("/data/a?.csv"), "/data/a?.csv");
  EXPECT_EQ(CompressionByName("https://host/a.csv.gz?sig=1"), &kGzip);
  EXPECT_EQ(CompressionByName("https://host/a?name=a.gz"), nullptr);
  EXPECT_EQ(WithoutCompression("https://host/a.csv.gz?sig=1"), "https://host/a.csv");
  EXPECT_EQ(WithoutCompression("https://host/a.csv?sig=1"), "https://host/a.csv");
}

TEST(UrlTest, WildcardsStandBehindTheHostAndBeforeTheQuery) {
  EXPECT_EQ(PatternIn("https://[::1]:80/a*?sig=*"), "/a*");
  EXPECT_EQ(PatternIn("https://host?sig=*"), "");
  EXPECT_EQ(PatternIn("gs://bucket/a*?sig=*"), "/a*");
  EXPECT_EQ(PatternIn("https://"), "https://");
  EXPECT_EQ(PatternIn("/data/a?[b]"), "/data/a?[b]");
}

TEST(UrlTest, APositionHoldsNoSecretAndOutlivesASignature) {
  const FileList before = FileList::Of({{"https://me:word@host/a?sig=1", 7}});
  const FileList after = FileList::Of({{"https://you:word@host/a?sig=2", 7}});
  ASSERT_EQ(before.files.size(), 1u);
  EXPECT_EQ(before.files[0].path, "https://...@host/a?...");
  EXPECT_EQ(before.fingerprint, after.fingerprint);
  const FileList store = FileList::Of({{"abfs://data:word@me/a?sig=1", 7}});
  ASSERT_EQ(store.files.size(), 1u);
  EXPECT_EQ(store.files[0].path, "abfs://data:...@me/a?...");
}

}  // namespace
}  // namespace millhopper

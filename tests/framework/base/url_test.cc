// SPDX-License-Identifier: Apache-2.0
#include "framework/base/url.h"

#include <gtest/gtest.h>

#include <string>

#include "framework/io/compression/compression.h"

namespace millhopper {
namespace {

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

TEST(UrlTest, AFolderHasNoQuery) {
  EXPECT_EQ(FolderOf("https://host/a/b.csv?sig=c/d"), "https://host/a/");
  EXPECT_EQ(FolderOf("/data/a?/b"), "/data/a?/");
  EXPECT_EQ(FolderOf("a"), "");
}

TEST(UrlTest, AnObjectIsTheSameWhateverItIsSignedWith) {
  const std::string url = "https://me:word@host/a?id=1&X-Amz-Date=2#b";
  EXPECT_EQ(ObjectUrl(url), "https://me@host/a?id=1");
  EXPECT_EQ(ObjectUrl("https://host/a?sv=1&sig=2&se=3"), "https://host/a");
  EXPECT_EQ(ObjectUrl("https://host/a?sv=1"), "https://host/a?sv=1");
  EXPECT_EQ(ObjectUrl("https://host/a?versionId=3&Signature=4"), "https://host/a?versionId=3");
}

}  // namespace
}  // namespace millhopper

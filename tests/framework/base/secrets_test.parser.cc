// SPDX-License-Identifier: Apache-2.0
// What is shown and saved of names holds no secret, whatever stands around it, and all else.
#include "framework/base/secrets.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/url.h"
#include "framework/io/http/http_stats.h"
#include "framework/io/saved_name.h"
#include "framework/reader/position.h"
#include "proto/position.pb.h"
#include "readers/sources/open_files.h"
#include "tests/fakes/http_server.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

struct Case {
  const char *text, *shown;
};

TEST(SecretsTest, NamesAreShownWithoutThem) {
  const Case cases[] = {
      {"", ""},
      {"a?b", "a?b"},
      {"/data/a@b?c", "/data/a@b?c"},
      {"http://", "http://"},
      {"http://host/a@b", "http://host/a@b"},
      {"http://me:word@host", "http://...@host"},
      {"https://me@word@host/a?sig=1&b=2#c", "https://...@host/a?..."},
      {"https://host?sig=1", "https://host?..."},
      {"https://host/a#token", "https://host/a#..."},
      {"csv:https://host/a.csv?sig=1", "csv:https://host/a.csv?..."},
      {"HTTPS://me:word@host/a?sig=1", "HTTPS://...@host/a?..."},
      // All of it is the name.
      {"https://host/my file.csv?X-Amz-Signature=s", "https://host/my file.csv?..."},
      {"text:https://host/a b?sig=1 2&c d", "text:https://host/a b?..."},
      {"https://m e:wo rd@host/a", "https://...@host/a"},
      // Slashes as people type them.
      {"http:///me:word@host/a.csv", "http:///...@host/a.csv"},
      {"http:/me:word@host/a?sig=1", "http:/...@host/a?..."},
      {"http:me:word@host/a", "http:...@host/a"},
      {"https:\\\\me:word@host\\a", "https:\\\\...@host\\a"},
      // Passwords that make a URL a broken one are in none of its parts.
      {"http://me:pa/ss@host/a", "http://..."},
      {"http://me:pa#ss@host/a?sig=b@c", "http://..."},
      {"http://me:pa?ss@host/a", "http://..."},
      {"http://me:word", "http://..."},
      {"http://me:pa%40ss", "http://..."},
      {"http://host:80/a@b", "http://host:80/a@b"},
      {"http://[::1]:80/a@b", "http://[::1]:80/a@b"},
      // Stores: the name of a container is no secret.
      {"gs://bucket/a.csv?sig=1", "gs://bucket/a.csv?..."},
      {"csv:gs://anonymous@bucket/a", "csv:gs://anonymous@bucket/a"},
      {"abfs://data@me.dfs.core.windows.net/a?sig=1", "abfs://data@me.dfs.core.windows.net/a?..."},
      {"abfss://data:word@me.dfs.core.windows.net/a", "abfss://data:...@me.dfs.core.windows.net/a"},
      {"abfs://data%3Aword@me/a", "abfs://data...@me/a"},
      {"abfs://:word@me/a", "abfs://:...@me/a"},
      {"abfs://data:wo/rd@me/a", "abfs://..."},
      {"hdfs://me:word@name:8020/a?user=b", "hdfs://me:...@name:8020/a?..."},
      // Of other schemes all bytes count, but for a password and what is called like a signature.
      {"args://me:word@host/a?b", "args://...@host/a?b"},
      {"socks5://me:word@host:1080", "socks5://...@host:1080"},
      {"s3://bucket/a?b#c", "s3://bucket/a?b#c"},
      {"s3://KEY:WO/RD@bucket/a", "s3://..."},
      {"s3://bucket/a?X-Amz-Signature=s&b=c", "s3://bucket/a?X-Amz-Signature=...&b=c"},
      {"a.csv?token=s", "a.csv?token=..."},
      {"http://proxy/https%3A%2F%2Fh%2Fa%3Fsig%3Ds",
       "http://proxy/https%3A%2F%2Fh%2Fa%3Fsig%3D..."},
      // What names a version is no secret.
      {"https://h/a?versionId=3%2F4", "https://h/a?versionId=3%2F4"},
      {"https://h/a?x=1&generation=7&X-Goog-Date=2", "https://h/a?generation=7&..."},
      {"https://h/a?snapshot=2024-01-01T00:00:00.0Z&sig=s#b",
       "https://h/a?snapshot=2024-01-01T00:00:00.0Z&..."},
      {"https://h/a?versionId=3%26sig%3Ds", "https://h/a?..."},
      {"https://h/a?versionId=3 and more", "https://h/a?..."},
  };
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(Escaped(text), shown);
    EXPECT_EQ(Escaped(Escaped(text)), shown);
    const Error error = Error(ErrorCode::kIo, "cannot").InFile(text, 0);
    EXPECT_EQ(error.file(), shown);
    EXPECT_EQ(error.message(), std::string(shown) + ": cannot");
    EXPECT_EQ(error.WithMessage(error.message()).WithContext("while").message(), error.message());
  }
}

TEST(SecretsTest, TextsAreShownWithoutThose) {
  const Case cases[] = {
      {"no http://a/b?c and no https://d@e", "no http://a/b?... https://...@e"},
      {"'http://host:80': cannot, http://host: x@y", "'http://host:80': cannot, http://host: x@y"},
      {"'gs://bucket: it", "'gs://bucket: it"},
      {"http://me:my word@host/a and more", "http://...@host/a and more"},
      {"'http://me:my/word@host/a' and more", "'http://...' and more"},
      {"http://host/a: did you mean b? No", "http://host/a: did you mean b? No"},
      {"http://host/a?...: it said http://host/b", "http://host/a?...: it said http://host/b"},
      {"http://host/a b?versionId=3&...=0123456789abcdef: no",
       "http://host/a b?versionId=3&...=0123456789abcdef: no"},
      {"of 'http://h/a b?sig=1 2': http, https: no", "of 'http://h/a b?...': http, https: no"},
      {"{\"a\": \"http://h/a?sig=\\\"1\", \"b\": 2}", "{\"a\": \"http://h/a?...\", \"b\": 2}"},
      {"s: \"a \\\"http://h/a b?sig=1\\\" c\"", "s: \"a \\\"http://h/a b?...\\\" c\""},
      // Where they are not taken out, the rest of the line is lost.
      {"at http://h/a?sig=1 2 is no file\nhttp://h/b", "at http://h/a?...\nhttp://h/b"},
      {"at http://h/a b?sig=1 2 is no file", "at http://h/a b?..."},
      {"at http://me:my/word@host/a and more", "at http://..."},
      {"Authorization failed (X-Amz-Credential=s/2/3, sig=t)",
       "Authorization failed (X-Amz-Credential=... sig=t)"},
  };
  for (const auto& [text, shown] : cases) {
    EXPECT_EQ(Error(ErrorCode::kIo, text).message(), shown);
    EXPECT_EQ(Error(ErrorCode::kIo, "a").WithContext(text).context()[0], shown);
    EXPECT_EQ(Error(ErrorCode::kIo, shown).message(), shown);
  }
}

TEST(SecretsTest, HostsAreCountedWithoutThem) {
  EXPECT_EQ(HttpHostOf("http://me:hidden@host:80/a?b"), "host:80");
  EXPECT_EQ(HttpHostOf("http:///me:hidden@host/a"), "host");
  EXPECT_EQ(HttpHostOf("http://me:hid/den@host/a"), "");
  EXPECT_EQ(HttpHostOf("http://me:hidden"), "");
  EXPECT_EQ(HttpHostOf("http://m e:hid den@host#a"), "host");
  EXPECT_EQ(HttpHostOf("https://[::1]:8080?a"), "[::1]:8080");
}

TEST(SecretsTest, WhatIsSavedTellsVersionsAndNoSignatures) {
  const std::string plain = "https://h/a";
  const auto saved = [&](const std::string& query) { return SavedName(plain + query); };
  EXPECT_EQ(saved(""), plain);
  EXPECT_EQ(saved("?X-Amz-Signature=1&X-Amz-Date=2"), plain + "?...");
  EXPECT_EQ(saved("?sv=1&se=2&sig=3"), plain + "?...");
  EXPECT_EQ(saved("?Expires=1&Signature=2&Key-Pair-Id=3"), plain + "?...");
  EXPECT_EQ(saved("?versionId=3&X-Amz-Signature=1"), plain + "?versionId=3&...");
  EXPECT_EQ(saved("?token=1&id=7"), saved("?id=7&token=2"));
  EXPECT_NE(saved("?id=7"), saved("?id=8"));
  EXPECT_NE(saved("?id=7"), saved("?"));
  EXPECT_NE(saved("?sv=1"), saved("?sv=2")) << "without `sig` it is none of a signature";
  EXPECT_EQ(saved("?id=7").size(), plain.size() + sizeof("?...=0123456789abcdef") - 1);
  for (const char* const query : {"?id=7&versionId=3", "?versionId=3", "?id=7", "?", "#a"}) {
    EXPECT_EQ(SavedName(saved(query)), saved(query));
    EXPECT_EQ(Escaped(saved(query)), saved(query));
  }
  EXPECT_EQ(
      SavedText("a: \"label int64[] vocab=http://h/v?sig=1 default=0\" b: \"http://h/a b?x\""),
      SavedText("a: \"label int64[] vocab=http://h/v?sig=2 default=0\" b: \"http://h/a b?x\""));
  EXPECT_NE(SavedText("vocab=http://h/v?sig=1 default=0"),
            SavedText("vocab=http://h/v?sig=1 default=1"));
  EXPECT_NE(SavedText("\"http://h/v?id=1\""), SavedText("\"http://h/v?id=2\""));
}

// Names with secrets in random places, of random bytes.
class RandomNames {
 public:
  explicit RandomNames(unsigned seed) : random_(seed) {}

  std::string Next() {
    secrets.clear();
    std::string name;
    if (Chance(3)) name = Pick({"csv:", "text:", "recordio:", "tar:"});
    name += Pick({"http://", "https://", "HTTP://", "http:///", "gs://", "abfs://", "hdfs://",
                  "https:\\\\", "s3://"});
    const bool is_s3 = name.find("s3:") != std::string::npos;
    if (Chance(2)) {
      name += Chance(2) ? "" : "user" + Noise(3);
      name += ':' + Secret() + '@';
    }
    name += Pick({"127.0.0.1:1", "host", "host.example:8080", "[::1]:80"});
    name += "/" + Noise(8) + Pick({"a.csv", "my file.csv", "a\tb", "a\nb", "a%20b"}) + Noise(3);
    if (Chance(4)) return name;
    name += '?';
    const int parts = 1 + Below(4);
    for (int i = 0; i < parts; ++i) {
      if (i > 0) name += '&';
      // Of names of S3 all bytes count, but for what is called like a signature.
      const std::string key =
          is_s3 ? Pick({"X-Amz-Signature", "x-amz-credential", "X-Goog-Signature"})
                : Pick({"X-Amz-Signature", "sig", "token", "key", "id", "se", "a b", "p%3D"});
      name += key + '=' + (is_s3 ? Letters() : Secret());
    }
    return name;
  }

  std::vector<std::string> secrets;  // of the last name

 private:
  int Below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  bool Chance(int n) { return Below(n) == 0; }
  std::string Pick(const std::vector<std::string>& from) {
    return from[static_cast<size_t>(Below(static_cast<int>(from.size())))];
  }
  std::string Noise(int most) {
    std::string text;
    for (int i = Below(most + 1); i > 0; --i) {
      text += Pick({"x", "-", "_", " ", "\t", "%41", ".", "~"});
    }
    return text;
  }
  // Of capital letters, which nothing else here has many of.
  std::string Letters() {
    std::string text;
    for (int i = 0; i < 12; ++i) text += static_cast<char>('A' + Below(26));
    secrets.push_back(text);
    return text;
  }
  // Letters with anything between them, but an @ and a slash after it: these are ambiguous.
  std::string Secret() {
    std::string text;
    for (int i = 0; i < 1 + Below(3); ++i) {
      text += Letters();
      if (Chance(2)) {
        text += Pick({" ", "\t", "\n", "\r\n", "/", "%2F", "%20", "+", "=", "%3D", "?", "#", ":"});
      }
    }
    return text;
  }

  std::mt19937 random_;
};

// Six characters of a secret, if `text` has so many of one after another.
std::string Found(const std::string& text, const std::vector<std::string>& secrets) {
  constexpr size_t kMost = 5;
  for (const std::string& secret : secrets) {
    for (size_t at = 0; at + kMost < secret.size(); ++at) {
      const std::string part = secret.substr(at, kMost + 1);
      if (text.find(part) != std::string::npos) return part;
    }
  }
  return "";
}

TEST(SecretsTest, NoneSurvivesWhateverStandsAroundIt) {
  RandomNames names(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = names.Next();
    // Without Escaped all is safe but line ends and passwords with blanks.
    const size_t user = name.rfind('@');
    const bool is_line = name.find_first_of("\r\n") == std::string::npos &&
                         (user == std::string::npos || name.find_first_of(" \t") > user);
    const std::string texts[] = {
        Error(ErrorCode::kIo, is_line ? StrCat("cannot open ", name, ": no") : "").what(),
        Escaped(name),
        Error(ErrorCode::kIo, "cannot open").InFile(name, 0).what(),
        Error(ErrorCode::kIo, StrCat("'", Escaped(name), "' and ", Escaped(name), ": no")).what(),
        Error(ErrorCode::kIo, StrCat("the file '", name, "' is none")).what(),
        SavedName(name),
        SavedText(StrCat("strings: \"", name, "\" i: 3")),
        FileList::Of({{name, 7}}).files.at(0).path,
        HttpHostOf(name)};
    for (const std::string& text : texts) {
      ASSERT_EQ(Found(text, names.secrets), "") << "in:\n" << text << "\nof:\n" << name;
    }
    ASSERT_EQ(Escaped(Escaped(name)), Escaped(name)) << name;
    ASSERT_EQ(SavedName(SavedName(name)), SavedName(name)) << name;
  }
}

TEST(SecretsTest, APositionHoldsNoSecretAndOutlivesASignature) {
  const FileList before = FileList::Of({{"https://me:word@host/a?sig=1", 7}});
  const FileList after = FileList::Of({{"https://you:word@host/a?sig=2", 7}});
  ASSERT_EQ(before.files.size(), 1u);
  EXPECT_EQ(before.files[0].path, "https://...@host/a?...");
  EXPECT_EQ(before.fingerprint, after.fingerprint);
  const FileList store = FileList::Of({{"abfs://data:word@me/a?sig=1", 7}});
  ASSERT_EQ(store.files.size(), 1u);
  EXPECT_EQ(store.files[0].path, "abfs://data:...@me/a?...");
}

// Older positions have "?..." for every query, and secrets after blanks.
TEST(SecretsTest, OlderPositionsAreGoneOnFrom) {
  HttpServer server;
  server.Put("/my%20file.txt", "ab\ncd\nef\n");
  server.Put("/b.txt", "gh\n");
  const std::vector<std::string> names = {server.Url("/my%20file.txt?id=7&sig=1"),
                                          server.Url("/b.txt?versionId=3")};
  FormatArguments arguments;
  const auto open = [&] { return OpenFiles(names, {}, arguments, {}); };
  const std::unique_ptr<ReaderBase> reader = open();
  reader->ExpectSave();
  std::vector<LoDTensor> element;
  reader->ReadNext(&element);
  position_proto::StoredPosition stored;
  ASSERT_TRUE(stored.ParseFromString(reader->Save().Serialize()));
  position_proto::ChainPosition chain;
  ASSERT_TRUE(chain.ParseFromString(stored.chain()));
  int changed = 0;
  for (position_proto::ReaderPosition& one : *chain.mutable_readers()) {
    if (!one.has_files()) continue;
    ++changed;
    position_proto::FileList* const files = one.mutable_files();
    EXPECT_TRUE(files->tells_queries());
    EXPECT_NE(files->files(0).path().find("?...="), std::string::npos);
    files->set_tells_queries(false);
    std::vector<FileList::File> plain;
    for (position_proto::FileList::File& file : *files->mutable_files()) {
      file.set_path(StrCat(WithoutQuery(file.path()), "?..."));
      plain.push_back({file.path(), file.bytes(), file.fingerprint()});
    }
    files->set_fingerprint(FileList::Of(plain).fingerprint);
  }
  ASSERT_GT(changed, 0);
  const auto restore = [&](const position_proto::ChainPosition& older) {
    position_proto::StoredPosition position = stored;
    position.set_chain(older.SerializeAsString());
    position.set_checksum(
        static_cast<uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(position.chain().data()),
                                      static_cast<uInt>(position.chain().size()))));
    const std::unique_ptr<ReaderBase> other = open();
    other->Restore(Position::Parse(position.SerializeAsString()));
    return ReadAll(other.get()).size();
  };
  EXPECT_EQ(restore(chain), 3u);
  for (position_proto::ReaderPosition& one : *chain.mutable_readers()) {
    if (one.has_files()) one.mutable_files()->clear_files();  // as of a long list
  }
  EXPECT_EQ(restore(chain), 3u);
  for (position_proto::ReaderPosition& one : *chain.mutable_readers()) {
    if (one.has_files()) one.mutable_files()->set_tells_queries(true);
  }
  ExpectError(ErrorCode::kInvalidArgument, "are not what they were", [&] { restore(chain); });
}

}  // namespace
}  // namespace millhopper

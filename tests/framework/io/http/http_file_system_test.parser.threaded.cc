// SPDX-License-Identifier: Apache-2.0
// Files on HTTP servers and in object stores: whatever the server and the network do changes time
// and errors, never data.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/io/file.h"
#include "framework/io/file_system.h"
#include "framework/io/http/http_stats.h"
#include "framework/io/http/http_transfers.h"
#include "framework/memory/memory_limit.h"
#include "readers/sources/file_list.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/fakes/http_server.h"
#include "tests/fakes/s3_judge.h"
#include "tests/files/record_files.h"
#include "tests/gate.h"
#include "tests/outcome.h"
#include "tests/read_by_threads.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMiB = size_t{1} << 20;

// Tests do not wait as long as people do.
HttpLimits Impatient() {
  HttpLimits limits;
  limits.first_pause = milliseconds(1);
  limits.longest_pause = milliseconds(4);
  return limits;
}

enum class Protocol { kHttp, kS3 };

// A server with objects that are read by one of the protocols. Of an object store, the paths of
// objects are their keys.
class RemoteServer : public HttpServer {
 public:
  explicit RemoteServer(Protocol protocol) : protocol_(protocol) {
    if (protocol == Protocol::kHttp) return;
    judge_ = S3Judge::For(this);
    environment_.emplace(HttpServer::Url(""));
    SetS3User();
  }
  void Put(const std::string& path, const std::string& content) {
    if (judge_ != nullptr) {
      judge_->Put(path.substr(1), content);
    } else {
      HttpServer::Put(path, content);
    }
  }
  std::string Url(const std::string& path) const {
    return protocol_ == Protocol::kHttp ? HttpServer::Url(path) : "s3://bucket" + path;
  }

 private:
  const Protocol protocol_;
  std::shared_ptr<S3Judge> judge_;  // null for HTTP
  std::optional<AwsTestEnvironment> environment_;
};

class RemoteTest : public ::testing::Test {
 protected:
  explicit RemoteTest(Protocol protocol) : server_(protocol) {}
  void SetUp() override { HttpLimits::Set(Impatient()); }
  void TearDown() override {
    server_.Mend();
    HttpLimits::Set(HttpLimits());
  }

  std::string ReadWhole(const std::string& url) const {
    const std::unique_ptr<const File> file = File::Open(url);
    std::string content(file->size(), '\0');
    file->Read(0, content.data(), content.size());
    return content;
  }

  // What a file gives before an error, read in pieces, and the error.
  StreamOutcome ReadInPieces(const std::string& url, size_t piece) const {
    StreamOutcome outcome;
    try {
      const std::unique_ptr<const File> file = File::Open(url);
      std::string buffer(piece, '\0');
      while (outcome.content.size() < file->size()) {
        const size_t size = std::min(piece, file->size() - outcome.content.size());
        file->Read(outcome.content.size(), buffer.data(), size);
        outcome.content.append(buffer, 0, size);
      }
    } catch (const Error& error) {
      outcome.error = error;
    }
    return outcome;
  }

  // Reads once for each request, with this trouble beginning there and lasting for `count`
  // requests. Expects the content or a part of it and an error that names the URL. Returns how
  // many of the reads ended with an error.
  int AtEveryRequest(HttpTrouble trouble, int64_t count, const std::string& content,
                     const std::string& words = "") {
    server_.Put("/object", content);
    const std::string url = server_.Url("/object");
    int errors = 0;
    for (int64_t request = 0;; ++request) {
      SCOPED_TRACE(StrCat("trouble ", static_cast<int>(trouble), " at request ", request));
      server_.Break(trouble, request, count);
      const StreamOutcome outcome = ReadInPieces(url, 300'000);
      const bool hit = server_.hit();
      server_.Mend();
      EXPECT_TRUE(outcome.content == content.substr(0, outcome.content.size()));
      if (outcome.error) {
        ++errors;
        const std::string text = outcome.error->what();
        EXPECT_EQ(outcome.error->file(), url) << text;
        EXPECT_EQ(text.rfind(url + ": cannot ", 0), 0u) << text;
        EXPECT_NE(text.find(words), std::string::npos) << text << "\nlacks: " << words;
      } else {
        EXPECT_EQ(outcome.content.size(), content.size());
      }
      if (!hit) {
        EXPECT_FALSE(outcome.error.has_value());
        EXPECT_GE(request, 3) << "the file makes too few requests";
        return errors;
      }
      if (::testing::Test::HasFailure()) return errors;
    }
  }

  RemoteServer server_;
  const std::string content_ = Noise(4 * kMiB + 12'345);
};

// What holds for both protocols.
class RemoteFileTest : public RemoteTest, public ::testing::WithParamInterface<Protocol> {
 protected:
  RemoteFileTest() : RemoteTest(GetParam()) {}
};

INSTANTIATE_TEST_SUITE_P(Protocols, RemoteFileTest,
                         ::testing::Values(Protocol::kHttp, Protocol::kS3),
                         [](const auto& protocol) {
                           return protocol.param == Protocol::kHttp ? "Http" : "S3";
                         });

class HttpFileSystemTest : public RemoteTest {
 protected:
  HttpFileSystemTest() : RemoteTest(Protocol::kHttp) {}
};

TEST_P(RemoteFileTest, ReadsAnyPartOfAFile) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65'535}, size_t{65'536}, size_t{65'537},
                            kMiB, kMiB + 1, content_.size()}) {
    SCOPED_TRACE(size);
    const std::string content = content_.substr(0, size);
    server_.Put("/object", content);
    const std::string url = server_.Url("/object");
    EXPECT_TRUE(ReadWhole(url) == content);
    const std::unique_ptr<const File> file = File::Open(url);
    ASSERT_EQ(file->size(), size);
    EXPECT_EQ(file->path(), url);
    std::mt19937_64 random(size);
    for (int i = 0; i < 100 && size > 0; ++i) {
      const uint64_t offset = random() % size;
      const size_t most = i % 10 == 0 ? size - offset : std::min<size_t>(size - offset, 5000);
      std::string part(random() % most + 1, '\0');
      file->Read(offset, part.data(), part.size());
      EXPECT_TRUE(part == content.substr(offset, part.size()));
    }
    char byte = 0;
    ExpectError(ErrorCode::kDataLoss, "file is shorter than when it was opened",
                [&] { file->Read(size, &byte, 1); });
  }
}

TEST_P(RemoteFileTest, ManyThreadsReadOneFile) {
  server_.Put("/object", content_);
  const std::unique_ptr<const File> file = File::Open(server_.Url("/object"));
  EXPECT_TRUE(ReadByThreads(*file) == content_);
}

TEST_P(RemoteFileTest, ReadsAheadOnlyWhatFollowsAStretch) {
  const std::string content = Noise(64 * kMiB);
  server_.Put("/object", content);
  const std::unique_ptr<const File> file = File::Open(server_.Url("/object"));
  std::string piece(kMiB, '\0');
  for (size_t i = 0; i < 32; ++i) {
    file->Read(i * 7'777'777 % (63 * kMiB), piece.data(), 1000);
  }
  EXPECT_LT(server_.bytes_sent(), 2 * kMiB);
  server_.set_latency(milliseconds(20));
  server_.Break(HttpTrouble::kNone);
  const std::unique_ptr<const File> again = File::Open(server_.Url("/object"));
  for (size_t offset = 0; offset < content.size(); offset += kMiB) {
    again->Read(offset, piece.data(), kMiB);
    ASSERT_TRUE(content.compare(offset, kMiB, piece) == 0);
  }
  EXPECT_GT(server_.most_at_once(), 8u);
  EXPECT_LE(server_.most_at_once(), HttpLimits::Get().under_way);
  EXPECT_LE(server_.requests(), 66);
}

TEST_P(RemoteFileTest, WhatPassesIsTriedAgain) {
  for (const HttpTrouble trouble :
       {HttpTrouble::kStatus, HttpTrouble::kShortBody, HttpTrouble::kReset, HttpTrouble::kSlowStart,
        HttpTrouble::kFewer}) {
    EXPECT_EQ(AtEveryRequest(trouble, 2, content_), 0);
  }
  // Each answer brings half of what is left, so that the whole comes in the end.
  EXPECT_EQ(AtEveryRequest(HttpTrouble::kFewer, INT64_MAX, content_), 0);
  HttpLimits limits = Impatient();
  limits.silence = milliseconds(100);
  HttpLimits::Set(limits);
  for (const HttpTrouble trouble : {HttpTrouble::kSilent, HttpTrouble::kStall}) {
    EXPECT_EQ(AtEveryRequest(trouble, 1, content_), 0);
  }
}

TEST_P(RemoteFileTest, WhatStaysIsAnErrorThatSaysWhatTheServerSaid) {
  HttpLimits limits = Impatient();
  limits.silence = milliseconds(300);
  limits.tries = limits.opening_tries = 3;
  HttpLimits::Set(limits);
  const std::string content = content_.substr(0, 2 * kMiB);
  EXPECT_GT(AtEveryRequest(HttpTrouble::kStatus, INT64_MAX, content,
                           "the server said 'HTTP/1.1 500 Trouble' (3 tries)"),
            2);
  EXPECT_GT(AtEveryRequest(HttpTrouble::kGarbage, INT64_MAX, content), 2);
  EXPECT_GT(AtEveryRequest(HttpTrouble::kSilent, INT64_MAX, content,
                           "nothing came from the server for 300 ms (3 tries)"),
            2);
  server_.set_status(403);
  EXPECT_GT(AtEveryRequest(HttpTrouble::kStatus, INT64_MAX, content,
                           "the server said 'HTTP/1.1 403 Trouble'"),
            2);
}

TEST_P(RemoteFileTest, LiesAreErrors) {
  const std::string content = content_.substr(0, 2 * kMiB);
  EXPECT_GT(AtEveryRequest(HttpTrouble::kOtherPart, INT64_MAX, content, "asked for bytes "), 2);
  EXPECT_GT(AtEveryRequest(HttpTrouble::kNoRange, INT64_MAX, content,
                           "the server does not say which part of the object it sends"),
            2);
  EXPECT_GT(AtEveryRequest(HttpTrouble::kTooLong, INT64_MAX, content, "the server says that bytes"),
            2);
  EXPECT_GT(AtEveryRequest(HttpTrouble::kTooMuch, INT64_MAX, content,
                           "the server sends more bytes than it says"),
            2);
}

TEST_P(RemoteFileTest, AnObjectThatIsReplacedIsAnErrorAndNoMixture) {
  using Validators = HttpServer::Validators;
  const std::string content = content_.substr(0, 3 * kMiB);
  // A pass that begins after the object was replaced reads the other one, so it is not made here:
  // the trouble begins at the second request.
  for (const Validators validators :
       {Validators::kETag, Validators::kWeakETag, Validators::kDate, Validators::kNone}) {
    for (const HttpTrouble trouble :
         {HttpTrouble::kReplace, HttpTrouble::kReplaceSlyly, HttpTrouble::kGrow}) {
      // Without a validator, only the size tells.
      if (validators == Validators::kNone && trouble != HttpTrouble::kGrow) continue;
      SCOPED_TRACE(StrCat("validators ", static_cast<int>(validators), ", trouble ",
                          static_cast<int>(trouble)));
      for (const int64_t request : {1, 2}) {
        RemoteServer server(GetParam());  // which counts no late request of the file before
        server.set_validators(validators);
        server.Put("/object", content);
        server.Break(trouble, request);
        const StreamOutcome outcome = ReadInPieces(server.Url("/object"), 300'000);
        ASSERT_TRUE(outcome.error.has_value());
        EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss) << outcome.error->what();
        EXPECT_NE(std::string(outcome.error->what()).find("was replaced after it was opened"),
                  std::string::npos)
            << outcome.error->what();
        EXPECT_TRUE(outcome.content == content.substr(0, outcome.content.size()));
      }
    }
  }
}

// What two answers may say of two objects of one size: lines of headers before and afterwards.
struct Said {
  const char *before, *after;
};

constexpr Said kSaidOfOthers[] = {
    {"ETag: \"1\"\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n",
     "ETag: \"1\"\r\nLast-Modified: Mon, 02 Jan 2024 00:00:00 GMT\r\n"},
    {"ETag: W/\"1\"\r\nLast-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n",
     "ETag: W/\"1\"\r\nLast-Modified: Mon, 02 Jan 2024 00:00:00 GMT\r\n"},
    {"ETag: \"1\"\r\n", "Server: x\r\n"},
    {"ETag: W/\"1\"\r\n", "Server: x\r\n"},
    {"Server: x\r\n", "ETag: \"2\"\r\n"},
    {"ETag: \"1\"\r\n", "ETag: W/\"1\"\r\n"},
    {"Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n", "Server: x\r\n"},
    {"Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\n", "ETag: \"2\"\r\n"},
    {"ETag: \"1\"\r\nx-amz-version-id: v1\r\n", "ETag: \"1\"\r\nX-Amz-Version-Id: v2\r\n"},
    {"x-goog-generation: 7\r\n", "x-goog-generation: 8\r\n"},
    {"x-ms-version-id: 2024-01-01\r\n", "Server: x\r\n"},
    {"Server: x\r\n", "x-oss-version-id: 2\r\n"},
    {"ETag: \"1\"\r\n", "ETag: \"1\"\r\nContent-Encoding: identity\r\n"},
};

TEST_P(RemoteFileTest, WhatIsSaidOnceIsSaidAlways) {
  const std::string content = content_.substr(0, 3 * kMiB);
  for (const Said& said : kSaidOfOthers) {
    SCOPED_TRACE(StrCat(said.before, "then\n", said.after));
    for (int64_t request = 1;; ++request) {
      RemoteServer server(GetParam());
      server.set_headers(said.before, said.after);
      server.Put("/object", content);
      server.Break(HttpTrouble::kReplaceSlyly, request);
      const StreamOutcome outcome = ReadInPieces(server.Url("/object"), 300'000);
      EXPECT_TRUE(outcome.content == content.substr(0, outcome.content.size()));
      if (!server.hit()) break;
      ASSERT_TRUE(outcome.error.has_value());
      EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss) << outcome.error->what();
      EXPECT_NE(std::string(outcome.error->what()).find("was replaced after it was opened"),
                std::string::npos)
          << outcome.error->what();
    }
  }
}

TEST_P(RemoteFileTest, WhatSaysNothingOfTheObjectMayChange) {
  server_.set_headers("ETag: \"1\"\r\nx-goog-metageneration: 1\r\nx-amz-request-id: 1\r\n",
                      "ETag: \"1\"\r\nx-goog-metageneration: 2\r\nX-Cache: HIT\r\n");
  server_.Put("/object", content_);
  server_.Break(HttpTrouble::kReplaceSlyly, 1);
  EXPECT_EQ(ReadWhole(server_.Url("/object")).size(), content_.size());
}

// Two answers to one request: the first one brings half of what was asked for.
TEST_F(HttpFileSystemTest, APartOfAnObjectIsNotGoneOnWithBytesOfAnother) {
  for (const Said& said : kSaidOfOthers) {
    SCOPED_TRACE(StrCat(said.before, "then\n", said.after));
    server_.set_judge([&](const std::string& head, const std::string&) -> HttpAnswer {
      const bool again = HeaderOf(head, "Range") == "bytes=32768-65535";
      return {"206 Partial Content",
              StrCat(again ? said.after : said.before, "Content-Range: bytes ",
                     again ? "32768-65535" : "0-32767", "/100000\r\n"),
              std::string(32'768, again ? 'n' : 'o')};
    });
    ExpectError(ErrorCode::kDataLoss, "was replaced after it was opened",
                [&] { File::Open(server_.Url("/object")); });
  }
}

// Sizes are said in one of two ways.
TEST_F(HttpFileSystemTest, ASizeThatIsNotToldAnyMoreIsAnError) {
  server_.set_judge([&](const std::string& head, const std::string&) -> HttpAnswer {
    unsigned long long first = 0, last = 0;
    EXPECT_EQ(std::sscanf(HeaderOf(head, "Range").c_str(), "bytes=%llu-%llu", &first, &last), 2);
    last = std::min(last, 1'999'999ULL);
    return {"206 Partial Content",
            StrCat("ETag: \"1\"\r\nContent-Range: bytes ", first, "-", last, "/",
                   first == 0 ? "2000000" : "*", "\r\n"),
            std::string(last - first + 1, 'x')};
  });
  const std::unique_ptr<const File> file = File::Open(server_.Url("/object"));
  char byte = 0;
  ExpectError(ErrorCode::kDataLoss, "its size was 2000000, now it is not told",
              [&] { file->Read(1'500'000, &byte, 1); });
}

TEST_F(HttpFileSystemTest, AnswersBehindARedirectAreCompared) {
  const std::string content = content_.substr(0, 3 * kMiB);
  for (const Said& said : kSaidOfOthers) {
    SCOPED_TRACE(StrCat(said.before, "then\n", said.after));
    RemoteServer server(Protocol::kHttp);
    server.Put("/object", content);
    server.Redirect("/moved", "/object");
    server.set_headers(said.before, said.after);
    server.Break(HttpTrouble::kReplaceSlyly, 2);  // each read is two requests
    const StreamOutcome outcome = ReadInPieces(server.Url("/moved"), 300'000);
    ASSERT_TRUE(outcome.error.has_value());
    EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss) << outcome.error->what();
    EXPECT_TRUE(outcome.content == content.substr(0, outcome.content.size()));
  }
}

TEST_P(RemoteFileTest, ASizeThatIsALieIsAnError) {
  server_.Put("/object", content_);
  server_.Break(HttpTrouble::kOtherSize, 1);
  const StreamOutcome outcome = ReadInPieces(server_.Url("/object"), 300'000);
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss) << outcome.error->what();
}

TEST_P(RemoteFileTest, CountsWhatRequestsCost) {
  const auto counts = [&] {
    for (const HttpHostStats& stats : HttpStats()) {
      if (stats.host == StrCat("127.0.0.1:", server_.port())) return stats;
    }
    return HttpHostStats();
  };
  server_.Put("/object", content_);
  server_.Break(HttpTrouble::kStatus, 1, 2);
  EXPECT_TRUE(ReadWhole(server_.Url("/object")) == content_);
  EXPECT_EQ(counts().requests, static_cast<uint64_t>(server_.requests()));
  EXPECT_EQ(counts().retries, 2u);
  EXPECT_GT(counts().bytes, content_.size());  // the first bytes come when the file is opened
  EXPECT_LT(counts().bytes, content_.size() + kMiB);
  EXPECT_GT(counts().wait_seconds, 0);
  EXPECT_EQ(HttpHostOf("http://me:hidden@host:80/a?b"), "host:80");
  EXPECT_EQ(HttpHostOf("s3://bucket/a"), "");
}

TEST_P(RemoteFileTest, AServerMayAskForAPause) {
  server_.Put("/object", content_);
  server_.set_status(429, 1);
  server_.Break(HttpTrouble::kStatus, 2, 1);
  EXPECT_TRUE(ReadWhole(server_.Url("/object")) == content_);
  server_.set_status(429, 100'000);
  server_.Break(HttpTrouble::kStatus, 0);
  ExpectError(ErrorCode::kIo,
              "the server said 'HTTP/1.1 429 Trouble' and asked for a pause of 100000000 ms",
              [&] { File::Open(server_.Url("/object")); });
}

TEST_P(RemoteFileTest, ATransferHasATimeLimitInAll) {
  HttpLimits limits = Impatient();
  limits.in_all = milliseconds(300);
  HttpLimits::Set(limits);
  server_.Put("/object", content_);
  server_.set_bytes_per_second(kMiB);
  ExpectError(ErrorCode::kIo, "the request takes more than 300 ms",
              [&] { ReadWhole(server_.Url("/object")); });
}

TEST_P(RemoteFileTest, AServerWithoutPartsGivesTheWhole) {
  server_.Break(HttpTrouble::kNoParts);
  for (const std::string& content : {std::string(), std::string("short"), content_}) {
    server_.Put("/object", content);
    EXPECT_TRUE(ReadWhole(server_.Url("/object")) == content);
    EXPECT_EQ(FileSystemOf(server_.Url("/")).Stat(server_.Url("/object")).size, content.size());
  }
  server_.Put("/large", std::string(size_t{65} << 20, 'x'));
  ExpectError(ErrorCode::kResourceLimit, "the server gives no parts of it (it ignores 'Range')",
              [&] { File::Open(server_.Url("/large")); });
  // A server that stops to give parts of an object has told lies before.
  server_.Put("/object", content_);
  server_.Break(HttpTrouble::kNoParts, 1);
  ExpectError(ErrorCode::kIo, "the server sends the whole object instead of a part",
              [&] { ReadWhole(server_.Url("/object")); });
}

TEST_P(RemoteFileTest, AWholeObjectThatBreaksIsNotAskedForWithoutEnd) {
  HttpLimits limits = Impatient();
  limits.tries = 3;
  limits.in_all = std::chrono::seconds(20);
  HttpLimits::Set(limits);
  server_.Put("/object", content_);
  server_.Break(HttpTrouble::kBrokenWhole);
  ExpectError(ErrorCode::kIo, "(3 tries)", [&] { File::Open(server_.Url("/object")); });
  server_.Break(HttpTrouble::kBrokenWhole, 0, 3);  // the first one is not read to its end
  EXPECT_TRUE(ReadWhole(server_.Url("/object")) == content_);
}

TEST_P(RemoteFileTest, AWholeObjectSaysWhereItEnds) {
  for (const std::string& content : {std::string(), std::string("short"), content_}) {
    server_.Put("/object", content);
    server_.Break(HttpTrouble::kChunks);
    EXPECT_TRUE(ReadWhole(server_.Url("/object")) == content);
    server_.Break(HttpTrouble::kNoLength);
    ExpectError(ErrorCode::kIo, "the server does not say where the object ends",
                [&] { File::Open(server_.Url("/object")); });
  }
}

TEST_P(RemoteFileTest, AnAnswerWithAllBytesNeedsNoEnd) {
  HttpLimits limits = Impatient();
  limits.silence = milliseconds(300);
  HttpLimits::Set(limits);
  server_.Put("/object", content_);
  server_.Break(HttpTrouble::kOpenEnd);
  EXPECT_TRUE(ReadWhole(server_.Url("/object")) == content_);
}

TEST_F(HttpFileSystemTest, WhatAServerHasCompressedIsRefused) {
  server_.set_coding("gzip");
  for (const HttpTrouble trouble : {HttpTrouble::kNone, HttpTrouble::kNoParts}) {
    server_.Break(trouble);
    server_.Put("/a.csv", content_);
    ExpectError(ErrorCode::kIo, "the server sends it compressed (Content-Encoding: 'gzip')",
                [&] { File::Open(server_.Url("/a.csv?name=a.gz")); });
    server_.Put("/a.csv.gz", content_);
    EXPECT_TRUE(ReadWhole(server_.Url("/a.csv.gz?key=1")) == content_);
    server_.set_coding("Identity");
    EXPECT_TRUE(ReadWhole(server_.Url("/a.csv")) == content_);
    server_.set_coding("gzip");
    for (const std::string& head : server_.heads()) {
      EXPECT_NE(head.find("Accept-Encoding: identity\r\n"), std::string::npos) << head;
    }
  }
  server_.Mend();
  const std::unique_ptr<const File> file = File::Open(server_.Url("/a.csv.gz"));
  server_.set_coding("");
  char byte = 0;
  ExpectError(ErrorCode::kDataLoss, "its Content-Encoding was gzip",
              [&] { file->Read(kMiB, &byte, 1); });
}

TEST_F(HttpFileSystemTest, HeadersThatAreTooLongAreNoLackOfMemory) {
  server_.set_judge([](const std::string&, const std::string&) {
    return HttpAnswer{"200 OK", "X-Long: " + std::string(150'000, 'x') + "\r\n", "a"};
  });
  ExpectError(ErrorCode::kIo, "no room for a line of the answer's headers; it takes 100 KB",
              [&] { File::Open(server_.Url("/object")); });
}

TEST_P(RemoteFileTest, AnETagThatIsTooLongIsComparedAndNotSent) {
  server_.set_validators(HttpServer::Validators::kLongETag);
  server_.Put("/object", content_);
  EXPECT_TRUE(ReadWhole(server_.Url("/object")) == content_);
  server_.Break(HttpTrouble::kReplace, 1);
  const StreamOutcome outcome = ReadInPieces(server_.Url("/object"), 300'000);
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_EQ(outcome.error->code(), ErrorCode::kDataLoss) << outcome.error->what();
  for (const std::string& head : server_.heads()) {
    EXPECT_EQ(HeaderOf(head, "If-Match"), "");
  }
}

TEST_F(HttpFileSystemTest, UrgentRequestsKeepTheirOrder) {
  HttpLimits limits = Impatient();
  limits.under_way = 1;
  HttpLimits::Set(limits);
  const auto start = [&](const std::string& path, bool urgent) {
    server_.Put(path, "content");
    HttpRequest request;
    request.url = server_.Url(path);
    request.urgent = urgent;
    return HttpTransfer::Start(std::move(request));
  };
  server_.Break(HttpTrouble::kSilent);
  std::vector<std::shared_ptr<const HttpTransfer>> transfers = {start("/0", false)};
  WaitUntil([&] { return server_.requests() == 1; });
  transfers.push_back(start("/3", false));
  for (const char* const path : {"/1", "/2"}) transfers.push_back(start(path, true));
  server_.Mend();
  for (const auto& transfer : transfers) transfer->Wait();
  std::string order;
  for (const std::string& head : server_.heads()) {
    if (head.find("/0 ") == std::string::npos) order += head[head.find('/') + 1];
  }
  EXPECT_EQ(order, "123");
}

TEST_F(HttpFileSystemTest, AStoppedLookUpGivesItsPlaceBack) {
  HttpLimits limits;
  limits.under_way = 1;
  limits.silence = std::chrono::hours(1);
  HttpLimits::Set(limits);
  server_.Break(HttpTrouble::kSilent);
  std::thread looking([&] {
    ExpectError(ErrorCode::kCancelled, "",
                [&] { FileSystemOf("http://").Stat(server_.Url("/a")); });
  });
  WaitUntil([&] { return server_.at_once() > 0; });
  RequestStop();
  looking.join();
  ClearStop();
  HttpServer other;
  other.Put("/b", "content");
  EXPECT_TRUE(FileSystemOf("http://").Exists(other.Url("/b")));
}

TEST_F(HttpFileSystemTest, ToldOfFilesThatAreMissing) {
  for (const char* const proxy : {"http_proxy", "all_proxy", "ALL_PROXY"}) ::unsetenv(proxy);
  const std::string url = server_.Url("/none");
  const FileSystem& system = FileSystemOf(url);
  EXPECT_EQ(system.Stat(url).kind, FileStatus::Kind::kMissing);
  EXPECT_EQ(system.Stat(url).problem, "cannot open: the server said 'HTTP/1.1 404 Not Found'");
  EXPECT_FALSE(system.Exists(url));
  ExpectError(ErrorCode::kIo, url + ": cannot open: the server said 'HTTP/1.1 404 Not Found'",
              [&] { File::Open(url); });
  server_.set_status(401);
  server_.Break(HttpTrouble::kStatus);
  EXPECT_EQ(system.Stat(url).kind, FileStatus::Kind::kUnknown);
  ExpectError(ErrorCode::kIo, "cannot open: ", [&] { File::Open("http://nobody.invalid/a"); });
  ExpectError(ErrorCode::kIo, "cannot open: ", [&] { File::Open("http://127.0.0.1:1/a"); });
  ExpectError(ErrorCode::kIo, "cannot open: ", [&] { File::Open("http://a host/a"); });
  ExpectError(ErrorCode::kIo, "a name with a zero byte",
              [&] { File::Open(std::string("http://a/\0b", 11)); });
}

TEST_F(HttpFileSystemTest, ManyFilesAreAskedForAtOnce) {
  const TempFile local("local", "four");
  std::vector<std::string> paths;
  for (size_t i = 0; i < 200; ++i) {
    const std::string name = StrCat("/", i);
    if (i % 3 != 0) server_.Put(name, std::string(i, 'x'));
    paths.push_back(i == 100 ? local.path() : i == 101 ? "http://a host/a" : server_.Url(name));
  }
  server_.set_latency(milliseconds(20));
  server_.Break(HttpTrouble::kNone);
  const std::vector<FileStatus> found = StatAll(paths);
  ASSERT_EQ(found.size(), paths.size());
  EXPECT_GT(server_.most_at_once(), 8u);
  EXPECT_LE(server_.most_at_once(), HttpLimits::Get().under_way);
  server_.set_latency(milliseconds(0));
  for (size_t i = 0; i < paths.size(); ++i) {
    const FileStatus alone = FileSystemOf(paths[i]).Stat(paths[i]);
    EXPECT_EQ(found[i].kind, alone.kind) << i;
    EXPECT_EQ(found[i].size, i == 100 ? 4 : i % 3 == 0 || i == 101 ? 0 : i) << i;
    EXPECT_EQ(found[i].problem, alone.problem) << i;
    EXPECT_EQ(found[i].id, alone.id) << i;
  }
}

TEST_F(HttpFileSystemTest, AStopEndsTheWaitForManyFiles) {
  std::vector<std::string> paths;
  for (size_t i = 0; i < 100; ++i) paths.push_back(server_.Url(StrCat("/", i)));
  server_.Break(HttpTrouble::kSilent);
  std::thread stop([&] {
    while (server_.at_once() == 0) std::this_thread::yield();
    RequestStop();
  });
  ExpectError(ErrorCode::kCancelled, "", [&] { StatAll(paths); });
  stop.join();
  ClearStop();
  server_.Mend();
}

TEST_F(HttpFileSystemTest, IdentityAndVersionAreThoseOfTheObject) {
  server_.Put("/a", "content");
  server_.Put("/b", "content");
  const FileSystem& system = FileSystemOf("http://");
  const FileStatus a = system.Stat(server_.Url("/a"));
  EXPECT_EQ(a.kind, FileStatus::Kind::kFile);
  EXPECT_EQ(a.size, 7u);
  EXPECT_EQ(system.Stat(server_.Url("/a?key=1")).id, a.id);
  EXPECT_NE(system.Stat(server_.Url("/b")).id, a.id);
  EXPECT_EQ(File::Open(server_.Url("/a"))->id(), a.id);
  server_.Break(HttpTrouble::kReplace);
  EXPECT_NE(system.Stat(server_.Url("/a")).version, a.version);
  EXPECT_NE(system.Stat(server_.Url("/a")).id, a.id);
}

TEST_F(HttpFileSystemTest, FollowsRedirectsButNotForEver) {
  server_.Put("/object", content_);
  server_.Redirect("/near", "/object");
  server_.Redirect("/far", server_.Url("/near"));
  server_.Redirect("/round", "/round");
  server_.Redirect("/local", "file:///etc/passwd");
  EXPECT_TRUE(ReadWhole(server_.Url("/far")) == content_);
  ExpectError(ErrorCode::kIo, "Maximum (10) redirects followed",
              [&] { File::Open(server_.Url("/round")); });
  ExpectError(ErrorCode::kIo, "Protocol \"file\" not supported",
              [&] { File::Open(server_.Url("/local")); });
}

TEST_F(HttpFileSystemTest, TheProxyIsThatOfTheEnvironment) {
  server_.Put("http://nobody.invalid/object", content_);
  ::setenv("http_proxy", server_.Url("").c_str(), 1);
  EXPECT_TRUE(ReadWhole("http://nobody.invalid/object") == content_);
  ::unsetenv("http_proxy");
}

TEST_P(RemoteFileTest, ConnectionsAreUsedAgain) {
  server_.Put("/object", content_);
  const std::string url = server_.Url("/object");
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(FileSystemOf(url).Exists(url));
  EXPECT_FALSE(FileSystemOf(url).Exists(server_.Url("/none")));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(ReadWhole(url) == content_);
  EXPECT_LE(server_.connections(), HttpLimits::Get().under_way / 2);
}

TEST_F(HttpFileSystemTest, SecretsAreSentAndNeverShown) {
  server_.Put("/object", content_);
  std::string url = server_.Url("/object?sig=hidden&key=hidden#hidden");
  url.insert(url.find("127"), "hidden:hidden@");
  EXPECT_TRUE(ReadWhole(url) == content_);
  ASSERT_FALSE(server_.heads().empty());
  EXPECT_NE(server_.heads()[0].find("GET /object?sig=hidden&key=hidden HTTP"), std::string::npos);
  EXPECT_NE(server_.heads()[0].find("Authorization: Basic "), std::string::npos);
  const std::string shown = StrCat("http://...@127.0.0.1:", server_.port(), "/object?...");
  for (const HttpTrouble trouble :
       {HttpTrouble::kStatus, HttpTrouble::kReset, HttpTrouble::kOtherPart, HttpTrouble::kNoRange,
        HttpTrouble::kOtherSize, HttpTrouble::kTooMuch, HttpTrouble::kGarbage}) {
    server_.Break(trouble, 1);
    const StreamOutcome outcome = ReadInPieces(url, kMiB);
    ASSERT_TRUE(outcome.error.has_value());
    EXPECT_EQ(outcome.error->file(), shown);
    EXPECT_EQ(std::string(outcome.error->what()).find("hidden"), std::string::npos)
        << outcome.error->what();
    EXPECT_EQ(std::string(outcome.error->what()).rfind(shown, 0), 0u) << outcome.error->what();
  }
}

TEST_P(RemoteFileTest, AStopEndsAllWaits) {
  server_.Put("/object", Noise(16 * kMiB));
  HttpLimits limits;  // as patient as people are
  limits.under_way = 64;
  HttpLimits::Set(limits);
  std::vector<std::unique_ptr<const File>> files;
  files.reserve(limits.under_way);
  while (files.size() < limits.under_way) files.push_back(File::Open(server_.Url("/object")));
  server_.Break(HttpTrouble::kSilent);
  std::atomic<int> cancelled{0};
  std::vector<std::thread> threads;
  threads.reserve(files.size());
  for (const auto& file : files) {
    threads.emplace_back([&file, &cancelled] {
      std::string bytes(kMiB, '\0');
      try {
        file->Read(kMiB, bytes.data(), bytes.size());
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kCancelled) ++cancelled;
      }
    });
  }
  WaitUntil([&] { return server_.at_once() == 64; });
  RequestStop();
  for (std::thread& thread : threads) thread.join();
  ClearStop();
  EXPECT_EQ(cancelled, 64);
  files.clear();
  server_.Mend();
  EXPECT_EQ(ReadWhole(server_.Url("/object")).size(), 16 * kMiB);
}

TEST_P(RemoteFileTest, MemoryStaysWithinItsLimit) {
  const std::string content = Noise(32 * kMiB);
  server_.Put("/object", content);
  const LimitInForce limit(8 * kMiB);
  MemoryLimit::ResetPeak();
  const StreamOutcome outcome = ReadInPieces(server_.Url("/object"), 300'000);
  EXPECT_FALSE(outcome.error.has_value()) << outcome.error->what();
  EXPECT_TRUE(outcome.content == content);
  EXPECT_LE(MemoryLimit::peak(), 6 * kMiB);
}

TEST_F(HttpFileSystemTest, NamesMayHaveBracesButNoWildcards) {
  for (const char* const path : {"/00", "/01", "/02"}) server_.Put(path, "content");
  EXPECT_EQ(ExpandFileNames({server_.Url("/{00..02}")}).size(), 3u);
  server_.Break(HttpTrouble::kNone);
  EXPECT_EQ(ExpandFileNames({server_.Url("/{00..02}?key=1")}).size(), 3u);
  EXPECT_EQ(server_.requests(), 1) << "only the name with braces is looked for";
  ExpectError(ErrorCode::kIo, "a server does not list its files",
              [&] { ExpandFileNames({server_.Url("/*")}); });
  EXPECT_EQ(ExpandFileNames({server_.Url("/none?key=1")}).size(), 1u);
}

TEST_P(RemoteFileTest, ReadersYieldRightRecordsOrAnErrorWhateverGoesWrong) {
  const std::string folder = NewFolder("numbers");
  WriteNumbers(folder, 2, 50);
  for (int i = 0; i < 2; ++i) {
    server_.Put(StrCat("/numbers-", i, ".recordio"),
                ReadFile(StrCat(folder, "/numbers-", i, ".recordio")));
  }
  HttpLimits limits = Impatient();
  limits.tries = limits.opening_tries = 2;
  HttpLimits::Set(limits);
  const auto read = [](const std::string& names) {
    FormatArguments arguments;
    arguments.declared = {{DataType::kFp32, {1, 2}, 0, true}, {DataType::kInt64, {1, 1}, 0, true}};
    arguments.attributes.Set("content", std::string("tensors"));
    try {
      const std::unique_ptr<ReaderBase> reader = OpenFiles({names}, {}, arguments, {});
      return OutcomeOf(reader.get());
    } catch (const Error& error) {
      return Outcome{{}, error};
    }
  };
  const Outcome whole = read(folder + "/numbers-{0..1}.recordio");
  ASSERT_EQ(whole.elements.size(), 100u);
  const std::string names = server_.Url("/numbers-{0..1}.recordio");
  for (const int workers : {0, 2}) {
    const PoolSize pool(workers);
    for (const HttpTrouble trouble :
         {HttpTrouble::kNone, HttpTrouble::kStatus, HttpTrouble::kShortBody, HttpTrouble::kReset,
          HttpTrouble::kNoParts, HttpTrouble::kFewer, HttpTrouble::kOtherPart,
          HttpTrouble::kNoRange, HttpTrouble::kTooMuch, HttpTrouble::kGarbage}) {
      for (int64_t request = 0;; ++request) {
        SCOPED_TRACE(StrCat("trouble ", static_cast<int>(trouble), " at request ", request));
        server_.Break(trouble, request);
        const Outcome outcome = read(names);
        const bool hit = server_.hit();
        server_.Mend();
        ASSERT_LE(outcome.elements.size(), whole.elements.size());
        EXPECT_TRUE(
            std::equal(outcome.elements.begin(), outcome.elements.end(), whole.elements.begin()));
        if (!outcome.error) {
          EXPECT_EQ(outcome.elements.size(), whole.elements.size());
        }
        if (!hit) break;
      }
    }
  }
}

TEST(HttpsFileSystemTest, ChecksTheCertificate) {
  HttpLimits::Set(Impatient());
  const std::string certificate = TempName("certificate.pem");
  const std::string key = TempName("key.pem");
  WriteCertificate(certificate, key);
  HttpServer server(certificate, key);
  const std::string content = Noise(3 * kMiB);
  server.Put("/object", content);
  ExpectError(ErrorCode::kIo, "certificate", [&] { File::Open(server.Url("/object")); });
  ::setenv("CURL_CA_BUNDLE", certificate.c_str(), 1);
  const std::unique_ptr<const File> file = File::Open(server.Url("/object"));
  std::string got(file->size(), '\0');
  file->Read(0, got.data(), got.size());
  EXPECT_TRUE(got == content);
  HttpServer plain;
  plain.Put("/object", content);
  server.Redirect("/plain", plain.Url("/object"));
  ExpectError(ErrorCode::kIo, "Protocol \"http\" not supported",
              [&] { File::Open(server.Url("/plain")); });
  EXPECT_EQ(plain.requests(), 0);
  ::unsetenv("CURL_CA_BUNDLE");
  HttpLimits::Set(HttpLimits());
}

}  // namespace
}  // namespace millhopper

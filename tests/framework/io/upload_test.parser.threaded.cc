// SPDX-License-Identifier: Apache-2.0
// Files that are written to servers: whole or not at all, whatever goes wrong
// on the way.
#include "framework/io/upload.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/io/file_system.h"
#include "framework/io/files_in_use.h"
#include "framework/io/http/http_stats.h"
#include "framework/io/http/http_transfers.h"
#include "framework/io/output_file.h"
#include "framework/io/s3/s3_upload.h"
#include "tests/fakes/http_server.h"
#include "tests/fakes/s3_judge.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using std::chrono::milliseconds;

constexpr size_t kPart = 100;

std::string Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * i + i / 7);
  return bytes;
}

void WriteWhole(const std::string& path, const std::string& bytes) {
  OutputFile file(path);
  file.Write(bytes);
  file.Publish();
}

// By parts of kPart bytes, in pieces of other sizes.
void WriteParts(const std::string& path, const std::string& bytes) {
  const std::unique_ptr<Upload> upload = CreateS3Upload(path, kPart);
  for (size_t at = 0; at < bytes.size(); at += 70) {
    upload->Write(bytes.data() + at, std::min<size_t>(70, bytes.size() - at));
  }
  upload->Finish();
  upload->Publish();
}

class UploadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetS3User();
    limits_.first_pause = milliseconds(1);  // tests do not wait as long as people do
    limits_.longest_pause = milliseconds(4);
    HttpLimits::Set(limits_);
    judge_->set_least_part(kPart);
  }
  void TearDown() override {
    ClearStop();
    server_.Mend();
    HttpLimits::Set(HttpLimits());
  }

  HttpLimits limits_;
  HttpServer server_;
  const std::shared_ptr<S3Judge> judge_ = S3Judge::For(&server_);
  const AwsTestEnvironment environment_{server_.Url("")};
};

TEST_F(UploadTest, HasItsNameWhenItIsComplete) {
  judge_->Put("a b/\xc3\xbc+", "older");
  const std::string path = "s3://bucket/a b/\xc3\xbc+";
  {
    OutputFile file(path);
    file.Write("of which nothing is seen");
    file.Finish();
    EXPECT_EQ(judge_->Get("a b/\xc3\xbc+"), "older");
  }
  EXPECT_EQ(judge_->Get("a b/\xc3\xbc+"), "older");
  WriteWhole(path, Bytes(3'000'000));
  EXPECT_EQ(judge_->Get("a b/\xc3\xbc+"), Bytes(3'000'000));
  WriteWhole(path, "");
  EXPECT_EQ(judge_->Get("a b/\xc3\xbc+"), "");
}

TEST_F(UploadTest, SendsLargeObjectsByParts) {
  server_.set_latency(milliseconds(2));
  for (const size_t size : {kPart, kPart + 1, 10 * kPart, 10 * kPart + 50}) {
    WriteParts("s3://bucket/large", Bytes(size));
    EXPECT_EQ(judge_->Get("large"), Bytes(size)) << size;
  }
  EXPECT_EQ(judge_->open_uploads(), 0u);
  EXPECT_GT(server_.most_at_once(), 1u);
}

TEST_F(UploadTest, CountsWhatIsSent) {
  const auto bytes = [] {
    uint64_t sum = 0;
    for (const HttpHostStats& host : HttpStats()) sum += host.bytes;
    return sum;
  };
  const uint64_t before = bytes();
  WriteWhole("s3://bucket/counted", Bytes(100'000));
  EXPECT_GE(bytes() - before, 100'000u);
  EXPECT_LT(bytes() - before, 110'000u);
}

TEST_F(UploadTest, MakesPartsLargerBeforeThereAreTooMany) {
  constexpr size_t kPartsOfOneByte = 2000;
  judge_->set_least_part(1);
  const std::unique_ptr<Upload> upload = CreateS3Upload("s3://bucket/long", 1);
  const std::string bytes = Bytes(kPartsOfOneByte + 20);
  server_.Break(HttpTrouble::kNone);
  upload->Write(bytes.data(), bytes.size());
  upload->Finish();
  upload->Publish();
  EXPECT_EQ(judge_->Get("long"), bytes);
  EXPECT_EQ(server_.requests(), int64_t{1 + kPartsOfOneByte + 10 + 1});
}

TEST_F(UploadTest, LeavesNoPartsWhenItIsGivenUp) {
  {
    const std::unique_ptr<Upload> upload = CreateS3Upload("s3://bucket/large", kPart);
    const std::string bytes = Bytes(5 * kPart);
    upload->Write(bytes.data(), bytes.size());
    upload->Finish();
    EXPECT_EQ(judge_->open_uploads(), 1u);
  }
  EXPECT_EQ(judge_->open_uploads(), 0u);
  EXPECT_FALSE(judge_->Get("large"));
}

TEST_F(UploadTest, TriesAgainWhateverFailsForAMoment) {
  for (const HttpTrouble trouble : {HttpTrouble::kStatus, HttpTrouble::kReset}) {
    server_.set_status(503);
    for (int64_t request = 0;; ++request) {
      server_.Break(trouble, request, 1);
      WriteParts("s3://bucket/large", Bytes(3 * kPart));
      EXPECT_EQ(judge_->Get("large"), Bytes(3 * kPart)) << request;
      if (!server_.hit()) break;
    }
  }
  judge_->BreakUploads(2);
  WriteParts("s3://bucket/large", Bytes(4 * kPart));
  EXPECT_EQ(judge_->Get("large"), Bytes(4 * kPart));
}

TEST_F(UploadTest, LooksWhetherTheObjectIsThereIfTheAnswerIsLost) {
  const std::string older(3 * kPart, 'o');  // of the same size
  const auto write = [] { WriteParts("s3://bucket/large", Bytes(3 * kPart)); };
  for (const bool replaces : {false, true}) {
    SCOPED_TRACE(replaces);
    const auto before = [&] {
      judge_->Put("large", older);
      if (!replaces) FileSystemOf("s3://").Remove("s3://bucket/large");
      server_.Mend();
    };
    before();
    // One request begins, three bring the parts.
    server_.Break(HttpTrouble::kReset, 4, 1);
    write();
    EXPECT_EQ(judge_->Get("large"), Bytes(3 * kPart));
    write();  // again, by the same bytes
    before();
    judge_->ForgetUploads(1);
    ExpectError(ErrorCode::kIo, "NoSuchUpload", write);
    EXPECT_EQ(judge_->Get("large"), replaces ? std::optional(older) : std::nullopt);
  }
}

TEST_F(UploadTest, SaysWhatTheServerSaysAndLeavesTheOlderObject) {
  judge_->Put("large", "older");
  server_.set_status(507);
  for (int64_t request = 0; request < 5; ++request) {
    // All from this request on: it may be one that the upload before has given
    // up.
    server_.Break(HttpTrouble::kStatus, request);
    ExpectError(ErrorCode::kIo, "s3://bucket/large: cannot write: the server said",
                [] { WriteParts("s3://bucket/large", Bytes(3 * kPart)); });
    EXPECT_TRUE(server_.hit());
    EXPECT_EQ(judge_->Get("large"), "older");
  }
  server_.Mend();
  const size_t not_given_up = judge_->open_uploads();  // the server has refused that, too
  judge_->BreakUploads(INT64_MAX);
  ExpectError(ErrorCode::kIo, "but then it sent an error (InternalError: that is InternalError) (8",
              [] { WriteParts("s3://bucket/large", Bytes(3 * kPart)); });
  EXPECT_EQ(judge_->Get("large"), "older");
  EXPECT_EQ(judge_->open_uploads(), not_given_up);
  judge_->BreakUploads(0);
  judge_->set_least_part(2 * kPart);
  ExpectError(ErrorCode::kIo, "EntityTooSmall",
              [] { WriteParts("s3://bucket/large", Bytes(3 * kPart)); });
  judge_->SetUser("OTHER", "SECRET");
  ExpectError(ErrorCode::kIo,
              "s3://bucket/small: cannot write: ", [] { WriteWhole("s3://bucket/small", "x"); });
  ExpectError(ErrorCode::kInvalidArgument, "without that of an object",
              [] { WriteWhole("s3://bucket/", "x"); });
}

TEST_F(UploadTest, StopsAtOnce) {
  for (int64_t request = 0; request < 4; ++request) {
    server_.Break(HttpTrouble::kSilent, request);
    std::thread stop([&] {
      while (!server_.hit()) std::this_thread::sleep_for(milliseconds(1));
      RequestStop();
    });
    ExpectError(ErrorCode::kCancelled, "", [] { WriteParts("s3://bucket/x", Bytes(3 * kPart)); });
    stop.join();
    ClearStop();
    EXPECT_FALSE(judge_->Get("x"));
  }
}

// A server says nothing while it takes a body.
TEST_F(UploadTest, TakesItsTimeOnASlowLink) {
  HttpServer plain;
  plain.Put("/a", "older");  // so that the first request is answered at once
  plain.set_bytes_per_second(8'000'000);
  limits_.silence = milliseconds(1000);
  HttpLimits::Set(limits_);
  const std::string bytes = Bytes(size_t{16} << 20);
  WriteWhole(plain.Url("/a"), bytes);
  EXPECT_EQ(plain.requests(), 2);
  EXPECT_EQ(plain.Get("/a"), bytes);
}

TEST_F(UploadTest, KeepsTheRulesOfOutputs) {
  judge_->Put("folder/a", "older");
  OutputRules rules;
  rules.overwrite = false;
  ExpectError(ErrorCode::kIo, rules.refusal, [&] { OutputFile("s3://bucket/folder/a", rules); });
  server_.set_status(500);
  server_.Break(HttpTrouble::kStatus);
  ExpectError(ErrorCode::kIo, "it is not known whether there is such a file",
              [&] { OutputFile("s3://bucket/folder/b", rules); });
  server_.Mend();
  OutputFile("s3://bucket/folder/b", rules).Publish();
  EXPECT_EQ(judge_->Get("folder/b"), "");
  ExpectError(ErrorCode::kIo, "it is a folder", [] { OutputFile("s3://bucket/folder"); });
  FilesRead reads(FileRole::kData);
  const std::string path = "s3://bucket/folder/a";
  reads.Add(path, FileSystemOf(path).Stat(path).id);
  ExpectError(ErrorCode::kInvalidArgument, path, [&] { OutputFile file(path); });
}

TEST_F(UploadTest, GoesToServersOfHttp) {
  HttpServer plain;
  const std::string path = plain.Url("/a?key=secret");
  WriteWhole(path, "content");
  EXPECT_EQ(plain.Get("/a"), "content");
  FileSystemOf(path).Remove(path);
  EXPECT_FALSE(plain.Get("/a"));
  FileSystemOf(path).Remove(path);  // nothing is there any more
  plain.set_status(405);
  plain.Break(HttpTrouble::kStatus);
  ExpectError(ErrorCode::kIo, "/a?...: cannot write: the server said 'HTTP/1.1 405 Trouble'",
              [&] { WriteWhole(path, "x"); });
  ExpectError(ErrorCode::kIo, "/a?...: cannot remove: the server said 'HTTP/1.1 405 Trouble'",
              [&] { FileSystemOf(path).Remove(path); });
  plain.Mend();
  plain.Redirect("/a", "/b");
  ExpectError(ErrorCode::kIo, "302 Found", [&] { WriteWhole(path, "x"); });
}

TEST_F(UploadTest, IsRefusedWhereNothingIsWritten) {
  ExpectError(ErrorCode::kIo, "nothing is written to its file system",
              [] { WriteWhole("pipe:cat", "x"); });
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Object stores: who asks, what there is, what a refusal means. What networks do to transfers is
// tested in http_file_system_test.parser.threaded.cc, for both protocols.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/io/file.h"
#include "framework/io/file_system.h"
#include "framework/io/http/http_transfers.h"
#include "framework/io/s3/aws_settings.h"
#include "framework/io/s3/s3_bucket.h"
#include "framework/io/s3/s3_list.h"
#include "framework/io/s3/s3_xml.h"
#include "readers/sources/file_list.h"
#include "tests/fakes/http_server.h"
#include "tests/fakes/s3_judge.h"
#include "tests/gate.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kMiB = size_t{1} << 20;

void Set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

std::string ReadWhole(const std::string& path) {
  const std::unique_ptr<const File> file = File::Open(path);
  std::string content(file->size(), '\0');
  file->Read(0, content.data(), content.size());
  return content;
}

class S3FileSystemTest : public ::testing::Test {
 protected:
  void SetUp() override {
    HttpLimits limits;  // tests do not wait as long as people do
    limits.first_pause = milliseconds(1);
    limits.longest_pause = milliseconds(4);
    HttpLimits::Set(limits);
    judge_->Put("a", "content");
  }
  void TearDown() override {
    server_.Mend();
    HttpLimits::Set(HttpLimits());
  }

  HttpServer server_;
  const std::shared_ptr<S3Judge> judge_ = S3Judge::For(&server_);
  const AwsTestEnvironment environment_{server_.Url("")};
};

// A server of credentials, which hands out one user after another.
class CredentialsServer {
 public:
  explicit CredentialsServer(S3Judge* judge) : judge_(judge) {
    server_.set_judge([this](const std::string& head, const std::string&) { return Answer(head); });
  }

  std::string Url(const std::string& path) const { return server_.Url(path); }
  int port() const { return server_.port(); }
  HttpServer& server() { return server_; }
  // For how long credentials are right from when they are handed out.
  void set_seconds(int64_t seconds) { seconds_ = seconds; }
  int64_t users() const { return users_; }

 private:
  std::optional<HttpAnswer> Answer(const std::string& head) {
    const HttpAnswer forbidden = {"401 Unauthorized", "", "hidden"};
    const std::string line = head.substr(0, head.find("\r\n"));
    if (line == "PUT /latest/api/token HTTP/1.1") {
      if (HeaderOf(head, "X-aws-ec2-metadata-token-ttl-seconds").empty()) return forbidden;
      return HttpAnswer{"200 OK", "", "METADATA-TOKEN"};
    }
    const std::string roles = "GET /latest/meta-data/iam/security-credentials/";
    if (line.rfind(roles, 0) == 0) {
      if (HeaderOf(head, "X-aws-ec2-metadata-token") != "METADATA-TOKEN") return forbidden;
      if (line == roles + " HTTP/1.1") return HttpAnswer{"200 OK", "", "the-role"};
      if (line == roles + "the-role HTTP/1.1") return NextUser();
      return HttpAnswer{"404 Not Found", "", ""};
    }
    if (line != "GET /container HTTP/1.1") return HttpAnswer{"404 Not Found", "", ""};
    return HeaderOf(head, "Authorization") == "hidden word" ? NextUser() : forbidden;
  }

  HttpAnswer NextUser() {
    const int64_t user = ++users_;
    const std::string key = StrCat("KEY", user), secret = StrCat("hidden/", user);
    judge_->SetUser(key, secret, StrCat("hidden-token", user));
    const time_t end = ::time(nullptr) + seconds_;
    char text[32];
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&end));
    return {
        "200 OK", "Content-Type: application/json\r\n",
        StrCat(R"({"Code": "Success", "AccessKeyId": ")", key, R"(", "SecretAccessKey": ")", secret,
               R"(", "Token": "hidden-token)", user, R"(", "Expiration": ")", text, "\"}")};
  }

  S3Judge* const judge_;
  std::atomic<int64_t> seconds_{3600};
  std::atomic<int64_t> users_{0};
  HttpServer server_;
};

TEST_F(S3FileSystemTest, SignsWithTheEnvironmentsKeys) {
  SetS3User();
  EXPECT_EQ(ReadWhole("s3://bucket/a"), "content");
  EXPECT_GT(judge_->right(), 0);
  Set("AWS_SECRET_ACCESS_KEY", "hidden");
  ExpectError(ErrorCode::kIo,
              "s3://bucket/a: cannot open: the server said 'HTTP/1.1 403 Forbidden' "
              "(SignatureDoesNotMatch: that is SignatureDoesNotMatch)",
              [] { File::Open("s3://bucket/a"); });
  Set("AWS_SECRET_ACCESS_KEY", "SECRET/+=");
  Set("AWS_SESSION_TOKEN", "hidden");
  ExpectError(ErrorCode::kIo, "(InvalidToken: ", [] { File::Open("s3://bucket/a"); });
  judge_->SetUser("KEY", "SECRET/+=", "hidden");
  EXPECT_EQ(ReadWhole("s3://bucket/a"), "content");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  ExpectError(ErrorCode::kInvalidArgument, "one is set and the other is not",
              [] { File::Open("s3://bucket/a"); });
  Set("AWS_SECRET_ACCESS_KEY", "hidden\r\nX: 1");
  ExpectError(ErrorCode::kInvalidArgument, "the secret key has a blank or a character",
              [] { File::Open("s3://bucket/a"); });
}

TEST_F(S3FileSystemTest, KeysMayHaveAnyCharacters) {
  SetS3User();
  for (const char* const key :
       {"a b",  "a+b",      "a%20b", "a%b",   "\xC3\xBC",  "a?b=c&d", "a#b",    "a//b",
        "../a", "./a",      "a/..",  "a/./b", "~a",        "a'b\"c",  "[a]{b}", "a*b",
        "a\\b", "\xFF\xFE", "a:b@c", "=",     "&<>;,!$()", "a\tb"}) {
    SCOPED_TRACE(key);
    const std::string path = StrCat("s3://bucket/", key);
    EXPECT_FALSE(FileSystemOf(path).Stat(path).kind == FileStatus::Kind::kFile);
    judge_->Put(key, key);
    EXPECT_EQ(ReadWhole(path), key);
    EXPECT_EQ(FileSystemOf(path).Stat(path).kind, FileStatus::Kind::kFile);
  }
}

TEST_F(S3FileSystemTest, NamesOfBucketsAreChecked) {
  SetS3User();
  for (const char* const path : {"s3://", "s3:///a", "s3://a b/c", "s3://a@b/c", "s3://../c",
                                 "s3://a:80/c", "s3://a?b/c", "s3://a#b/c"}) {
    ExpectError(ErrorCode::kInvalidArgument, "it is not written s3://BUCKET/KEY",
                [&] { File::Open(path); });
    EXPECT_EQ(FileSystemOf(path).Stat(path).kind, FileStatus::Kind::kUnknown);
  }
  ExpectError(ErrorCode::kInvalidArgument, "the name of a bucket without that of an object",
              [] { File::Open("s3://bucket/"); });
  EXPECT_EQ(FileSystemOf("s3://").Stat("s3://bucket").kind, FileStatus::Kind::kDirectory);
  const FileStatus other = FileSystemOf("s3://").Stat("s3://other");
  EXPECT_EQ(other.kind, FileStatus::Kind::kUnknown);
  EXPECT_NE(other.problem.find("(NoSuchBucket: "), std::string::npos) << other.problem;
  ExpectError(ErrorCode::kIo, "(NoSuchBucket: ", [] { File::Open("s3://other/a"); });
}

TEST_F(S3FileSystemTest, WhatIsMissingIsToldFromWhatIsForbidden) {
  SetS3User();
  const FileSystem& system = FileSystemOf("s3://");
  FileStatus status = system.Stat("s3://bucket/none");
  EXPECT_EQ(status.kind, FileStatus::Kind::kMissing);
  EXPECT_NE(status.problem.find("(NoSuchKey: "), std::string::npos) << status.problem;
  server_.Break(HttpTrouble::kStatus);
  EXPECT_EQ(system.Stat("s3://bucket/a").kind, FileStatus::Kind::kUnknown);
}

TEST_F(S3FileSystemTest, AnybodyMayReadWhatIsPublic) {
  Set("AWS_NO_SIGN_REQUEST", "true");
  ExpectError(ErrorCode::kIo, "(AccessDenied: ", [] { File::Open("s3://bucket/a"); });
  judge_->SetUser("", "");
  EXPECT_EQ(ReadWhole("s3://bucket/a"), "content");
  EXPECT_EQ(ExpandFileNames({"s3://bucket/*"}).size(), 1u);
}

TEST_F(S3FileSystemTest, ProfilesGiveCredentialsRegionAndEndpoint) {
  std::filesystem::create_directory(environment_.home() + "/.aws");
  const std::string credentials = environment_.home() + "/.aws/credentials";
  const std::string config = environment_.home() + "/.aws/config";
  WriteFile(credentials,
            "# a comment\n[default]\naws_access_key_id = NOBODY\naws_secret_access_key=hidden\n"
            "[train]\r\naws_access_key_id=KEY\r\n  aws_access_key_id = NESTED\r\n"
            "aws_secret_access_key = SECRET/+=\n");
  WriteFile(config, StrCat("[default]\nregion = us-east-1\n[profile train]\nregion = far-north-7\n",
                           "aws_access_key_id = LATER\nendpoint_url = ", server_.Url("/"), "\n"));
  ::unsetenv("AWS_ENDPOINT_URL");
  judge_->set_region("far-north-7");
  Set("AWS_PROFILE", "train");
  EXPECT_EQ(ReadWhole("s3://bucket/a"), "content");
  // The environment comes before the profile.
  Set("AWS_ACCESS_KEY_ID", "OTHER");
  Set("AWS_SECRET_ACCESS_KEY", "hidden");
  ExpectError(ErrorCode::kIo, "(InvalidAccessKeyId: ", [] { File::Open("s3://bucket/a"); });
  ::unsetenv("AWS_ACCESS_KEY_ID");
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  Set("AWS_PROFILE", "none");
  ExpectError(ErrorCode::kInvalidArgument, "AWS_PROFILE is 'none', and no file of profiles has it",
              [] { File::Open("s3://bucket/a"); });
  // Files at other places.
  Set("AWS_PROFILE", "train");
  std::filesystem::rename(config, environment_.home() + "/config");
  std::filesystem::rename(credentials, environment_.home() + "/credentials");
  Set("AWS_CONFIG_FILE", "~/config");
  Set("AWS_SHARED_CREDENTIALS_FILE", environment_.home() + "/credentials");
  EXPECT_EQ(ReadWhole("s3://bucket/a"), "content");
}

TEST_F(S3FileSystemTest, ProfilesThatNeedMoreThanAFileAreErrors) {
  Set("AWS_CONFIG_FILE", environment_.home() + "/config");
  for (const std::string name :
       {"role_arn", "sso_session", "sso_start_url", "credential_process"}) {
    WriteFile(environment_.home() + "/config", StrCat("[default]\n", name, " = hidden\n"));
    Set("AWS_REGION", StrCat("r-", name.size()));  // a failure stands for a moment
    ExpectError(ErrorCode::kInvalidArgument,
                StrCat("the profile has '", name, "', which is not supported"),
                [] { File::Open("s3://bucket/a"); });
  }
}

TEST_F(S3FileSystemTest, ContainersGiveCredentials) {
  CredentialsServer credentials(judge_.get());
  Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", credentials.Url("/container"));
  // The path may be a secret.
  ExpectError(ErrorCode::kIo,
              StrCat(credentials.Url(""), ": cannot open: the server said 'HTTP/1.1 401 Unauth"),
              [] { File::Open("s3://bucket/a"); });
  Set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "hidden word");
  EXPECT_EQ(ReadWhole("s3://bucket/a"), "content");
  EXPECT_EQ(ReadWhole("s3://bucket/a"), "content");
  EXPECT_EQ(credentials.users(), 1);
  ::unsetenv("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  credentials.set_seconds(int64_t{7000} * 365 * 24 * 3600);  // further than clocks count
  const TempFile token("token", "hidden word\n");
  Set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.path());
  EXPECT_EQ(ReadWhole("s3://bucket/a"), "content");
  EXPECT_EQ(credentials.users(), 2);
  for (const char* const url :
       {"http://example.com/", "http://127.0.0.1.example.com/", "http://localhost@example.com/",
        "http://localhost:80@example.com/", "http://[::1]@example.com/", "http://[::1]:1@a.b/",
        "ftp://127.0.0.1/", "http://[::2]/", "127.0.0.1", "http://"}) {
    Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    ExpectError(ErrorCode::kInvalidArgument, "is neither https:// nor an address of this machine",
                [] { File::Open("s3://bucket/a"); });
  }
}

TEST_F(S3FileSystemTest, InstancesGiveCredentials) {
  CredentialsServer credentials(judge_.get());
  Set("AWS_EC2_METADATA_SERVICE_ENDPOINT", StrCat("http://localhost:", credentials.port(), "/"));
  Set("http_proxy", "http://127.0.0.1:1");  // is not for these servers
  EXPECT_EQ(ReadWhole("s3://bucket/a"), "content");
  ::unsetenv("http_proxy");
  EXPECT_EQ(ReadWhole("s3://bucket/a"), "content");
  EXPECT_EQ(credentials.users(), 1);
  Set("AWS_EC2_METADATA_DISABLED", "true");
  ExpectError(ErrorCode::kIo, "there are no credentials: set AWS_ACCESS_KEY_ID",
              [] { File::Open("s3://bucket/a"); });
  EXPECT_EQ(FileSystemOf("s3://").Stat("s3://bucket/a").kind, FileStatus::Kind::kUnknown);
  ::unsetenv("AWS_EC2_METADATA_DISABLED");
  Set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "/");
  ExpectError(ErrorCode::kIo, "there are no credentials in the environment",
              [] { File::Open("s3://bucket/a"); });
  Set("AWS_EC2_METADATA_SERVICE_ENDPOINT", StrCat("http://localhost:", credentials.port(), "/"));
  // Whatever such a server does, nothing of what it says is shown.
  for (const HttpTrouble trouble : {HttpTrouble::kStatus, HttpTrouble::kGarbage}) {
    Set("AWS_REGION", StrCat("r-", static_cast<int>(trouble)));  // so that all is asked again
    credentials.server().Break(trouble);
    credentials.server().set_status(403);
    try {
      File::Open("s3://bucket/a");
      ADD_FAILURE();
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_EQ(text.rfind("s3://bucket/a: there are no credentials in the environment", 0), 0u)
          << text;
      EXPECT_EQ(text.find("hidden"), std::string::npos) << text;
    }
    credentials.server().Mend();
  }
}

TEST_F(S3FileSystemTest, CredentialsThatExpireAreRenewedInMidRead) {
  CredentialsServer credentials(judge_.get());
  credentials.set_seconds(4);
  Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", credentials.Url("/container"));
  Set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "hidden word");
  const std::string content(30 * kMiB, 'x');
  judge_->Put("long", content);
  const std::unique_ptr<const File> file = File::Open("s3://bucket/long");
  std::string piece(1000, '\0');
  for (size_t i = 0; i < 10; ++i) {  // each is its own request
    file->Read((3 * i + 1) * kMiB, piece.data(), piece.size());
    EXPECT_EQ(piece, content.substr(0, piece.size()));
    std::this_thread::sleep_for(milliseconds(500));
  }
  EXPECT_GE(credentials.users(), 2);
}

TEST_F(S3FileSystemTest, CredentialsThatAreRefusedAreRenewed) {
  CredentialsServer credentials(judge_.get());
  Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", credentials.Url("/container"));
  Set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "hidden word");
  const std::string content(40 * kMiB, 'x');
  judge_->Put("long", content);
  const std::unique_ptr<const File> file = File::Open("s3://bucket/long");
  judge_->SetUser("nobody", "nothing");
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 7; ++i) {
    threads.emplace_back([&] {
      std::string piece(kMiB, '\0');
      for (size_t offset = 0; (offset = next.fetch_add(kMiB)) < content.size();) {
        file->Read(offset, piece.data(), piece.size());
        EXPECT_EQ(piece, content.substr(offset, kMiB));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(credentials.users(), 2);
  // Those of the environment are the only ones.
  Set("AWS_ACCESS_KEY_ID", "KEY1");
  Set("AWS_SECRET_ACCESS_KEY", "hidden/1");
  server_.Break(HttpTrouble::kNone);
  ExpectError(ErrorCode::kIo, "(ExpiredToken: ", [] { File::Open("s3://bucket/a"); });
  EXPECT_EQ(server_.requests(), 1);
}

TEST_F(S3FileSystemTest, AStopEndsTheWaitForCredentials) {
  HttpLimits limits;
  limits.silence = std::chrono::hours(1);
  HttpLimits::Set(limits);
  CredentialsServer credentials(judge_.get());
  credentials.server().Break(HttpTrouble::kSilent);
  Set("AWS_EC2_METADATA_SERVICE_ENDPOINT", credentials.Url(""));
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back(
        [] { ExpectError(ErrorCode::kCancelled, "", [] { File::Open("s3://bucket/a"); }); });
  }
  WaitUntil([&] { return credentials.server().at_once() > 0; });
  RequestStop();
  for (std::thread& thread : threads) thread.join();
  ClearStop();
  credentials.server().Mend();
  EXPECT_EQ(ReadWhole("s3://bucket/a"), "content");
}

TEST_F(S3FileSystemTest, ServersTellTheRegion) {
  SetS3User();
  judge_->set_region("far-north-7");
  EXPECT_EQ(ReadWhole("s3://bucket/a"), "content");
  server_.Break(HttpTrouble::kNone);
  EXPECT_EQ(ReadWhole("s3://bucket/a"), "content");
  EXPECT_EQ(server_.requests(), 1) << "the region of the bucket is remembered";
  Set("AWS_REGION", "near-south-1");
  EXPECT_EQ(ExpandFileNames({"s3://bucket/*"}).size(), 1u);
  judge_->set_region("no/region");
  ExpectError(ErrorCode::kIo, "; the bucket lies in region 'no/region'",
              [] { File::Open("s3://bucket/a"); });
  Set("AWS_REGION", "no region");
  ExpectError(ErrorCode::kInvalidArgument, "AWS_REGION is 'no region'",
              [] { File::Open("s3://bucket/a"); });
}

TEST_F(S3FileSystemTest, RedirectsAreNotFollowed) {
  SetS3User();
  HttpServer other;
  server_.Redirect("/bucket/a", other.Url("/bucket/a"));
  ExpectError(ErrorCode::kIo, "the server said 'HTTP/1.1 302 Found'",
              [] { File::Open("s3://bucket/a"); });
  EXPECT_EQ(other.requests(), 0);
}

TEST_F(S3FileSystemTest, PlacesOfBuckets) {
  ::unsetenv("AWS_ENDPOINT_URL");
  EXPECT_EQ(S3Store::Get()->UrlOf("bucket"), "https://bucket.s3.us-east-1.amazonaws.com");
  Set("AWS_DEFAULT_REGION", "far-north-7");
  EXPECT_EQ(S3Store::Get()->UrlOf("bucket"), "https://bucket.s3.far-north-7.amazonaws.com");
  EXPECT_EQ(S3Store::Get()->UrlOf("a.bucket"), "https://s3.far-north-7.amazonaws.com/a.bucket");
  EXPECT_EQ(S3Store::Get()->UrlOf("Bucket"), "https://s3.far-north-7.amazonaws.com/Bucket");
  Set("AWS_REGION", "cn-north-1");
  EXPECT_EQ(S3Store::Get()->UrlOf("bucket"), "https://bucket.s3.cn-north-1.amazonaws.com.cn");
  Set("AWS_ENDPOINT_URL", "http://127.0.0.1:9000/store/");
  EXPECT_EQ(S3Store::Get()->UrlOf("bucket"), "http://127.0.0.1:9000/store/bucket");
  Set("AWS_ENDPOINT_URL_S3", "https://host");
  EXPECT_EQ(S3Store::Get()->UrlOf("bucket"), "https://host/bucket");
  for (const char* const url : {"host:9000", "http://me:hidden@host", "http://host/?a=1"}) {
    Set("AWS_ENDPOINT_URL_S3", url);
    ExpectError(ErrorCode::kInvalidArgument,
                "AWS_ENDPOINT_URL is no URL such as http://localhost:9000 or",
                [] { File::Open("s3://bucket/a"); });
  }
}

TEST_F(S3FileSystemTest, PatternsAreLookedForPageByPage) {
  SetS3User();
  judge_->set_page(3);
  std::vector<std::string> names;
  for (int i = 10; i < 20; ++i) {
    names.push_back(StrCat("s3://bucket/data/part-", i));
    judge_->Put(StrCat("data/part-", i), "x");
    judge_->Put(StrCat("data/part-", i, "/deep"), "x");
    judge_->Put(StrCat("more-", i, "/b c+%\xC3\xBC/end"), "x");
  }
  for (const char* const other : {"data/", "data/.part-11", "data/parts", "dat", "more-1/end"}) {
    judge_->Put(other, "x");
  }
  EXPECT_EQ(ExpandFileNames({"s3://bucket/data/part-*"}), names);
  EXPECT_EQ(ExpandFileNames({"s3://bucket/data/part-1[3-5]"}).size(), 3u);
  EXPECT_EQ(ExpandFileNames({"s3://bucket/data/*"}).size(), 11u);
  EXPECT_EQ(ExpandFileNames({"s3://bucket/d?ta/*-1{1,2}"}).size(), 2u);
  EXPECT_EQ(ExpandFileNames({"s3://bucket/more-*/b c+%\xC3\xBC/end"}).size(), 10u);
  EXPECT_EQ(ExpandFileNames({"s3://bucket/more-1*/*/e*"}).at(0),
            "s3://bucket/more-10/b c+%\xC3\xBC/end");
  ExpectError(ErrorCode::kInvalidArgument, "no file matches 's3://bucket/none-*'",
              [] { ExpandFileNames({"s3://bucket/none-*"}); });
  ExpectError(ErrorCode::kIo, "(NoSuchBucket: ", [] { ExpandFileNames({"s3://other/*"}); });
  judge_->Put("data/part-*", "a star");
  EXPECT_EQ(ExpandFileNames({"s3://bucket/data/part-*"}).size(), 1u);
  EXPECT_EQ(FileSystemOf("s3://").List("s3://bucket/data/part-\\*").size(), 1u);
}

TEST_F(S3FileSystemTest, FoldersAreListed) {
  SetS3User();
  judge_->set_page(2);
  for (const char* const key : {"cats/", "cats/1", "cats/2", "cats/small/3", "cats/small/4",
                                "cats/tall/5", "cats//6", "catsx", "cats/7"}) {
    judge_->Put(key, "x");
  }
  const FileSystem& system = FileSystemOf("s3://");
  EXPECT_EQ(system.Stat("s3://bucket/cats").kind, FileStatus::Kind::kDirectory);
  EXPECT_EQ(system.Stat("s3://bucket/cat").kind, FileStatus::Kind::kMissing);
  for (const char* const path : {"s3://bucket/cats", "s3://bucket/cats/"}) {
    std::vector<std::string> names;
    for (const FolderEntry& entry : system.ListFolder(path)) {
      names.push_back(entry.name + (entry.kind == FileStatus::Kind::kDirectory ? "/" : ""));
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"1", "2", "7", "small/", "tall/"}));
  }
  EXPECT_EQ(system.ListFolder("s3://bucket").size(), 3u);
  EXPECT_TRUE(system.ListFolder("s3://bucket/none").empty());
}

TEST_F(S3FileSystemTest, ListsThatAreNoneAreErrors) {
  SetS3User();
  const std::string begin = "<ListBucketResult><EncodingType>url</EncodingType>";
  const std::string end = "<IsTruncated>false</IsTruncated></ListBucketResult>";
  const auto key = [](const std::string& name) {
    return StrCat("<Contents><Key>", name, "</Key></Contents>");
  };
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "<a>";
  const std::vector<std::pair<std::string, std::string>> lists = {
      {"none", "the server's XML is not whole: "},
      {begin, "the server's XML is not whole: "},
      {begin + key("a") + end + "x", "the server's XML is not whole: "},
      {"<!DOCTYPE a [<!ENTITY b \"cccc\">]><ListBucketResult>&b;</ListBucketResult>",
       "it has a document type"},
      {deep, "it is nested too deeply"},
      {"<Other/>", "no list of a bucket"},
      {begin + key("part-1") + "</ListBucketResult>", "does not say how it continues"},
      {begin + key("part-1") + "<IsTruncated>true</IsTruncated></ListBucketResult>",
       "does not say how it continues"},
      {begin + "<CommonPrefixes><Prefix>part-</Prefix></CommonPrefixes>" + end,
       "the server lists folder 'part-', asked for what begins with 'part-'"},
      {begin + "<CommonPrefixes><Prefix>part-1</Prefix></CommonPrefixes>" + end,
       "the server lists folder 'part-1', asked for what begins with 'part-'"},
      {begin + key("part-1") + key("part-2") + key("part-1") + end,
       "the server lists 'part-1' twice"},
      {begin + key("%4") + end, "a key that is encoded wrongly"},
      {begin + key("%zz") + end, "a key that is encoded wrongly"},
      {begin + key("other") + end, "the server lists 'other', asked for what begins with 'part-'"},
      {begin + "<IsTruncated>true</IsTruncated><NextContinuationToken>1</NextContinuationToken>" +
           "</ListBucketResult>",
       "the server gives the same page of a list again"},
      {std::string(5 * kMiB, ' '), "the object has 5242880 bytes"}};
  for (const auto& [list, words] : lists) {
    SCOPED_TRACE(list.substr(0, 100));
    judge_->set_list(list);
    try {
      FileSystemOf("s3://").List("s3://bucket/part-*");
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
      EXPECT_EQ(error.file(), "s3://bucket/part-*");
    }
  }
}

TEST_F(S3FileSystemTest, ListsComeThroughTroubles) {
  SetS3User();
  judge_->set_page(2);
  for (int i = 0; i < 5; ++i) judge_->Put(StrCat("part-", i), "x");
  for (int64_t request = 0; request < 3; ++request) {
    server_.Break(HttpTrouble::kStatus, request, 2);
    EXPECT_EQ(FileSystemOf("s3://").List("s3://bucket/part-*").size(), 5u);
    EXPECT_TRUE(server_.hit());
  }
}

TEST_F(S3FileSystemTest, SecretsAreNeverShown) {
  CredentialsServer credentials(judge_.get());
  Set("AWS_CONTAINER_CREDENTIALS_FULL_URI", credentials.Url("/container"));
  Set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "hidden word");
  const std::string content(3 * kMiB, 'x');
  judge_->Put("long", content);
  server_.set_status(403);
  size_t refusals = 0;
  for (const HttpTrouble trouble :
       {HttpTrouble::kStatus, HttpTrouble::kReset, HttpTrouble::kOtherPart, HttpTrouble::kNoRange,
        HttpTrouble::kOtherSize, HttpTrouble::kTooMuch, HttpTrouble::kGarbage,
        HttpTrouble::kReplace}) {
    server_.Break(trouble, 1);
    std::optional<Error> raised;
    try {
      ReadWhole("s3://bucket/long");
    } catch (const Error& error) {
      raised = error;
    }
    if (!raised) continue;  // another try has read it
    ++refusals;
    EXPECT_EQ(raised->file(), "s3://bucket/long");
    const std::string text = raised->what();
    EXPECT_EQ(text.find("hidden"), std::string::npos) << text;
    EXPECT_EQ(text.find("KEY"), std::string::npos) << text;
  }
  EXPECT_GE(refusals, 4U);
}

TEST(AwsSettings, SectionsOfProfileFiles) {
  bool found = false;
  const auto section = [&found](const std::string& text, const std::string& name) {
    found = false;
    return AwsSection(text, name, &found);
  };
  EXPECT_TRUE(section("", "a").empty());
  EXPECT_FALSE(found);
  EXPECT_EQ(section("x=1\n[a]\ny=2\n[ a ]\ny = 3 \nz==\n=v\nw", "a"),
            (AwsSettings{{"y", "3"}, {"z", "="}, {"", "v"}}));
  EXPECT_TRUE(found);
  EXPECT_TRUE(section("[a", "a").empty());
  EXPECT_TRUE(found);
  EXPECT_TRUE(section("[]\n\n \n\r\n;c\n#=d\n[b]\na=1", "").empty());
}

TEST(S3Xml, ErrorsAreReadAsFarAsTheyCan) {
  EXPECT_EQ(ReadS3Error("<Error><Code>A&amp;B</Code><Message>\n</Message></Error>").code, "A&B");
  EXPECT_EQ(ReadS3Error("<Error><Code>A</Code><Mess").code, "A");
  EXPECT_EQ(ReadS3Error("<html><Code>A</Code></html>").code, "");
  EXPECT_EQ(ReadS3Error("").code, "");
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// The cache of remote files: whatever happens to it changes time, never data.
#include "framework/io/cache/remote_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/io/cache/remote_cache_folder.h"
#include "framework/io/file.h"
#include "framework/io/http/http_stats.h"
#include "framework/io/http/http_transfers.h"
#include "framework/io/own_descriptor.h"
#include "tests/bytes.h"
#include "tests/fakes/http_server.h"
#include "tests/fakes/s3_judge.h"
#include "tests/files/record_files.h"
#include "tests/gate.h"
#include "tests/read_by_threads.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr size_t kMiB = size_t{1} << 20;
constexpr uint64_t kSmallCache = 16 * kMiB;

std::string ReadAllOf(const std::string& url) {
  const std::unique_ptr<const File> file = File::Open(url);
  std::string content(file->size(), '\0');
  file->Read(0, content.data(), content.size());
  return content;
}

// As if the file had not been touched for an hour.
void SetBackTimeOf(const fs::path& file) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
}

// This process may write no large files while one of these lives.
class SmallFiles {
 public:
  SmallFiles() {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = 100'000;
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~SmallFiles() { EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0); }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
};

class RemoteCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    HttpLimits limits;
    limits.first_pause = milliseconds(1);
    limits.longest_pause = milliseconds(4);
    HttpLimits::Set(limits);
    RemoteCache::Use(folder_);
  }
  void TearDown() override {
    server_.Mend();
    HttpLimits::Set(HttpLimits());
    RemoteCache::Use("");
  }

  // How many bytes of objects have come from servers since the last call.
  uint64_t Sent() {
    uint64_t bytes = 0;
    for (const HttpHostStats& host : HttpStats()) bytes += host.bytes;
    return bytes - std::exchange(sent_, bytes);
  }
  std::string Put(const std::string& path, const std::string& content) {
    server_.Put(path, content);
    return server_.Url(path);
  }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& file : fs::recursive_directory_iterator(folder_)) {
      if (file.is_regular_file()) files.push_back(file.path());
    }
    return files;
  }
  std::vector<fs::path> Entries() const {
    std::vector<fs::path> entries = Files();
    constexpr size_t kDigits = 32;
    entries.erase(std::remove_if(entries.begin(), entries.end(),
                                 [](const fs::path& file) {
                                   return file.filename().native().size() != kDigits;
                                 }),
                  entries.end());
    return entries;
  }
  uint64_t EntryBytes() const {
    uint64_t bytes = 0;
    for (const fs::path& entry : Entries()) bytes += fs::file_size(entry);
    return bytes;
  }
  // What the process has written to its standard error meanwhile.
  template <typename F>
  std::string ErrorsOf(const F& function) {
    ::testing::internal::CaptureStderr();
    function();
    return ::testing::internal::GetCapturedStderr();
  }

  const std::string folder_ = NewFolder("cache") + "/new";
  const std::string content_ = Noise(4 * kMiB + 12'345);
  HttpServer server_;
  uint64_t sent_ = 0;
};

TEST_F(RemoteCacheTest, ASecondPassTakesNoBytesFromTheServer) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65'535}, size_t{65'536}, size_t{65'537},
                            kMiB - 1, kMiB, kMiB + 1, content_.size()}) {
    SCOPED_TRACE(size);
    const std::string content = content_.substr(0, size);
    const std::string url = Put(StrCat("/", size), content);
    Sent();
    EXPECT_TRUE(ReadAllOf(url) == content);
    EXPECT_EQ(Sent(), size) << "each byte is sent once";
    for (const bool again : {false, true}) {
      if (again) RemoteCache::Use(folder_);  // as another process does
      server_.Break(HttpTrouble::kNone);     // counts anew
      EXPECT_TRUE(ReadAllOf(url) == content);
      EXPECT_EQ(Sent(), 0u);
      ASSERT_EQ(server_.heads().size(), 1u);
      const std::string range = HeaderOf(server_.heads()[0], "Range");
      EXPECT_EQ(range, size == 0 ? "bytes=0-1048575" : "bytes=0-0") << "which asks for no bytes";
    }
    const std::unique_ptr<const File> file = File::Open(url);
    std::mt19937_64 random(size);
    for (int i = 0; i < 100 && size > 0; ++i) {
      const uint64_t offset = random() % size;
      const size_t most = i % 10 == 0 ? size - offset : std::min<size_t>(size - offset, 5000);
      std::string part(random() % most + 1, '\0');
      file->Read(offset, part.data(), part.size());
      EXPECT_TRUE(part == content.substr(offset, part.size()));
    }
    EXPECT_EQ(Sent(), 0u);
  }
  EXPECT_GT(RemoteCache::Stats().reads, 0u);
  EXPECT_GE(RemoteCache::Stats().written_bytes, content_.size());
}

TEST_F(RemoteCacheTest, SmallReadsHereAndThereAreKept) {
  const std::string url = Put("/object", content_);
  constexpr size_t kReads = 20;
  for (const bool again : {false, true}) {
    const uint64_t before = RemoteCache::Stats().read_bytes;
    const std::unique_ptr<const File> file = File::Open(url);
    std::string part(1000, '\0');
    for (size_t i = 0; i < kReads; ++i) {
      const size_t offset = i * 1'777'777 % (content_.size() - part.size());
      file->Read(offset, part.data(), part.size());
      EXPECT_TRUE(content_.compare(offset, part.size(), part) == 0);
    }
    // What was requested ahead for the file before may still come, so it is not counted what comes.
    const uint64_t kept = RemoteCache::Stats().read_bytes - before;
    EXPECT_EQ(kept == kReads * part.size(), again) << kept;
  }
}

TEST_F(RemoteCacheTest, ThreadsThatReadOneFileShareItsBlocks) {
  const std::string url = Put("/object", content_);
  for (const bool again : {false, true}) {
    Sent();
    const std::unique_ptr<const File> file = File::Open(url);
    EXPECT_TRUE(ReadByThreads(*file) == content_);
    EXPECT_EQ(Sent(), again ? 0 : content_.size());
  }
}

TEST_F(RemoteCacheTest, ReadsAheadPastWhatTheCacheHas) {
  const std::string content = Noise(32 * kMiB);
  const std::string url = Put("/object", content);
  {
    const std::unique_ptr<const File> file = File::Open(url);
    char byte = 0;
    for (size_t offset = 0; offset < content.size(); offset += 3 * kMiB) {
      file->Read(offset, &byte, 1);
    }
  }
  const uint64_t had = EntryBytes() / kMiB;
  EXPECT_EQ(had, 11u);
  Sent();
  EXPECT_TRUE(ReadAllOf(url) == content);
  EXPECT_EQ(Sent(), content.size() - had * kMiB);
}

TEST_F(RemoteCacheTest, ObjectsOfAStoreAreKept) {
  const std::shared_ptr<S3Judge> judge = S3Judge::For(&server_);
  const AwsTestEnvironment environment(server_.Url(""));
  SetS3User();
  judge->Put("object", content_);
  EXPECT_TRUE(ReadAllOf("s3://bucket/object") == content_);
  Sent();
  EXPECT_TRUE(ReadAllOf("s3://bucket/object") == content_);
  EXPECT_EQ(Sent(), 0u);
  // Another store has another object, though its name and ETag are the same.
  HttpServer other;
  const std::shared_ptr<S3Judge> other_judge = S3Judge::For(&other);
  const AwsTestEnvironment others(other.Url(""));
  SetS3User();
  const std::string content = Noise(content_.size(), 2);
  other_judge->Put("object", content);
  EXPECT_TRUE(ReadAllOf("s3://bucket/object") == content);
}

// All objects of the server have the same ETag.
TEST_F(RemoteCacheTest, ObjectsAreToldApartByTheirNames) {
  std::vector<std::string> urls, contents;
  for (uint32_t i = 0; i < 8; ++i) {
    contents.push_back(Noise(100'000, i));
    urls.push_back(Put(StrCat("/", i), contents.back()));
  }
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t i = 0; i < urls.size(); ++i) EXPECT_TRUE(ReadAllOf(urls[i]) == contents[i]);
  }
  HttpServer other;
  other.Put("/0", contents[1]);
  EXPECT_TRUE(ReadAllOf(other.Url("/0")) == contents[1]);
}

// Answers a request for a part of an object.
HttpAnswer PartOf(const std::string& content, const std::string& head,
                  const std::string& validator) {
  unsigned long long first = 0, last = 0;
  EXPECT_EQ(std::sscanf(HeaderOf(head, "Range").c_str(), "bytes=%llu-%llu", &first, &last), 2);
  last = std::min<unsigned long long>(last, content.size() - 1);
  return {
      "206 Partial Content",
      StrCat(validator, "\r\nContent-Range: bytes ", first, "-", last, "/", content.size(), "\r\n"),
      content.substr(first, last - first + 1)};
}

TEST_F(RemoteCacheTest, QueriesTellObjectsApartAndSignaturesDoNot) {
  const std::string one = Noise(100'000, 1), two = Noise(100'000, 2);
  server_.set_judge([&](const std::string& head, const std::string&) {
    return PartOf(head.find("id=2") == std::string::npos ? one : two, head, "ETag: \"a\"");
  });
  const std::string url = server_.Url("/object");
  EXPECT_TRUE(ReadAllOf(url + "?id=1&X-Amz-Signature=s1") == one);
  EXPECT_TRUE(ReadAllOf(url + "?id=2&X-Amz-Signature=s1") == two);
  EXPECT_TRUE(ReadAllOf(url) == one);
  Sent();
  EXPECT_TRUE(ReadAllOf(url + "?id=1&x-amz-signature=s2&X-Amz-Date=3") == one);
  EXPECT_TRUE(ReadAllOf(url + "?X-Goog-Signature=s3&id=2#part") == two);
  EXPECT_EQ(Sent(), 0u);
  server_.set_judge([&](const std::string& head, const std::string&) {
    return PartOf(head.find("?a&b") == std::string::npos ? two : one, head, "ETag: \"a\"");
  });
  EXPECT_TRUE(ReadAllOf(url + "?a&b") == one);
  EXPECT_TRUE(ReadAllOf(url + "?a?b") == two);
  Sent();
  EXPECT_TRUE(ReadAllOf(url + "?X-Amz-Date=3&a&b") == one);
  EXPECT_TRUE(ReadAllOf(url + "?a?b&X-Amz-Date=3") == two);
  EXPECT_EQ(Sent(), 0u);
}

TEST_F(RemoteCacheTest, PasswordsDoNotTellObjectsApart) {
  const std::string url = Put("/object", content_);
  std::string with_password = url + "?X-Amz-Signature=s4";
  with_password.insert(with_password.find("//") + 2, "me:word@");
  EXPECT_TRUE(ReadAllOf(with_password) == content_);
  Sent();
  with_password.replace(with_password.find("word"), 4, "other");
  EXPECT_TRUE(ReadAllOf(with_password) == content_);
  EXPECT_EQ(Sent(), 0u);
}

TEST_F(RemoteCacheTest, NoSecretIsKept) {
  std::string url = Put("/object", std::string(100, 'x'));
  url.insert(url.find("//") + 2, "hidden:hidden@");
  const std::string errors = ErrorsOf([&] {
    ReadAllOf(url + "?sig=hidden&X-Amz-Signature=hidden");
    ReadAllOf(url + "?sig=hidden&X-Amz-Signature=hidden");
  });
  EXPECT_EQ(Entries().size(), 1u);
  EXPECT_EQ(errors, "");
  for (const fs::path& file : Files()) {
    EXPECT_EQ(file.string().find("hidden"), std::string::npos);
    EXPECT_EQ(ReadFile(file).find("hidden"), std::string::npos);
    struct stat status;
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0077u, 0u) << "others may read " << file;
  }
}

TEST_F(RemoteCacheTest, AnObjectThatHasChangedIsReadAnew) {
  const std::string url = Put("/object", content_);
  std::string other = content_;
  for (char& c : other) c = static_cast<char>(~c);
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_TRUE(ReadAllOf(url) == content_);
    const size_t entries = Entries().size();
    server_.Break(HttpTrouble::kReplace);
    EXPECT_TRUE(ReadAllOf(url) == other);
    EXPECT_EQ(Entries().size(), entries) << "the new version takes the place of the old one";
    Sent();
    EXPECT_TRUE(ReadAllOf(url) == other);
    EXPECT_EQ(Sent(), 0u);
    server_.Break(HttpTrouble::kGrow);
    EXPECT_TRUE(ReadAllOf(url) == other + "more");
    server_.Mend();
  }
}

TEST_F(RemoteCacheTest, AnObjectThatIsReplacedMeanwhileIsAnErrorAndNoMixture) {
  const std::string url = Put("/object", content_);
  std::string other = content_;
  for (char& c : other) c = static_cast<char>(~c);
  for (const HttpTrouble trouble :
       {HttpTrouble::kReplace, HttpTrouble::kReplaceSlyly, HttpTrouble::kGrow}) {
    for (const size_t had : {size_t{0}, 2 * kMiB}) {
      for (int64_t request = 0;; ++request) {
        SCOPED_TRACE(StrCat("trouble ", static_cast<int>(trouble), " at request ", request));
        RemoteCache::Use(NewFolder("replaced") + "/new");
        std::string part(had, '\0');
        if (had > 0) File::Open(url)->Read(0, part.data(), part.size());
        server_.Break(trouble, request);
        std::optional<Error> error;
        std::string got;
        try {
          got = ReadAllOf(url);
        } catch (const Error& thrown) {
          error = thrown;
        }
        const bool hit = server_.hit();
        server_.Break(HttpTrouble::kReplace);
        EXPECT_TRUE(ReadAllOf(url) == other);
        server_.Mend();
        if (error) {
          EXPECT_EQ(error->code(), ErrorCode::kDataLoss) << error->what();
        } else {
          EXPECT_TRUE(got == content_ || got == other || got == other + "more");
        }
        EXPECT_TRUE(ReadAllOf(url) == content_);
        if (!hit || HasFailure()) break;
      }
    }
  }
}

// The first try for the second block gets half of another object, from a server that says no ETag.
TEST_F(RemoteCacheTest, ABlockOfWhichOnlyAPartHasAVersionIsAnErrorAndNotKept) {
  const std::string content = content_.substr(0, 2 * kMiB);
  std::atomic<int> odd{0};
  server_.set_judge([&](const std::string& head, const std::string&) -> HttpAnswer {
    if (HeaderOf(head, "Range") != "bytes=1048576-2097151" || odd++ > 0) {
      return PartOf(content, head, "ETag: \"a\"");
    }
    return {"206 Partial Content", "Content-Range: bytes 1048576-1572863/2097152\r\n",
            std::string(kMiB / 2, 'x')};
  });
  const std::string url = server_.Url("/object");
  ExpectError(ErrorCode::kDataLoss, "its ETag was \"a\", now it is not told",
              [&] { ReadAllOf(url); });
  EXPECT_EQ(odd, 1);
  EXPECT_EQ(Entries().size(), 1u);
  EXPECT_TRUE(ReadAllOf(url) == content);
  EXPECT_EQ(Entries().size(), 2u);
}

TEST_F(RemoteCacheTest, ObjectsWithoutAVersionAreNotKept) {
  using Validators = HttpServer::Validators;
  const std::string url = Put("/object", content_);
  for (const Validators validators :
       {Validators::kNone, Validators::kWeakETag, Validators::kLongETag}) {
    server_.set_validators(validators);
    for (int pass = 0; pass < 2; ++pass) {
      EXPECT_TRUE(ReadAllOf(url) == content_);
      EXPECT_TRUE(Entries().empty());
    }
  }
}

// A date is a version, unless the object may yet be replaced in the same second by the clock of the
// server. An ETag may have been made of the date.
TEST_F(RemoteCacheTest, ObjectsThatMayHaveTheSameVersionAsOthersAreNotKept) {
  const std::string small = content_.substr(0, 100);
  const std::string etag = "\r\nETag: \"a\"", weak = "\r\nETag: W/\"a\"";
  const std::string modified = "\r\nLast-Modified: Wed, 01 Jan 2020 12:00:00 GMT";
  const std::string future = "\r\nLast-Modified: Fri, 01 Jan 2100 12:00:00 GMT";
  const std::string date = "\r\nDate: Wed, 01 Jan 2020 ";
  const struct {
    std::string validators;
    bool kept;
  } cases[] = {{etag, true},
               {weak, false},
               {modified, true},
               {modified + weak, true},
               {modified + etag, true},
               {future, false},
               {future + etag, false},
               {modified + date + "11:59:59 GMT", false},
               {modified + date + "12:00:00 GMT", false},
               {modified + date + "12:00:01 GMT", false},
               {modified + date + "12:00:01 GMT" + etag, false},
               {modified + date + "12:00:02 GMT", true},
               {modified + date + "12:00:02 GMT" + etag, true},
               {date + "12:00:01 GMT" + etag, true},
               {date + "12:00:01 GMT", false}};
  int number = 0;
  for (const auto& one : cases) {
    SCOPED_TRACE(one.validators);
    const std::string url = server_.Url(StrCat("/", number++));
    server_.set_judge([&](const std::string& head, const std::string&) {
      return PartOf(small, head, "Accept-Ranges: bytes" + one.validators);
    });
    const size_t before = Entries().size();
    EXPECT_TRUE(ReadAllOf(url) == small);
    EXPECT_EQ(Entries().size() - before, one.kept ? 1u : 0u);
    Sent();
    EXPECT_TRUE(ReadAllOf(url) == small);
    EXPECT_EQ(Sent(), one.kept ? 0u : small.size());
  }
}

TEST_F(RemoteCacheTest, AServerWithoutPartsIsReadPastTheCache) {
  const std::string url = Put("/object", content_);
  server_.Break(HttpTrouble::kNoParts);
  EXPECT_TRUE(ReadAllOf(url) == content_);
  EXPECT_TRUE(Entries().empty());
  server_.Mend();
  EXPECT_TRUE(ReadAllOf(url) == content_);
  EXPECT_EQ(Entries().size(), 5u);
  server_.Break(HttpTrouble::kNoParts);
  EXPECT_TRUE(ReadAllOf(url) == content_);
}

// ---- Damage ----

class DamagedCacheTest : public RemoteCacheTest {
 protected:
  // Reads the object although its entry has this content, and expects it to be put right.
  void ExpectNoticed(const fs::path& entry, const std::string& damaged) {
    WriteFile(entry, damaged);
    const uint64_t unfit = RemoteCache::Stats().unfit;
    ASSERT_TRUE(ReadAllOf(url_) == small_);
    EXPECT_EQ(RemoteCache::Stats().unfit, unfit + 1);
    ASSERT_TRUE(ReadFile(entry) == whole_);
  }

  void SetUp() override {
    RemoteCacheTest::SetUp();
    EXPECT_TRUE(ReadAllOf(url_) == small_);
    ASSERT_EQ(Entries().size(), 1u);
    whole_ = ReadFile(Entries()[0]);
    EXPECT_EQ(whole_.substr(0, 8), "MHBLOCK1");
  }

  const std::string small_ = Noise(100);
  const std::string url_ = Put("/small", small_);
  std::string whole_;
};

TEST_F(DamagedCacheTest, EveryByteThatHasChangedIsNoticed) {
  const fs::path entry = Entries()[0];
  for (size_t i = 0; i < whole_.size(); ++i) {
    SCOPED_TRACE(i);
    for (const int flipped : {1, 128, 255}) {
      std::string damaged = whole_;
      damaged[i] = static_cast<char>(damaged[i] ^ flipped);
      ExpectNoticed(entry, damaged);
    }
  }
}

TEST_F(DamagedCacheTest, EveryOtherLengthIsNoticed) {
  const fs::path entry = Entries()[0];
  for (size_t i = 0; i < whole_.size(); ++i) ExpectNoticed(entry, whole_.substr(0, i));
  ExpectNoticed(entry, whole_ + '\0');
  ExpectNoticed(entry, whole_ + whole_);
  ExpectNoticed(entry, std::string(whole_.size(), '\0'));
}

TEST_F(DamagedCacheTest, EntriesUnderOtherNamesAreNotUsed) {
  const fs::path entry = Entries()[0];
  Put("/small", Noise(100, 2));  // with the same ETag, as a server that has lost its objects
  EXPECT_TRUE(ReadAllOf(server_.Url("/small?id=2")) == Noise(100, 2));
  const std::vector<fs::path> entries = Entries();
  ASSERT_EQ(entries.size(), 2u);
  const std::string other = ReadFile(entries[entries[0] == entry ? 1 : 0]);
  Put("/small", small_);
  ExpectNoticed(entry, other);
}

TEST_F(DamagedCacheTest, EntriesThatAreNoFilesAreNotUsed) {
  const fs::path entry = Entries()[0];
  fs::remove(entry);
  fs::create_symlink("/dev/zero", entry);
  EXPECT_TRUE(ReadAllOf(url_) == small_);
  EXPECT_TRUE(ReadFile(entry) == whole_);
  fs::remove(entry);
  ASSERT_EQ(::mkfifo(entry.c_str(), 0600), 0);
  EXPECT_TRUE(ReadAllOf(url_) == small_);
  EXPECT_TRUE(ReadFile(entry) == whole_);
  fs::remove(entry);
  fs::create_directory(entry);
  EXPECT_TRUE(ReadAllOf(url_) == small_);
  EXPECT_TRUE(ReadFile(entry) == whole_);
  fs::remove(entry);
  fs::create_directories(entry / "in");
  const std::string errors = ErrorsOf([&] { EXPECT_TRUE(ReadAllOf(url_) == small_); });
  EXPECT_NE(errors.find("Is a directory"), std::string::npos) << errors;
}

TEST_F(DamagedCacheTest, OnlyDamagedBlocksComeAgain) {
  const std::string url = Put("/object", content_);
  EXPECT_TRUE(ReadAllOf(url) == content_);
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const std::vector<fs::path> entries = Entries();
    const fs::path entry = entries[random() % entries.size()];
    std::string damaged = ReadFile(entry);
    damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    WriteFile(entry, damaged);
    Sent();
    ASSERT_TRUE(ReadAllOf(url) == content_);
    const size_t pieces = damaged.size() > kMiB ? 16 : 1;
    const size_t payload = damaged.size() - 48 - 8 * (pieces + 1);
    EXPECT_EQ(Sent(), payload == small_.size() ? 0 : payload) << "the small object is not read";
  }
}

// ---- What cannot be written ----

TEST_F(RemoteCacheTest, AFullDiskIsReadPast) {
  const std::string url = Put("/object", content_);
  // The first file that finds no room.
  const std::string used = folder_ + "/used";
  constexpr int kMemoryDevices = 1, kFull = 7;
  ::mknod(used.c_str(), S_IFCHR | 0600, ::makedev(kMemoryDevices, kFull));
  const OwnDescriptor full(::open(used.c_str(), O_WRONLY | O_CLOEXEC));
  if (!full.is_open() || ::write(full.get(), "x", 1) == 1 || errno != ENOSPC) {
    GTEST_SKIP() << "this test needs to make a device like /dev/full";
  }
  const uint64_t not_written = RemoteCache::Stats().not_written;
  const std::string errors = ErrorsOf([&] {
    for (int pass = 0; pass < 3; ++pass) EXPECT_TRUE(ReadAllOf(url) == content_);
  });
  EXPECT_TRUE(Entries().empty());
  EXPECT_EQ(RemoteCache::Stats().not_written - not_written, 15u);
  EXPECT_NE(errors.find("files are read past it: "), std::string::npos) << errors;
  EXPECT_NE(errors.find("No space left on device"), std::string::npos) << errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
}

TEST_F(RemoteCacheTest, ADiskThatFillsUpIsReadPast) {
  const std::string small_disk = NewFolder("disk");
  if (::mount("none", small_disk.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "this test needs to mount a small disk: " << std::strerror(errno);
  }
  const std::string content = content_.substr(0, 4 * kMiB);  // of blocks of which one fits
  const std::string url = Put("/object", content);
  RemoteCache::Use(small_disk + "/cache");
  ErrorsOf([&] {
    for (int pass = 0; pass < 3; ++pass) EXPECT_TRUE(ReadAllOf(url) == content);
  });
  // One block fits, and nothing is left of the one that did not.
  uint64_t bytes = 0;
  for (const auto& file : fs::recursive_directory_iterator(small_disk)) {
    EXPECT_EQ(file.path().string().find(".part"), std::string::npos) << file.path();
    if (file.is_regular_file()) bytes += file.file_size();
  }
  EXPECT_GT(bytes, kMiB);
  Sent();
  EXPECT_TRUE(ReadAllOf(url) == content);
  EXPECT_EQ(Sent(), content.size() - kMiB);
  // What is there already can be used although nothing more can be written.
  RemoteCache::Use(small_disk + "/cache");
  {
    const OwnDescriptor more(::open((small_disk + "/more").c_str(), O_WRONLY | O_CREAT, 0600));
    while (::write(more.get(), content_.data(), content_.size()) > 0) {
    }
  }
  ErrorsOf([&] { EXPECT_TRUE(ReadAllOf(url) == content); });
  EXPECT_EQ(Sent(), content.size() - kMiB);
  RemoteCache::Use("");
  EXPECT_EQ(::umount(small_disk.c_str()), 0);
}

TEST_F(RemoteCacheTest, ALimitOnTheSizesOfFilesIsReadPast) {
  const std::string url = Put("/object", content_);
  std::string errors;
  {
    const SmallFiles small;
    errors = ErrorsOf([&] {
      for (int pass = 0; pass < 2; ++pass) EXPECT_TRUE(ReadAllOf(url) == content_);
    });
  }
  EXPECT_EQ(Entries().size(), 0u);
  EXPECT_NE(errors.find("ulimit -f"), std::string::npos) << errors;
}

TEST_F(RemoteCacheTest, SmallReadsPastTheCacheAreSmall) {
  const std::string url = Put("/object", content_);
  const SmallFiles small;
  ErrorsOf([&] { EXPECT_TRUE(ReadAllOf(url) == content_); });
  Sent();
  const std::unique_ptr<const File> file = File::Open(url);
  constexpr size_t kBegin = 3 * kMiB;
  std::string part(1000, '\0');
  file->Read(kBegin, part.data(), part.size());
  EXPECT_TRUE(content_.compare(kBegin, part.size(), part) == 0);
  EXPECT_LT(Sent(), 100'000u);
}

TEST_F(RemoteCacheTest, AFolderThatIsGoneIsMadeAgain) {
  const std::string url = Put("/object", content_);
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_TRUE(ReadAllOf(url) == content_);
    EXPECT_EQ(Entries().size(), 5u);
    fs::remove_all(folder_);
  }
}

TEST_F(RemoteCacheTest, FoldersThatCannotBeUsedAreErrorsAtOnce) {
  const TempFile file("file", "");
  ExpectError(ErrorCode::kIo, "file: the cache cannot be written: Not a directory",
              [&] { RemoteCache::Use(file.path()); });
  ExpectError(ErrorCode::kIo, "file/cache: the cache cannot be made: Not a directory",
              [&] { RemoteCache::Use(file.path() + "/cache"); });
  ExpectError(ErrorCode::kInvalidArgument, "is on no local disk",
              [&] { RemoteCache::Use("s3://bucket/cache"); });
  ExpectError(ErrorCode::kInvalidArgument, "it needs at least 16777216",
              [&] { RemoteCache::Use(folder_, kSmallCache - 1); });
  const std::string open = NewFolder("open");
  for (const fs::perms writes : {fs::perms::others_write, fs::perms::group_write}) {
    fs::permissions(open, fs::perms::owner_all | writes);
    ExpectError(ErrorCode::kInvalidArgument, "other users can write to this cache",
                [&] { RemoteCache::Use(open); });
  }
  fs::permissions(open, fs::perms::owner_all);
  if (constexpr uid_t kOther = 12'345; ::chown(open.c_str(), kOther, kOther) == 0) {
    ExpectError(ErrorCode::kInvalidArgument, "other users can write to this cache",
                [&] { RemoteCache::Use(open); });
  }
  ASSERT_EQ(RemoteCache::Get()->HasAny({}), false) << "the one before stays";
}

TEST_F(RemoteCacheTest, LinksToOtherFilesAreNotFollowed) {
  const TempFile victim("victim", "do not touch");
  const std::string url = Put("/object", content_);
  fs::create_symlink(victim.path(), folder_ + "/used");
  const std::string errors = ErrorsOf([&] { EXPECT_TRUE(ReadAllOf(url) == content_); });
  EXPECT_NE(errors.find("symbolic links"), std::string::npos) << errors;
  EXPECT_TRUE(Entries().empty());
  fs::remove(folder_ + "/lock");
  fs::create_symlink(victim.path(), folder_ + "/lock");
  ExpectError(ErrorCode::kIo, "symbolic links", [&] { RemoteCache::Use(folder_); });
  EXPECT_EQ(ReadFile(victim.path()), "do not touch");
}

// ---- Room ----

TEST_F(RemoteCacheTest, TheOldestEntriesMakeRoom) {
  RemoteCache::Use(folder_, kSmallCache);
  constexpr int kObjects = 40;
  std::vector<std::string> urls, contents;
  for (uint32_t i = 0; i < kObjects; ++i) {
    contents.push_back(Noise(kMiB - 1000 * i, i));
    urls.push_back(Put(StrCat("/", i), contents.back()));
  }
  const auto is_there = [&](size_t i) {
    Sent();
    EXPECT_TRUE(ReadAllOf(urls[i]) == contents[i]);
    return Sent() == 0;
  };
  for (int i = 0; i < 14; ++i) EXPECT_FALSE(is_there(i));
  for (const fs::path& entry : Entries()) SetBackTimeOf(entry);
  EXPECT_TRUE(is_there(0));
  for (int i = 14; i < 24; ++i) {
    EXPECT_FALSE(is_there(i));
    EXPECT_TRUE(is_there(0));
    EXPECT_LE(EntryBytes(), kSmallCache);
  }
  EXPECT_GE(EntryBytes(), kSmallCache / 2);
  EXPECT_TRUE(is_there(0));
  for (int i = 14; i < 24; ++i) EXPECT_TRUE(is_there(i)) << i;
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < kObjects; ++i) {
      is_there(i);
      EXPECT_LE(EntryBytes(), kSmallCache);
    }
  }
}

TEST_F(RemoteCacheTest, ReadsMakeOldEntriesNew) {
  const std::string url = Put("/object", std::string(1000, 'x'));
  ReadAllOf(url);
  const fs::path entry = Entries().at(0);
  const auto now = fs::file_time_type::clock::now();
  for (const std::chrono::seconds age : {std::chrono::seconds(20), std::chrono::seconds(90)}) {
    fs::last_write_time(entry, now - age);
    ReadAllOf(url);
    const bool is_new = fs::last_write_time(entry) > now - std::chrono::seconds(10);
    EXPECT_EQ(is_new, age > std::chrono::seconds(60)) << "a change for each read costs too much";
  }
}

TEST_F(RemoteCacheTest, ACountThatIsWrongIsPutRight) {
  RemoteCache::Use(folder_, kSmallCache);
  const std::string url = Put("/object", content_);
  EXPECT_TRUE(ReadAllOf(url) == content_);
  const std::string used = folder_ + "/used";
  EXPECT_EQ(fs::file_size(used), 4u * 257 + 4);
  for (const uint64_t wrong : {uint64_t{1} << 40, uint64_t{0}}) {
    fs::resize_file(used, wrong);
    fs::remove(Entries()[0]);
    if (wrong == 0) {
      SetBackTimeOf(folder_ + "/lock");
      RemoteCache::Use(folder_, kSmallCache);
    }
    EXPECT_TRUE(ReadAllOf(url) == content_);
    EXPECT_EQ(Entries().size(), 5u);
    EXPECT_EQ(fs::file_size(used), 4u * 257 + 4);
  }
}

TEST(RemoteCacheFolderTest, AFolderThatCannotBeReadIsNotTakenForEmpty) {
  const std::string path = NewFolder("cache") + "/new", used = path + "/used";
  RemoteCacheFolder folder(path, kSmallCache);
  SetBackTimeOf(path + "/lock");
  WriteFile(used, std::string(1000, '\0'));
  fs::create_symlink("ab", path + "/ab");  // leads nowhere
  for (int i = 0; i < 2; ++i) {
    ExpectError(ErrorCode::kIo, "symbolic links", [&] { folder.MakeRoom(kMiB); });
    EXPECT_EQ(fs::file_size(used), 1000u);
  }
  fs::remove(path + "/ab");
  EXPECT_TRUE(folder.MakeRoom(kMiB));
  EXPECT_EQ(fs::file_size(used), 0u);
}

TEST(RemoteCacheFolderTest, AFolderThatWasLookedThroughJustNowIsTakenForWhatItSays) {
  const std::string path = NewFolder("cache") + "/new", used = path + "/used";
  RemoteCacheFolder first(path, kSmallCache);
  EXPECT_TRUE(first.MakeRoom(kMiB));  // looks, because there was no write
  fs::resize_file(used, 1000);
  RemoteCacheFolder second(path, kSmallCache);
  EXPECT_TRUE(second.MakeRoom(kMiB));
  EXPECT_EQ(fs::file_size(used), 1000u);
  SetBackTimeOf(path + "/lock");
  RemoteCacheFolder third(path, kSmallCache);
  EXPECT_TRUE(third.MakeRoom(kMiB));
  EXPECT_EQ(fs::file_size(used), 0u);
  fs::remove(used);
  RemoteCacheFolder fourth(path, kSmallCache);
  EXPECT_TRUE(fourth.MakeRoom(kMiB));
  EXPECT_TRUE(fs::exists(used));
}

TEST(RemoteCacheFolderTest, WhatIsBeingWrittenIsCounted) {
  const std::string path = NewFolder("cache") + "/new", used = path + "/used";
  const std::string part = path + "/00/" + std::string(32, '0') + ".1-2.part";
  RemoteCacheFolder folder(path, kSmallCache);
  folder.MakeFolderOf({});
  WriteFile(part, "");
  WriteFile(used, std::string(1000, '\0'));
  SetBackTimeOf(path + "/lock");
  const OwnDescriptor writer(::open(part.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(writer.get(), LOCK_EX), 0);
  EXPECT_TRUE(folder.MakeRoom(kMiB));
  EXPECT_EQ(fs::file_size(used), 257u);
  ASSERT_EQ(::flock(writer.get(), LOCK_UN), 0);
  SetBackTimeOf(path + "/lock");
  RemoteCacheFolder next(path, kSmallCache);
  EXPECT_TRUE(next.MakeRoom(kMiB));
  EXPECT_EQ(fs::file_size(used), 0u);
  EXPECT_FALSE(fs::exists(part));
}

TEST_F(RemoteCacheTest, OnlyWhatIsItsOwnIsRemoved) {
  RemoteCache::Use(folder_, kSmallCache);
  const std::string digits = "ab0123456789abcdef0123456789abcd";
  fs::create_directories(folder_ + "/ab");
  const std::string left = folder_ + "/ab/" + digits + ".1-2.part";
  const std::string alive = folder_ + "/ab/" + digits + ".1-3.part";
  std::vector<std::string> others;
  for (const char* const name :
       {"/notes", "/ab/notes", "/ab/ab0123456789abcdef0123456789abcg",
        "/0b0123456789abcdef01234567", "/ab/cd0123456789abcdef0123456789abcd",
        "/ab/ab0123456789abcdef0123456789abcd.txt",
        "/ab/ab0123456789abcdef0123456789abcd.part.txt"}) {
    others.push_back(folder_ + name);
  }
  for (const std::string& file : others) WriteFile(file, std::string(100, 'x'));
  WriteFile(left, "x");
  WriteFile(alive, "x");
  const OwnDescriptor writer(::open(alive.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(writer.get(), LOCK_EX), 0);
  for (uint32_t i = 0; i < 20; ++i) ReadAllOf(Put(StrCat("/", i), Noise(kMiB, i)));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(alive));
  for (const std::string& file : others) EXPECT_TRUE(fs::exists(file)) << file;
}

TEST_F(RemoteCacheTest, NobodyWaitsForWhoMakesRoom) {
  RemoteCache::Use(folder_, kSmallCache);
  for (uint32_t i = 0; i < 15; ++i) ReadAllOf(Put(StrCat("/", i), Noise(kMiB, i)));
  const uint64_t bytes = EntryBytes(), used = fs::file_size(folder_ + "/used");
  const OwnDescriptor lock(::open((folder_ + "/lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  for (uint32_t i = 0; i < 5; ++i) {
    const std::string content = Noise(kMiB, 100 + i);
    EXPECT_TRUE(ReadAllOf(Put(StrCat("/more", i), content)) == content);
  }
  EXPECT_EQ(EntryBytes(), bytes);
  EXPECT_EQ(fs::file_size(folder_ + "/used"), used) << "what was not kept is not counted";
  ASSERT_EQ(::flock(lock.get(), LOCK_UN), 0);
  const std::string url = Put("/last", Noise(kMiB, 200));
  ReadAllOf(url);
  Sent();
  ReadAllOf(url);
  EXPECT_EQ(Sent(), 0u) << "there is room again";
}

TEST_F(RemoteCacheTest, WhatIsThereIsNotWrittenAgain) {
  RemoteCache* const cache = RemoteCache::Get();
  RemoteCache::Key key{};
  cache->Write(key, content_.data(), kMiB);
  const uint64_t used = fs::file_size(folder_ + "/used");
  SetBackTimeOf(Entries().at(0));
  const fs::file_time_type before = fs::last_write_time(Entries().at(0));
  cache->Write(key, content_.data(), kMiB);
  EXPECT_EQ(fs::last_write_time(Entries().at(0)), before);
  EXPECT_EQ(fs::file_size(folder_ + "/used"), used);
  key.digest[0] = 1;  // another version
  cache->Write(key, content_.data() + 1, kMiB);
  EXPECT_EQ(Entries().size(), 1u);
  std::string got(kMiB, '\0');
  EXPECT_TRUE(cache->Read(key, kMiB, 0, got.data(), got.size()));
  EXPECT_TRUE(got == content_.substr(1, kMiB));
}

// Threads are to each other as processes are: each writes through its own cache.
TEST_F(RemoteCacheTest, WhoeverWritesKeepsCountWhileOthersMakeRoom) {
  constexpr size_t kThreads = 4, kBlocks = 40;
  const RemoteCacheStats before = RemoteCache::Stats();
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (size_t thread = 0; thread < kThreads; ++thread) {
    RemoteCache::Use(folder_, kSmallCache);
    threads.emplace_back([&, thread, cache = RemoteCache::Get()] {
      RemoteCache::Key key{};
      for (size_t i = 0; i < kBlocks; ++i) {
        key.name[0] = static_cast<uint8_t>(thread * kBlocks + i);
        cache->Write(key, content_.data(), kMiB);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const RemoteCacheStats after = RemoteCache::Stats();
  EXPECT_EQ(after.written + after.not_written - before.written - before.not_written,
            kThreads * kBlocks);
  EXPECT_GT(after.written - before.written, kSmallCache / kMiB);
  EXPECT_LE(fs::file_size(folder_ + "/used"), 4096 + kThreads * 257) << "of what was not kept";
  EXPECT_LE(EntryBytes(), kSmallCache);
}

// ---- Memory and stops ----

TEST_F(RemoteCacheTest, MemoryStaysWithinItsLimit) {
  const std::string url = Put("/object", content_);
  for (const size_t limit : {8 * kMiB, 16 * kMiB}) {
    const LimitInForce in_force(limit);
    for (int pass = 0; pass < 2; ++pass) EXPECT_TRUE(ReadAllOf(url) == content_);
    const LittleRoomAhead little(kMiB / 2);
    EXPECT_TRUE(ReadAllOf(Put(StrCat("/", limit), content_)) == content_);
  }
}

TEST_F(RemoteCacheTest, AReadThatIsStoppedLeavesNoEntry) {
  const std::string url = Put("/object", content_);
  server_.Break(HttpTrouble::kStall, 1);
  std::thread stopper([&] {
    WaitUntil([&] { return server_.requests() > 1; });
    RequestStop();
  });
  ExpectError(ErrorCode::kCancelled, "", [&] { ReadAllOf(url); });
  stopper.join();
  ClearStop();
  EXPECT_LE(Entries().size(), 1u);
  server_.Mend();
  EXPECT_TRUE(ReadAllOf(url) == content_);
}

}  // namespace
}  // namespace millhopper

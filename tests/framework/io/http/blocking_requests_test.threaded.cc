// SPDX-License-Identifier: Apache-2.0
// Files that are read by calls which wait for a server.
#include "framework/io/http/blocking_requests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/io/cache/remote_cache.h"
#include "framework/io/http/http_file.h"
#include "framework/io/http/http_stats.h"
#include "framework/memory/memory.h"
#include "tests/gate.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMiB = size_t{1} << 20;

// A server of one object, in memory.
class Store final : public BlockingCarrier {
 public:
  explicit Store(std::string content) : content_(std::move(content)) {}

  std::string Name() const override { return "store://one"; }
  std::string Host() const override { return "store"; }
  Outcome Ask(const HttpRequest& request, char* out) const override {
    const int number = calls_++;
    const int at_once = ++at_once_;
    for (int most = most_at_once_; most < at_once;) {
      if (most_at_once_.compare_exchange_weak(most, at_once)) break;
    }
    if (before) {
      if (std::optional<Outcome> instead = before(number, request, out)) {
        --at_once_;
        return *std::move(instead);
      }
    }
    --at_once_;
    return Right(request, out);
  }
  Outcome Right(const HttpRequest& request, char* out) const {
    Answer answer;
    answer.object.has_parts = true;
    answer.object.size = content_.size();
    answer.object.etag = std::to_string(version);
    const uint64_t behind = content_.size() - std::min<uint64_t>(request.offset, content_.size());
    answer.received = std::min<uint64_t>(request.size, behind);
    std::memcpy(out, content_.data() + request.offset, answer.received);
    return answer;
  }

  int calls() const { return calls_; }
  int most_at_once() const { return most_at_once_; }

  std::atomic<int> version{1};
  // Called by each call; what it returns is the answer.
  std::function<std::optional<Outcome>(int, const HttpRequest&, char*)> before;

 private:
  const std::string content_;
  mutable std::atomic<int> calls_{0}, at_once_{0}, most_at_once_{0};
};

BlockingCarrier::Outcome Trouble(bool passes) {
  BlockingCarrier::Refusal refusal;
  refusal.problem = "the server said 'no'";
  refusal.passes = passes;
  return refusal;
}

class BlockingRequestsTest : public ::testing::Test {
 protected:
  BlockingRequestsTest() {
    std::string content(20 * kMiB + 7, '\0');
    for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 + i / 251);
    content_ = content;
    store_ = std::make_shared<Store>(content_);
  }
  void SetUp() override {
    limits_.first_pause = milliseconds(1);
    limits_.longest_pause = milliseconds(4);
    HttpLimits::Set(limits_);
  }
  void TearDown() override {
    HttpLimits::Set(HttpLimits());
    RemoteCache::Use("");
  }

  HttpRequest Request() const {
    HttpRequest request;
    request.url = "store://one";
    request.carrier = store_;
    return request;
  }
  std::string ReadWhole() const {
    const std::unique_ptr<const File> file = OpenHttpFile(Request());
    std::string content(file->size(), '\0');
    file->Read(0, content.data(), content.size());
    return content;
  }
  std::string ErrorOfReading() const {
    try {
      ReadWhole();
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }
  static HttpHostStats Stats() {
    for (const HttpHostStats& stats : HttpStats()) {
      if (stats.host == "store") return stats;
    }
    return {};
  }

  std::string content_;
  std::shared_ptr<Store> store_;
  HttpLimits limits_;
};

TEST_F(BlockingRequestsTest, AFileIsReadByManyCallsAtOnceAndCounted) {
  store_->before = [this](int number, const HttpRequest& request, char*) {
    // What lies after this block is asked for although this block has not come.
    if (request.offset == 4 * kMiB) WaitUntil([&] { return store_->calls() > number + 1; });
    return std::nullopt;
  };
  const HttpHostStats before = Stats();
  do {
    EXPECT_EQ(ReadWhole(), content_);
  } while (Stats().wait_seconds == before.wait_seconds);  // on a busy machine all may have come
  EXPECT_GT(store_->most_at_once(), 1);
  const HttpHostStats after = Stats();
  EXPECT_EQ(after.requests - before.requests, static_cast<uint64_t>(store_->calls()));
  EXPECT_EQ(after.retries, before.retries);
  EXPECT_GE(after.bytes - before.bytes, content_.size());
}

TEST_F(BlockingRequestsTest, NoMoreCallsAreUnderWayThanTheLimitSays) {
  limits_.under_way = 3;
  HttpLimits::Set(limits_);
  store_->before = [](int, const HttpRequest&, char*) {
    std::this_thread::sleep_for(milliseconds(2));
    return std::nullopt;
  };
  EXPECT_EQ(ReadWhole(), content_);
  EXPECT_LE(store_->most_at_once(), 3);
}

TEST_F(BlockingRequestsTest, WhatPassesIsTriedAgain) {
  const uint64_t before = Stats().retries;
  store_->before = [](int number, const HttpRequest&, char*) {
    return number % 2 == 0 ? std::optional(Trouble(true)) : std::nullopt;
  };
  EXPECT_EQ(ReadWhole(), content_);
  EXPECT_GE(Stats().retries - before, 10u);
}

TEST_F(BlockingRequestsTest, FewerBytesThanThereAreIsTriedAgain) {
  store_->before = [this](int number, const HttpRequest& request,
                          char* out) -> std::optional<BlockingCarrier::Outcome> {
    if (number != 1) return std::nullopt;
    auto answer = std::get<BlockingCarrier::Answer>(store_->Right(request, out));
    --answer.received;
    return answer;
  };
  EXPECT_EQ(ReadWhole(), content_);
}

TEST_F(BlockingRequestsTest, WhatStaysIsAnErrorThatSaysWhatTheServerSaid) {
  store_->before = [](int, const HttpRequest&, char*) { return Trouble(false); };
  EXPECT_NE(ErrorOfReading().find("store://one: cannot open: the server said 'no'"),
            std::string::npos);
  EXPECT_EQ(store_->calls(), 1);
  store_->before = [](int, const HttpRequest&, char*) { return Trouble(true); };
  EXPECT_NE(ErrorOfReading().find("the server said 'no' (4 tries)"), std::string::npos);
  store_->before = [](int, const HttpRequest& request, char*) {
    return request.object ? std::optional(Trouble(true)) : std::nullopt;
  };
  const std::string said = ErrorOfReading();
  EXPECT_NE(said.find("cannot read bytes "), std::string::npos) << said;
  EXPECT_NE(said.find(" (8 tries)"), std::string::npos) << said;
}

TEST_F(BlockingRequestsTest, AnObjectThatWasReplacedIsAnErrorAndNoMixture) {
  store_->before = [this](int number, const HttpRequest&, char*) {
    if (number == 1) store_->version = 2;
    return std::nullopt;
  };
  const std::string said = ErrorOfReading();
  EXPECT_NE(said.find("the object was replaced after it was opened; its ETag was 1, now it is 2"),
            std::string::npos)
      << said;
}

TEST_F(BlockingRequestsTest, ACallThatDoesNotReturnIsTriedAgainAndItsBytesAreDropped) {
  limits_.silence = milliseconds(50);
  HttpLimits::Set(limits_);
  Gate gate;
  std::atomic<int> late{0};
  store_->before = [&](int number, const HttpRequest& request,
                       char* out) -> std::optional<BlockingCarrier::Outcome> {
    if (number != 1) return std::nullopt;
    gate.Wait();
    std::memset(out, 'x', request.size);
    ++late;
    return std::nullopt;
  };
  const std::unique_ptr<const File> file = OpenHttpFile(Request());
  std::string content(kMiB, '\0');
  file->Read(kMiB, content.data(), content.size());
  EXPECT_TRUE(content_.compare(kMiB, kMiB, content) == 0);
  gate.Open();
  WaitUntil([&] { return late == 1; });
  file->Read(kMiB, content.data(), content.size());
  EXPECT_TRUE(content_.compare(kMiB, kMiB, content) == 0);
}

TEST_F(BlockingRequestsTest, CallsThatDoNotReturnKeepNoOthersFromTheirTurn) {
  limits_.silence = milliseconds(50);
  limits_.under_way = 2;
  limits_.tries = limits_.opening_tries = 1;
  HttpLimits::Set(limits_);
  Gate gate;
  std::atomic<int> waiting{0};
  store_->before = [&](int number, const HttpRequest&,
                       char*) -> std::optional<BlockingCarrier::Outcome> {
    if (number >= 2) return std::nullopt;
    ++waiting;
    gate.Wait();
    ++waiting;
    return Trouble(false);
  };
  const auto stuck = std::vector{HttpTransfer::Start(Request()), HttpTransfer::Start(Request())};
  WaitUntil([&] { return waiting == 2; });
  EXPECT_EQ(ReadWhole(), content_);
  gate.Open();
  WaitUntil([&] { return waiting == 4; });
}

TEST_F(BlockingRequestsTest, AStopDoesNotWaitForCalls) {
  Gate gate;
  std::atomic<int> waiting{0};
  store_->before = [&](int, const HttpRequest&, char*) {
    ++waiting;
    gate.Wait();
    --waiting;
    return std::nullopt;
  };
  std::thread stopper([&] {
    WaitUntil([&] { return waiting > 0; });
    RequestStop();
  });
  EXPECT_THROW(ReadWhole(), Error);
  stopper.join();
  ClearStop();
  gate.Open();
  WaitUntil([&] { return waiting == 0; });
}

TEST_F(BlockingRequestsTest, TheCacheKeepsWhatCame) {
  RemoteCache::Use(TempName("cache"));
  EXPECT_EQ(ReadWhole(), content_);
  const uint64_t before = Stats().bytes;
  EXPECT_EQ(ReadWhole(), content_);
  EXPECT_EQ(Stats().bytes, before);
  store_->version = 2;
  EXPECT_EQ(ReadWhole(), content_);
  EXPECT_GE(Stats().bytes - before, content_.size());
}

TEST_F(BlockingRequestsTest, AnErrorOfTheCallIsThatOfTheReader) {
  store_->before = [](int, const HttpRequest&, char*) -> std::optional<BlockingCarrier::Outcome> {
    throw Error(ErrorCode::kInvalidArgument, "what is this?");
  };
  EXPECT_EQ(ErrorOfReading(), "store://one: what is this?");
}

}  // namespace
}  // namespace millhopper

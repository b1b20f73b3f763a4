// SPDX-License-Identifier: Apache-2.0
// Chains of the greatest depth that is allowed, of readers of every kind. They are read, begun anew
// and destroyed by recursion, so this must fit on a small stack. One reader more is refused.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/limits.h"
#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr int64_t kRecords = 7;

// A small stack: glibc gives a thread 8 MiB. But it is enough for the frames of sanitizers.
constexpr size_t kStackBytes = size_t{1} << 20;

struct Kind {
  std::string type;
  AttributeTexts attributes;
};

std::string NameOf(int reader) { return "reader" + std::to_string(reader); }

// A startup program that puts `count` readers on the reader "reader0".
std::string Stacked(const Kind& kind, int count) {
  std::vector<std::string> parts = {ReaderText(NameOf(0))};
  std::string blocks;
  for (int k = 1; k <= count; ++k) {
    AttributeTexts attributes = kind.attributes;
    if (kind.type == "create_custom_reader") {
      attributes.emplace_back("sub_block", "block_idx: " + std::to_string(k));
      blocks += BlockText(k, 0,
                          {TensorText("n", "INT64", {1, 1}), TensorText("y", "INT64", {1, 1}),
                           OpText("assign", {{"X", {"n"}}}, {{"Out", {"y"}}})});
    }
    parts.push_back(ReaderText(NameOf(k)));
    parts.push_back(OpText(kind.type, {{"UnderlyingReader", {NameOf(k - 1)}}},
                           {{"Out", {NameOf(k)}}}, attributes));
  }
  return BlockText(0, -1, parts) + blocks;
}

// Runs `body` on a thread with a small stack.
void RunOnSmallStack(const std::function<void()>& body) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  const auto start = [](void* function) -> void* {
    (*static_cast<const std::function<void()>*>(function))();
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&body)),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

class DeepChains : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "tsan follows 64 locks that a thread holds, and each of these readers has one";
#endif
  }
};

TEST_P(DeepChains, AreReadBegunAnewAndDestroyedOnASmallStack) {
  for (const int threads : {0, 2}) {
    PoolSize size(threads);
    RunOnSmallStack([] {
      SourceSpec spec;
      spec.records = kRecords;
      ProgramRunner runner;
      runner.Reader(NameOf(0)).Reset(MakePlannedSource(spec));
      runner.Startup(Stacked(GetParam(), kMaxReaderDepth - 1));
      ReaderHolder& top = runner.Reader(NameOf(kMaxReaderDepth - 1));
      for (ReaderHolder* begin : {&top, &runner.Reader(NameOf(0)), &top}) {
        std::vector<LoDTensor> element;
        int64_t elements = 0;
        for (; top.HasNext(); ++elements) top.ReadNext(&element);
        EXPECT_EQ(elements, kRecords);
        begin->ReInit();
      }
    });
  }
}

TEST_P(DeepChains, PassAnErrorUp) {
  RunOnSmallStack([] {
    SourceSpec spec;
    spec.records = kRecords;
    spec.load_error = 1;
    ProgramRunner runner;
    runner.Reader(NameOf(0)).Reset(MakePlannedSource(spec));
    runner.Startup(Stacked(GetParam(), kMaxReaderDepth - 1));
    ReaderHolder& top = runner.Reader(NameOf(kMaxReaderDepth - 1));
    std::vector<LoDTensor> element;
    EXPECT_THROW(for (int64_t i = 0; i < kRecords; ++i) top.ReadNext(&element), Error);
  });
}

TEST_P(DeepChains, OfOneReaderMoreAreRefused) {
  SourceSpec spec;
  spec.records = kRecords;
  ProgramRunner runner;
  runner.Reader(NameOf(0)).Reset(MakePlannedSource(spec));
  const std::string text = Stacked(GetParam(), kMaxReaderDepth);
  EXPECT_EQ(runner.Problems(text, ProgramRole::kStartup), std::vector<std::string>{});
  ExpectError(
      ErrorCode::kResourceLimit,
      StrCat(kMaxReaderDepth + 1, " readers would stand on one another; the limit is ",
             kMaxReaderDepth, "\n  while running operator '", GetParam().type, "' (startup.pbtxt:"),
      [&] { runner.Startup(text); });
  EXPECT_FALSE(runner.Reader(NameOf(kMaxReaderDepth)).has_reader());
}

INSTANTIATE_TEST_SUITE_P(
    OfEveryKind, DeepChains,
    testing::Values(Kind{"create_batch_reader", {{"batch_size", "i: 1"}}},
                    Kind{
                        "create_custom_reader",
                        {{"source_var_names", "strings: 'n'"}, {"sink_var_names", "strings: 'y'"}}},
                    Kind{"create_double_buffer_reader", {{"place", "s: 'CPU'"}}},
                    Kind{"create_multi_pass_reader", {{"pass_num", "i: 1"}}},
                    Kind{"create_shard_reader", {{"num_shards", "i: 1"}, {"index", "i: 0"}}},
                    Kind{"create_shuffle_reader", {{"buffer_size", "i: 3"}}}),
    [](const auto& kind) { return kind.param.type; });

}  // namespace
}  // namespace millhopper

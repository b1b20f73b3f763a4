// SPDX-License-Identifier: Apache-2.0
// F41: a process that forks while readers are in use. Not for sanitizers: tsan allows no thread in
// the child of a process with threads, and asan's memory may be locked there for ever.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/forks.h"
#include "framework/base/random.h"
#include "framework/base/stop.h"
#include "framework/base/thread_pool.h"
#include "framework/io/file.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/sources/element_queue.h"
#include "readers/sources/open_files.h"
#include "tests/fakes/http_server.h"
#include "tests/files/record_files.h"
#include "tests/gate.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr int kShards = 4;
constexpr int kRecords = 50;

std::unique_ptr<ReaderBase> Open(const std::string& folder) {
  FormatArguments arguments;
  arguments.declared = {{DataType::kFp32, {1, 2}, 0, true}, {DataType::kInt64, {1, 1}, 0, true}};
  arguments.attributes.Set("content", std::string("tensors"));
  std::unique_ptr<ReaderBase> reader =
      OpenFiles({folder + "/numbers-*.recordio"}, {}, arguments, {});
  reader = std::make_unique<ShuffleReader>(std::move(reader), 20, RandomKey{0, 0, "s"});
  reader = std::make_unique<BatchReader>(std::move(reader), 3, false, BatchMode::kConcat);
  reader = std::make_unique<DoubleBufferReader>(std::move(reader), Place(), 2);
  reader->set_origin("reader 'ahead'");
  return reader;
}

// Runs `check` in a child; the status of exit is 0 if it returned true, and 14 if it hung.
int InChild(const std::function<bool()>& check) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    bool good = false;
    try {
      good = check();
    } catch (...) {
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

bool IsRefused(const std::function<void()>& call,
               const std::string& words =
                   "reader 'ahead' was created before this process was "
                   "forked") {
  try {
    call();
  } catch (const Error& error) {
    return error.code() == ErrorCode::kInvalidArgument &&
           std::string(error.what()).find(words) == 0;
  }
  return false;
}

TEST(OwnProcess, IsTheOneThatMadeIt) {
  const OwnProcess parents;
  EXPECT_TRUE(parents.IsThis());
  EXPECT_EQ(InChild([&] {
              const OwnProcess childs;
              return !parents.IsThis() && childs.IsThis() &&
                     InChild([&] { return !parents.IsThis() && !childs.IsThis(); }) == 0;
            }),
            0);
  EXPECT_TRUE(parents.IsThis());
}

class Fork : public ::testing::TestWithParam<int> {
 protected:
  Fork() { WriteNumbers(folder_, kShards, kRecords); }

  const PoolSize pool_{GetParam()};
  const std::string folder_ = NewFolder("fork");
};

TEST_P(Fork, F41TheChildReadsWithReadersOfItsOwn) {
  const std::vector<ElementValue> whole = ReadAll(Open(folder_).get());
  for (size_t step = 0; step <= whole.size(); step += 4) {
    std::unique_ptr<ReaderBase> reader = Open(folder_);
    std::vector<ElementValue> read = ReadSome(reader.get(), step);
    const int status = InChild([&] {
      std::vector<LoDTensor> element;
      const bool refused = IsRefused([&] { reader->HasNext(); }) &&
                           IsRefused([&] { reader->ReadNext(&element); }) &&
                           IsRefused([&] { reader->ReInit(); });
      reader.reset();
      return refused && ReadAll(Open(folder_).get()) == whole;
    });
    EXPECT_EQ(status, 0) << "forked behind " << step << " elements";
    for (ElementValue& value : ReadAll(reader.get())) read.push_back(std::move(value));
    EXPECT_EQ(read, whole) << "forked behind " << step << " elements";
  }
}

TEST_P(Fork, F41ChildrenForkToo) {
  const std::vector<ElementValue> whole = ReadAll(Open(folder_).get());
  EXPECT_EQ(InChild([&] {
              const std::unique_ptr<ReaderBase> reader = Open(folder_);
              ReadSome(reader.get(), 5);
              return InChild([&] {
                       return IsRefused([&] { reader->HasNext(); }) &&
                              ReadAll(Open(folder_).get()) == whole;
                     }) == 0;
            }),
            0);
}

TEST_P(Fork, F41QueuesAreTheParents) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    auto queue = std::make_unique<ElementQueue>(1);
    queue->Push(0, {});
    std::thread provider([&] { queue->Push(0, {}); });
    std::this_thread::sleep_for(std::chrono::milliseconds(repeat % 3));  // until it waits for room
    EXPECT_EQ(InChild([&] {
                const bool refused =
                    IsRefused([&] { queue->size(); }, "this queue was created before");
                queue.reset();
                return refused;
              }),
              0);
    queue->Close(0);
    provider.join();
  }
}

INSTANTIATE_TEST_SUITE_P(Pools, Fork, ::testing::Values(0, 1, 2, 7));

// Reads the whole of a file, unless it is to leave.
class ReadJob final : public Job {
 public:
  ReadJob(const File& file, std::string* content) : file_(file), content_(content) {}
  bool left() const { return left_; }

 private:
  void Work() override {
    try {
      file_.Read(0, content_->data(), content_->size());
    } catch (const Error&) {
      left_ = CancelScope::WasLeft();
    }
  }

  const File& file_;
  std::string* const content_;
  std::atomic<bool> left_{false};
};

// The first test of transfers, so that the pool is there before them.
TEST(ForkedTransfers, AForkMakesAWorkerLeaveThatWaitsForAServer) {
  const PoolSize pool(1);
  HttpServer server;
  const std::string content(size_t{3} << 20, 'x');
  server.Put("/object", content);
  const std::unique_ptr<const File> file = File::Open(server.Url("/object"));
  std::string got(content.size(), '\0');
  server.Break(HttpTrouble::kSilent);
  const Ref<ReadJob> job(new ReadJob(*file, &got));
  ASSERT_TRUE(job->Submit());
  WaitUntil([&] { return server.requests() > 0; });
  EXPECT_EQ(InChild([] { return true; }), 0);
  EXPECT_TRUE(job->left());
  job->Cancel();
  server.Mend();
  file->Read(0, got.data(), got.size());  // the requests have continued
  EXPECT_TRUE(got == content);
}

TEST(ForkedTransfers, AChildHasRequestsToServersOfItsOwn) {
  HttpServer server;
  const std::string content(size_t{3} << 20, 'x');
  server.Put("/object", content);
  std::unique_ptr<const File> file = File::Open(server.Url("/object"));
  std::string got(content.size(), '\0');
  file->Read(0, got.data(), got.size() / 2);
  EXPECT_EQ(InChild([&] {
              file.reset();
              const std::unique_ptr<const File> own = File::Open(server.Url("/object"));
              std::string bytes(content.size(), '\0');
              own->Read(0, bytes.data(), bytes.size());
              return bytes == content && InChild([] { return true; }) == 0;
            }),
            0);
  file->Read(0, got.data(), got.size());
  EXPECT_TRUE(got == content);
}

}  // namespace
}  // namespace millhopper

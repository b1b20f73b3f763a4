// SPDX-License-Identifier: Apache-2.0
// F15: the n-th request for memory fails, for every n, and threads cannot be started. The functions
// at the end of this file replace the requests of the whole process.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/memory/memory.h"
#include "framework/program/program.h"
#include "framework/reader/file_format.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/multi_pass_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "readers/lanes/lane_batch_reader.h"
#include "readers/lanes/lanes_reader.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// Which requests fail: none, one, or all from one on.
class Memory {
 public:
  static void Break(int64_t request, bool sticky) {
    sticky_ = sticky;
    hit_ = false;
    left_ = request;
    broken_ = true;
  }
  static void Mend() { broken_ = false; }
  static bool hit() { return hit_; }
  // Whether the present request fails.
  static bool Fails() {
    if (!broken_) return false;
    const int64_t left = left_--;
    if (left > 0 || (left < 0 && !sticky_)) return false;
    hit_ = true;
    return true;
  }

 private:
  static std::atomic<bool> broken_, sticky_, hit_;
  static std::atomic<int64_t> left_;
};

std::atomic<bool> Memory::broken_{false};
std::atomic<bool> Memory::sticky_{false};
std::atomic<bool> Memory::hit_{false};
std::atomic<int64_t> Memory::left_{0};

std::atomic<bool> no_threads{false};

struct Case {
  std::string name;
  std::function<std::unique_ptr<ReaderBase>()> make;
};

FormatArguments ArgumentsOfNumbers() {
  FormatArguments arguments;
  arguments.declared = {{DataType::kFp32, {1, 2}, 0, true}, {DataType::kInt64, {1, 1}, 0, true}};
  arguments.attributes.Set("content", std::string("tensors"));
  return arguments;
}

std::unique_ptr<ReaderBase> OpenNumbers(const std::string& folder) {
  return OpenFiles({folder + "/numbers-*.recordio"}, {}, ArgumentsOfNumbers(), {});
}

std::unique_ptr<ReaderBase> OpenText(const std::string& folder) {
  return OpenFile(*FindFileFormat("text"), folder + "/lines.txt.gz", "", {});
}

class Allocation : public ::testing::Test {
 protected:
  Allocation() : folder_(NewFolder("allocation")) {
    WriteNumbers(folder_, 2, 5);
    WriteFile(folder_ + "/lines.txt.gz", Gzipped("one\ntwo\n\nfour\nfive\n"));
    RecordIOOptions options;
    options.compressor = RecordIOCompressor::kGzip;
    options.chunk_records = 2;
    RecordIOWriter writer(folder_ + "/compressed.recordio", options);
    for (const char* record : {"a", "bc", "", "def"}) writer.Write(record);
    writer.Close();
  }
  ~Allocation() override { Memory::Mend(); }

  std::vector<Case> Cases() const {
    const std::string folder = folder_;
    return {
        {"batches",
         [folder] {
           return std::make_unique<BatchReader>(OpenNumbers(folder), 3, false, BatchMode::kConcat);
         }},
        {"lines",
         [folder] {
           return std::make_unique<ShuffleReader>(OpenText(folder), 3, RandomKey{0, 0, "s"});
         }},
        {"compressed",
         [folder]() -> std::unique_ptr<ReaderBase> {
           FormatArguments arguments;
           arguments.attributes.Set("content", std::string("bytes"));
           return OpenFile(*FindFileFormat("recordio"), folder + "/compressed.recordio", "",
                           arguments);
         }},
        {"lanes",
         [folder] {
           LaneSet lanes =
               OpenFileLanes({folder + "/numbers-*.recordio"}, {}, ArgumentsOfNumbers(), {}, 2);
           lanes.stripe = 2;
           return std::make_unique<LaneBatchReader>(std::make_unique<LanesReader>(std::move(lanes)),
                                                    4, false, BatchMode::kConcat, 2);
         }},
        {"ahead",
         [folder] {
           return std::make_unique<DoubleBufferReader>(
               std::make_unique<MultiPassReader>(
                   std::make_unique<BatchReader>(OpenNumbers(folder), 2, true, BatchMode::kStack),
                   2),
               Place(), 2);
         }},
    };
  }

  // Reads one pass while memory is short; false if an error is about anything but memory.
  static void ReadShort(const Case& item, int64_t request, bool sticky,
                        const std::vector<ElementValue>& whole) {
    std::unique_ptr<ReaderBase> reader;
    std::vector<std::vector<LoDTensor>> elements(whole.size() + 1);
    size_t read = 0;
    bool failed = false;
    Memory::Break(request, sticky);
    try {
      reader = item.make();
      while (reader->HasNext()) reader->ReadNext(&elements.at(read++));
      Memory::Mend();
    } catch (const Error& error) {
      Memory::Mend();
      failed = true;
      EXPECT_EQ(error.code(), ErrorCode::kResourceLimit) << error.what();
    } catch (const std::bad_alloc&) {  // there was no memory for the text of the error
      Memory::Mend();
      failed = true;
    }
    if (!failed) {
      EXPECT_EQ(read, whole.size());
    }
    for (size_t i = 0; i < read && !elements[i].empty(); ++i) {
      if (i + 1 == read && failed) break;  // the element was not complete
      ASSERT_EQ(ValueOf(elements[i]), whole[i]);
    }
    if (reader == nullptr) return;
    // With enough memory the same stream comes.
    reader->Restart(0);
    ASSERT_EQ(ReadAll(reader.get()), whole);
  }

  const std::string folder_;
};

TEST_F(Allocation, F15MayFailAtEveryRequest) {
  for (const int workers : {0, 2}) {
    const PoolSize pool(workers);
    StartPoolThreads();
    for (const Case& item : Cases()) {
      const std::vector<ElementValue> whole = ReadAll(item.make().get());
      const Holdings before = CurrentHoldings();
      for (const bool sticky : {false, true}) {
        constexpr int64_t kMostRequests = 5000;
        int64_t request = 0;
        for (bool hit = true; hit && request < kMostRequests; ++request) {
          SCOPED_TRACE(StrCat(item.name, ", request ", request, ", ", workers, " workers",
                              sticky ? ", and all behind it" : ""));
          BufferPool::At(Place()).set_idle_limit(0);  // so that buffers are requested too
          BufferPool::At(Place()).set_idle_limit(size_t{1} << 30);
          ReadShort(item, request, sticky, whole);
          hit = Memory::hit();
          ASSERT_FALSE(HasFailure());
        }
        EXPECT_GT(request, 20);
        EXPECT_LT(request, kMostRequests);
      }
      EXPECT_TRUE(HoldingsReturnTo(before)) << item.name;
    }
  }
}

// A program is right or wrong whatever memory there is.
TEST_F(Allocation, F15MayFailWhileAProgramIsChecked) {
  const std::shared_ptr<const Program> program = Program::FromString(
      BlockText(0, -1,
                {CreatedReaderText("files", "open_files", {},
                                   {{"file_names", StrCat("strings: '", folder_, "/*.recordio'")}},
                                   {{"FP32", {1, 2}}, {"INT64", {1, 1}}}),
                 CreatedReaderText("shuffled", "create_shuffle_reader", {"files"},
                                   {{"buffer_size", "i: 3"}}),
                 CreatedReaderText("batches", "create_batch_reader", {"shuffled"},
                                   {{"batch_size", "i: 2"}})}),
      "startup.pbtxt");
  const CheckContext context{ProgramRole::kStartup, {}};
  program->CheckOrThrow(context);
  int64_t request = 0;
  for (bool hit = true; hit; ++request) {
    SCOPED_TRACE(StrCat("request ", request));
    Memory::Break(request, false);
    try {
      program->CheckOrThrow(context);
      Memory::Mend();
    } catch (const Error& error) {
      Memory::Mend();
      ASSERT_EQ(error.code(), ErrorCode::kResourceLimit) << error.what();
    } catch (const std::bad_alloc&) {
      Memory::Mend();
    }
    hit = Memory::hit();
  }
  EXPECT_GT(request, 100);
}

TEST_F(Allocation, F15ThreadsThatCannotBeStartedAreDoneWithout) {
  for (const Case& item : Cases()) {
    const std::vector<ElementValue> whole = ReadAll(item.make().get());
    const PoolSize pool(7);
    no_threads = true;
    EXPECT_EQ(ReadAll(item.make().get()), whole);
    no_threads = false;
    EXPECT_EQ(ReadAll(item.make().get()), whole);
  }
}

template <typename Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace millhopper

// Not inlined: gcc would take a `free` beside a call of `operator new` for a mistake.
__attribute__((noinline)) void* operator new(size_t size) {
  if (millhopper::Memory::Fails()) throw std::bad_alloc();
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }

extern "C" {

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  static const auto real = millhopper::Real<void* (*)(size_t, size_t)>("aligned_alloc");
  return millhopper::Memory::Fails() ? nullptr : real(alignment, size);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
  static const auto real =
      millhopper::Real<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(
          "pthread_create");
  return millhopper::no_threads ? EAGAIN : real(thread, attributes, start, argument);
}

}  // extern "C"

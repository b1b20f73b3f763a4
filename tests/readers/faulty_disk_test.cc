// SPDX-License-Identifier: Apache-2.0
// A disk that fails at the n-th call, for every n: the records before the fault are delivered
// exactly, then an error says where it was; harmless faults are not seen. The functions at the end
// of this file replace the system's calls for the whole process, and pass on those for other files.
// The labels are those of tests/faults.md.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/files/record_files.h"
#include "tests/outcome.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// What a call does instead of its work.
enum class Trouble {
  kNone,
  kError,      // EIO
  kInterrupt,  // EINTR, and the same once more
  kAgain,      // EAGAIN
  kShort,      // reads one byte
  kEnd,        // reads nothing, as if the file ended here
  kSlow,       // reads after a while
};

// The files of a test all lie in folders of this name.
constexpr char kFolder[] = "faulty_disk_test";

class Disk {
 public:
  static Disk& Get() {
    static auto* disk = new Disk;
    return *disk;
  }

  // From the call with this number on, the first being 0, calls fail: all of them, or one.
  void Break(Trouble trouble, int64_t call, bool sticky) {
    trouble_ = trouble;
    sticky_ = sticky;
    first_ = call;
    calls_ = 0;
    hit_ = false;
  }
  void Mend() { trouble_ = Trouble::kNone; }
  // Whether there was such a call.
  bool hit() const { return hit_; }

  // What the present call has to do, if it concerns a file of the test.
  Trouble Next() {
    if (trouble_ == Trouble::kNone) return Trouble::kNone;
    const int64_t call = calls_++;
    if (sticky_ ? call < first_ : call != first_) return Trouble::kNone;
    hit_ = true;
    return trouble_;
  }

  void Opened(const char* path, int descriptor) {
    if (descriptor < 0 || descriptor >= kMostDescriptors) return;
    watched_[static_cast<size_t>(descriptor)] = std::strstr(path, kFolder) != nullptr;
  }
  bool watches(int descriptor) const {
    return descriptor >= 0 && descriptor < kMostDescriptors &&
           watched_[static_cast<size_t>(descriptor)];
  }

 private:
  static constexpr int kMostDescriptors = 1024;

  std::atomic<Trouble> trouble_{Trouble::kNone};
  std::atomic<bool> sticky_{false};
  std::atomic<int64_t> first_{0};
  std::atomic<int64_t> calls_{0};
  std::atomic<bool> hit_{false};
  std::array<std::atomic<bool>, kMostDescriptors> watched_{};
};

struct Case {
  std::string name;
  std::function<std::unique_ptr<ReaderBase>()> make;
};

SlotSpec Slot(DataType dtype, const Dims& dims) { return {dtype, dims, 0, true}; }

const std::vector<SlotSpec>& NumberSlots() {
  static const auto* slots =
      new std::vector<SlotSpec>{Slot(DataType::kFp32, {1, 2}), Slot(DataType::kInt64, {1, 1})};
  return *slots;
}

std::unique_ptr<ReaderBase> OpenAs(const std::string& format, const std::string& path,
                                   const std::string& labels, const FormatArguments& arguments) {
  auto reader = OpenFile(*FindFileFormat(format), path, labels, arguments);
  reader->set_origin("reader 'files'");
  return reader;
}

std::unique_ptr<ReaderBase> OpenNumbers(const std::string& folder) {
  FormatArguments arguments;
  arguments.declared = NumberSlots();
  arguments.attributes.Set("content", std::string("tensors"));
  auto reader = OpenFiles({folder + "/numbers-*.recordio"}, {}, arguments, {});
  reader->set_origin("reader 'files'");
  return reader;
}

class FaultyDisk : public ::testing::Test {
 protected:
  FaultyDisk() : folder_(NewFolder(kFolder)) {
    WriteNumbers(folder_, 3, 5);
    const std::string images =
        FromHex("00000803 00000004 00000002 00000003") + std::string(24, 'x');
    const std::string labels = FromHex("00000801 00000004 07050301");
    const std::string lines = "one\ntwo\nthree\nfour\n";
    WriteFile(folder_ + "/images", images);
    WriteFile(folder_ + "/labels", labels);
    WriteFile(folder_ + "/lines.txt", lines);
    WriteFile(folder_ + "/images.gz", Gzipped(images));
    WriteFile(folder_ + "/labels.gz", Gzipped(labels));
    WriteFile(folder_ + "/lines.txt.gz", Gzipped("one\ntwo\n") + Gzipped("three\nfour\n"));
    std::filesystem::create_directories(folder_ + "/photos/all");
    for (const char* name : {"1", "2", "3"}) {
      WriteFile(StrCat(folder_, "/photos/all/", name, ".jpg"), StrCat("image ", name));
    }
  }
  ~FaultyDisk() override { Disk::Get().Mend(); }

  std::vector<Case> Cases() const {
    const std::string folder = folder_;
    FormatArguments fixed;
    fixed.declared = {Slot(DataType::kUint8, {1, 5})};
    std::vector<Case> cases;
    for (const char* end : {"", ".gz"}) {
      cases.push_back(
          {StrCat("idx", end),
           [=] { return OpenAs("idx", folder + "/images" + end, folder + "/labels" + end, {}); }});
      cases.push_back({StrCat("text", end),
                       [=] { return OpenAs("text", folder + "/lines.txt" + end, "", {}); }});
      cases.push_back({StrCat("fixed", end),
                       [=] { return OpenAs("fixed", folder + "/images" + end, "", fixed); }});
    }
    cases.push_back(
        {"image_folder", [=] { return OpenAs("image_folder", folder + "/photos", "", {}); }});
    cases.push_back({"recordio", [=] { return OpenNumbers(folder); }});
    cases.push_back(
        {"batches", [=] {
           return std::make_unique<DoubleBufferReader>(
               std::make_unique<BatchReader>(OpenNumbers(folder), 2, false, BatchMode::kConcat),
               Place(), 2);
         }});
    return cases;
  }

  // Breaks the disk at every call in turn; check(outcome, whole stream).
  template <typename Check>
  void Sweep(Trouble trouble, bool sticky, const Check& check) {
    for (const int workers : {0, 2}) {
      const PoolSize pool(workers);
      for (const Case& item : Cases()) {
        const std::vector<ElementValue> whole = ReadAll(item.make().get());
        constexpr int64_t kMostCalls = 1000;
        int64_t call = 0;
        for (bool hit = true; hit && call < kMostCalls; ++call) {
          SCOPED_TRACE(StrCat(item.name, ", call ", call, ", ", workers, " workers"));
          const std::unique_ptr<ReaderBase> reader = item.make();
          Disk::Get().Break(trouble, call, sticky);
          const Outcome outcome = OutcomeOf(reader.get());
          hit = Disk::Get().hit();
          Disk::Get().Mend();
          check(outcome, whole);
          ASSERT_FALSE(HasFatalFailure());
          // The disk is well again: so is the next pass.
          reader->Restart(0);
          ASSERT_EQ(ReadAll(reader.get()), whole);
        }
        EXPECT_GT(call, 2) << item.name;
        EXPECT_LT(call, kMostCalls) << item.name;
      }
    }
  }

  void ExpectFaultAtItsPlace(const Outcome& outcome, const std::vector<ElementValue>& whole,
                             ErrorCode code) const {
    ASSERT_LE(outcome.elements.size(), whole.size());
    for (size_t i = 0; i < outcome.elements.size(); ++i) ASSERT_EQ(outcome.elements[i], whole[i]);
    if (!outcome.error.has_value()) {
      ASSERT_EQ(outcome.elements.size(), whole.size()) << "an early end";
      return;
    }
    const Error& error = *outcome.error;
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(error.file().compare(0, folder_.size(), folder_), 0) << error.what();
    EXPECT_NE(std::string(error.what()).find("while reading record "), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("of reader 'files'"), std::string::npos);
  }

  const std::string folder_;
};

TEST_F(FaultyDisk, F01ReadErrorsComeAtTheirPlace) {
  for (const bool sticky : {false, true}) {
    Sweep(Trouble::kError, sticky, [&](const Outcome& outcome, const auto& whole) {
      ExpectFaultAtItsPlace(outcome, whole, ErrorCode::kIo);
      if (outcome.error.has_value()) {
        EXPECT_NE(std::string(outcome.error->what()).find("Input/output error"), std::string::npos);
      }
    });
  }
}

TEST_F(FaultyDisk, F02InterruptedCallsAreNotSeen) {
  for (const Trouble trouble : {Trouble::kInterrupt, Trouble::kAgain}) {
    Sweep(trouble, false, [](const Outcome& outcome, const auto& whole) {
      ASSERT_FALSE(outcome.error.has_value()) << outcome.error->what();
      ASSERT_EQ(outcome.elements, whole);
    });
  }
}

TEST_F(FaultyDisk, F03ShortReadsAreNotSeen) {
  for (const bool sticky : {false, true}) {
    Sweep(Trouble::kShort, sticky, [](const Outcome& outcome, const auto& whole) {
      ASSERT_FALSE(outcome.error.has_value()) << outcome.error->what();
      ASSERT_EQ(outcome.elements, whole);
    });
  }
}

TEST_F(FaultyDisk, F04AnEarlyEndIsAnError) {
  for (const bool sticky : {false, true}) {
    Sweep(Trouble::kEnd, sticky, [&](const Outcome& outcome, const auto& whole) {
      ExpectFaultAtItsPlace(outcome, whole, ErrorCode::kDataLoss);
      if (outcome.error.has_value()) {
        EXPECT_NE(std::string(outcome.error->what()).find("shorter than when it was opened"),
                  std::string::npos);
        EXPECT_GE(outcome.error->offset(), 0);
      }
    });
  }
}

// A thread that waits for a slow disk sleeps.
TEST_F(FaultyDisk, F11SlowReadsChangeNothingAndCostNothing) {
  const auto seconds = [](clockid_t clock) {
    timespec time;
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  for (const int workers : {0, 2}) {
    const PoolSize pool(workers);
    double used = 0;
    double waited = 0;
    for (const Case& item : Cases()) {
      const std::vector<ElementValue> whole = ReadAll(item.make().get());
      const std::unique_ptr<ReaderBase> reader = item.make();
      Disk::Get().Break(Trouble::kSlow, 0, true);
      used -= seconds(CLOCK_PROCESS_CPUTIME_ID);
      waited -= seconds(CLOCK_MONOTONIC);
      const Outcome outcome = OutcomeOf(reader.get());
      used += seconds(CLOCK_PROCESS_CPUTIME_ID);
      waited += seconds(CLOCK_MONOTONIC);
      EXPECT_TRUE(Disk::Get().hit());
      Disk::Get().Mend();
      EXPECT_FALSE(outcome.error.has_value()) << item.name;
      EXPECT_EQ(outcome.elements, whole) << item.name;
    }
    // A thread that waits busily would use half of the time or more.
    EXPECT_LT(used, 0.2 * waited) << workers << " workers";
  }
}

// ---- The calls ----

template <typename Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Whether the call fails; `size` is how much it would read.
template <typename Size>
bool Fails(int descriptor, Size* size, ssize_t* result) {
  Disk& disk = Disk::Get();
  if (!disk.watches(descriptor)) return false;
  switch (disk.Next()) {
    case Trouble::kError:
      errno = EIO;
      *result = -1;
      return true;
    case Trouble::kInterrupt:
      errno = EINTR;
      *result = -1;
      return true;
    case Trouble::kAgain:
      errno = EAGAIN;
      *result = -1;
      return true;
    case Trouble::kEnd:
      *result = 0;
      return true;
    case Trouble::kShort:
      *size = std::min<Size>(*size, 1);
      return false;
    case Trouble::kSlow:
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      return false;
    case Trouble::kNone:
      break;
  }
  return false;
}

ssize_t ReadOrFail(int descriptor, void* out, size_t size, off_t offset) {
  static const auto real = Real<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  ssize_t result = 0;
  if (Fails(descriptor, &size, &result)) return result;
  return real(descriptor, out, size, offset);
}

}  // namespace
}  // namespace millhopper

extern "C" {

int open(const char* path, int flags, ...) {
  static const auto real = millhopper::Real<int (*)(const char*, int, ...)>("open");
  va_list arguments;
  va_start(arguments, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(arguments, int) : 0;
  va_end(arguments);
  const int descriptor = real(path, flags, mode);
  millhopper::Disk::Get().Opened(path, descriptor);
  return descriptor;
}

ssize_t pread(int descriptor, void* out, size_t size, off_t offset) {
  return millhopper::ReadOrFail(descriptor, out, size, offset);
}

ssize_t preadv(int descriptor, const iovec* pieces, int count, off_t offset) {
  static const auto real = millhopper::Real<ssize_t (*)(int, const iovec*, int, off_t)>("preadv");
  ssize_t result = 0;
  size_t size = SIZE_MAX;
  if (millhopper::Fails(descriptor, &size, &result)) return result;
  if (size != SIZE_MAX) {
    return millhopper::ReadOrFail(descriptor, pieces[0].iov_base, size, offset);
  }
  return real(descriptor, pieces, count, offset);
}

}  // extern "C"

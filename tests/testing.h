// SPDX-License-Identifier: Apache-2.0
// What many tests need: temporary files, a pool of a given size, tensors in one line, and a count
// of everything that a reader may leave behind.
#ifndef MILLHOPPER_TESTS_TESTING_H_
#define MILLHOPPER_TESTS_TESTING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/memory/memory_limit.h"
#include "framework/reader/reader.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// A name in the test's own folder that no other test of this process uses.
std::string TempName(const std::string& name);

// A file with this content. The destructor removes it.
class TempFile {
 public:
  TempFile(const std::string& name, const std::string& content);
  ~TempFile();
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

void WriteFile(const std::string& path, const std::string& content);
std::string ReadFile(const std::string& path);

// The folder of sample files with known truth (MILLHOPPER_TEST_DATA), "" where there is none. Tests
// that need it begin with: if (TestData().empty()) GTEST_SKIP() << kNoTestData;
std::string TestData();
constexpr char kNoTestData[] = "MILLHOPPER_TEST_DATA does not name the folder of sample files";

// The loading pool has `workers` workers while one of these lives.
class PoolSize {
 public:
  explicit PoolSize(int workers);
  ~PoolSize();
  PoolSize(const PoolSize&) = delete;
  PoolSize& operator=(const PoolSize&) = delete;

 private:
  const int before_;
};

// A memory limit is in force while one of these lives.
class LimitInForce {
 public:
  explicit LimitInForce(size_t bytes) { MemoryLimit::Set(bytes); }
  ~LimitInForce() { MemoryLimit::Set(SIZE_MAX); }
  LimitInForce(const LimitInForce&) = delete;
  LimitInForce& operator=(const LimitInForce&) = delete;
};

// While one of these lives, `bytes` at most of the memory limit are left for work ahead of need. A
// limit must be in force.
class LittleRoomAhead {
 public:
  explicit LittleRoomAhead(size_t bytes);
  ~LittleRoomAhead() { MemoryLimit::Unuse(taken_, charge_); }
  LittleRoomAhead(const LittleRoomAhead&) = delete;
  LittleRoomAhead& operator=(const LittleRoomAhead&) = delete;

 private:
  size_t taken_ = 0;
  MemoryCharge charge_;
};

// Starts the threads of the loading pool, for tests that count threads: a reader starts them only
// where it finds work worth sharing.
void StartPoolThreads();

template <typename T>
LoDTensor MakeTensor(const Dims& dims, const std::vector<T>& values, Lod lod = {}) {
  LoDTensor tensor;
  T* data = tensor.Allocate<T>(dims);
  EXPECT_EQ(static_cast<int64_t>(values.size()), tensor.numel());
  std::copy(values.begin(), values.end(), data);
  tensor.set_lod(std::move(lod));
  return tensor;
}

template <typename T>
std::vector<T> ValuesOf(const LoDTensor& tensor) {
  const LoDTensor host = tensor.OnHost();
  const T* data = host.data<T>();
  return std::vector<T>(data, data + host.numel());
}

// One slot of one element, in a form that can be compared and printed.
struct SlotValue {
  DataType dtype;
  std::vector<int64_t> dims;
  Lod lod;
  std::string bytes;
  bool operator==(const SlotValue& other) const {
    return dtype == other.dtype && dims == other.dims && lod == other.lod && bytes == other.bytes;
  }
};
using ElementValue = std::vector<SlotValue>;

template <typename T>
SlotValue SlotOf(const std::vector<int64_t>& dims, const std::vector<T>& values, Lod lod = {}) {
  return {DataTypeOf<T>(), dims, std::move(lod),
          std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T))};
}

ElementValue ValueOf(const std::vector<LoDTensor>& element);
std::ostream& operator<<(std::ostream& out, const SlotValue& slot);

// Reads up to `most` elements; stops at the end of the pass, throws what the reader throws.
std::vector<ElementValue> ReadSome(ReaderBase* reader, size_t most);
std::vector<ElementValue> ReadAll(ReaderBase* reader);
// SHA-256 as design.md defines it, in hex: of one element, and of a stream of elements.
std::string DigestOf(const ElementValue& element);
std::string DigestOf(const std::vector<ElementValue>& stream);

// The error that a function throws. If it throws none, or an exception outside of our family of
// errors, the test fails and the result is empty. `is_end` tells EndOfData from other errors.
struct Thrown {
  ErrorCode code;
  std::string text;
  bool is_end;
  bool operator==(const Thrown& other) const {
    return code == other.code && text == other.text && is_end == other.is_end;
  }
};
std::ostream& operator<<(std::ostream& out, const Thrown& thrown);
template <typename F>
std::optional<Thrown> ErrorOf(const F& function) {
  try {
    function();
  } catch (const EndOfData& end) {
    return Thrown{end.code(), end.what(), true};
  } catch (const Error& error) {
    return Thrown{error.code(), error.what(), false};
  } catch (const std::exception& error) {
    ADD_FAILURE() << "not one of our errors: " << error.what();
    return std::nullopt;
  }
  ADD_FAILURE() << "nothing was thrown";
  return std::nullopt;
}
// Expects the function to throw an error of this code whose text has these words.
template <typename F>
void ExpectError(ErrorCode code, const std::string& words, const F& function) {
  const std::optional<Thrown> thrown = ErrorOf(function);
  if (!thrown) return;
  EXPECT_EQ(thrown->code, code) << thrown->text;
  EXPECT_NE(thrown->text.find(words), std::string::npos) << thrown->text << "\nlacks: " << words;
}

// How much of everything that readers hold is in use.
struct Holdings {
  size_t chunks, runs, scratches, buffer_bytes, descriptors, threads;
};
std::ostream& operator<<(std::ostream& out, const Holdings& holdings);
Holdings CurrentHoldings();
// Waits, for ten seconds at most, until no more is held than this: workers may still have to drop
// queued calls that have become void, and the system lists ended threads for a while.
::testing::AssertionResult HoldingsReturnTo(const Holdings& before);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_TESTING_H_

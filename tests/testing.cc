// SPDX-License-Identifier: Apache-2.0
#include "tests/testing.h"

#include <dirent.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <ostream>
#include <sstream>
#include <thread>

#include "framework/base/thread_pool.h"
#include "framework/memory/memory.h"
#include "framework/reader/file_format.h"
#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"

namespace millhopper {
namespace {

size_t CountEntries(const char* folder) {
  size_t entries = 0;
  DIR* open = opendir(folder);
  if (open == nullptr) return 0;
  while (readdir(open) != nullptr) ++entries;
  closedir(open);
  return entries;
}

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void Add(const void* data, size_t size) { EVP_DigestUpdate(context_.get(), data, size); }
  template <typename T>
  void AddNumber(T number) {
    Add(&number, sizeof(number));
  }
  std::string Finish() {
    std::string digest(32, '\0');
    EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr);
    return digest;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

std::string BinaryDigest(const ElementValue& element) {
  Sha256 sha;
  for (const SlotValue& slot : element) {
    sha.AddNumber(static_cast<uint32_t>(slot.dtype));
    sha.AddNumber(static_cast<uint32_t>(slot.dims.size()));
    for (const int64_t dim : slot.dims) sha.AddNumber(dim);
    sha.AddNumber(static_cast<uint32_t>(slot.lod.size()));
    for (const auto& level : slot.lod) {
      sha.AddNumber(static_cast<uint64_t>(level.size()));
      for (const uint64_t offset : level) sha.AddNumber(offset);
    }
    sha.Add(slot.bytes.data(), slot.bytes.size());
  }
  return sha.Finish();
}

std::string Hex(const std::string& bytes) {
  std::string hex;
  for (const char c : bytes) {
    char two[3];
    std::snprintf(two, sizeof(two), "%02x", static_cast<unsigned char>(c));
    hex += two;
  }
  return hex;
}

}  // namespace

std::string TempName(const std::string& name) {
  static std::atomic<int> next{0};
  return StrCat(::testing::TempDir(), "/", getpid(), "_", next.fetch_add(1), "_", name);
}

TempFile::TempFile(const std::string& name, const std::string& content) : path_(TempName(name)) {
  WriteFile(path_, content);
}

TempFile::~TempFile() { std::remove(path_.c_str()); }

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  ASSERT_TRUE(out.flush()) << path;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

std::string TestData() {
  const char* folder = std::getenv("MILLHOPPER_TEST_DATA");
  return folder == nullptr ? "" : folder;
}

PoolSize::PoolSize(int workers) : before_(ThreadPool::Get().size()) {
  ThreadPool::Get().SetSize(workers);
}

PoolSize::~PoolSize() { ThreadPool::Get().SetSize(before_); }

LittleRoomAhead::LittleRoomAhead(size_t bytes) {
  const MemoryScope scope(nullptr, MemoryScope::Need::kAhead);
  for (size_t size = MemoryLimit::bytes(); size > 0; size /= 2) {
    while (MemoryLimit::HasRoomAhead(bytes + size)) {
      try {
        charge_ = MemoryLimit::Use(size);
        taken_ += size;
      } catch (const Error&) {  // a worker took the room first
      }
    }
  }
}

void StartPoolThreads() {
  ParallelFor(2, [](size_t) {});
}

ElementValue ValueOf(const std::vector<LoDTensor>& element) {
  ElementValue value;
  for (const LoDTensor& tensor : element) {
    const LoDTensor host = tensor.OnHost();
    value.push_back({host.dtype(), std::vector<int64_t>(host.dims().begin(), host.dims().end()),
                     host.lod(),
                     std::string(static_cast<const char*>(host.raw_data()), host.bytes())});
  }
  return value;
}

std::ostream& operator<<(std::ostream& out, const SlotValue& slot) {
  out << ToString(slot.dtype) << " " << ToString(Dims(slot.dims)) << " lod " << ToString(slot.lod);
  if (slot.dtype != DataType::kInt64) return out << " " << Hex(slot.bytes.substr(0, 64));
  out << " values";
  for (size_t i = 0; i + 8 <= slot.bytes.size(); i += 8) {
    int64_t value;
    std::memcpy(&value, slot.bytes.data() + i, sizeof(value));
    out << " " << value;
  }
  return out;
}

std::vector<ElementValue> ReadSome(ReaderBase* reader, size_t most) {
  std::vector<ElementValue> elements;
  std::vector<LoDTensor> element;
  while (elements.size() < most && reader->HasNext()) {
    reader->ReadNext(&element);
    elements.push_back(ValueOf(element));
  }
  return elements;
}

std::vector<ElementValue> ReadAll(ReaderBase* reader) { return ReadSome(reader, SIZE_MAX); }

std::string DigestOf(const ElementValue& element) { return Hex(BinaryDigest(element)); }

std::string DigestOf(const std::vector<ElementValue>& stream) {
  Sha256 sha;
  for (const ElementValue& element : stream) {
    const std::string digest = BinaryDigest(element);
    sha.Add(digest.data(), digest.size());
  }
  return Hex(sha.Finish());
}

std::ostream& operator<<(std::ostream& out, const Thrown& thrown) {
  return out << (thrown.is_end ? "end of data" : ToString(thrown.code)) << ": " << thrown.text;
}

std::ostream& operator<<(std::ostream& out, const Holdings& holdings) {
  return out << holdings.chunks << " chunks, " << holdings.runs << " runs, " << holdings.scratches
             << " scratch rows, " << holdings.buffer_bytes << " bytes of buffers, "
             << holdings.descriptors << " descriptors, " << holdings.threads << " threads";
}

Holdings CurrentHoldings() {
  DropIdleObjects();  // idle objects keep tables that belong to no reader
  return {Pool<Chunk>::in_use(),         Pool<TicketRun>::in_use(),
          Pool<ScratchRows>::in_use(),   BufferPool::At(Place()).in_use_bytes(),
          CountEntries("/proc/self/fd"), CountEntries("/proc/self/task")};
}

::testing::AssertionResult HoldingsReturnTo(const Holdings& before) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  for (;;) {
    const Holdings now = CurrentHoldings();
    if (now.chunks <= before.chunks && now.runs <= before.runs &&
        now.scratches <= before.scratches && now.buffer_bytes <= before.buffer_bytes &&
        now.descriptors <= before.descriptors && now.threads <= before.threads) {
      return ::testing::AssertionSuccess();
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return ::testing::AssertionFailure() << "held before: " << before << "\nheld now: " << now;
    }
    std::this_thread::yield();
  }
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow_plugin/arrow_access.h"

#include <arrow/buffer.h>
#include <arrow/io/type_fwd.h>
#include <arrow/util/future.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

#include "framework/memory/memory.h"

namespace millhopper {
namespace {

constexpr size_t kShownBytes = 400;  // of a text of Arrow's

std::string Shown(const std::string& text) {
  return Escaped(text.size() <= kShownBytes ? text : text.substr(0, kShownBytes) + "...");
}

}  // namespace

// Every piece is a buffer of the pool.
class ArrowAccess::Memory final : public arrow::MemoryPool, public ArrowMemory {
 public:
  explicit Memory(int64_t most_bytes) : most_bytes_(most_bytes) {}

  void ForgetProblem() { problem_ = nullptr; }
  void BeginChunk() { in_use_before_ = in_use_; }
  // Remembers the exception that is being handled, if it is the first one.
  void SetProblem() {
    if (problem_ == nullptr) problem_ = std::current_exception();
  }
  const std::exception_ptr& problem() const { return problem_; }

  size_t bytes() const override { return static_cast<size_t>(in_use_); }
  void SetNeeded() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [place, buffer] : buffers_) buffer->set_needed();
  }

  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override {
    try {
      const int64_t has = std::max<int64_t>(in_use_ - in_use_before_, 0);
      if (size < 0 || alignment > int64_t{kBufferAlignment} || size > most_bytes_ - has) {
        Throw(ErrorCode::kResourceLimit, "Arrow needs ", size, " bytes beside the ", has,
              " that it has; the limit for one chunk is ", most_bytes_);
      }
      Ref<Buffer> buffer =
          BufferPool::At(Place()).Take(static_cast<size_t>(std::max<int64_t>(size, 1)));
      auto* const place = reinterpret_cast<uint8_t*>(buffer->data());
      const std::lock_guard<std::mutex> lock(mutex_);
      buffers_.emplace(place, std::move(buffer));
      *out = place;
    } catch (...) {
      return OutOfMemory();
    }
    in_use_ += size;
    most_ = std::max(most_.load(), in_use_.load());
    total_ += size;
    ++allocations_;
    return arrow::Status::OK();
  }

  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment,
                           uint8_t** place) override {
    uint8_t* const old = *place;
    if (const size_t room = RoomAt(old); new_size >= 0 && static_cast<size_t>(new_size) <= room &&
                                         (static_cast<size_t>(new_size) >= room / 2)) {
      in_use_ += new_size - old_size;
      return arrow::Status::OK();
    }
    uint8_t* larger = nullptr;
    const arrow::Status status = Allocate(new_size, alignment, &larger);
    if (!status.ok()) return status;
    std::memcpy(larger, old, static_cast<size_t>(std::min(old_size, new_size)));
    Free(old, old_size, alignment);
    *place = larger;
    return arrow::Status::OK();
  }

  void Free(uint8_t* place, int64_t size, int64_t) override {
    Ref<Buffer> buffer;  // goes back to the pool without the lock
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = buffers_.find(place);
      if (found == buffers_.end()) return;
      buffer = std::move(found->second);
      buffers_.erase(found);
    }
    in_use_ -= size;
  }

  int64_t bytes_allocated() const override { return in_use_; }
  int64_t max_memory() const override { return most_; }
  int64_t total_bytes_allocated() const override { return total_; }
  int64_t num_allocations() const override { return allocations_; }
  std::string backend_name() const override { return "millhopper"; }

 private:
  arrow::Status OutOfMemory() {
    SetProblem();
    return arrow::Status::OutOfMemory("no memory");
  }

  size_t RoomAt(uint8_t* place) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = buffers_.find(place);
    return found == buffers_.end() ? 0 : found->second->capacity();
  }

  const int64_t most_bytes_;
  std::exception_ptr problem_;
  int64_t in_use_before_ = 0;  // by other chunks
  mutable std::mutex mutex_;
  std::unordered_map<uint8_t*, Ref<Buffer>> buffers_;
  std::atomic<int64_t> in_use_{0}, most_{0}, total_{0}, allocations_{0};
};

class ArrowAccess::Reads final : public arrow::io::RandomAccessFile {
 public:
  Reads(std::shared_ptr<const File> file, std::vector<Stretch> stretches,
        std::shared_ptr<Memory> memory)
      : source_(std::move(file)),
        stretches_(std::move(stretches)),
        memory_(std::move(memory)),
        context_(memory_.get()) {
    for (const Stretch& stretch : stretches_) size_ += static_cast<int64_t>(stretch.size);
  }

  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Result<int64_t> GetSize() override { return size_; }
  const arrow::io::IOContext& io_context() const override { return context_; }

  arrow::Status Seek(int64_t position) override {
    if (position < 0 || position > size_) return arrow::Status::IOError("no such byte ", position);
    position_ = position;
    return arrow::Status::OK();
  }

  arrow::Result<int64_t> ReadAt(int64_t position, int64_t size, void* out) override {
    if (position < 0 || size < 0 || position > size_) {
      return arrow::Status::IOError("no such bytes: ", size, " from ", position, " on");
    }
    const int64_t most = std::min(size, size_ - position);
    if (const auto kept = KeptAt(position, most)) {
      if (most > 0) std::memcpy(out, kept->data(), static_cast<size_t>(most));
      return most;
    }
    auto* to = static_cast<char*>(out);
    auto skipped = static_cast<uint64_t>(position);
    auto left = static_cast<uint64_t>(most);
    try {
      for (const Stretch& stretch : stretches_) {
        if (left == 0) break;
        if (skipped >= stretch.size) {
          skipped -= stretch.size;
          continue;
        }
        const uint64_t here = std::min(left, stretch.size - skipped);
        source_->Read(stretch.offset + skipped, to, here);
        to += here;
        left -= here;
        skipped = 0;
      }
    } catch (...) {
      memory_->SetProblem();
      return arrow::Status::IOError("the file cannot be read");
    }
    return most;
  }

  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override {
    // What is declared is checked against what is left before memory is taken.
    const int64_t most =
        std::min(size, position < 0 || position > size_ ? int64_t{0} : size_ - position);
    if (auto kept = KeptAt(position, most)) return kept;
    ARROW_ASSIGN_OR_RAISE(
        std::unique_ptr<arrow::ResizableBuffer> buffer,
        arrow::AllocateResizableBuffer(std::max<int64_t>(most, 0), context_.pool()));
    ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position, most, buffer->mutable_data()));
    ARROW_RETURN_NOT_OK(buffer->Resize(read));
    return std::shared_ptr<arrow::Buffer>(std::move(buffer));
  }

  arrow::Status Keep(Stretch stretch) {
    const auto position = static_cast<int64_t>(stretch.offset);
    ARROW_ASSIGN_OR_RAISE(auto bytes, ReadAt(position, static_cast<int64_t>(stretch.size)));
    kept_.emplace_back(position, std::move(bytes));
    return arrow::Status::OK();
  }

  // Arrow would read on its own threads; this reads on the calling one.
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext&,
                                                          int64_t position, int64_t size) override {
    return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(ReadAt(position, size));
  }
  arrow::Future<std::shared_ptr<arrow::Buffer>> ReadAsync(const arrow::io::IOContext&,
                                                          int64_t position, int64_t size,
                                                          bool may_be_short) override {
    return arrow::Future<std::shared_ptr<arrow::Buffer>>::MakeFinished(
        RandomAccessFile::ReadAt(position, size, may_be_short));
  }

  arrow::Result<int64_t> Read(int64_t size, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t read, ReadAt(position_, size, out));
    position_ += read;
    return read;
  }

  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(position_, size));
    position_ += buffer->size();
    return buffer;
  }

 private:
  // What is kept of the file; null if not all of it is.
  std::shared_ptr<arrow::Buffer> KeptAt(int64_t position, int64_t size) const {
    for (const auto& [begin, bytes] : kept_) {
      if (position < begin || size < 0 || position + size > begin + bytes->size()) continue;
      return arrow::SliceBuffer(bytes, position - begin, size);
    }
    return nullptr;
  }

  const std::shared_ptr<const File> source_;
  const std::vector<Stretch> stretches_;
  const std::shared_ptr<Memory> memory_;
  const arrow::io::IOContext context_;
  int64_t size_ = 0;
  int64_t position_ = 0;
  bool closed_ = false;
  std::vector<std::pair<int64_t, std::shared_ptr<arrow::Buffer>>> kept_;  // and where they begin
};

ArrowAccess::ArrowAccess(std::shared_ptr<const File> file, int64_t most_bytes)
    : ArrowAccess(file, {Stretch{0, file->size()}}, most_bytes) {}

ArrowAccess::ArrowAccess(std::shared_ptr<const File> file, std::vector<Stretch> stretches,
                         int64_t most_bytes)
    : memory_(std::make_shared<Memory>(most_bytes)),
      file_(std::make_shared<Reads>(std::move(file), std::move(stretches), memory_)) {}

ArrowAccess::~ArrowAccess() = default;

arrow::MemoryPool* ArrowAccess::memory() const { return memory_.get(); }

std::shared_ptr<ArrowMemory> ArrowAccess::shared_memory() const { return memory_; }

void ArrowAccess::BeginChunk() { memory_->BeginChunk(); }

arrow::Status ArrowAccess::Keep(Stretch stretch) {
  return static_cast<Reads*>(file_.get())->Keep(stretch);
}

void ArrowAccess::ForgetProblem() { memory_->ForgetProblem(); }

void ArrowAccess::Refused(const arrow::Status& status) const {
  if (memory_->problem() != nullptr) std::rethrow_exception(memory_->problem());
  const bool memory = status.IsOutOfMemory() || status.IsCapacityError();
  throw Error(memory ? ErrorCode::kResourceLimit : ErrorCode::kDataLoss, Shown(status.message()));
}

void ArrowAccess::Refused() const {
  if (memory_->problem() != nullptr) std::rethrow_exception(memory_->problem());
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& exception) {
    throw Error(ErrorCode::kDataLoss, Shown(exception.what()));
  }
}

}  // namespace millhopper

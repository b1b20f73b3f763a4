// SPDX-License-Identifier: Apache-2.0
#include "framework/memory/buffer.h"

#include <new>
#include <utility>

#include "framework/base/error.h"
#include "framework/memory/memory.h"
#include "framework/memory/memory_limit.h"
#include "framework/memory/place.h"

namespace millhopper {
namespace {

// Smaller tables come from the heap, which is faster. They are counted too, with the bytes that the
// heap adds and with the small object that usually owns the table.
constexpr size_t kLargeTable = 4096;
constexpr size_t kAddedBytes = 64;

// What lies before a table.
struct Header {
  Buffer* buffer;  // that the table lies in, or null
  size_t counted;  // bytes of a table on the heap
  MemoryCharge charge;
};
constexpr size_t kHeaderBytes = kBufferAlignment;
static_assert(sizeof(Header) <= kHeaderBytes);

Header* HeaderOf(void* table) {
  return reinterpret_cast<Header*>(static_cast<char*>(table) - sizeof(Header));
}

void* TakeSmall(size_t bytes) {
  const size_t counted = bytes + kAddedBytes;
  MemoryCharge charge = MemoryLimit::Use(counted);
  void* memory = nullptr;
  try {
    MemoryLimit::Reserve(counted);
    memory = ::operator new(sizeof(Header) + bytes);
  } catch (const std::bad_alloc&) {
    MemoryLimit::Unreserve(counted);
    MemoryLimit::Unuse(counted, charge);
    throw;
  } catch (...) {
    MemoryLimit::Unuse(counted, charge);
    throw;
  }
  return new (memory) Header{nullptr, counted, std::move(charge)} + 1;
}

Ref<Buffer> TakeBuffer(size_t bytes) {
  try {
    return BufferPool::At(Place()).Take(bytes);
  } catch (const Error& error) {
    const OutOfMemory* const memory = error.out_of_memory();
    if (memory == nullptr) throw;
    throw MemoryLimit::Advised(error, memory->needed, 0);  // however large, it is not an element
  }
}

void* TakeLarge(size_t bytes) {
  const Ref<Buffer> buffer = TakeBuffer(kHeaderBytes + bytes);
  buffer->Retain();
  void* const table = buffer->data() + kHeaderBytes;
  new (HeaderOf(table)) Header{buffer.get(), 0, {}};
  return table;
}

}  // namespace

Buffer::Buffer() = default;
Buffer::~Buffer() = default;

Place Buffer::place() const { return pool_->place(); }

bool Buffer::IsDone() const { return busy_until_->Done(); }

void Buffer::set_needed() { MemoryLimit::UseNow(capacity_, &charge_); }

void Buffer::Dispose() {
  if (release_ == nullptr) {
    pool_->Give(this);
    return;
  }
  release_();
  delete this;
}

Ref<Buffer> Buffer::Foreign(void* data, size_t bytes, std::function<void()> release) {
  if (release == nullptr) Throw(ErrorCode::kInternal, "memory that nothing releases");
  auto* const buffer = new Buffer;
  buffer->data_ = static_cast<char*>(data);
  buffer->capacity_ = bytes;
  buffer->pool_ = &BufferPool::At(Place());
  buffer->release_ = std::move(release);
  return Ref<Buffer>(buffer);
}

void* TakeTable(size_t count, size_t size) {
  const size_t bytes = CheckedProduct(count, size);
  return bytes < kLargeTable ? TakeSmall(bytes) : TakeLarge(bytes);
}

bool MayKeepEmptyTable() { return !MemoryLimit::is_set(); }

void GiveTable(void* table) noexcept {
  Header* const header = HeaderOf(table);
  Buffer* const buffer = header->buffer;
  if (buffer != nullptr) {
    header->~Header();
    buffer->Release();
    return;
  }
  MemoryLimit::Unuse(header->counted, header->charge);
  MemoryLimit::Unreserve(header->counted);
  header->~Header();
  ::operator delete(header);
}

void SetTableNeeded(void* table) {
  Header* const header = HeaderOf(table);
  if (header->buffer != nullptr) {
    header->buffer->set_needed();
  } else {
    MemoryLimit::UseNow(header->counted, &header->charge);
  }
}

}  // namespace millhopper

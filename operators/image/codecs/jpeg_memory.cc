// SPDX-License-Identifier: Apache-2.0
#include "operators/image/codecs/jpeg_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

// In this order.
#include <jerror.h>

#include "framework/memory/memory.h"
#include "framework/memory/place.h"

namespace millhopper {
namespace {

constexpr size_t kAlignment = kBufferAlignment;  // as much as the SIMD code of libjpeg-turbo needs
constexpr size_t kBlockBytes = size_t{256} << 10;

size_t Aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void JpegMemory::Install(j_common_ptr cinfo) {
  own_manager_ = cinfo->mem;
  manager_.memory = this;
  manager_.max_memory_to_use = own_manager_->max_memory_to_use;
  manager_.max_alloc_chunk = own_manager_->max_alloc_chunk;
  manager_.alloc_small = AllocateOrFail;
  manager_.alloc_large = AllocateOrFail;
  manager_.alloc_sarray = AllocateSamples;
  manager_.alloc_barray = AllocateBlocks;
  manager_.request_virt_sarray = RequestSamples;
  manager_.request_virt_barray = RequestBlocks;
  manager_.realize_virt_arrays = MakeRequested;
  manager_.access_virt_barray = RowsOf;
  manager_.free_pool = [](j_common_ptr, int) {};  // Clear does
  cinfo->mem = &manager_;
}

void JpegMemory::Uninstall(j_common_ptr cinfo) { cinfo->mem = own_manager_; }

void JpegMemory::GiveBack() {
  buffers_.clear();
  free_ = nullptr;
  free_bytes_ = 0;
  requested_ = nullptr;
}

std::exception_ptr JpegMemory::TakeError() { return std::exchange(error_, nullptr); }

void* JpegMemory::Allocate(size_t bytes) {
  const size_t taken = Aligned(bytes);
  if (taken > free_bytes_) {
    buffers_.push_back(BufferPool::At(Place()).Take(std::max(taken, kBlockBytes)));
    free_ = buffers_.back()->data();
    free_bytes_ = buffers_.back()->capacity();
  }
  free_bytes_ -= taken;
  return std::exchange(free_, free_ + taken);
}

void* JpegMemory::AllocateOrFail(j_common_ptr cinfo, int, size_t bytes) {
  void* memory = nullptr;
  try {
    memory = Of(cinfo).Allocate(bytes);
  } catch (...) {
    Of(cinfo).error_ = std::current_exception();
  }
  // Outside of the handler, because this call does not return.
  if (memory == nullptr) ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
  return memory;
}

template <typename T>
T** JpegMemory::AllocateRows(j_common_ptr cinfo, int pool, size_t bytes, JDIMENSION height) {
  auto** const rows = static_cast<T**>(AllocateOrFail(cinfo, pool, height * sizeof(T*)));
  char* const values = static_cast<char*>(AllocateOrFail(cinfo, pool, height * bytes));
  for (JDIMENSION y = 0; y < height; ++y) rows[y] = reinterpret_cast<T*>(values + y * bytes);
  return rows;
}

JSAMPARRAY JpegMemory::AllocateSamples(j_common_ptr cinfo, int pool, JDIMENSION width,
                                       JDIMENSION height) {
  // The SIMD code works on whole vectors, and so beyond the end of a row.
  return AllocateRows<JSAMPLE>(cinfo, pool, Aligned(width) + kAlignment, height);
}

JBLOCKARRAY JpegMemory::AllocateBlocks(j_common_ptr cinfo, int pool, JDIMENSION width,
                                       JDIMENSION height) {
  return AllocateRows<JBLOCK>(cinfo, pool, width * sizeof(JBLOCK), height);
}

jvirt_sarray_ptr JpegMemory::RequestSamples(j_common_ptr cinfo, int, boolean, JDIMENSION,
                                            JDIMENSION, JDIMENSION) {
  ERREXIT(cinfo, JERR_NOTIMPL);  // only for palettes made to measure
  return nullptr;
}

jvirt_barray_ptr JpegMemory::RequestBlocks(j_common_ptr cinfo, int pool, boolean, JDIMENSION width,
                                           JDIMENSION height, JDIMENSION) {
  auto* const array =
      static_cast<CoefficientArray*>(AllocateOrFail(cinfo, pool, sizeof(CoefficientArray)));
  *array = {Of(cinfo).requested_, nullptr, width, height};
  Of(cinfo).requested_ = array;
  return reinterpret_cast<jvirt_barray_ptr>(array);
}

void JpegMemory::MakeRequested(j_common_ptr cinfo) {
  CoefficientArray*& requested = Of(cinfo).requested_;
  for (; requested != nullptr; requested = requested->next) {
    requested->rows = AllocateBlocks(cinfo, JPOOL_IMAGE, requested->width, requested->height);
    std::memset(requested->rows[0], 0,
                size_t{requested->width} * requested->height * sizeof(JBLOCK));
  }
}

JBLOCKARRAY JpegMemory::RowsOf(j_common_ptr cinfo, jvirt_barray_ptr array, JDIMENSION begin,
                               JDIMENSION count, boolean) {
  const auto& coefficients = *reinterpret_cast<CoefficientArray*>(array);
  if (count > coefficients.height || begin > coefficients.height - count) {
    ERREXIT(cinfo, JERR_BAD_VIRTUAL_ACCESS);
  }
  return coefficients.rows + begin;
}

}  // namespace millhopper

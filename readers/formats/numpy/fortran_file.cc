// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/numpy/fortran_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/memory/memory.h"

namespace millhopper {
namespace {

// Pieces that lie closer to each other are read together with what is between them.
constexpr uint64_t kNearBytes = 4096;

template <size_t kBytes>
void Scatter(const char* from, size_t n, char* to, size_t stride) {
  for (size_t i = 0; i < n; ++i) std::memcpy(to + i * stride, from + i * kBytes, kBytes);
}

// Values that lie end to end go `stride` bytes apart.
void Scatter(size_t value_bytes, const char* from, size_t n, char* to, size_t stride) {
  switch (value_bytes) {
    case 1:
      return Scatter<1>(from, n, to, stride);
    case 2:
      return Scatter<2>(from, n, to, stride);
    case 4:
      return Scatter<4>(from, n, to, stride);
    case 8:
      return Scatter<8>(from, n, to, stride);
    case 16:
      return Scatter<16>(from, n, to, stride);
    default:
      for (size_t i = 0; i < n; ++i)
        std::memcpy(to + i * stride, from + i * value_bytes, value_bytes);
  }
}

}  // namespace

FortranFile::FortranFile(std::unique_ptr<ByteStream> stream, const NpyHeader& header)
    : File(stream->path()),
      stream_(std::move(stream)),
      header_(header),
      begin_(stream_->position()),
      value_bytes_(header.type.bytes * std::max<uint64_t>(1, header.type.last_axis)),
      values_(header.record_bytes / value_bytes_) {
  const Dims& dims = header.spec.dims;
  const size_t rank = dims.size() - (header.type.last_axis > 0 ? 1 : 0);
  for (size_t i = 1; i < rank; ++i) axes_.push_back(static_cast<size_t>(dims[i]));
  steps_.assign(axes_.size(), 1);
  for (size_t i = axes_.size(); i-- > 1;) steps_[i - 1] = steps_[i] * axes_[i];
  if (!stream_->can_be_read_once_only()) set_id(stream_->file().id());
  set_is_view();
  const uint64_t bytes = header.records * header.record_bytes;
  if (stream_->plain()) {
    set_size(stream_->file().size());
  } else {
    ReadContent(bytes);
  }
  if (size() - begin_ < bytes) {
    const uint64_t place = stream_->plain() ? size() : 0;
    throw Error(
        ErrorCode::kDataLoss,
        StrCat("the file ends at ", stream_->Describe(size()), ", ", bytes - (size() - begin_),
               " bytes too early for its array in Fortran order, of which no record is "
               "whole"))
        .InFile(path(), static_cast<int64_t>(place));
  }
}

// Reads one byte more than the array has, so that more than that, or an error that follows, can be
// noticed. Memory is taken as the bytes come, because a header may promise what no pipe holds.
void FortranFile::ReadContent(uint64_t bytes) {
  if (bytes > kMaxUnsizedBytes) {
    throw Error(ErrorCode::kResourceLimit,
                StrCat(stream_->compressed() ? "a compressed array" : "an array from a pipe",
                       " in Fortran order of ", bytes,
                       " bytes; such arrays are held in memory, and the limit is ",
                       kMaxUnsizedBytes, "; store it ",
                       stream_->compressed() ? "uncompressed" : "in a file", " or in C order"))
        .InFile(path(), 0);
  }
  const uint64_t most = std::min(bytes + 1, stream_->most_left());
  for (size_t got = 1; got > 0 && content_.size() < most;) {
    const size_t had = content_.size();
    content_.resize(had + std::min<uint64_t>(kReadBlockBytes, most - had));
    got = stream_->Read(content_.data() + had, content_.size() - had);
    content_.resize(had + got);
  }
  set_size(begin_ + content_.size());
}

size_t FortranFile::ReadSome(uint64_t offset, char* out, size_t size) const {
  const size_t records = size / header_.record_bytes;
  Gather((offset - begin_) / header_.record_bytes, records, out);
  return records * header_.record_bytes;
}

void FortranFile::ReadStored(uint64_t offset, char* out, size_t size) const {
  if (stream_->plain()) {
    stream_->file().Read(offset, out, size);
  } else {
    std::memcpy(out, content_.data() + (offset - begin_), size);
  }
}

void FortranFile::Gather(uint64_t first, size_t records, char* out) const {
  if (records == 0) return;
  const size_t run = records * value_bytes_;
  const uint64_t stride = header_.records * value_bytes_;
  const size_t runs_at_once =
      stride > kNearBytes ? 1 : std::clamp<size_t>(kReadBlockBytes / stride, 1, values_);
  const Ref<Buffer> block = BufferPool::At(Place()).Take((runs_at_once - 1) * stride + run);
  std::vector<size_t> index(axes_.size(), 0);  // of the value within a record
  size_t to = 0;                               // its place within a record, in values
  for (size_t value = 0; value < values_;) {
    const size_t runs = std::min(runs_at_once, values_ - value);
    ReadStored(begin_ + value * stride + first * value_bytes_, block->data(),
               (runs - 1) * stride + run);
    for (size_t i = 0; i < runs; ++i) {
      Scatter(value_bytes_, block->data() + i * stride, records, out + to * value_bytes_,
              header_.record_bytes);
      for (size_t axis = 0; axis < axes_.size(); ++axis) {
        to += steps_[axis];
        if (++index[axis] < axes_[axis]) break;
        to -= axes_[axis] * steps_[axis];
        index[axis] = 0;
      }
    }
    value += runs;
  }
}

}  // namespace millhopper

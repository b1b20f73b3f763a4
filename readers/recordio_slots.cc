// SPDX-License-Identifier: Apache-2.0
#include "readers/recordio_slots.h"

#include <cstdint>
#include <cstring>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/reader/file_format.h"
#include "framework/tensor/tensor_stream.h"
#include "readers/recordio_file.h"

namespace millhopper {
namespace {

// Makes axes that differ -1. Returns false if no declaration fits both.
bool Widen(const std::vector<SlotSpec>& other, std::vector<SlotSpec>* slots) {
  if (slots->size() != other.size()) return false;
  for (size_t i = 0; i < other.size(); ++i) {
    SlotSpec& slot = (*slots)[i];
    if (slot.dtype != other[i].dtype || slot.dims.size() != other[i].dims.size() ||
        slot.lod_level != other[i].lod_level) {
      return false;
    }
    for (size_t axis = 0; axis < slot.dims.size(); ++axis) {
      if (slot.dims[axis] != other[i].dims[axis]) slot.dims[axis] = -1;
    }
  }
  return true;
}

}  // namespace

bool VisitTensorsOfRecord(const char* bytes, size_t size,
                          const std::function<void(const TensorView& tensor)>& visit) {
  uint32_t count = 0;
  if (size < sizeof(count)) return false;
  std::memcpy(&count, bytes, sizeof(count));
  if (count == 0 || count > kMaxSlots) return false;
  size_t position = sizeof(count);
  for (uint32_t i = 0; i < count; ++i) {
    TensorView tensor;
    try {
      tensor = ParseTensor(bytes + position, size - position);
    } catch (const Error&) {  // no tensor
      return false;
    }
    visit(tensor);
    position += tensor.size;
  }
  return position == size;
}

std::optional<std::vector<SlotSpec>> SlotsOfRecord(const char* bytes, size_t size) {
  std::vector<SlotSpec> slots;
  bool has_axes = true;
  const bool is_list = VisitTensorsOfRecord(bytes, size, [&](const TensorView& tensor) {
    SlotSpec slot;
    slot.dtype = tensor.dtype;
    slot.dims = tensor.dims;
    slot.lod_level = static_cast<int>(tensor.levels);
    has_axes = has_axes && !slot.dims.empty();
    if (slot.lod_level > 0 && has_axes) slot.dims[0] = -1;
    slots.push_back(slot);
  });
  if (!is_list || !has_axes) return std::nullopt;
  return slots;
}

std::optional<std::vector<SlotSpec>> SlotsOfFirstRecords(const std::string& path) {
  RecordIOFile file(path);
  const Ref<Chunk> chunk = Pool<Chunk>::Take();
  if (!file.Claim(chunk.get())) return std::nullopt;
  file.Fetch(chunk.get());
  std::optional<std::vector<SlotSpec>> slots;
  for (const Piece& piece : chunk->pieces) {
    const auto found = SlotsOfRecord(chunk->bytes->data() + piece.offset, piece.size);
    if (!found) return std::nullopt;
    if (!slots) {
      slots = found;
    } else if (!Widen(*found, &*slots)) {
      return std::nullopt;
    }
  }
  return slots;
}

std::string SlotsText(const std::vector<SlotSpec>& slots) {
  std::string text;
  for (const SlotSpec& slot : slots) {
    text += StrCat(text.empty() ? "" : " ", ToString(slot.dtype), "[");
    for (size_t axis = 0; axis < slot.dims.size(); ++axis) {
      text += StrCat(axis == 0 ? "" : ",", slot.dims[axis]);
    }
    text += "]";
    if (slot.lod_level > 0) text += StrCat(":", slot.lod_level);
  }
  return text;
}

}  // namespace millhopper

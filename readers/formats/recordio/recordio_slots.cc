// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/recordio/recordio_slots.h"

#include <cstdint>
#include <cstring>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/reader/file_format.h"
#include "framework/tensor/tensor_stream.h"
#include "readers/fields/named_slots.h"
#include "readers/formats/recordio/recordio_file.h"

namespace millhopper {

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

void AppendRecordOfTensors(const std::vector<LoDTensor>& element, std::string* record) {
  const auto count = static_cast<uint32_t>(element.size());
  record->append(reinterpret_cast<const char*>(&count), sizeof(count));
  for (const LoDTensor& tensor : element) AppendTensor(tensor, record);
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
  CommonSlots common;
  for (const Piece& piece : chunk->pieces) {
    const auto found = SlotsOfRecord(chunk->bytes->data() + piece.offset, piece.size);
    if (!found) return std::nullopt;
    common.Add(*found);
  }
  return common.slots();
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/double_buffer_reader.h"

#include <utility>
#include <vector>

#include "framework/memory/memory.h"

namespace millhopper {
namespace {

class CopyToPlace final : public Stage {
 public:
  explicit CopyToPlace(Place place) : place_(place) {}

  size_t Work(StagedElement* element) const override {
    if (place_.is_cpu()) return 1;
    element->copies.reserve(element->tensors.size());  // so that no copy that runs is lost
    for (LoDTensor& tensor : element->tensors) {
      Ref<Buffer> copy = BufferPool::At(place_).Take(tensor.bytes());
      if (tensor.bytes() > 0) {
        std::shared_ptr<DeviceEvent> event =
            place_.device()->CopyFromHost(copy->data(), tensor.buffer()->data(), tensor.bytes());
        copy->set_busy_until(event);
        element->copies.push_back({std::move(event), tensor.buffer()});
      }
      Lod lod = std::move(*tensor.mutable_lod_unchecked());
      tensor.Share(std::move(copy), tensor.dtype(), tensor.dims());
      *tensor.mutable_lod_unchecked() = std::move(lod);
    }
    return 1;
  }
  bool keeps_count() const override { return true; }
  Place place() const override { return place_; }

 private:
  const Place place_;
};

}  // namespace

DoubleBufferReader::DoubleBufferReader(std::unique_ptr<ReaderBase> reader, Place place,
                                       int64_t depth)
    : StageReader(std::move(reader), reader->slots(), std::make_unique<CopyToPlace>(place), depth) {
}

}  // namespace millhopper

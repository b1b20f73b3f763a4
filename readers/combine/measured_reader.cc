// SPDX-License-Identifier: Apache-2.0
#include "readers/combine/measured_reader.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

// Leaves elements as they are.
class Measured final : public Stage {
 public:
  size_t Work(StagedElement*) const override { return 1; }
  bool keeps_slots() const override { return true; }
  size_t most_together() const override { return 64; }
};

}  // namespace

MeasuredReader::MeasuredReader(std::unique_ptr<ReaderBase> reader, const Measure& measure)
    : StageReader(std::move(reader), reader->slots(), std::make_unique<Measured>(),
                  DepthForAllWorkers()),
      measure_(measure) {
  if (measure_.slot) shape(*measure_.slot);  // throws if there is none
}

uint64_t MeasuredReader::LengthOf(const Ticket& ticket) const {
  const std::vector<LoDTensor>& tensors = ElementOf(ticket)->tensors;
  size_t length = 0;
  if (measure_.slot) {
    length = tensors[*measure_.slot].rows();
  } else {
    for (const LoDTensor& tensor : tensors) length += tensor.bytes();
  }
  return std::max<uint64_t>(length, 1);
}

}  // namespace millhopper

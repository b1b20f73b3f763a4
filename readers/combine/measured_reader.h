// SPDX-License-Identifier: Apache-2.0
// Loads elements before they are planned, so that their lengths are known then.
#ifndef MILLHOPPER_READERS_COMBINE_MEASURED_READER_H_
#define MILLHOPPER_READERS_COMBINE_MEASURED_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "framework/reader/stage_reader.h"

namespace millhopper {

// What the length of an element is.
struct Measure {
  std::optional<size_t> slot;  // the steps of this slot along axis 0; without it the bytes of all
};

// Yields the elements of the reader below, which workers load ahead of the consumer.
class MeasuredReader final : public StageReader {
 public:
  // Throws kInvalidArgument if there is no such slot, and when the reader below yields tensors on a
  // device.
  MeasuredReader(std::unique_ptr<ReaderBase> reader, const Measure& measure);

  // The length of an element that this reader has planned and that is not loaded yet, at least 1.
  // The planning thread.
  uint64_t LengthOf(const Ticket& ticket) const;

 private:
  const Measure measure_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_COMBINE_MEASURED_READER_H_

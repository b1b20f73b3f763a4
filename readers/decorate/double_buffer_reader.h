// SPDX-License-Identifier: Apache-2.0
// Loads elements ahead of their use, and copies them to a device if asked.
#ifndef MILLHOPPER_READERS_DECORATE_DOUBLE_BUFFER_READER_H_
#define MILLHOPPER_READERS_DECORATE_DOUBLE_BUFFER_READER_H_

#include <cstdint>
#include <memory>

#include "framework/memory/memory_limit.h"
#include "framework/memory/place.h"
#include "framework/reader/stage_reader.h"

namespace millhopper {

// The stage that changes nothing: `depth` elements of the reader below are kept ready.
//
// For a device, elements are loaded into pinned memory and copied from there by the device's own
// queue; an element is handed out when its copy is done, so that an error of the copy takes the
// element's place like any other error.
class DoubleBufferReader final : public StageReader {
 public:
  // Throws kInvalidArgument for a depth below 1, and for elements that are on a device already.
  DoubleBufferReader(std::unique_ptr<ReaderBase> reader, Place place, int64_t depth);
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_DOUBLE_BUFFER_READER_H_

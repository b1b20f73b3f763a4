// SPDX-License-Identifier: Apache-2.0
// Leaves out elements that cannot be loaded because what is in a file is wrong.
#ifndef MILLHOPPER_READERS_DECORATE_IGNORE_ERRORS_READER_H_
#define MILLHOPPER_READERS_DECORATE_IGNORE_ERRORS_READER_H_

#include <atomic>
#include <memory>

#include "framework/reader/stage_reader.h"

namespace millhopper {

// Yields the elements of the reader below, in their order, without those of which loading throws
// kDataLoss: an image that cannot be decoded, a row that does not fit its fields. The first one is
// a warning on standard error. All other errors stay, and so do those by which the reader below
// does not know what comes next, such as a chunk that is damaged.
class IgnoreErrorsReader final : public StageReader {
 public:
  // Readers that share *has_warned, those of lanes, warn once together. Throws kInvalidArgument
  // when the reader below yields tensors on a device.
  IgnoreErrorsReader(std::unique_ptr<ReaderBase> reader,
                     std::shared_ptr<std::atomic<bool>> has_warned);
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_IGNORE_ERRORS_READER_H_

// SPDX-License-Identifier: Apache-2.0
// Leaves elements out.
#ifndef MILLHOPPER_READERS_DECORATE_FILTER_READER_H_
#define MILLHOPPER_READERS_DECORATE_FILTER_READER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/reader/stage_reader.h"

namespace millhopper {

// Yields the elements of the reader below for which a function returns true, in their order.
class FilterReader final : public StageReader {
 public:
  // Whether an element is yielded; `id` is its name, to be used as the key of random draws. Called
  // by many threads at once. If it throws, the consumer gets the error in the element's place.
  using Function = std::function<bool(const RecordId& id, const std::vector<LoDTensor>& element)>;

  // `description` says what the function does: a position of a reader with another one is refused.
  // Throws kInvalidArgument when the reader below yields tensors on a device.
  FilterReader(std::unique_ptr<ReaderBase> reader, Function function, std::string description = "");

 private:
  void SaveState(ReaderState* state) const override;

  const std::string description_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_FILTER_READER_H_

// SPDX-License-Identifier: Apache-2.0
// Applies a function to every element, in parallel and in order.
#ifndef MILLHOPPER_READERS_DECORATE_MAP_READER_H_
#define MILLHOPPER_READERS_DECORATE_MAP_READER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/reader/reader.h"

namespace millhopper {

// Saves what a function does, as MapReader's `description`. What an error says beside another one
// is how a chain goes on whose slots have other names.
void SaveFunction(const std::string& description, ReaderState* state);

// Yields function(element) for every element of the reader below: a block of operators, a decoder.
class MapReader final : public DecoratedReader {
 public:
  // Replaces *out (one tensor per slot) by the result for `in`, which it may change; `id` is the
  // element's name, to be used as the key of random draws. The function may append a slot without
  // levels of detail to the rows itself, as one step along axis 0; it then leaves that tensor of
  // *out without values. Called by many threads at once. If it throws, the consumer gets the error
  // in the element's place.
  using Function = std::function<void(const RecordId& id, std::vector<LoDTensor>* in,
                                      std::vector<LoDTensor>* out, Rows* rows)>;

  // `slots` describes what the function yields; results are checked against it. `description` says
  // what the function does: a position of a reader with another one is refused. Throws
  // kInvalidArgument when the reader below yields tensors on a device.
  MapReader(std::unique_ptr<ReaderBase> reader, std::vector<SlotSpec> slots, Function function,
            std::string description = "");

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  const std::vector<SlotSpec>& row_slots() const override { return slots(); }
  std::optional<uint64_t> PassLength() const override { return reader().PassLength(); }
  bool HoldsOnlyElements() const override { return true; }

 private:
  void SaveState(ReaderState* state) const override { SaveFunction(description_, state); }
  void RestoreState(const ReaderState&) override {}

  const Function function_;
  const std::string description_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_DECORATE_MAP_READER_H_

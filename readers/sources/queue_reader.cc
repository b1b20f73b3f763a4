// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/queue_reader.h"

#include <string>
#include <utility>

namespace millhopper {
namespace {

// The list of a state that has the bytes of the producer's note.
constexpr char kNote[] = "note";

}  // namespace

QueueReader::QueueReader(std::shared_ptr<ElementQueue> queue, std::vector<SlotSpec> slots)
    : SequentialReader(std::move(slots)), queue_(std::move(queue)) {}

void QueueReader::RecordKeys(const Ticket*, size_t n, uint64_t*) const {
  Require(
      n == 0, "elements of ", origin(),
      " are told by nothing but their number in a pass, and who feeds it may have another "
      "order in each; give a key (in programs create_split_reader's, in Python split(key=...)), "
      "a slot that tells them");
}

void QueueReader::SaveState(ReaderState* state) const {
  SequentialReader::SaveState(state);
  std::vector<uint64_t> bytes;
  for (const char byte : queue_->note()) bytes.push_back(static_cast<uint8_t>(byte));
  if (!bytes.empty()) state->SetList(kNote, std::move(bytes));
}

void QueueReader::RestoreState(const ReaderState& state) {
  SequentialReader::RestoreState(state);
  std::string note;
  for (const uint64_t byte : state.List(kNote)) {
    if (byte > UINT8_MAX) state.Fail(byte, " is no byte of a note");
    note += static_cast<char>(byte);
  }
  queue_->Note(std::move(note));
  // Now, so that a producer that starts before the first read begins there.
  if (!state.end()) GoToPlace();
}

}  // namespace millhopper

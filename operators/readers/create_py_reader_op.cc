// SPDX-License-Identifier: Apache-2.0
// create_py_reader: yields what the process that runs the program pushes into a queue.
#include <memory>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/checkpoint/unsaved.h"
#include "framework/program/scope.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/sources/queue_reader.h"

namespace millhopper {
namespace {

OpSchema PyReaderSchema() {
  return WithSlotAttributes(
      ReaderCreationSchema("Yields the elements that the process which runs the program, Python "
                           "for one, pushes into a queue.")
          .Input("blocking_queue",
                 "a variable of type RAW that holds the queue (std::shared_ptr<ElementQueue>) "
                 "before the program is run")
          .AnyKind()
          .FedByProcess());
}

using Queue = std::shared_ptr<ElementQueue>;

// What was taken of it is in the position of its reader.
const LeftToProcess<Queue> kQueues;

void CreatePyReader(OpContext& context) {
  const Variable& variable = context.InVar("blocking_queue");
  Require(variable.Holds<Queue>(), "variable '", variable.name(),
          "' holds no queue: the process that runs this program has to make it first, as "
          "millhopper.layers.py_reader does in Python, in the scope that the program is run in");
  StoreReader(context, std::make_unique<QueueReader>(
                           variable.Get<Queue>(), AgreeOnSlots(SlotsDeclaredFor(context, {}), {})));
}

REGISTER_OPERATOR(create_py_reader, PyReaderSchema, CreatePyReader);

}  // namespace
}  // namespace millhopper

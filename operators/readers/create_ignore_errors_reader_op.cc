// SPDX-License-Identifier: Apache-2.0
// create_ignore_errors_reader: leaves out elements that cannot be loaded.
#include <atomic>
#include <memory>
#include <utility>

#include "operators/readers/support/reader_creation.h"
#include "readers/decorate/ignore_errors_reader.h"

namespace millhopper {
namespace {

OpSchema IgnoreErrorsSchema() {
  return DecoratedReaderSchema(
             "Leaves out the elements of a reader that cannot be loaded because what is in a file "
             "is wrong: images that cannot be decoded, rows that do not fit their fields. It "
             "belongs straight above what may fail so, below batches, of which it would leave out "
             "whole ones. The first one is a warning, and statistics tell how many there are: "
             "fewer elements are planned than by the reader below. All other errors stay: damaged "
             "chunks, files that cannot be read, functions of Python.")
      .LaneWise()
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots);
}

void CreateIgnoreErrorsReader(OpContext& context) {
  const auto has_warned = std::make_shared<std::atomic<bool>>(false);
  StoreLaneWise(context, [has_warned](std::unique_ptr<ReaderBase> below, LaneNumber) {
    return std::make_unique<IgnoreErrorsReader>(std::move(below), has_warned);
  });
}

REGISTER_OPERATOR(create_ignore_errors_reader, IgnoreErrorsSchema, CreateIgnoreErrorsReader);

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// create_zip_reader: the elements of several readers side by side.
#include <memory>
#include <utility>
#include <vector>

#include "framework/program/infer_context.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/combine/zip_reader.h"
#include "readers/lanes/joined_source.h"

namespace millhopper {
namespace {

void InferZip(InferContext& context) {
  std::vector<TensorSpec> slots;
  for (size_t i = 0; i < context.InCount("UnderlyingReaders"); ++i) {
    const VariableSpec& reader = context.InVar("UnderlyingReaders", i);
    if (!reader.slots) return;
    slots.insert(slots.end(), reader.slots->begin(), reader.slots->end());
  }
  context.SetOutVar("Out", {{}, std::move(slots)});
}

OpSchema ZipSchema() {
  return CombinedReaderSchema(
             "Yields elements with the slots of one reader's element, then those of the next "
             "reader's, and so on. Readers with equally many lanes are joined lane by lane: "
             "element k of a lane is made of element k of that lane of each, which must then have "
             "been dealt alike, as create_lanes_reader deals records.")
      .Attr({"check_alignment", true,
             "it is an error if the readers end after different numbers of elements; otherwise a "
             "pass ends with the reader that ends first"})
      .LaneWise()
      .Infer(InferZip)
      .Composes(Composition::kSideBySide);
}

void CreateZipReader(OpContext& context) {
  const auto make = [&context](std::vector<std::unique_ptr<ReaderBase>> readers, LaneNumber) {
    return std::make_unique<ZipReader>(std::move(readers), context.Attr<bool>("check_alignment"));
  };
  if (HaveEqualLanes(context)) {
    StoreLaneWise(context, JoinedSource::Elements::kSideBySide, make);
  } else {
    StoreReader(context, make(UnderlyingReaders(context), {}));
  }
}

REGISTER_OPERATOR(create_zip_reader, ZipSchema, CreateZipReader);

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// create_window_reader: sliding windows of elements.
#include <vector>

#include "framework/program/infer_context.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/gather/window_reader.h"

namespace millhopper {
namespace {

void Infer(InferContext& context) {
  InferSlotsFrom(context, [](const std::vector<SlotSpec>& below) {
    return CollatedSlots(below, CollationOptions());
  });
}

OpSchema WindowSchema() {
  return DecoratedReaderSchema(
             "Yields sliding windows: element w joins the elements w * shift, w * shift + stride, "
             "... along axis 0. Like tf.data.Dataset.window.")
      .Attr(AttributeSchema("size", int64_t{}, "elements of a window").Required().AtLeast(1))
      .Attr(AttributeSchema("shift", int64_t{0},
                            "elements from the first of a window to the first of the next; by "
                            "default, or 0, size, so that windows do not overlap")
                .Optional()
                .AtLeast(0))
      .Attr(
          AttributeSchema("stride", int64_t{1}, "elements from one element of a window to its next")
              .AtLeast(1))
      .Attr(DiscardLeftoverAttribute("leave out windows that the end of the pass cuts off"))
      .LaneWise()
      .Infer(Infer);
}

void CreateWindowReader(OpContext& context) {
  WindowOptions options;
  options.size = context.Attr<int64_t>("size");
  options.shift = context.Attr<int64_t>("shift");
  options.stride = context.Attr<int64_t>("stride");
  options.discard_leftover = context.Attr<bool>("discard_leftover");
  StoreLaneWise(context, [&options](std::unique_ptr<ReaderBase> below, LaneNumber) {
    return std::make_unique<WindowReader>(std::move(below), options);
  });
}

REGISTER_OPERATOR(create_window_reader, WindowSchema, CreateWindowReader);

}  // namespace
}  // namespace millhopper

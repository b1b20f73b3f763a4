// SPDX-License-Identifier: Apache-2.0
// create_split_reader: one of several parts, such as those for training and for validation.
#include <xxhash.h>

#include <memory>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/decorate/filter_reader.h"
#include "readers/decorate/split_reader.h"

namespace millhopper {
namespace {

using Shares = std::vector<double>;

OpSchema SplitSchema() {
  return DecoratedReaderSchema(
             "Yields one of several parts of the elements of a reader, which have none in common "
             "and together all of them. A hash tells for each element which part it is in: it "
             "stays there in all passes, whatever the order, threads, lanes, processes and "
             "resumes, so that the parts can be created below a shuffle or above it, each on its "
             "own reader of the files.\n\n"
             "By default the hash is of the record: the name of its file, with as many folders as "
             "tell it from other files of the reader, and its place there, or the name of an image "
             "of a folder or list alone. So a file that is added moves no record, unless its name "
             "is another one's, nor does a folder that is moved; what is changed before it in its "
             "file does. Of sources without files it is that of its number; what a program in "
             "Python feeds needs a key. Elements that consist of several records, such as batches, "
             "are an error.\n\n"
             "With key it is that of a slot's bytes, so that elements with the same bytes, such "
             "as those of one user, are in one part; elements of all parts are loaded for that.")
      .Attr(AttributeSchema("shares", Shares{}, "of each part; their sum is 1: [0.9, 0.1]")
                .Required()
                .AtLeast(0))
      .Attr(AttributeSchema("part", int64_t{0}, "which of them, from 0").Required().AtLeast(0))
      .Attr({"seed", int64_t{0}, "another one divides otherwise. --seed has no effect"})
      .Attr(AttributeSchema("key", int64_t{0}, "the slot whose value tells the part, from 0")
                .Optional()
                .NumbersSlots())
      .ByElement()
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots);
}

std::unique_ptr<ReaderBase> SplitByKey(std::unique_ptr<ReaderBase> below, PartOfKeys part,
                                       int64_t key) {
  const size_t slots = below->slots().size();
  Require(key >= 0 && static_cast<size_t>(key) < slots, "attribute 'key' is slot ", key,
          " of a reader with ", slots, " slots");
  below->RecordKeys(nullptr, 0, nullptr);  // throws where elements are none that can be divided
  const std::string description = StrCat(part.description(), ", slot ", key);
  return std::make_unique<FilterReader>(
      std::move(below),
      [part = std::move(part), slot = static_cast<size_t>(key)](
          const RecordId&, const std::vector<LoDTensor>& element) {
        const LoDTensor& value = element[slot];
        return part.Has(XXH3_64bits(value.raw_data(), value.bytes()));
      },
      description);
}

void CreateSplitReader(OpContext& context) {
  StoreLaneWise(
      context,
      [&context](std::unique_ptr<ReaderBase> below, LaneNumber) -> std::unique_ptr<ReaderBase> {
        PartOfKeys part(context.Attr<Shares>("shares"), context.Attr<int64_t>("part"),
                        static_cast<uint64_t>(context.Attr<int64_t>("seed")));
        if (context.IsGiven("key")) {
          return SplitByKey(std::move(below), std::move(part), context.Attr<int64_t>("key"));
        }
        return std::make_unique<SplitReader>(std::move(below), std::move(part));
      });
}

REGISTER_OPERATOR(create_split_reader, SplitSchema, CreateSplitReader);

}  // namespace
}  // namespace millhopper

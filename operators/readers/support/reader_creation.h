// SPDX-License-Identifier: Apache-2.0
// What the operators that create readers have in common.
#ifndef MILLHOPPER_OPERATORS_READERS_SUPPORT_READER_CREATION_H_
#define MILLHOPPER_OPERATORS_READERS_SUPPORT_READER_CREATION_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/random.h"
#include "framework/program/operator.h"
#include "framework/reader/file_format.h"
#include "framework/reader/reader.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"
#include "readers/lanes/joined_source.h"
#include "readers/lanes/lane_stretch.h"

namespace millhopper {

// A schema with the output Out for the created reader.
OpSchema ReaderCreationSchema(const std::string& doc);
// The same with the input UnderlyingReader: for decorated readers.
OpSchema DecoratedReaderSchema(const std::string& doc);
// The rule for readers that have the slots of the reader they decorate.
void InferSameSlots(InferContext& context);
// The same with the inputs UnderlyingReaders: for readers that combine several, which must be
// different. The operator must not call OpSchema::Check, but pass its own check, if it has one.
using CheckOperator = std::function<void(const proto::OpDesc& op, const AttributeMap& attributes)>;
OpSchema CombinedReaderSchema(const std::string& doc, const CheckOperator& check = nullptr);
// The rule for readers whose elements are those of several readers with the same slots. Throws
// kInvalidArgument if these cannot be the same.
void InferUnitedSlots(InferContext& context);

// The rule for readers whose slots follow from those of the reader they decorate, as `slots_of`
// says; it throws for slots that do not suit. Without all of these slots nothing is known.
void InferSlotsFrom(
    InferContext& context,
    const std::function<std::vector<SlotSpec>(const std::vector<SlotSpec>& below)>& slots_of);

// Adds the attributes that declare slots to a schema: the lineage's shape_concat, ranks and
// lod_levels, and our own dtypes. They are checked when a program is loaded. If the operator has
// its own check, call OpSchema::Check before this, which keeps it.
OpSchema WithSlotAttributes(OpSchema schema);

// The rule for these attributes: Out has the slots that they declare. If `dtypes` is not given, the
// slots have the type `otherwise`; WithSlotAttributes gives none, because the format decides it.
void InferSlotsOfAttributes(InferContext& context, std::optional<DataType> otherwise);

// The slots that the operator's attributes declare; empty if shape_concat is not given. If dtypes
// are not given, each slot has the type of the slot of `own` at its position, or float32 if there
// is none. Throws kInvalidArgument when the lists do not fit each other.
std::vector<SlotSpec> SlotsOfAttributes(const AttributeMap& attributes,
                                        const std::vector<SlotSpec>& own);
// The slots that the output variable or the attributes declare; empty if neither declares any.
// Throws kInvalidArgument when both do and differ. `own` gives the dtypes that neither declares, as
// above.
std::vector<SlotSpec> SlotsDeclaredFor(const OpContext& context, const std::vector<SlotSpec>& own);
// The slots that a format knows without any declaration; empty if it needs one or is null.
std::vector<SlotSpec> SlotsKnownTo(const FormatSchema* format, const FormatArguments& arguments);

// The attribute buffer_type of operators that read files, and the value that the program gives it.
AttributeSchema BufferTypeAttribute();
BufferType BufferTypeOf(const OpContext& context);

// A new handle of the input UnderlyingReader. Throws kInvalidArgument, with the way out, if that is
// the stream of one of several ranks, of which others read other lanes: what a reader makes of one
// such stream is not its share of what it would make of all.
std::unique_ptr<ReaderBase> UnderlyingReader(OpContext& context);
// The same for a reader that yields the elements as they are, whichever there are.
std::unique_ptr<ReaderBase> UnderlyingReaderOfRank(OpContext& context);
// New handles of the inputs UnderlyingReaders. Throws as UnderlyingReader.
std::vector<std::unique_ptr<ReaderBase>> UnderlyingReaders(OpContext& context);
// A key made of the run's seed, the attribute `seed` and the name of the output variable.
RandomKey RandomKeyOf(OpContext& context);

// The attribute `reshuffle` of an operator that puts elements in a random order; the key of that
// order, which without `reshuffle` is made of the seeds alone; and how passes are ordered then.
AttributeSchema ReshuffleAttribute();
RandomKey OrderKeyOf(OpContext& context);
PassOrder ShuffledOrder(const AttributeMap& attributes);

// The attribute discard_leftover, which Python's users know as drop_last.
AttributeSchema DiscardLeftoverAttribute(std::string doc);

// Throws kInvalidArgument, naming the attribute, for more lanes than there can be.
void CheckLanes(int32_t lanes);

// Which of how many lanes a reader is for.
struct LaneNumber {
  size_t lane = 0;
  size_t lanes = 1;
};
using MakeReader = std::function<std::unique_ptr<ReaderBase>(std::unique_ptr<ReaderBase> below,
                                                             LaneNumber number)>;
// Makes a reader of the input UnderlyingReader and stores it. `make` is called once or, if that has
// lanes, once for each of them: for a reader that needs nothing but its own lane.
void StoreLaneWise(OpContext& context, const MakeReader& make);

// The same for a reader of the input UnderlyingReader that keeps the first `count` elements, an
// attribute, or leaves them out. Where lanes are shared among ranks, it does so lane by lane, so
// that all ranks together keep what one would; `make_whole` makes it of one stream.
void StoreStretch(OpContext& context, const MakeReader& make_whole, LaneStretch::Keep keep);

// Whether all inputs UnderlyingReaders have equally many lanes, in the same order, of the same
// rank. Then StoreLaneWise makes and stores a reader of each lane number.
bool HaveEqualLanes(OpContext& context);
using MakeCombined = std::function<std::unique_ptr<ReaderBase>(
    std::vector<std::unique_ptr<ReaderBase>> below, LaneNumber number)>;
void StoreLaneWise(OpContext& context, JoinedSource::Elements elements, const MakeCombined& make);

// How many elements the lanes of one rank have in each batch of all ranks, for a reader on their
// stream, whose stripe is `stripe` if nobody has chosen one. Throws kInvalidArgument, with numbers
// that would do, if the batch cannot be shared.
size_t ShareOfBatch(size_t batch_size, size_t stripe, const LaneSet& lanes);

// Puts a new reader into the output variable and sets its origin, the name that messages give it.
// Throws kInvalidArgument when the variable declares other slots than the reader has.
void StoreReader(OpContext& context, std::unique_ptr<ReaderBase> reader);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_READERS_SUPPORT_READER_CREATION_H_

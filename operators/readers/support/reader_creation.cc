// SPDX-License-Identifier: Apache-2.0
#include "operators/readers/support/reader_creation.h"

#include <algorithm>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/program/declarations.h"
#include "framework/program/infer_context.h"
#include "framework/program/run_state.h"
#include "framework/program/scope.h"
#include "operators/readers/support/reader_variable.h"
#include "proto/framework.pb.h"
#include "readers/lanes/lanes_reader.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;

constexpr char kSeveral[] = "UnderlyingReaders";

std::vector<SlotSpec> SlotsOfVariable(const OpContext& context) {
  const proto::VarDesc* variable = context.OutDesc("Out");
  return variable == nullptr ? std::vector<SlotSpec>() : DeclaredSlots(*variable);
}

// The holders of the readers that the new one stands on.
std::vector<const ReaderHolder*> HoldersBelow(OpContext& context) {
  std::vector<const ReaderHolder*> below;
  for (const ParameterSchema& input : FindOperator(context.type())->schema.inputs) {
    if (input.kind != VariableKind::kReader) continue;
    for (size_t i = 0; i < context.InCount(input.name); ++i) {
      below.push_back(&ReaderOf(context, input.name, i));
    }
  }
  return below;
}

// Two handles of one reader would share its elements out between them.
void CheckDifferent(const proto::OpDesc& op) {
  for (const auto& input : op.inputs()) {
    if (input.parameter() != kSeveral) continue;
    Require(input.arguments_size() > 0, "input '", kSeveral, "' needs at least one reader");
    std::set<std::string> names;
    for (const std::string& name : input.arguments()) {
      Require(names.insert(name).second, "input '", kSeveral, "': reader '", Escaped(name),
              "' is given twice; each of its elements could go to one place only. Create another "
              "reader of the same files");
    }
  }
}

// Throws unless the reader is the stream of all lanes.
std::unique_ptr<ReaderBase> OfOneRank(const OpContext& context,
                                      std::unique_ptr<ReaderBase> reader) {
  const size_t ranks = reader->lane_shape().ranks;
  Require(ranks == 1, reader->origin(), " has the lanes of one of ", ranks, " ranks, but ",
          context.type(),
          " needs the stream of all lanes; put it on top of the batches (create_batch_reader), of "
          "which each rank has its share, or below create_shard_reader, which then divides its "
          "elements by number");
  return reader;
}

// Makes a reader of each lane, and stores the stream of these.
void StoreLanes(OpContext& context, LaneSet set, const MakeReader& make) {
  if (!FindOperator(context.type())->schema.lane_wise) {
    Throw(ErrorCode::kInternal, context.type(), " works lane by lane, and does not say so");
  }
  const size_t all = set.lanes.size() * set.ranks;
  for (size_t i = 0; i < set.lanes.size(); ++i) {
    set.lanes[i] = make(std::move(set.lanes[i]), {set.rank + i * set.ranks, all});
  }
  StoreReader(context, std::make_unique<LanesReader>(std::move(set)));
}

}  // namespace

OpSchema ReaderCreationSchema(const std::string& doc) {
  return OpSchema(doc).Output("Out", "the reader that is created").Reader().CreatesReader();
}

OpSchema DecoratedReaderSchema(const std::string& doc) {
  return ReaderCreationSchema(doc)
      .Input("UnderlyingReader", "the reader to decorate; other readers may share it")
      .Reader();
}

void InferSameSlots(InferContext& context) {
  context.SetOutVar("Out", context.InVar("UnderlyingReader"));
}

OpSchema CombinedReaderSchema(const std::string& doc, const CheckOperator& check) {
  return ReaderCreationSchema(doc)
      .Inputs(kSeveral, "the readers to combine, in order; other readers may share them")
      .Reader()
      .Check([check](const proto::OpDesc& op, const AttributeMap& attributes) {
        CheckDifferent(op);
        if (check) check(op, attributes);
      });
}

void InferUnitedSlots(InferContext& context) {
  const VariableSpec& first = context.InVar(kSeveral);
  VariableSpec united = first;
  for (size_t i = 1; i < context.InCount(kSeveral); ++i) {
    const VariableSpec& other = context.InVar(kSeveral, i);
    if (!first.slots || !other.slots) continue;
    const auto refuse = [&](const std::string& problem) {
      Throw(ErrorCode::kInvalidArgument, "reader '", Escaped(context.InName(kSeveral, i)), "' has ",
            problem, " as reader '", Escaped(context.InName(kSeveral)), "' has");
    };
    if (first.slots->size() != other.slots->size()) {
      refuse(StrCat(other.slots->size(), " slots, not ", first.slots->size()));
    }
    for (size_t k = 0; k < first.slots->size(); ++k) {
      const TensorSpec& wanted = (*first.slots)[k];
      const TensorSpec& found = (*other.slots)[k];
      if (!MayBeSame(wanted, found)) {
        refuse(StrCat(ToString(found), " in slot ", k, ", not ", ToString(wanted)));
      }
      std::optional<Dims>& dims = (*united.slots)[k].dims;
      for (size_t axis = 0; dims && found.dims && axis < dims->size(); ++axis) {
        if ((*found.dims)[axis] < 0) (*dims)[axis] = -1;
      }
    }
  }
  context.SetOutVar("Out", std::move(united));
}

void InferSlotsFrom(
    InferContext& context,
    const std::function<std::vector<SlotSpec>(const std::vector<SlotSpec>& below)>& slots_of) {
  VariableSpec made = context.InVar("UnderlyingReader");
  if (!made.slots) return;
  std::vector<SlotSpec> below;
  for (const TensorSpec& tensor : *made.slots) {
    const std::optional<SlotSpec> slot = SlotOf(tensor);
    if (!slot) return;
    below.push_back(*slot);
  }
  made.slots->clear();
  for (const SlotSpec& slot : slots_of(below)) made.slots->push_back(SpecOf(slot));
  context.SetOutVar("Out", std::move(made));
}

OpSchema WithSlotAttributes(OpSchema schema) {
  const auto check = std::move(schema.check);
  return std::move(
      schema.Attr({"shape_concat", Ints{}, "the dims of all slots laid end to end; -1 is any"})
          .Attr({"ranks", Ints{}, "how many of these dims each slot has"})
          .Attr({"lod_levels", Ints{}, "levels of detail of each slot; all 0 by default"})
          .Attr({"dtypes", Ints{},
                 "type of each slot's values, by its number in framework.proto; the format's own "
                 "by default, or FP32"})
          .Check([check](const proto::OpDesc& op, const AttributeMap& attributes) {
            if (check) check(op, attributes);
            SlotsOfAttributes(attributes, {});
          })
          .Infer([](InferContext& context) { InferSlotsOfAttributes(context, std::nullopt); }));
}

void InferSlotsOfAttributes(InferContext& context, std::optional<DataType> otherwise) {
  if (context.Attr<Ints>("ranks").empty()) return;
  std::vector<TensorSpec> slots;
  for (const SlotSpec& slot : SlotsOfAttributes(context.attributes(), {})) {
    slots.push_back(SpecOf(slot));
    if (context.Attr<Ints>("dtypes").empty()) slots.back().dtype = otherwise;
  }
  context.SetOutVar("Out", {{}, std::move(slots)});
}

std::vector<SlotSpec> SlotsOfAttributes(const AttributeMap& attributes,
                                        const std::vector<SlotSpec>& own) {
  const Ints& shapes = attributes.Get<Ints>("shape_concat");
  const Ints& ranks = attributes.Get<Ints>("ranks");
  const Ints& levels = attributes.Get<Ints>("lod_levels");
  const Ints& dtypes = attributes.Get<Ints>("dtypes");
  Require(levels.empty() || levels.size() == ranks.size(), "attribute 'lod_levels' is for ",
          levels.size(), " slots, 'ranks' for ", ranks.size());
  Require(dtypes.empty() || dtypes.size() == ranks.size(), "attribute 'dtypes' is for ",
          dtypes.size(), " slots, 'ranks' for ", ranks.size());
  std::vector<SlotSpec> slots(ranks.size());
  size_t next = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    Require(ranks[i] >= 1, "attribute 'ranks' is ", ranks[i], " for slot ", i,
            "; it must be at least 1");
    for (int32_t k = 0; k < ranks[i]; ++k) {
      Require(next < shapes.size(), "attribute 'ranks' asks for more dims than the ", shapes.size(),
              " of 'shape_concat'");
      slots[i].dims.push_back(shapes[next++]);
    }
    if (!levels.empty()) slots[i].lod_level = levels[i];
    if (!dtypes.empty()) {
      slots[i].dtype = DataTypeFromNumber(dtypes[i]);
    } else if (i < own.size()) {
      slots[i].dtype = own[i].dtype;
    }
  }
  Require(next == shapes.size(), "attribute 'ranks' asks for ", next,
          " dims, but 'shape_concat' has ", shapes.size());
  if (!slots.empty()) CheckSlots(slots);
  return slots;
}

std::vector<SlotSpec> SlotsDeclaredFor(const OpContext& context, const std::vector<SlotSpec>& own) {
  const std::vector<SlotSpec> by_variable = SlotsOfVariable(context);
  const std::vector<SlotSpec> by_attributes =
      SlotsOfAttributes(context.attributes(), by_variable.empty() ? own : by_variable);
  if (by_variable.empty() && by_attributes.empty()) return {};
  return AgreeOnSlots(by_variable, by_attributes, "shape_concat, ranks and lod_levels say");
}

std::vector<SlotSpec> SlotsKnownTo(const FormatSchema* format, const FormatArguments& arguments) {
  if (format == nullptr) return {};
  FormatArguments undeclared = arguments;
  undeclared.declared.clear();
  try {
    return format->Make(undeclared)->slots();
  } catch (const Error&) {
    return {};  // it needs a declaration; other errors are thrown when the reader is created
  }
}

AttributeSchema BufferTypeAttribute() {
  return AttributeSchema(
             "buffer_type", "memory",
             "memory: the needed parts of a file are read; mmap: the file is mapped and "
             "records are copied from the kernel's pages, which is faster if these hold "
             "the file. mmap is only for plain files on local disks that no process "
             "changes meanwhile: a change is an error where it can be detected")
      .OneOf({"memory", "mmap"});
}

BufferType BufferTypeOf(const OpContext& context) {
  return context.Attr<std::string>("buffer_type") == "mmap" ? BufferType::kMmap
                                                            : BufferType::kMemory;
}

std::unique_ptr<ReaderBase> UnderlyingReaderOfRank(OpContext& context) {
  return ReaderOf(context, "UnderlyingReader").NewHandle();
}

std::unique_ptr<ReaderBase> UnderlyingReader(OpContext& context) {
  return OfOneRank(context, UnderlyingReaderOfRank(context));
}

std::vector<std::unique_ptr<ReaderBase>> UnderlyingReaders(OpContext& context) {
  std::vector<std::unique_ptr<ReaderBase>> readers;
  for (size_t i = 0; i < context.InCount(kSeveral); ++i) {
    readers.push_back(OfOneRank(context, ReaderOf(context, kSeveral, i).NewHandle()));
  }
  return readers;
}

RandomKey RandomKeyOf(OpContext& context) {
  return RandomKey(context.run().seed, static_cast<uint64_t>(context.Attr<int64_t>("seed")),
                   context.OutVar("Out").name());
}

AttributeSchema ReshuffleAttribute() {
  return {"reshuffle", true,
          "another order in each pass; false: the same order in each, which only --seed and seed "
          "decide, so that readers of the same elements are ordered alike (as take and skip of a "
          "training and a validation part need it)"};
}

RandomKey OrderKeyOf(OpContext& context) {
  if (context.Attr<bool>("reshuffle")) return RandomKeyOf(context);
  return RandomKey::OfSeeds(context.run().seed,
                            static_cast<uint64_t>(context.Attr<int64_t>("seed")));
}

PassOrder ShuffledOrder(const AttributeMap& attributes) {
  if (!attributes.Get<bool>("reshuffle")) return {};
  return {PassOrder::kDiffers, "give it reshuffle: false (in Python reshuffle=False)"};
}

AttributeSchema DiscardLeftoverAttribute(std::string doc) {
  return AttributeSchema("discard_leftover", false, std::move(doc)).InPython("drop_last");
}

void CheckLanes(int32_t lanes) {
  Require(static_cast<size_t>(lanes) <= kMaxLanes, "attribute 'lanes' is ", lanes,
          "; there can be ", kMaxLanes);
}

void StoreLaneWise(OpContext& context, const MakeReader& make) {
  std::optional<LaneSet> set = ReaderOf(context, "UnderlyingReader").TakeLanes();
  if (!set) {
    StoreReader(context, make(UnderlyingReader(context), {}));
    return;
  }
  StoreLanes(context, *std::move(set), make);
}

void StoreStretch(OpContext& context, const MakeReader& make_whole, LaneStretch::Keep keep) {
  const ReaderHolder& below = ReaderOf(context, "UnderlyingReader");
  if (!below.lane_shape().shared) {
    StoreReader(context, make_whole(UnderlyingReader(context), {}));
    return;
  }
  LaneSet set = *below.TakeLanes();
  const auto count = static_cast<uint64_t>(context.Attr<int64_t>("count"));
  const size_t stripe = std::max<size_t>(set.stripe, 1);
  const bool even = set.even;
  // Parts of a round leave some lanes one stripe more than others.
  set.even = even && count % (set.lanes.size() * set.ranks * stripe) == 0;
  StoreLanes(context, std::move(set), [&](std::unique_ptr<ReaderBase> lane, LaneNumber number) {
    return std::make_unique<LaneStretch>(
        std::move(lane), LanePart{count, number.lane, number.lanes, stripe, even}, keep);
  });
}

bool HaveEqualLanes(OpContext& context) {
  const LaneShape first = ReaderOf(context, kSeveral, 0).lane_shape();
  for (size_t i = 1; i < context.InCount(kSeveral); ++i) {
    if (!(ReaderOf(context, kSeveral, i).lane_shape() == first)) return false;
  }
  return first.lanes > 0;
}

void StoreLaneWise(OpContext& context, JoinedSource::Elements elements, const MakeCombined& make) {
  const size_t readers = context.InCount(kSeveral);
  std::vector<LaneSet> sets;
  std::vector<std::shared_ptr<LaneSource>> sources;
  bool even = elements != JoinedSource::Elements::kByTurns;
  for (size_t i = 0; i < readers; ++i) {
    sets.push_back(*ReaderOf(context, kSeveral, i).TakeLanes());
    if (sets[i].source) sources.push_back(sets[i].source);
    even = even && sets[i].even;
  }
  LaneSet joined = {{},   sets[0].stripe, sets[0].rank, sets[0].ranks, sets[0].source,
                    even, sets[0].shared};
  if (sources.size() > 1) {
    joined.source = std::make_shared<JoinedSource>(std::move(sources), elements);
  }
  const size_t lanes = sets[0].lanes.size();
  for (size_t v = 0; v < lanes; ++v) {
    std::vector<std::unique_ptr<ReaderBase>> below;
    below.reserve(readers);
    for (LaneSet& set : sets) below.push_back(std::move(set.lanes[v]));
    joined.lanes.push_back(
        make(std::move(below), {joined.rank + v * joined.ranks, lanes * joined.ranks}));
  }
  StoreReader(context, std::make_unique<LanesReader>(std::move(joined)));
}

size_t ShareOfBatch(size_t batch_size, size_t stripe, const LaneSet& lanes) {
  if (lanes.stripe > 0) stripe = lanes.stripe;
  Require(lanes.ranks == 1 || batch_size % (lanes.ranks * stripe) == 0, "batches of ", batch_size,
          " cannot be shared by ", lanes.ranks, " ranks in stripes of ", stripe, "; a multiple of ",
          lanes.ranks * stripe, " can");
  return batch_size / lanes.ranks;
}

void StoreReader(OpContext& context, std::unique_ptr<ReaderBase> reader) {
  const std::vector<SlotSpec> declared = SlotsOfVariable(context);
  if (!declared.empty()) AgreeOnSlots(declared, reader->slots(), "the reader has");
  reader->set_origin("reader " + context.Location(), context.type(), context.OutVar("Out").name());
  context.OutVar("Out").GetMutable<ReaderHolder>()->Reset(std::move(reader), HoldersBelow(context));
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// create_shard_reader: yields the part of the elements that belongs to one of several processes.
#include <cstdint>
#include <optional>
#include <string>

#include "framework/base/error.h"
#include "framework/base/launcher.h"
#include "operators/readers/support/reader_creation.h"
#include "operators/readers/support/reader_variable.h"
#include "readers/decorate/shard_reader.h"
#include "readers/lanes/lanes_reader.h"

namespace millhopper {
namespace {

struct ShardChoice {
  int64_t shards;
  int64_t index;
};

// The number that an environment variable holds.
int64_t NumberOf(const char* variable, const char* attribute) {
  const std::optional<int64_t> number = NumberInEnvironment(variable);
  Require(number.has_value(), "attribute '", attribute,
          "' is not given, and the environment has no ", variable,
          "; torchrun, mpirun, srun or JAX would set it, or one of their own");
  return *number;
}

// What the attributes say; where they leave it to the environment (0 and -1), what a launcher has
// set there now. Whether the index is one of that many shards is not checked here: ShardReader
// does.
ShardChoice ShardChoiceOf(const AttributeMap& attributes) {
  ShardChoice choice{attributes.Get<int32_t>("num_shards"), attributes.Get<int32_t>("index")};
  if (choice.shards == 0) choice.shards = NumberOf(FoundLauncher().ranks, "num_shards");
  if (choice.index < 0) choice.index = NumberOf(FoundLauncher().rank, "index");
  return choice;
}

OpSchema ShardSchema() {
  return DecoratedReaderSchema(
             "Yields one of num_shards disjoint parts of a reader. If that has lanes, the part is "
             "those numbered index, index + num_shards, ..., whatever `by` says, and a batch on "
             "top "
             "has its share of batch_size. So all parts together have the same elements in each "
             "batch, for any num_shards that divides the number of lanes.")
      .Attr(AttributeSchema(
                "num_shards", int32_t{0},
                "how many parts; 0: as many as processes, which the environment's WORLD_SIZE, "
                "OMPI_COMM_WORLD_SIZE, SLURM_STEP_NUM_TASKS or JAX_NUM_PROCESSES says")
                .AtLeast(0))
      .Attr(AttributeSchema(
                "index", int32_t{-1},
                "which of them, from 0; -1: as RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID or "
                "JAX_PROCESS_ID says")
                .AtLeast(-1))
      .Attr(AttributeSchema(
                "by", std::string("record"),
                "record: elements index, index + num_shards, ...; chunk: whole chunks of "
                "files, so that no process reads the chunks of another (chunk c of file f "
                "belongs to shard (f + c) % num_shards; not for text)")
                .OneOf({"record", "chunk"}))
      .Attr(AttributeSchema(
                "even", std::string("none"),
                "what becomes of the last num_shards elements if the pass ends within them. none: "
                "the first parts get one element more; pad: all get one, for which the pass goes "
                "on with its own first elements, as torch's DistributedSampler does; drop: none "
                "gets one. With pad and drop all parts have equally many elements. Of a reader "
                "with lanes it is each lane that gets one more or not, for one part, too, so that "
                "each batch of all parts together is the same for any num_shards; the files, or "
                "indexes of them, must tell how many records they have")
                .OneOf({"none", "pad", "drop"}))
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        Require(attributes.Get<std::string>("by") == "record" ||
                    attributes.Get<std::string>("even") == "none",
                "attribute 'even' is '", attributes.Get<std::string>("even"),
                "'; parts by: \"chunk\" have as many records as their chunks, so they cannot be "
                "made even: use by: \"record\"");
        const auto shards = attributes.Get<int32_t>("num_shards");
        const auto index = attributes.Get<int32_t>("index");
        Require(shards == 0 || index < shards, "attribute 'index' is ", index,
                "; it must be below 'num_shards', ", shards);
      })
      .LaneWise()
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots)
      .DependsOn([](const AttributeMap& attributes) {
        const ShardChoice choice = ShardChoiceOf(attributes);
        return StrCat("shard ", choice.index, " of ", choice.shards);
      });
}

ShardEven EvenOf(const std::string& even) {
  if (even == "pad") return ShardEven::kPad;
  return even == "drop" ? ShardEven::kDrop : ShardEven::kNone;
}

void CreateShardReader(OpContext& context) {
  const ShardChoice choice = ShardChoiceOf(context.attributes());
  if (std::optional<LaneSet> lanes = ReaderOf(context, "UnderlyingReader").TakeLanes()) {
    StoreReader(context, std::make_unique<LanesReader>(
                             LanesOfRank(*std::move(lanes), static_cast<size_t>(choice.index),
                                         static_cast<size_t>(choice.shards),
                                         EvenOf(context.Attr<std::string>("even")))));
    return;
  }
  StoreReader(context,
              std::make_unique<ShardReader>(
                  UnderlyingReader(context), choice.shards, choice.index,
                  context.Attr<std::string>("by") == "chunk" ? ShardBy::kChunk : ShardBy::kRecord,
                  EvenOf(context.Attr<std::string>("even"))));
}

REGISTER_OPERATOR(create_shard_reader, ShardSchema, CreateShardReader);

}  // namespace
}  // namespace millhopper

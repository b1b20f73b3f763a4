// SPDX-License-Identifier: Apache-2.0
// create_shard_reader: yields the part of the elements that belongs to one of several processes.
#include <cerrno>
#include <cstdlib>
#include <string>

#include "framework/base/error.h"
#include "operators/reader_creation.h"
#include "readers/shard_reader.h"

namespace millhopper {
namespace {

// Environment variables that the launchers of PyTorch, JAX and MPI scripts set.
constexpr char kShards[] = "WORLD_SIZE";
constexpr char kIndex[] = "RANK";

OpSchema ShardSchema() {
  return DecoratedReaderSchema("Yields one of num_shards disjoint parts of a reader.")
      .Attr(AttributeSchema("num_shards", int32_t{0},
                            "how many parts; 0: as the environment variable WORLD_SIZE says")
                .AtLeast(0))
      .Attr(AttributeSchema("index", int32_t{-1},
                            "which of them, from 0; -1: as the environment variable RANK says")
                .AtLeast(-1))
      .Attr(AttributeSchema(
                "by", std::string("record"),
                "record: elements index, index + num_shards, ...; chunk: whole chunks of "
                "files, so that no process reads the chunks of another (chunk c of file f "
                "belongs to shard (f + c) % num_shards; not for text)")
                .OneOf({"record", "chunk"}))
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const auto shards = attributes.Get<int32_t>("num_shards");
        const auto index = attributes.Get<int32_t>("index");
        Require(shards == 0 || index < shards, "attribute 'index' is ", index,
                "; it must be below 'num_shards', ", shards);
      })
      .Infer(InferSameSlots);
}

// The number that an environment variable holds.
int64_t NumberOf(const char* variable, const char* attribute) {
  const char* const text = std::getenv(variable);
  Require(text != nullptr, "attribute '", attribute, "' is not given, and the environment has no ",
          variable);
  char* end = nullptr;
  errno = 0;
  const int64_t number = std::strtoll(text, &end, 10);
  Require(errno == 0 && end != text && *end == '\0', "the environment's ", variable, " is '",
          Escaped(text), "', which is not a number");
  return number;
}

void CreateShardReader(OpContext& context) {
  int64_t shards = context.Attr<int32_t>("num_shards");
  int64_t index = context.Attr<int32_t>("index");
  if (shards == 0) shards = NumberOf(kShards, "num_shards");
  if (index < 0) index = NumberOf(kIndex, "index");
  StoreReader(context,
              std::make_unique<ShardReader>(
                  UnderlyingReader(context), shards, index,
                  context.Attr<std::string>("by") == "chunk" ? ShardBy::kChunk : ShardBy::kRecord));
}

REGISTER_OPERATOR(create_shard_reader, ShardSchema, CreateShardReader);

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// checkpoint: writes tensors and the places of readers into one file.
#include "framework/base/attribute.h"
#include "framework/checkpoint/checkpoint.h"
#include "framework/program/operator.h"
#include "framework/program/scope.h"
#include "operators/readers/support/reader_variable.h"

namespace millhopper {
namespace {

OpSchema CheckpointSchema() {
  return OpSchema(
             "Writes tensors and where readers stand into one file, for `restore`. The file "
             "appears when it is whole and on the disk; until then an older one stays.")
      .Inputs("X", "tensors at any place")
      .Inputs("Readers",
              "the top-most readers of chains, and all that stand on the same readers; `restore` "
              "must have run before they were read")
      .Reader()
      .Attr(AttributeSchema("file_path", "",
                            "the file, in a folder that exists, or in a store (s3://bucket/name)")
                .Required())
      .SideEffects();
}

void WriteValues(OpContext& context) {
  Checkpoint checkpoint;
  for (size_t i = 0; i < context.InCount("X"); ++i) {
    checkpoint.tensors[context.InVar("X", i).name()] = context.In("X", i).OnHost();
  }
  checkpoint.positions = ReaderHolder::SaveAll(ReadersOf(context, "Readers"));
  WriteCheckpoint(checkpoint, context.Attr<std::string>("file_path"));
}

REGISTER_OPERATOR(checkpoint, CheckpointSchema, WriteValues);

}  // namespace
}  // namespace millhopper

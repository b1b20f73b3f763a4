// SPDX-License-Identifier: Apache-2.0
// Blocks that are run for every element of a reader, in parallel.
#ifndef MILLHOPPER_OPERATORS_READERS_SUPPORT_ELEMENT_BLOCK_H_
#define MILLHOPPER_OPERATORS_READERS_SUPPORT_ELEMENT_BLOCK_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "framework/reader/reader.h"

namespace millhopper {

// Adds the attributes of such a block to a schema: sub_block, source_var_names and sink_var_names;
// `sinks` describes the last one. If the operator has its own check, call OpSchema::Check before
// this, which keeps it.
OpSchema WithElementBlock(OpSchema schema, const std::string& sinks);

// Infers what is known of the sinks from what is known of the reader below. Throws kInvalidArgument
// if the block does not declare a source or a sink.
std::vector<TensorSpec> InferSinks(const InferContext& context);

// The variables from outside that a block and the blocks within it use, as they are now. Throws
// kInvalidArgument if one has no value.
std::map<std::string, LoDTensor> ValuesFromOutside(const Program& program, const Scope& scope,
                                                   int block);

// The block of an operator with that schema. Its outer variables keep the values that they have
// when this object is created. It may outlive the run of the program and its scope.
class ElementBlock {
 public:
  // For elements of `below`. Throws kInvalidArgument if their slots do not fit the sources.
  ElementBlock(OpContext& context, const ReaderBase& below);
  ~ElementBlock();
  ElementBlock(const ElementBlock&) = delete;
  ElementBlock& operator=(const ElementBlock&) = delete;

  // The slots of the sinks: as declared or, for a sink that is not, as inferred from the block.
  const std::vector<SlotSpec>& sinks() const { return sinks_; }
  // What the block does, as text: its operators and declarations, those of the blocks within it,
  // its sources and sinks and the seed of its run. Not the values of outer variables.
  const std::string& description() const { return description_; }
  // Runs the block on an element, moving its tensors out of *in, and stores the values of the sinks
  // in *out. A sink that can be written in its place is appended to the rows instead, unless they
  // are null, and left without values in *out. Several threads may call it at the same time.
  void Run(const RecordId& id, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out,
           Rows* rows) const;

 private:
  class Private;
  struct Recipe;
  class Pool;

  static std::vector<SlotSpec> SinkSlots(const Recipe& recipe, const ReaderBase& below);
  static std::string Describe(const Recipe& recipe);

  std::unique_ptr<Pool> pool_;
  std::vector<SlotSpec> sinks_;
  std::string description_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_READERS_SUPPORT_ELEMENT_BLOCK_H_

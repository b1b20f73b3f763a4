// SPDX-License-Identifier: Apache-2.0
// Blocks that are run for every element of a reader, in parallel.
#ifndef MILLHOPPER_OPERATORS_ELEMENT_BLOCK_H_
#define MILLHOPPER_OPERATORS_ELEMENT_BLOCK_H_

#include <memory>
#include <string>
#include <vector>

#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "framework/reader/reader.h"

namespace millhopper {

// The schema with the attributes of such a block: sub_block, source_var_names and sink_var_names,
// of which `sinks` says what they are. To be called behind OpSchema::Check's own use, if any: it
// keeps that check.
OpSchema WithElementBlock(OpSchema schema, const std::string& sinks);

// What is known of the sinks, from what is known of the reader below. Throws kInvalidArgument if
// the block does not declare a source or a sink.
std::vector<TensorSpec> InferSinks(const InferContext& context);

// The block of an operator with that schema, with outer variables as they are when it is made. It
// outlives the run of the program and its scope.
class ElementBlock {
 public:
  // For elements of `below`. Throws kInvalidArgument where they do not fit the sources.
  ElementBlock(OpContext& context, const ReaderBase& below);
  ~ElementBlock();
  ElementBlock(const ElementBlock&) = delete;
  ElementBlock& operator=(const ElementBlock&) = delete;

  // What the sinks are declared to be, as far as they are, and what is known of the rest.
  const std::vector<SlotSpec>& sinks() const { return sinks_; }
  // Runs the block for an element, whose tensors it takes; *out are the values of the sinks. Any
  // thread, several at once.
  void Run(const RecordId& id, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out) const;

 private:
  class Private;
  struct Recipe;
  class Pool;

  static std::vector<SlotSpec> SinkSlots(const Recipe& recipe, const ReaderBase& below);

  std::unique_ptr<Pool> pool_;
  std::vector<SlotSpec> sinks_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_ELEMENT_BLOCK_H_

// SPDX-License-Identifier: Apache-2.0
// Makes batches of about equally many tokens.
#ifndef MILLHOPPER_READERS_GATHER_TOKEN_BATCH_READER_H_
#define MILLHOPPER_READERS_GATHER_TOKEN_BATCH_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "readers/gather/collating_reader.h"

namespace millhopper {

struct TokenBatchOptions {
  int64_t max_tokens = 0;
  int64_t slot = 0;  // the slot whose steps are the tokens
  // Whether the padding counts: then a batch has as many tokens as elements times the length that
  // the longest of them is padded to.
  bool count_padding = false;
  // Whether an element that has more tokens by itself is its own batch; else it is an error.
  bool overlong_alone = false;
  bool discard_leftover = false;
  CollationOptions collation;
};

// Gathers elements into a batch as long as it has no more than max_tokens tokens. An element that
// would exceed them begins the next batch. With discard_leftover the last batch of a pass, which is
// cut off by the end and not by an element, is left out.
class TokenBatchReader final : public CollatingReader {
 public:
  // Throws kInvalidArgument for max_tokens below 1, for a slot that there is not, and as
  // CollatingReader does.
  TokenBatchReader(std::unique_ptr<ReaderBase> reader, const TokenBatchOptions& options);

 private:
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  void Gather(const Ref<GatheredPart>& part) override;
  void GatherRest() override;
  void Forget() override;
  // The tokens of a batch of so many elements.
  size_t Tokens(size_t elements, size_t sum, size_t longest) const;

  const TokenBatchOptions options_;
  const size_t slot_;
  OpenBatch batch_;
  size_t sum_ = 0;  // of lengths in the batch
  size_t longest_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_GATHER_TOKEN_BATCH_READER_H_

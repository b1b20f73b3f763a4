// SPDX-License-Identifier: Apache-2.0
// Keeps elements in memory for later passes; disk_cache_reader.h keeps them on a disk.
#ifndef MILLHOPPER_READERS_CACHE_CACHE_READER_H_
#define MILLHOPPER_READERS_CACHE_CACHE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "readers/gather/gather_reader.h"

namespace millhopper {

// Yields pass 0 of the reader below in every pass, so a shuffle must stand above it. Keeps the
// first elements of the pass, as many as fit into `bytes` of memory, and yields these from memory
// in later passes. It reads the others from below again, and passes over the kept ones there by
// planning alone. If all fit, the reader below is no longer read. No other reader may read it.
class CacheReader final : public GatherReader {
 public:
  // Throws kInvalidArgument for `bytes` below 0, and as StageReader does.
  CacheReader(std::unique_ptr<ReaderBase> reader, int64_t bytes);

  std::optional<uint64_t> PassLength() const override { return reader().PassLength(); }

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void Gather(const Ref<GatheredPart>& part) override;
  void GatherRest() override { complete_ = !full_; }
  void LoadGathered(const Gathered& gathered, Rows* rows) const override;
  void Rewind(uint64_t pass) override;
  // Those that are kept are read again.
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

  const size_t bytes_;
  size_t used_ = 0;
  std::vector<Ref<Gathered>> kept_;
  bool full_ = false;      // an element did not fit
  bool complete_ = false;  // kept_ is the whole pass
  // Of this pass:
  size_t from_memory_ = 0;  // elements that were kept when it began
  size_t next_ = 0;         // of them
  size_t left_ = 0;         // of them, that the reader below has still to pass over
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_CACHE_CACHE_READER_H_

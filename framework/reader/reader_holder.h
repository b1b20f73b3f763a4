// SPDX-License-Identifier: Apache-2.0
// ReaderHolder: the value of a reader variable. It lets several readers share one reader.
#ifndef MILLHOPPER_FRAMEWORK_READER_READER_HOLDER_H_
#define MILLHOPPER_FRAMEWORK_READER_READER_HOLDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/reader/chain_stats.h"
#include "framework/tensor/rows.h"

namespace millhopper {

class Position;
class ReaderBase;
struct LaneSet;
struct LaneShape;

// What was read through a holder so far.
struct ReaderStats {
  uint64_t passes = 0;      // that yielded at least one element
  uint64_t elements = 0;    // read: batches, at the top of a chain
  uint64_t records = 0;     // instances in them: sequences of the first slot, or rows
  uint64_t bytes = 0;       // of values
  double wait_seconds = 0;  // spent in ReadNext and HasNext
};

// Holds a reader for operators, which call ReadNext, HasNext and ReInit, and for decorated readers,
// each of which gets its own handle. All handles share the reader: each element goes to exactly one
// of them, Plan is serialised, Load is not. A restart through any of them restarts the reader; the
// others deliver what they had planned, then report the end, and join the running pass with their
// own ReInit. Destroying a handle does not affect the others.
class ReaderHolder {
 public:
  ReaderHolder();
  ~ReaderHolder();
  ReaderHolder(ReaderHolder&&) noexcept;
  ReaderHolder& operator=(ReaderHolder&&) noexcept;

  // Takes a reader. The previous reader lives as long as its handles do. `below` are the holders
  // whose handles the reader uses; from now on ReInit of one of them also restarts this reader.
  void Reset(std::unique_ptr<ReaderBase> reader,
             const std::vector<const ReaderHolder*>& below = {});
  bool has_reader() const { return held_ != nullptr; }

  // A reader that shares the held one, for a decorator to own. Throws kInvalidArgument if none is
  // held, as do the functions below.
  std::unique_ptr<ReaderBase> NewHandle() const;
  // The lanes of the held reader (ReaderBase::TakeLanes), for a reader that is made of them, after
  // which nobody can read it any more. Nothing if it has no lanes, or if others read their stream.
  std::optional<LaneSet> TakeLanes() const;
  // What these lanes are.
  LaneShape lane_shape() const;

  // As in ReaderBase. Any thread may call them; a lock lets one call run at a time.
  void ReadNext(std::vector<LoDTensor>* out);
  bool HasNext();
  // If readers of other holders stand on this one, begins the next pass of those on top, which
  // restart this reader; restarting this reader alone would leave them in the old pass.
  void ReInit();
  // As in ReaderBase; of the reader and all below it, which no other chain may read.
  void ExpectSave();
  Position Save();
  void Restore(const Position& position);
  // As in ReaderBase, for readers by their names, such as those of a scope, and what they stand on.
  // Readers that only others read have no position: they are in those of the others. Readers that
  // share one are restored together, under the names that they were saved with. Throw as ReaderBase
  // does; RestoreAll also throws kInvalidArgument if the positions have other names.
  using ReadersByName = std::map<std::string, ReaderHolder*>;
  using PositionsByName = std::map<std::string, Position>;
  static void ExpectSaveOfAll(const ReadersByName& readers);
  static PositionsByName SaveAll(const ReadersByName& readers);
  static void RestoreAll(const ReadersByName& readers, const PositionsByName& positions);
  const std::vector<SlotSpec>& slots() const;
  const std::string& origin() const;

  // As in ReaderBase. Unknown, too, while several handles share the reader, since each gets only
  // what the others leave. Threads that read meanwhile do not wait until the files are opened.
  std::optional<uint64_t> PassLength() const;

  // Any thread, but not during Reset.
  ReaderStats stats() const;
  // The reader and those below it, with what each has done for all that read it.
  ChainStats Chain() const;

 private:
  struct Held;
  class Handle;
  class Unread;
  Held& held() const;

  std::shared_ptr<Held> held_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_READER_HOLDER_H_

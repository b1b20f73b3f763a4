// SPDX-License-Identifier: Apache-2.0
// What a Variable holds of a reader, whatever its class; and sharing of one reader by several.
#ifndef MILLHOPPER_FRAMEWORK_READER_READER_HOLDER_H_
#define MILLHOPPER_FRAMEWORK_READER_READER_HOLDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/tensor/rows.h"

namespace millhopper {

class ReaderBase;

// What came out of a reader so far, through its holder.
struct ReaderStats {
  uint64_t passes = 0;      // of which an element was read
  uint64_t elements = 0;    // read: batches, at the top of a chain
  uint64_t records = 0;     // instances in them: sequences of the first slot, or rows
  uint64_t bytes = 0;       // of values
  double wait_seconds = 0;  // spent in ReadNext and HasNext
};

// Holds a reader and hands it out: to operators, which call the seeds' interface, and to decorated
// readers, which get a handle of their own. All handles share the reader: each element goes to
// exactly one of them, Plan is serialised, Load is not. A restart through any of them restarts the
// reader; the others deliver what they had planned, then report the end, and join the running pass
// with their own ReInit. Destroying a handle stops nobody else.
class ReaderHolder {
 public:
  ReaderHolder();
  ~ReaderHolder();
  ReaderHolder(ReaderHolder&&) noexcept;
  ReaderHolder& operator=(ReaderHolder&&) noexcept;

  // Takes a reader; the one before lives on as long as handles of it do. `below` is the holder that
  // the reader has its handle from, if any; from then on that one's ReInit reaches this reader.
  void Reset(std::unique_ptr<ReaderBase> reader, const ReaderHolder* below = nullptr);
  bool has_reader() const { return held_ != nullptr; }

  // A reader that shares the held one, for a decorator to own. Throws kInvalidArgument if none is
  // held, as do the functions below.
  std::unique_ptr<ReaderBase> NewHandle() const;

  // As ReaderBase; any thread, one at a time gets on.
  void ReadNext(std::vector<LoDTensor>* out);
  bool HasNext();
  // Where other holders' readers stand on this one, it is those on top that begin their next pass
  // (the reader itself would otherwise run on without them).
  void ReInit();
  const std::vector<SlotSpec>& slots() const;
  const std::string& origin() const;

  // Also unknown while handles share the reader: each gets what the others leave.
  std::optional<uint64_t> PassLength();

  // Any thread, as long as nobody calls Reset.
  ReaderStats stats() const;

 private:
  struct Held;
  class Handle;
  Held& held() const;

  std::shared_ptr<Held> held_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_READER_HOLDER_H_

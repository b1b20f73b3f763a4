// SPDX-License-Identifier: Apache-2.0
// Readers: objects that yield elements of data, one behind another, pass after pass.
//
// Two steps are kept apart. Plan says, in order and cheaply, which elements come next; Load
// produces their bytes, on any number of threads, straight into the place where they are wanted.
// So order never depends on threads, a shuffle permutes tickets instead of tensors, and a batch is
// loaded in place. A reader overrides PlanNext, Load and Rewind, and little else; what users and
// operators see (ReadNext, HasNext, ReInit) is written once, here.
#ifndef MILLHOPPER_FRAMEWORK_READER_READER_H_
#define MILLHOPPER_FRAMEWORK_READER_READER_H_

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/forks.h"
#include "framework/reader/parallel_load.h"
#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

class MemoryAccount;
class Place;

struct ChunkShare;

class ReaderBase {
 public:
  virtual ~ReaderBase();
  ReaderBase(const ReaderBase&) = delete;
  ReaderBase& operator=(const ReaderBase&) = delete;

  // ---- What users and operators call: one thread at a time. ----
  // In a child process that was forked later, all that reads throws kInvalidArgument: the elements
  // are the parent's. There the reader can only be destroyed.

  // Replaces *out by the next element, one tensor a slot. Throws EndOfData behind the last one,
  // again and again; an error takes the place of the element that it hit and of everything behind
  // it, until ReInit.
  void ReadNext(std::vector<LoDTensor>* out);
  // Whether there is a next element. Plans it if need be, loads nothing and changes nothing that
  // can be seen. Throws if planning it failed: an error is never an end.
  bool HasNext();
  // Begins the next pass, from the end, from the middle or after an error. Blocks only until the
  // work that has begun is done.
  void ReInit() { Restart(++passes_); }

  // What each element has, by slot. For a reader that learns it from its file, what is known now.
  const std::vector<SlotSpec>& slots() const { return slots_; }
  std::vector<Dims> shapes() const;
  // Throws kInvalidArgument if there is no such slot.
  Dims shape(size_t slot) const;
  // Declares the slots anew. Before the first Plan only; throws kInvalidArgument afterwards.
  void set_slots(std::vector<SlotSpec> slots);
  // How error texts name this reader, e.g. "reader 'files' (open_files, startup.pbtxt:12)".
  const std::string& origin() const { return origin_; }
  void set_origin(std::string origin);
  // How many readers stand on one another here: 1 for a reader that stands on none.
  int depth() const { return depth_; }

  // ---- What readers call on the readers below them. ----

  // Adds up to n > 0 of the next elements to the run and returns how many. Only 0 means that the
  // pass is over. What precedes an error is planned first; then the error is thrown, again and
  // again, until Restart. One thread at a time. A caller that is ahead of need (MemoryScope) may be
  // refused memory; nothing is lost then, and the next call goes on where this one has stopped.
  size_t Plan(size_t n, TicketRun* run);
  // Loads the elements of tickets that this reader planned, one behind another. Any thread, as
  // long as the run that holds the tickets lives; a ticket is loaded once, but for a load ahead of
  // need (MemoryScope) that was refused memory, which is done again. Throws the error of the first
  // that fails and leaves the rows in a state fit only to be dropped.
  virtual void Load(const Ticket* tickets, size_t n, Rows* rows) const = 0;
  // The same, split among idle workers where that pays; rows are in the order of the tickets.
  void LoadInParallel(const Ticket* tickets, size_t n, Rows* rows) const {
    loading_.Load(*this, tickets, n, rows);
  }
  // As ParallelLoad::grain.
  size_t grain() const { return loading_.grain(); }
  // Begins pass number `pass`: whoever drives a reader counts its passes. Tickets planned before
  // stay loadable. What it throws stays, as an error of Plan does.
  void Restart(uint64_t pass);
  // The slots as known when elements are loaded: slots(), or what the file turned out to hold.
  virtual const std::vector<SlotSpec>& row_slots() const { return slots_; }
  // Where the values of elements are.
  virtual Place place() const;
  // How many elements Plan is sure to add without waiting for somebody outside, such as a thread
  // that fills a queue; kAnyNumber if it never waits for anybody. No worker of the pool may wait
  // like that, so 0 says to leave the planning to whoever wants the element. Any thread.
  virtual size_t ElementsReady() const { return kAnyNumber; }
  static constexpr size_t kAnyNumber = SIZE_MAX;
  // From now on yields only what lies in the chunks of this share, each element with the name that
  // it has without. Before the first Plan only, and once; throws kInvalidArgument afterwards, and
  // for every reader but those of files.
  virtual void TakeShare(const ChunkShare& share);
  // How many elements a whole pass has, where that is known without reading one: from the sizes and
  // headers of files, which may be opened for it. A pass that ends with an error has fewer. Any
  // thread at any time. Throws as opening the files does.
  virtual std::optional<uint64_t> PassLength() const { return std::nullopt; }

 protected:
  // Throws kResourceLimit for a depth of more than kMaxReaderDepth.
  explicit ReaderBase(std::vector<SlotSpec> slots, int depth = 1);

  // Plans up to n elements with run->Add. Throwing is an error behind what was added. After an
  // error or after adding nothing it is not called again before Rewind, but after a refusal of
  // memory it is: whatever it calls or takes may be refused while MemoryScope::IsAhead, so that it
  // changes its own state only behind that. The constructor leaves a reader at the beginning of
  // pass 0, having read nothing and started no thread.
  virtual void PlanNext(size_t n, TicketRun* run) = 0;
  // Back to the first element, for pass number `pass`.
  virtual void Rewind(uint64_t pass) = 0;
  // "while reading record 17201 of reader 'files' (open_files, startup.pbtxt:12)".
  std::string ReadingRecord(uint64_t sample) const;
  // Whether anything was planned, ever.
  bool planned() const { return planned_; }
  // Whom the memory of this reader counts for: put a MemoryScope around what takes much.
  const Ref<MemoryAccount>& account() const { return account_; }

 private:
  void CheckProcess() const;
  // What error texts call it.
  std::string Name() const;
  // Keeps the error that is being handled. One of memory is given its place: this step and the
  // reader, if it has none yet.
  void KeepError(const char* step);
  // Throws unless memory has room for another element beside the first one of a pass.
  void CheckRoomBeside(const std::vector<LoDTensor>& first);

  std::vector<SlotSpec> slots_;
  const int depth_;
  std::string origin_;
  const Ref<MemoryAccount> account_;
  const OwnProcess process_;
  uint64_t passes_ = 0;
  bool planned_ = false;
  bool end_ = false;
  bool first_ = true;  // whether ReadNext has still to yield the first element of the pass
  std::exception_ptr error_;
  TicketRun ahead_;  // the ticket that HasNext looked at
  Rows rows_;        // ReadNext's, kept for its memory
  mutable ParallelLoad loading_;
};

// A reader on top of another one, which it owns. By default it passes everything through, but for
// PassLength: only who leaves nothing out and adds nothing may hand that on.
class DecoratedReader : public ReaderBase {
 public:
  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    reader_->Load(tickets, n, rows);
  }
  const std::vector<SlotSpec>& row_slots() const override { return reader_->row_slots(); }
  Place place() const override;
  size_t ElementsReady() const override { return reader_->ElementsReady(); }

 protected:
  explicit DecoratedReader(std::unique_ptr<ReaderBase> reader);
  // For a reader whose slots differ from those below it. By reference, so that the slots may be
  // computed from the reader in the same call.
  DecoratedReader(std::unique_ptr<ReaderBase>&& reader, std::vector<SlotSpec> slots);

  void PlanNext(size_t n, TicketRun* run) override { reader_->Plan(n, run); }
  void Rewind(uint64_t pass) override { reader_->Restart(pass); }
  ReaderBase& reader() const { return *reader_; }

 private:
  std::unique_ptr<ReaderBase> reader_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_READER_H_

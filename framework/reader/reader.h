// SPDX-License-Identifier: Apache-2.0
// Readers: objects that yield elements of data one after another, pass after pass.
//
// Two steps are kept apart. Plan says, in order and cheaply, which elements come next; Load
// produces their bytes, on any number of threads, straight into their final place. So the order
// never depends on threads, a shuffle permutes tickets instead of tensors, and a batch is loaded in
// place. A reader overrides PlanNext, LoadRows and Rewind, and little else; what users and
// operators see (ReadNext, HasNext, ReInit), and what is counted, is written once, here.
#ifndef MILLHOPPER_FRAMEWORK_READER_READER_H_
#define MILLHOPPER_FRAMEWORK_READER_READER_H_

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/forks.h"
#include "framework/base/lane_context.h"
#include "framework/reader/chain_stats.h"
#include "framework/reader/parallel_load.h"
#include "framework/reader/position.h"
#include "framework/reader/reader_counters.h"
#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

class MemoryAccount;
class Place;

struct ChunkShare;

class LaneSource;
class ReaderBase;

// Chains that share out the data (readers/lanes/lanes_reader.h says how).
struct LaneSet {
  std::vector<std::unique_ptr<ReaderBase>> lanes;
  size_t stripe = 0;           // elements of each in turn; 0: nobody has said how many
  size_t rank = 0, ranks = 1;  // these are every `ranks`-th of all lanes, from `rank` on
  // What deals out the data to the lanes, which stand on it; null if each lane has its own. It is
  // saved, restarted and described beside them, but Plan is not called.
  std::shared_ptr<LaneSource> source;
  bool even = false;    // whether all lanes have equally many elements
  bool shared = false;  // whether create_shard_reader has shared them among ranks, or one
};

// What lanes a stream has.
struct LaneShape {
  size_t lanes = 0;            // of all ranks; 0: it is one stream
  size_t stripe = 0;           // as LaneSet has it
  size_t rank = 0, ranks = 1;  // these are every `ranks`-th of all lanes, from `rank` on
  bool shared = false;         // as LaneSet has it

  bool operator==(const LaneShape& other) const {
    return lanes == other.lanes && stripe == other.stripe && rank == other.rank &&
           ranks == other.ranks && shared == other.shared;
  }
};

// What one of several processes that share lanes has saved (ReaderBase::JoinRanks), or the only one
// (GiveBack).
struct SavedRank {
  PositionCursor cursor;
  // The elements that readers above hold, in order, as the next reader below names them.
  std::vector<ElementNames> held;
  bool of_passes = false;  // whether they may be of several passes of that reader
};

// While it lives on a thread, readers that this thread restarts must expect that their tickets are
// still held: a reader above begins another pass by itself, or only some of the readers that share
// one restart. Without it, the caller of Restart has dropped all tickets.
class TicketsStay : public LaneScope<&LaneContext::tickets_stay> {
 public:
  TicketsStay() : LaneScope(true) {}

  static bool OnThisThread() { return ThisLane().tickets_stay; }
};

class ReaderBase {
 public:
  virtual ~ReaderBase();
  ReaderBase(const ReaderBase&) = delete;
  ReaderBase& operator=(const ReaderBase&) = delete;

  // ---- What users and operators call: one thread at a time. ---- In a child process that was
  // forked after the reader was made, every call that reads throws kInvalidArgument, and the child
  // can only destroy the reader.

  // Replaces *out by the next element, one tensor per slot. After the last element every call
  // throws EndOfData. After an error every call throws that error. ReInit ends both.
  void ReadNext(std::vector<LoDTensor>* out);
  // Whether there is a next element. Plans the element if that is not done yet, but loads nothing
  // and changes nothing visible. Throws if planning failed: an error is never an end.
  bool HasNext();
  // Begins the next pass; allowed at the end of a pass, in its middle and after an error. Waits
  // only for work that has already begun.
  void ReInit() { Restart(++passes_); }

  // Says that Save will be called. Called before the first element of the chain is read; without it
  // a reader that loads ahead (StageReader) cannot tell what it holds. Such readers then keep the
  // names of the elements that they hold; others do nothing. Throws what reading a list of files
  // throws.
  void ExpectSave();
  // Where the chain stands: a reader like this one, to which Restore gives the position, yields
  // what this one will still yield. Called between two reads, at any point: before the first
  // element, in the middle of a pass, at its end, after HasNext, after a Restore. After an error
  // the position is that of the element with the error, which will be thrown in its place again.
  // Changes nothing that can be seen and waits for no element that is being loaded, nor for what
  // one that is being planned waits for. Throws kInvalidArgument, and changes nothing, if a reader
  // of the chain cannot say where it stands (SaveState), or if others read it that are not in the
  // chain. Throws kIo if a list of files cannot be read.
  Position Save();
  // Goes to a position that a chain like this one has saved, in this process or another one. Called
  // before anything of the chain is read; implies ExpectSave. Fetches the chunks of the elements
  // that were in store, and nothing else of what was read before; only files that cannot be begun
  // in the middle, such as compressed text, are read up to their places. Throws kInvalidArgument if
  // the position is of another chain, other files or another order of records, saying what differs,
  // and what reading the files throws. After that the chain can only be destroyed.
  //
  // Of a chain on lanes that several ranks share (LanesReader), the position is that of this rank,
  // or that of all ranks together (Position::OfAllRanks), also of another number of ranks.
  void Restore(const Position& position);
  // The same for several chains, which may stand on the same readers: one position for each, in the
  // order of the chains. What they share is saved once, so that the positions can only be restored
  // together, by chains in the same order. No thread reads meanwhile.
  static std::vector<Position> SaveAll(const std::vector<ReaderBase*>& chains);
  static void RestoreAll(const std::vector<ReaderBase*>& chains,
                         const std::vector<const Position*>& positions);

  // The type and shape of each slot. A reader that learns them from its file returns what it knows
  // so far.
  const std::vector<SlotSpec>& slots() const { return slots_; }
  std::vector<Dims> shapes() const;
  // Throws kInvalidArgument if there is no such slot.
  Dims shape(size_t slot) const;
  // Replaces the declared slots. Throws kInvalidArgument after the first Plan.
  void set_slots(std::vector<SlotSpec> slots);
  // How error texts name this reader, e.g. "reader 'files' (open_files, startup.pbtxt:12)".
  const std::string& origin() const { return origin_; }
  // `kind` and `name` are what Stats shows: the operator and the variable.
  void set_origin(std::string origin, std::string kind = "", std::string name = "");
  // Names this reader and those below it, and says what they have done so far. Any thread at any
  // time.
  virtual ChainStats Stats() const;
  // The height of this chain: 1 for a reader that has none below it.
  int depth() const { return depth_; }
  // The number of readers in this chain. One that several others stand on counts for each of them.
  int readers() const { return readers_; }

  // ---- What readers call on the readers below them. ----

  // Adds up to n > 0 of the next elements to the run and returns how many it added. Only 0 means
  // that the pass is over. Elements before an error are planned first; then every call throws the
  // error until Restart. One thread at a time. A caller that plans ahead of need (MemoryScope) may
  // be refused memory; then nothing is lost, and the next call continues where this one stopped.
  size_t Plan(size_t n, TicketRun* run);
  // Loads the elements of tickets that this reader planned, in the order of the tickets. Any thread
  // may call it while the run that holds the tickets lives. Each ticket is loaded once; only a load
  // ahead of need (MemoryScope) is repeated, if it was refused memory or was stopped. Throws the
  // error of the first element that fails; after that the caller can only drop the rows.
  void Load(const Ticket* tickets, size_t n, Rows* rows) const {
    LoadRows(tickets, n, rows);
    if (!is_handle_) counters_->AddLoaded(n);
  }
  // The same, split among idle workers where that pays; rows are in the order of the tickets.
  void LoadInParallel(const Ticket* tickets, size_t n, Rows* rows) const {
    loading_.Load(*this, tickets, n, rows, in_lane_);
  }
  // What the reader counts, for code that times work for it.
  ReaderCounters* counters() const { return counters_.get(); }
  // As ParallelLoad::grain.
  size_t grain() const { return loading_.grain(); }
  // Says that the consumer plans no more before Restart, so that files may be replaced. Any thread;
  // another one may still be planning ahead.
  virtual void EndReading();
  // Learns what the program may have changed for the next pass, such as weights in a variable. The
  // consumer's thread calls it before it asks for the first element of a pass, while no thread
  // works ahead. Does nothing if another consumer's pass has begun.
  virtual void BeginPass() {}
  // The same before every element that the consumer asks for, if it returns true: that something
  // below is to be asked again. Throws kInvalidArgument if a reader plans ahead of the consumer, so
  // that threads would decide from which element on a change counts.
  virtual bool BeginElement() { return false; }
  // Begins pass number `pass`; the caller counts the passes. Tickets planned before can still be
  // loaded. If Restart throws, every later Plan throws the same error.
  void Restart(uint64_t pass);
  // The slots of the elements that Load appends: slots(), or what the file was found to hold.
  virtual const std::vector<SlotSpec>& row_slots() const { return slots_; }
  // Where slots() does not know a slot, because only a file does: opens that file. Plans nothing.
  // An error of the file is left to Plan; throws only errors that interrupt. The thread that plans.
  virtual void LearnSlots();
  // slots(), and where these do not know a slot, what is known of it by now. The thread that plans.
  virtual std::vector<SlotSpec> FoundSlots() const;
  // The device that holds the values of loaded elements.
  virtual Place place() const;
  // How many elements Plan can certainly add without waiting for a thread outside the pool, such as
  // one that fills a queue; kAnyNumber if Plan never waits for such a thread. A worker of the pool
  // must not wait for one, so 0 means that only the consumer may plan. Any thread.
  virtual size_t ElementsReady() const { return kAnyNumber; }
  static constexpr size_t kAnyNumber = SIZE_MAX;
  // Does a part of the work that another thread, which plans, may be waiting for, such as a chunk
  // that is to be read; false if there is none. Leaves its waits where a HelpScope says so. Called
  // where Plan may be called, but for that thread.
  virtual bool HelpToPlan() { return false; }
  // From now on yields only the elements in the chunks of this share; each element keeps the name
  // that it has without sharing. May be called once, before the first Plan. Throws kInvalidArgument
  // after that, and if this is not a reader of files.
  virtual void TakeShare(const ChunkShare& share);
  // Says that tickets of this reader will wait in a window among those of other chunks, so that
  // each should keep little else than its element. Called before the first Plan.
  virtual void ExpectWindow() {}
  // Says that each of `ranks` processes gets `run` elements in turn, or, with kAnyRun, elements in
  // an order that is not known before, so that a reader that keeps shares can keep them for each.
  // Called before the first Plan; the highest number of ranks holds.
  virtual void ExpectRanks(size_t /*ranks*/, size_t /*run*/) {}
  static constexpr size_t kAnyRun = 0;  // whose product with the size of a batch is itself
  // How many elements a whole pass has, if the sizes and headers of the files tell it; files may be
  // opened for this. A pass that ends with an error has fewer. Any thread at any time. Throws what
  // opening the files throws.
  virtual std::optional<uint64_t> PassLength() const { return std::nullopt; }
  // The lanes of the stream that this reader is, for readers that need nothing but their own lane;
  // nothing if it has no lanes. It yields nothing any more. Before the first Plan.
  virtual std::optional<LaneSet> TakeLanes();
  // What TakeLanes would return.
  virtual LaneShape lane_shape() const { return {}; }
  // Says that this chain is a lane: one thread at a time plans and loads here, and no other thread
  // works for it meanwhile. Before the first Plan.
  void RunInLane();
  // The readers that this one stands on.
  virtual std::vector<ReaderBase*> Below() const { return {}; }
  // For saving: no other thread plans here from LockPlanning to UnlockPlanning, which are called
  // once for each `planner`: this reader, or what a handle stands for. A reader's comes before
  // those of the readers below it, as in a thread that plans. A thread that is planning leaves its
  // waits for LockPlanning.
  virtual void LockPlanning() {}
  virtual void UnlockPlanning() {}
  virtual const void* planner() const { return this; }
  // Adds the states of this reader and of those below it to a position. No other thread plans.
  virtual void SaveChain(Position* position, SharedReaders* shared);
  // Goes to the place that SaveChain has written, with the readers below. Before the first Plan.
  virtual void RestoreChain(PositionCursor* position);
  // Makes the state of this chain, which was not read, from those of the same chain on any number
  // of ranks: what readers above the lanes hold goes back to the lanes, and each lane to the rank
  // that runs it now. Throws kInvalidArgument if a reader of the chain does not allow that.
  virtual void JoinRanks(std::vector<SavedRank>* ranks, Position* own) const;
  // Makes the state of this chain, which was not read, from that of the same chain where one reader
  // cut otherwise: what readers above that one hold goes back to it (TakeBack), so that it comes
  // next, cut anew. Throws kInvalidArgument if a reader above does not allow that.
  virtual void GiveBack(const NewCut& cut, SavedRank* saved, Position* own) const;
  // Writes into the saved state of this reader that the elements of which those in saved->held
  // consist, and those that it had begun to join, come before all others. Of a reader that cuts
  // (ReaderState::CutsBy).
  virtual void TakeBack(SavedRank* saved, ReaderState* state) const;
  // Whether the state of this reader is nothing but the elements that it holds, and what all ranks
  // on a stream of lanes have in common. Then JoinRanks and GiveBack need no code of its own.
  virtual bool HoldsOnlyElements() const { return false; }
  // The names of the elements below of which these consist.
  virtual ElementNames NamesBelow(ElementNames names) const { return names; }
  // A number for each element that tells its record: the same in every pass, process and order, and
  // whatever other files are read. Parts of one record have one number. Only `id` of the tickets is
  // looked at. Throws kInvalidArgument where elements consist of several records, for no tickets,
  // too; never a refusal of memory. The thread that plans.
  virtual void RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const;
  // Adds the names of elements to those in *names. Only the tickets tell the elements: the run and
  // the `bytes` may be copies, but a ticket that still has its `owner` has all that this reader put
  // into it. The thread that plans.
  virtual void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const;
  // Plans elements again that another reader like this one has named; they are not among those that
  // Plan will plan. Called in RestoreChain of the reader that holds them, when this one is where it
  // will go on. Throws kInvalidArgument for names that make no sense, and what reading them throws.
  virtual void PlanAgain(const ElementNames& names, const TakeElement& take);
  // The same, but adds them to a run in the order of their names.
  void PlanRunAgain(const ElementNames& names, TicketRun* run);

 protected:
  // Called by set_origin, for readers that this one consists of.
  virtual void NameParts(const std::string& /*origin*/, const std::string& /*kind*/,
                         const std::string& /*name*/) {}
  // Throws kResourceLimit for a depth of more than kMaxReaderDepth and for more than
  // kMaxReadersInChain readers.
  explicit ReaderBase(std::vector<SlotSpec> slots, int depth = 1, int readers = 1);
  // A handle, which stands for another reader: it has the origin of that one, and what is done
  // through it counts there.
  explicit ReaderBase(const ReaderBase* reader);

  // Plans up to n elements with run->Add. If it throws, the error comes after the elements that it
  // added. After an error, or after adding nothing, it is not called again before Rewind. After a
  // refusal of memory it is called again: while MemoryScope::IsAhead, every allocation may be
  // refused, so PlanNext must change its own state only after the last allocation. The constructor
  // leaves a reader at the beginning of pass 0; it reads nothing and starts no thread.
  virtual void PlanNext(size_t n, TicketRun* run) = 0;
  // Does the work of Load, whose contract it keeps.
  virtual void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const = 0;
  // How many elements lie ready that have not been planned: fetched, loaded or in a window. Any
  // thread at any time.
  virtual uint64_t InStore() const { return 0; }
  // Goes back to the first element, for pass number `pass`.
  virtual void Rewind(uint64_t pass) = 0;
  // Writes the reader's settings and where it stands, but nothing of the readers below it. Also
  // called before the first Plan. What this class does for every reader (the end, an error) is
  // written already. Throws kInvalidArgument unless a reader overrides it, because only its author
  // knows that nothing is missing.
  virtual void SaveState(ReaderState* state) const;
  // Goes to where a reader with the same settings was when it wrote this. The readers below are
  // where they should be. Never called if SaveState throws.
  virtual void RestoreState(const ReaderState& state);
  // For BeginElement of a reader that plans ahead: throws if something below is to be asked again.
  void RefuseElementsAhead(bool below) const;
  // For RecordKeys of a reader whose elements consist of several records.
  [[noreturn]] void RefuseRecordKeys() const;
  // Whether RunInLane was called.
  bool is_in_lane() const { return in_lane_; }
  // Whether ExpectSave was called.
  bool expects_save() const { return expects_save_; }
  // "while reading record 17201 of reader 'files' (open_files, startup.pbtxt:12)".
  std::string ReadingRecord(uint64_t sample) const;
  // Adds the state of this reader alone to a position.
  void AddState(Position* position);
  // Whether Plan was ever called.
  bool planned() const { return planned_; }
  // The account of this reader's memory. Put a MemoryScope with it around code that takes much
  // memory.
  const Ref<MemoryAccount>& account() const { return account_; }

 private:
  class PlanningLock;

  void CheckProcess() const;
  // The name of this reader in error texts.
  std::string Name() const;
  // Keeps an error. If it is of memory and has no context, it gets this step and the reader's name.
  void KeepError(std::exception_ptr error, const char* step);
  // What Save and Restore do for one of several chains.
  void SavePosition(Position* position, SharedReaders* shared);
  // What a position is for this rank, whose own one is `now`, and for the batches that it makes.
  // Throws kInvalidArgument, with what differs, if it is one of another chain.
  Position OfThisChain(const Position& saved, const Position& now) const;
  Position OfThisRank(const Position& saved, const Position& now) const;
  void RestorePosition(const Position& position, SharedReaders* shared);
  // Names the element that HasNext has planned in failed_, because it cannot be loaded.
  void NameFailed();
  // Throws unless there is memory for a second element beside the first one of a pass.
  void CheckRoomBeside(const std::vector<LoDTensor>& first);

  std::vector<SlotSpec> slots_;
  const int depth_;
  const int readers_;
  const bool is_handle_ = false;  // then what is planned and loaded counts in the other reader
  std::string origin_, kind_, name_;
  const std::shared_ptr<ReaderCounters> counters_;
  const Ref<MemoryAccount> account_;
  const OwnProcess process_;
  uint64_t passes_ = 0;
  uint64_t read_ = 0;  // elements of the pass, by the consumer
  bool planned_ = false;
  bool end_ = false;
  bool begun_ = false;           // whether the consumer has asked for an element of the pass
  bool begins_elements_ = true;  // whether BeginElement is to be called
  bool first_ = true;  // whether ReadNext has still to yield the first element of the pass
  bool expects_save_ = false;
  bool in_lane_ = false;
  bool dropped_ = false;  // whether an element was loaded and was too large to be delivered
  std::exception_ptr error_;
  ElementNames failed_;  // the element that could not be loaded, if that is the error
  TicketRun ahead_;      // the ticket that HasNext planned and ReadNext will load
  Rows rows_;            // used by ReadNext; kept to reuse its memory
  mutable ParallelLoad loading_;
};

// A reader on top of another one, which it owns. By default it passes everything through except
// PassLength: only a reader that neither adds nor removes elements may pass that on.
class DecoratedReader : public ReaderBase {
 public:
  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    reader_->Load(tickets, n, rows);
  }
  const std::vector<SlotSpec>& row_slots() const override { return reader_->row_slots(); }
  Place place() const override;
  size_t ElementsReady() const override { return reader_->ElementsReady(); }
  bool HelpToPlan() override { return reader_->HelpToPlan(); }
  void ExpectWindow() override { reader_->ExpectWindow(); }
  void ExpectRanks(size_t ranks, size_t run) override { reader_->ExpectRanks(ranks, run); }
  void BeginPass() override { reader_->BeginPass(); }
  bool BeginElement() override { return reader_->BeginElement(); }
  std::vector<ReaderBase*> Below() const override { return {reader_.get()}; }
  std::vector<SlotSpec> FoundSlots() const override;
  // Elements are those of the reader below; a reader that makes others overrides these.
  void RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const override {
    reader_->RecordKeys(tickets, n, keys);
  }
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override {
    reader_->NameElements(tickets, n, names);
  }
  void PlanAgain(const ElementNames& names, const TakeElement& take) override {
    reader_->PlanAgain(names, take);
  }

 protected:
  explicit DecoratedReader(std::unique_ptr<ReaderBase> reader);
  // For a reader whose slots differ from those of the reader below. `reader` is a reference so that
  // the caller can compute the slots from it in the same call.
  DecoratedReader(std::unique_ptr<ReaderBase>&& reader, std::vector<SlotSpec> slots);

  void PlanNext(size_t n, TicketRun* run) override { reader_->Plan(n, run); }
  void Rewind(uint64_t pass) override { reader_->Restart(pass); }
  ReaderBase& reader() const { return *reader_; }

 private:
  std::unique_ptr<ReaderBase> reader_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_READER_H_

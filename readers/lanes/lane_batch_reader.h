// SPDX-License-Identifier: Apache-2.0
// Batches of lanes, which several threads make ahead of their use.
#ifndef MILLHOPPER_READERS_LANES_LANE_BATCH_READER_H_
#define MILLHOPPER_READERS_LANES_LANE_BATCH_READER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/mutex.h"
#include "framework/base/sleepers.h"
#include "framework/base/thread_pool.h"
#include "framework/memory/attempt.h"
#include "readers/decorate/batch_reader.h"
#include "readers/lanes/lanes_reader.h"

namespace millhopper {

// The batches of BatchReader on the stream of lanes. Where a batch is one stripe of each lane (a
// round), each lane plans its stripe and loads it into its own rows of the batch, on whichever
// thread runs the lane. So nothing but finished rows goes from one thread to another.
//
// The threads are the consumer and the workers of the pool. A thread runs the lanes that it ran
// last, and one that nobody runs if it has none of its own to run. Workers are 2 batches ahead of
// the consumer, or more of small ones, up to `depth`. The consumer runs lanes while its batch is
// not complete, and sleeps only while every lane that is missing is run by a worker. No thread
// polls.
//
// A lane loads a round only once every lane has planned its stripe of it. So from the first round
// that some lane cannot fill, which is known before anything of it is loaded, to the end of the
// pass, BatchReader makes the batches.
class LaneBatchReader final : public BatchReader {
 public:
  // `stripes` has the stripe that a batch of batch_size takes. Throws what BatchReader does, and
  // kInvalidArgument for a depth below 1.
  LaneBatchReader(std::unique_ptr<LanesReader> stripes, int64_t batch_size, bool discard_leftover,
                  BatchMode mode, int64_t depth);
  ~LaneBatchReader() override;

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override;
  ChainStats Stats() const override;
  void LockPlanning() override;
  void UnlockPlanning() override;

 private:
  class Round;
  class Ahead;
  struct Lane;
  static constexpr uint64_t kNever = UINT64_MAX;

  void NameParts(const std::string& origin, const std::string& kind,
                 const std::string& name) override;
  // Waits for a whole batch: HasNext makes it.
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  // How many elements a batch of all ranks has.
  size_t whole_batch() const { return batch_size() * stripes_->ranks(); }
  // Begins to make rounds, if the lanes are where a round begins.
  void Begin();
  // Waits until the next round is complete, and makes it meanwhile; null if some lane cannot fill
  // it.
  Round* NextRound();
  // The next round is handed out, and `fresh` takes its place in the ring. Cannot fail.
  void HandOut(Ref<Round> fresh, uint64_t bytes);
  // Ends the work of other threads, and forgets the rounds that were handed out.
  void StopWorkers(Job::Leave leave);
  // Asks the pool for all workers that do not run already.
  void CallWorkers();
  // kRefused: there was no memory for it ahead of need, or the thread has left its work.
  enum class Ran { kNothing, kStep, kRefused };
  // Runs a lane for one step towards the rounds below the horizon, if one needs it and nobody runs
  // it. Any thread.
  Ran RunOne(uint64_t horizon);
  // Whether the lane can do something for these rounds, and nobody runs it.
  bool HasWork(const Lane& lane, uint64_t horizon) const;
  bool HasWork(uint64_t horizon) const;
  // The thread that runs the lane: plans, and loads the next stripe. The three return false if
  // there was no memory for something ahead of need, or the thread has left its work.
  bool Step(size_t v, Lane* lane);
  bool PlanAhead(size_t v, Lane* lane, uint64_t taken);
  bool LoadStripe(size_t v, Lane* lane, uint64_t n, uint64_t taken);
  // Whether it is done. Keeps its error for the consumer: not of the data, whose errors are in
  // their place, but of this reader, which may find no memory for its own.
  bool KeepErrorOf(const Attempt& attempt);
  void CheckFailure();
  // The number of rounds of which every lane has planned its stripe.
  uint64_t RoundsPlanned();

  LanesReader* const stripes_;  // the reader below
  const uint64_t depth_;
  const Ref<Ahead> ahead_;
  bool begun_ = false;         // the pass, after what a position had begun
  bool makes_rounds_ = false;  // or BatchReader makes the batches
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::atomic<uint32_t>> runners_;  // the thread that ran each lane last
  std::vector<Ref<Round>> ring_;                // of round n at n modulo depth_
  std::atomic<uint64_t> ahead_rounds_;          // how far lanes may be ahead, up to depth_
  std::atomic<uint64_t> taken_{0};              // rounds that were handed out
  std::atomic<uint64_t> planned_{0};            // no more than RoundsPlanned()
  std::atomic<uint64_t> short_{kNever};         // the first round that some lane cannot fill
  std::atomic<int> workers_{0};                 // that were called and have not left
  std::atomic<bool> has_failed_{false};
  Mutex mutex_;
  std::exception_ptr failure_ GUARDED_BY(mutex_);
  Sleepers consumer_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_LANES_LANE_BATCH_READER_H_

// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/chunk_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fakes/scripted_file.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using State = ChunkQueue::State;
using Did = ChunkQueue::Did;
using Numbers = std::vector<int64_t>;

constexpr auto kNow = MemoryScope::Need::kNow;
constexpr auto kAhead = MemoryScope::Need::kAhead;

constexpr uint64_t kPass = 5;

Ref<ChunkQueue> QueueOf(std::vector<ScriptedChunk> chunks, uint32_t file = 0, ChunkShare share = {},
                        Script* script = nullptr) {
  return Ref<ChunkQueue>(
      new ChunkQueue(std::make_unique<ScriptedFile>("f", std::move(chunks), script),
                     {file, kPass, "f", nullptr, share}));
}

// The chunk that is claimed; null if there is none.
Ref<Chunk> Claimed(ChunkQueue* queue, MemoryScope::Need need) {
  Ref<Chunk> chunk;
  const Did did = queue->Claim(need, &chunk);
  EXPECT_NE(did, Did::kNotYet);
  return did == Did::kDone ? chunk : Ref<Chunk>();
}

void FetchNow(ChunkQueue* queue, const Ref<Chunk>& chunk) {
  EXPECT_EQ(queue->Fetch(chunk), Did::kDone);
}

void FetchAll(ChunkQueue* queue) {
  while (const Ref<Chunk> chunk = Claimed(queue, kAhead)) FetchNow(queue, chunk);
}

// The numbers of all records that can be taken at once.
Numbers TakeAvailable(ChunkQueue* queue) {
  Numbers numbers;
  TicketRun run;
  for (size_t left = queue->available(); left > 0; left -= run.tickets.size()) {
    run.Clear();
    run.tickets.resize(std::min<size_t>(left, 1000));
    queue->KeepIn(&run);
    queue->Take(run.tickets.size(), 1, 0, 1, run.tickets.data());
    for (const Ticket& ticket : run.tickets) numbers.push_back(NumberOf(ticket));
  }
  return numbers;
}

TEST(ChunkQueue, IsPlannedInTheOrderOfClaimsWhateverIsFetchedFirst) {
  const Ref<ChunkQueue> queue = QueueOf({{2}, {3}, {1}});
  EXPECT_EQ(queue->Poll(), State::kWaiting);
  const Ref<Chunk> chunks[] = {Claimed(queue.get(), kAhead), Claimed(queue.get(), kAhead),
                               Claimed(queue.get(), kAhead)};
  EXPECT_FALSE(Claimed(queue.get(), kAhead));
  FetchNow(queue.get(), chunks[2]);
  EXPECT_EQ(queue->Poll(), State::kWaiting);
  EXPECT_EQ(queue->available(), 0u);
  FetchNow(queue.get(), chunks[0]);
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(TakeAvailable(queue.get()), (Numbers{0, 1}));
  EXPECT_EQ(queue->Poll(), State::kWaiting);
  FetchNow(queue.get(), chunks[1]);
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(TakeAvailable(queue.get()), (Numbers{2, 3, 4}));
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(TakeAvailable(queue.get()), Numbers{5});
  EXPECT_EQ(queue->Poll(), State::kEnd);
  EXPECT_EQ(queue->Poll(), State::kEnd);
}

TEST(ChunkQueue, IsOverOnlyWhenTheFileSaysSo) {
  const Ref<ChunkQueue> queue = QueueOf({{1}});
  FetchNow(queue.get(), Claimed(queue.get(), kAhead));
  EXPECT_EQ(queue->Poll(), State::kRecords);
  TakeAvailable(queue.get());
  EXPECT_EQ(queue->Poll(), State::kWaiting);  // there might be another chunk
  EXPECT_FALSE(Claimed(queue.get(), kAhead));
  EXPECT_EQ(queue->Poll(), State::kEnd);
}

TEST(ChunkQueue, GoesPastChunksWithoutRecords) {
  const Ref<ChunkQueue> queue = QueueOf({{0}, {0}, {2}, {0}});
  FetchAll(queue.get());
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(TakeAvailable(queue.get()), (Numbers{0, 1}));
  EXPECT_EQ(queue->Poll(), State::kEnd);
}

TEST(ChunkQueue, AFileWithoutChunksIsOver) {
  const Ref<ChunkQueue> queue = QueueOf({});
  FetchAll(queue.get());
  EXPECT_EQ(queue->Poll(), State::kEnd);
}

TEST(ChunkQueue, NumbersTicketsAndSpacesThemAsAsked) {
  const Ref<ChunkQueue> queue = QueueOf({{1}, {4}}, 7);
  FetchAll(queue.get());
  queue->Poll();
  TakeAvailable(queue.get());
  queue->Poll();
  TicketRun run;
  run.tickets.resize(7);
  queue->KeepIn(&run);
  queue->Take(2, 3, 100, 4, &run.tickets[1]);
  EXPECT_EQ(queue->available(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const Ticket& ticket = run.tickets[1 + 3 * i];
    EXPECT_EQ(NumberOf(ticket), static_cast<int64_t>(1 + i));
    EXPECT_EQ(ticket.id.sample, 100 + 4 * i);
    EXPECT_EQ(ticket.id.record, i);  // of its chunk
    EXPECT_EQ(ticket.id.chunk, 1u);
    EXPECT_EQ(ticket.id.file, 7u);
    EXPECT_EQ(ticket.size, 8u);
    EXPECT_EQ(ticket.id.pass, kPass);
  }
  for (const size_t untouched : {0, 2, 3, 5, 6}) {
    EXPECT_EQ(run.tickets[untouched].bytes, nullptr) << untouched;
  }
}

TEST(ChunkQueue, PassesOverTheChunksOfOtherSharesWithoutFetchingThem) {
  Script script;
  // File 1 of two shares: chunks 1 and 3 are those of share 0.
  const Ref<ChunkQueue> queue = QueueOf({{2}, {3}, {1}, {2}, {4}}, 1, {2, 0}, &script);
  FetchAll(queue.get());
  EXPECT_EQ(script.events(),
            (std::vector<std::string>{"claim f0", "claim f1", "fetch f1", "claim f2", "claim f3",
                                      "fetch f3", "claim f4", "end f"}));
  const auto pass_over = [&](size_t records) {
    EXPECT_EQ(queue->Poll(), State::kRecords);
    EXPECT_TRUE(queue->passes_over());
    EXPECT_EQ(queue->available(), records);
    queue->PassOver(records);
  };
  pass_over(2);
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_FALSE(queue->passes_over());
  EXPECT_EQ(TakeAvailable(queue.get()), (Numbers{2, 3, 4}));
  pass_over(1);
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(TakeAvailable(queue.get()), (Numbers{6, 7}));
  pass_over(4);
  EXPECT_EQ(queue->Poll(), State::kEnd);
}

TEST(ChunkQueue, TheChunksThatAreOneAreOfOneShare) {
  ScriptedChunk part;
  part.is_part = true;
  const std::vector<ScriptedChunk> chunks{part, part, {2}, {3}, part, {1}};
  Script script;
  const Ref<ChunkQueue> queue = QueueOf(chunks, 0, {2, 0}, &script);
  FetchAll(queue.get());
  EXPECT_EQ(script.events(),
            (std::vector<std::string>{"claim f0", "fetch f0", "claim f1", "fetch f1", "claim f2",
                                      "fetch f2", "claim f3", "claim f4", "fetch f4", "claim f5",
                                      "fetch f5", "end f"}));
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(TakeAvailable(queue.get()), (Numbers{0, 1}));
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_TRUE(queue->passes_over());
  queue->PassOver(queue->available());
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(TakeAvailable(queue.get()), Numbers{5});
  EXPECT_EQ(queue->Poll(), State::kEnd);
}

TEST(ChunkQueue, RefusesToPassOverRecordsThatNobodyHasCounted) {
  std::vector<ScriptedChunk> chunks(2);
  chunks[1].tells = false;
  const Ref<ChunkQueue> queue = QueueOf(chunks, 0, {2, 0});
  FetchAll(queue.get());
  ExpectError(ErrorCode::kInvalidArgument, "use by: \"record\"", [&] { queue->Poll(); });
}

TEST(ChunkQueue, ARunKeepsTheChunksOfItsTickets) {
  const size_t before = Pool<Chunk>::in_use();
  TicketRun run;
  {
    const Ref<ChunkQueue> queue = QueueOf({{2}, {2}});
    FetchAll(queue.get());
    queue->Poll();
    run.tickets.resize(2);
    queue->KeepIn(&run);
    queue->Take(2, 1, 0, 1, run.tickets.data());
    EXPECT_EQ(Pool<Chunk>::in_use(), before + 2);
  }
  EXPECT_EQ(Pool<Chunk>::in_use(), before + 1);
  EXPECT_EQ(NumberOf(run.tickets[1]), 1);
  run.Clear();
  EXPECT_EQ(Pool<Chunk>::in_use(), before);
}

TEST(ChunkQueue, AnErrorOfFetchComesBehindTheRecordsListedBeforeIt) {
  const Ref<ChunkQueue> queue = QueueOf({{1}, {2, "", "damaged"}, {3}});
  FetchAll(queue.get());
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(TakeAvailable(queue.get()), Numbers{0});
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(TakeAvailable(queue.get()), (Numbers{1, 2}));
  for (int again = 0; again < 3; ++again) {
    ExpectError(ErrorCode::kDataLoss, "damaged", [&] { queue->Poll(); });
    EXPECT_EQ(queue->available(), 0u);
  }
}

TEST(ChunkQueue, AnErrorOfClaimEndsTheFileBehindWhatClaimHadListed) {
  for (const int64_t listed : {0, 2}) {
    const Ref<ChunkQueue> queue = QueueOf({{1}, {listed, "cut off"}, {3}});
    const Ref<Chunk> first = Claimed(queue.get(), kAhead);
    EXPECT_FALSE(Claimed(queue.get(), kAhead));
    EXPECT_FALSE(Claimed(queue.get(), kAhead));  // the third is never looked for
    EXPECT_FALSE(queue->backlog().claimable);
    EXPECT_EQ(queue->Poll(), State::kWaiting);  // the error does not overtake the records before it
    FetchNow(queue.get(), first);
    EXPECT_EQ(queue->Poll(), State::kRecords);
    EXPECT_EQ(TakeAvailable(queue.get()), Numbers{0});
    if (listed > 0) {
      EXPECT_EQ(queue->Poll(), State::kRecords);
      EXPECT_EQ(TakeAvailable(queue.get()), (Numbers{1, 2}));
    }
    for (int again = 0; again < 3; ++again) {
      ExpectError(ErrorCode::kDataLoss, "cut off", [&] { queue->Poll(); });
    }
  }
}

TEST(ChunkQueue, IsClaimedByOneThreadAtATime) {
  Gate begun, resume_at;
  const Ref<ChunkQueue> queue = QueueOf({{1, "", "", &begun, &resume_at}, {1}});
  EXPECT_TRUE(queue->backlog().claimable);
  std::thread other([&] { FetchNow(queue.get(), Claimed(queue.get(), kAhead)); });
  begun.Wait();
  EXPECT_FALSE(queue->backlog().claimable);
  EXPECT_FALSE(Claimed(queue.get(), kAhead));
  EXPECT_EQ(queue->Poll(), State::kWaiting);
  resume_at.Open();
  other.join();
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_TRUE(queue->backlog().claimable);
  EXPECT_TRUE(Claimed(queue.get(), kAhead));
}

TEST(ChunkQueue, TellsWhatWaitsToBeTaken) {
  ScriptedChunk longer{3};
  longer.length = 99;
  const Ref<ChunkQueue> queue = QueueOf({{2}, longer});
  EXPECT_EQ(queue->backlog().chunks, 0u);
  FetchNow(queue.get(), Claimed(queue.get(), kAhead));
  ChunkQueue::Backlog load = queue->backlog();
  EXPECT_EQ(load.chunks, 1u);
  EXPECT_EQ(load.records, 2u);
  EXPECT_EQ(load.bytes, SizeClass(16));
  const Ref<Chunk> second = Claimed(queue.get(), kAhead);
  load = queue->backlog();
  EXPECT_EQ(load.chunks, 2u);
  EXPECT_EQ(load.records, 2u);  // the number in the second chunk is not known yet
  EXPECT_EQ(load.bytes, SizeClass(16) + 99);
  FetchNow(queue.get(), second);
  EXPECT_EQ(queue->backlog().records, 5u);
  EXPECT_EQ(queue->Poll(), State::kRecords);  // the first is the one that is taken from
  load = queue->backlog();
  EXPECT_EQ(load.chunks, 1u);
  EXPECT_EQ(load.records, 3u);
  EXPECT_TRUE(load.claimable);
  EXPECT_FALSE(Claimed(queue.get(), kAhead));
  EXPECT_FALSE(queue->backlog().claimable);
}

TEST(ChunkQueue, AChunkForWhichThereIsNoMemoryAheadWaitsToBeClaimedOnceMore) {
  const LimitInForce limit(size_t{4} << 20);
  const Ref<ChunkQueue> queue = QueueOf({{34000}, {1}});  // more than a quarter of the limit
  for (int time = 0; time < 2; ++time) {
    const Ref<Chunk> chunk = Claimed(queue.get(), kAhead);
    EXPECT_EQ(chunk->offset, 0u);
    EXPECT_FALSE(queue->backlog().idle);
    const MemoryScope ahead(nullptr, kAhead);
    EXPECT_EQ(queue->Fetch(chunk), Did::kNotYet);
    EXPECT_TRUE(queue->backlog().idle);
    EXPECT_TRUE(queue->backlog().claimable);
    EXPECT_EQ(queue->backlog().chunks, 0u);
    EXPECT_EQ(queue->Poll(), State::kWaiting);
  }
  FetchNow(queue.get(), Claimed(queue.get(), kAhead));
  FetchAll(queue.get());
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(TakeAvailable(queue.get()).size(), 34000u);
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(TakeAvailable(queue.get()), Numbers{34000});
  EXPECT_EQ(queue->Poll(), State::kEnd);
}

// Otherwise memory for later chunks would count as needed now, in some runs and not in others.
TEST(ChunkQueue, OnlyTheNextChunkIsClaimedBecauseItIsNeeded) {
  const Ref<ChunkQueue> queue = QueueOf({{1}, {1}, {1}});
  const Ref<Chunk> first = Claimed(queue.get(), kNow);
  EXPECT_TRUE(first);
  EXPECT_FALSE(Claimed(queue.get(), kNow));
  const Ref<Chunk> second = Claimed(queue.get(), kAhead);
  EXPECT_TRUE(second);
  EXPECT_FALSE(Claimed(queue.get(), kNow));
  FetchNow(queue.get(), first);
  EXPECT_FALSE(Claimed(queue.get(), kNow));
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(TakeAvailable(queue.get()), Numbers{0});
  EXPECT_FALSE(Claimed(queue.get(), kNow));
  FetchNow(queue.get(), second);
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(TakeAvailable(queue.get()), Numbers{1});
  EXPECT_TRUE(Claimed(queue.get(), kNow));
}

// A stream reads in Claim. What it had read when memory was refused must not be lost with the
// chunk.
TEST(ChunkQueue, AClaimThatIsRefusedMemoryIsMadeOnceMore) {
  const LimitInForce limit(size_t{4} << 20);
  class Stream final : public FileSource {
   public:
    bool Claim(Chunk* chunk) override {
      if (claimed_) return false;
      chunk->bytes = BufferPool::At(Place()).Take(size_t{2} << 20);
      chunk->pieces.push_back({0, 8});
      return claimed_ = true;
    }
    void Fetch(Chunk*) const override {}

   private:
    bool claimed_ = false;
  };
  const Ref<ChunkQueue> queue(
      new ChunkQueue(std::make_unique<Stream>(), {0, 0, "stream", nullptr, {}}));
  for (int time = 0; time < 2; ++time) {
    const MemoryScope scope(nullptr, kAhead);
    Ref<Chunk> none;
    EXPECT_EQ(queue->Claim(kAhead, &none), Did::kNotYet);
    EXPECT_TRUE(queue->backlog().claimable);
    EXPECT_EQ(queue->Poll(), State::kWaiting);
  }
  FetchNow(queue.get(), Claimed(queue.get(), kAhead));
  EXPECT_EQ(queue->Poll(), State::kRecords);
  EXPECT_EQ(queue->available(), 1u);
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/prefetcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "tests/fakes/scripted_file.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// A prefetcher that is stopped at the end, as its owner would stop it.
class Reading {
 public:
  explicit Reading(ReadAhead limits = {})
      : prefetcher_(new Prefetcher(limits, Ref<MemoryAccount>(new MemoryAccount))) {}
  ~Reading() { prefetcher_->Stop(); }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

  Prefetcher* operator->() const { return prefetcher_.get(); }
  ChunkQueue* Add(const std::string& name, std::vector<ScriptedChunk> chunks) {
    queues_.emplace_back(
        new ChunkQueue(std::make_unique<ScriptedFile>(name, std::move(chunks), &script_),
                       {0, 0, name, nullptr, {}}));
    prefetcher_->Add(queues_.back());
    return queues_.back().get();
  }
  Strings events() const { return script_.events(); }

 private:
  Script script_;
  const Ref<Prefetcher> prefetcher_;
  std::vector<Ref<ChunkQueue>> queues_;
};

// Takes one record; -1 at the end.
int64_t TakeOne(const Reading& reading, ChunkQueue* queue) {
  if (!reading->Fill(queue)) return -1;
  TicketRun run;
  run.tickets.resize(1);
  queue->KeepIn(&run);
  queue->Take(1, 1, 0, 1, run.tickets.data());
  return NumberOf(run.tickets[0]);
}

std::vector<ScriptedChunk> Chunks(size_t count, int64_t records = 1) {
  return std::vector<ScriptedChunk>(count, ScriptedChunk{records});
}

// A chunk of one record whose fetch says that it has begun, and waits.
ScriptedChunk Held(Gate* begun, Gate* resume_at) {
  ScriptedChunk chunk{1};
  chunk.fetch_begun = begun;
  chunk.fetch_gate = resume_at;
  return chunk;
}

TEST(Prefetcher, NeedsNoWorker) {
  const PoolSize pool(0);
  Reading reading;
  ChunkQueue* file = reading.Add("a", Chunks(3, 2));
  EXPECT_EQ(reading.events(), Strings{});  // nothing is read before it is needed
  EXPECT_FALSE(reading->Ready(file));
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(TakeOne(reading, file), i);
  EXPECT_EQ(TakeOne(reading, file), -1);
  EXPECT_TRUE(reading->Ready(file));
  EXPECT_EQ(reading.events(), (Strings{"claim a0", "fetch a0", "claim a1", "fetch a1", "claim a2",
                                       "fetch a2", "end a"}));
}

TEST(Prefetcher, ThrowsTheErrorOfAFileAtItsPlaceAgainAndAgain) {
  for (const int workers : {0, 1, 2, 7}) {
    const PoolSize pool(workers);
    Reading reading;
    ChunkQueue* file = reading.Add("a", {{2}, {1, "", "damaged"}, {5}});
    ChunkQueue* other = reading.Add("b", Chunks(2));
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(TakeOne(reading, file), i);
    for (int again = 0; again < 3; ++again) {
      ExpectError(ErrorCode::kDataLoss, "damaged", [&] { reading->Fill(file); });
      ExpectError(ErrorCode::kDataLoss, "damaged", [&] { reading->Ready(file); });
    }
    // An error of one file does not end the other file.
    EXPECT_EQ(TakeOne(reading, other), 0);
    EXPECT_EQ(TakeOne(reading, other), 1);
    EXPECT_EQ(TakeOne(reading, other), -1);
  }
}

TEST(Prefetcher, FetchesForTheFileThatHasTheLeastInStoreTheFirstOfEquals) {
  const PoolSize pool(0);
  Reading reading(ReadAhead{SIZE_MAX, 100});
  reading.Add("a", Chunks(3, 2));
  reading.Add("b", Chunks(2, 1));
  for (int i = 0; i < 7; ++i) reading->Help();  // some of which meet an end
  Strings claims;
  for (const std::string& event : reading.events()) {
    if (event.compare(0, 5, "fetch") != 0) claims.push_back(event);
  }
  // b1 comes before a1: as many chunks, but fewer records.
  EXPECT_EQ(claims, (Strings{"claim a0", "claim b0", "claim b1", "claim a1", "end b", "claim a2",
                             "end a"}));
}

TEST(Prefetcher, HelpsWithNothingThatIsNotWanted) {
  const PoolSize pool(0);
  Reading reading(ReadAhead{SIZE_MAX, 3});
  EXPECT_FALSE(reading->Help());
  ChunkQueue* file = reading.Add("a", Chunks(10, 1));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(reading->Help()) << i;
  EXPECT_FALSE(reading->Help());  // three records are in store
  EXPECT_EQ(file->backlog().records, 3u);
  TakeOne(reading, file);
  EXPECT_TRUE(reading->Help());
  EXPECT_FALSE(reading->Help());
}

TEST(Prefetcher, EachFileMayHaveOneChunkWaiting) {
  const PoolSize pool(0);
  Reading reading;
  std::vector<ChunkQueue*> files;
  files.reserve(5);
  for (int i = 0; i < 5; ++i) files.push_back(reading.Add(StrCat("f", i, "."), Chunks(3)));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(reading->Help(), i < 5);
  for (const ChunkQueue* file : files) EXPECT_EQ(file->backlog().chunks, 1u);
}

TEST(Prefetcher, WorkersReadTwoChunksAThreadAhead) {
  for (const int workers : {1, 2, 7}) {
    const PoolSize pool(workers);
    Reading reading;
    const ChunkQueue* file = reading.Add("a", Chunks(100));
    const auto most = 2 * (static_cast<size_t>(workers) + 1);
    WaitUntil([&] { return file->backlog().records >= most; });
    EXPECT_FALSE(reading->Help());  // no more is wanted
    EXPECT_LE(file->backlog().chunks, most + static_cast<size_t>(workers))
        << "more than each worker may have been at";
  }
}

// A job whose calls do not return until `over` is set.
class MeetingJob final : public Job {
 public:
  std::atomic<int> arrived{0};
  std::atomic<bool> over{false};

 private:
  void Work() override {
    ++arrived;
    WaitUntil([this] { return over.load(); });
  }
};

TEST(Prefetcher, NoMoreWorkersAreAtWorkThanItsLimit) {
  const PoolSize pool(4);
  Gate begun[3], resume_at;
  std::vector<ScriptedChunk> chunks = Chunks(3);
  for (size_t i = 0; i < 3; ++i) {
    chunks[i].fetch_begun = &begun[i];
    chunks[i].fetch_gate = &resume_at;
  }
  Reading reading(ReadAhead{2, 100});
  ChunkQueue* file = reading.Add("a", chunks);
  begun[0].Wait();
  begun[1].Wait();
  // Calls begin in the order in which they were asked for. So when the two other workers are busy
  // with later calls, a third chunk is being fetched by now or never will be.
  const Ref<MeetingJob> meeting(new MeetingJob);
  meeting->Submit();
  meeting->Submit();
  WaitUntil([&] { return meeting->arrived == 2 || reading.events().size() > 4; });
  EXPECT_EQ(reading.events().size(), 4u) << "a third chunk was begun";
  meeting->over = true;
  resume_at.Open();
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(TakeOne(reading, file), i);
  EXPECT_EQ(TakeOne(reading, file), -1);
}

TEST(Prefetcher, BeyondItsLimitOfBytesNothingIsReadThatIsNotNeeded) {
  const PoolSize pool(2);
  Gate begun, resume_at;
  std::vector<ScriptedChunk> large = Chunks(2);
  large[0].length = kMaxReadAheadBytes;
  large[0].fetch_begun = &begun;
  large[0].fetch_gate = &resume_at;
  Reading reading;
  ChunkQueue* file = reading.Add("a", large);
  begun.Wait();
  ChunkQueue* other = reading.Add("b", Chunks(1));
  EXPECT_FALSE(reading->Help());
  EXPECT_EQ(other->backlog().chunks, 0u);
  EXPECT_EQ(TakeOne(reading, other), 0);  // it is needed at once
  resume_at.Open();
  EXPECT_EQ(TakeOne(reading, file), 0);
  EXPECT_EQ(TakeOne(reading, file), 1);
}

TEST(Prefetcher, ReadyDoesNotWait) {
  const PoolSize pool(1);
  Gate begun, resume_at;
  const ScriptedChunk held = Held(&begun, &resume_at);
  Reading reading;
  ChunkQueue* file = reading.Add("a", {held});
  begun.Wait();
  EXPECT_FALSE(reading->Ready(file));
  resume_at.Open();
  WaitUntil([&] { return reading->Ready(file); });
  EXPECT_EQ(TakeOne(reading, file), 0);
}

TEST(Prefetcher, WhoWaitsWorksOnOtherFiles) {
  const PoolSize pool(1);
  Gate begun, resume_at;
  const ScriptedChunk held = Held(&begun, &resume_at);
  ScriptedChunk opener{1};
  opener.fetch_begun = &resume_at;
  Reading reading;
  ChunkQueue* file = reading.Add("a", {held});
  begun.Wait();
  // The only worker is held until a chunk of the other file is fetched. The consumer, which waits
  // for the first file, must fetch it.
  reading.Add("b", {opener});
  EXPECT_EQ(TakeOne(reading, file), 0);
}

// A consumer that helps must not be held up by what it helps with.
TEST(Prefetcher, WhoHelpsLeavesASilentFileWhenItsOwnChunkIsThere) {
  const PoolSize pool(1);
  Gate begun, resume_at, silent;
  const ScriptedChunk held = Held(&begun, &resume_at);
  ScriptedChunk stalls{1};
  stalls.fetch_begun = &resume_at;  // what the consumer needs comes while it helps
  stalls.fetch_stalls = &silent;
  Reading reading;
  ChunkQueue* file = reading.Add("a", {held});
  begun.Wait();
  ChunkQueue* other = reading.Add("b", {stalls});
  EXPECT_EQ(TakeOne(reading, file), 0);
  silent.Open();
  EXPECT_EQ(TakeOne(reading, other), 0);  // nothing was lost
  const Strings events = reading.events();
  EXPECT_EQ(std::count(events.begin(), events.end(), "claim b0"), 1);
  EXPECT_GE(std::count(events.begin(), events.end(), "fetch b0"), 2);
}

TEST(Prefetcher, StopEndsWaitsOfItsWorkers) {
  const PoolSize pool(2);
  Gate begun, never;
  ScriptedChunk stalls{1};
  stalls.fetch_begun = &begun;
  stalls.fetch_stalls = &never;
  Reading reading;
  reading.Add("a", {stalls});
  begun.Wait();
  reading->Stop();
}

TEST(Prefetcher, AFileThatIsRemovedIsReadNoFurther) {
  const PoolSize pool(0);
  Reading reading(ReadAhead{SIZE_MAX, 100});
  const ChunkQueue* file = reading.Add("a", Chunks(5));
  EXPECT_TRUE(reading->Help());
  reading->Remove(*file);
  EXPECT_FALSE(reading->Help());
  reading->Remove(*file);  // which does nothing
  EXPECT_EQ(reading.events(), (Strings{"claim a0", "fetch a0"}));
}

// F24: the owner goes away while a worker is in the middle of a chunk.
TEST(Prefetcher, StopWaitsForTheChunksThatAreBeingFetched) {
  for (const int workers : {1, 2, 7}) {
    const PoolSize pool(workers);
    Gate begun, resume_at;
    std::vector<ScriptedChunk> chunks = Chunks(20);
    chunks[0].fetch_begun = &begun;
    chunks[0].fetch_gate = &resume_at;
    Reading reading;
    ChunkQueue* file = reading.Add("a", chunks);
    begun.Wait();
    std::atomic<bool> stopped{false};
    std::thread owner([&] {
      reading->Stop();
      stopped = true;
    });
    std::this_thread::yield();
    EXPECT_FALSE(stopped);
    resume_at.Open();
    owner.join();
    const Strings before = reading.events();
    EXPECT_FALSE(reading->Help());
    EXPECT_EQ(reading.events(), before);
    EXPECT_TRUE(file->backlog().records > 0);
    // Another pass.
    ChunkQueue* next = reading.Add("b", Chunks(3));
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(TakeOne(reading, next), i);
    EXPECT_EQ(TakeOne(reading, next), -1);
  }
}

TEST(Prefetcher, ARequestToStopEndsTheWait) {
  const PoolSize pool(1);
  Gate begun, resume_at;
  const ScriptedChunk held = Held(&begun, &resume_at);
  Reading reading;
  ChunkQueue* file = reading.Add("a", {held});
  begun.Wait();
  RequestStop();
  ExpectError(ErrorCode::kCancelled, "", [&] { reading->Fill(file); });
  ClearStop();
  resume_at.Open();
  EXPECT_EQ(TakeOne(reading, file), 0);  // nothing was lost
}

TEST(Prefetcher, WorkersComeBackAfterThePoolWasGivenAnotherSize) {
  const PoolSize pool(1);
  Gate begun, resume_at;
  const ScriptedChunk held = Held(&begun, &resume_at);
  Reading reading;
  reading.Add("a", {held, {1}, {1}});
  begun.Wait();
  // When the worker asks for more calls, no other worker is left to make them.
  std::thread resize([] { ThreadPool::Get().SetSize(1); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  resume_at.Open();
  resize.join();
  Gate another;
  ScriptedChunk chunk{1};
  chunk.fetch_begun = &another;
  reading.Add("b", {chunk});
  another.Wait();
}

TEST(Prefetcher, AnyNumberOfWorkersReadsTheSame) {
  for (const int workers : {0, 1, 2, 7, 16}) {
    const PoolSize pool(workers);
    Reading reading(ReadAhead{SIZE_MAX, 7});
    std::vector<ChunkQueue*> files;
    files.reserve(4);
    for (int f = 0; f < 4; ++f) files.push_back(reading.Add("f", Chunks(50, f)));
    for (int64_t i = 0; i < 150; ++i) {
      for (int64_t f = 0; f < 4; ++f) {
        EXPECT_EQ(TakeOne(reading, files[static_cast<size_t>(f)]), i < 50 * f ? i : -1);
      }
    }
  }
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// The reader of a queue, alone and below others.
#include "readers/sources/queue_reader.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/random.h"
#include "framework/base/thread_pool.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/multi_pass_reader.h"
#include "readers/decorate/shard_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "tests/gate.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Queue = std::shared_ptr<ElementQueue>;

const std::vector<SlotSpec> kSlots = {{DataType::kInt64, {1, 1}, 0, true}};

std::vector<LoDTensor> Of(int64_t number) { return {MakeTensor<int64_t>({1, 1}, {number})}; }

Queue Filled(int64_t elements) {
  auto queue = std::make_shared<ElementQueue>(100);
  for (int64_t i = 0; i < elements; ++i) queue->Push(0, Of(i));
  return queue;
}

std::unique_ptr<ReaderBase> Reading(const Queue& queue) {
  return std::make_unique<QueueReader>(queue, kSlots);
}

std::vector<int64_t> NumbersOf(ReaderBase* reader) {
  std::vector<int64_t> numbers;
  std::vector<LoDTensor> element;
  while (reader->HasNext()) {
    reader->ReadNext(&element);
    for (const int64_t number : ValuesOf<int64_t>(element.at(0))) numbers.push_back(number);
  }
  return numbers;
}

TEST(QueueReader, HandsOverTheTensorThatWasPushed) {
  auto queue = std::make_shared<ElementQueue>(2);
  std::vector<LoDTensor> pushed = Of(7);
  const void* const values = pushed[0].raw_data();
  queue->Push(0, std::move(pushed));
  std::vector<LoDTensor> element;
  Reading(queue)->ReadNext(&element);
  EXPECT_EQ(element.at(0).raw_data(), values);

  pushed = Of(8);
  const void* const others = pushed[0].raw_data();
  queue->Push(0, std::move(pushed));
  DoubleBufferReader(Reading(queue), Place(), 2).ReadNext(&element);
  EXPECT_EQ(element.at(0).raw_data(), others);
}

TEST(QueueReader, RefusesElementsThatAreNotAsDeclared) {
  const Queue queue = Filled(1);
  queue->Push(0, {MakeTensor<float>({1, 1}, {1})});
  const std::unique_ptr<ReaderBase> reader = Reading(queue);
  reader->set_origin("reader 'fed' (create_py_reader)");
  EXPECT_EQ(ReadSome(reader.get(), 1).size(), 1u);
  ExpectError(ErrorCode::kDataLoss,
              "slot 0: int64 [1, 1] is declared, float32 [1, 1] was found\n"
              "  while reading record 1 of reader 'fed' (create_py_reader)",
              [&] { reader->HasNext(); });
  queue->Restart();
  reader->ReInit();
  queue->Push(queue->generation(), {});
  ExpectError(ErrorCode::kInvalidArgument, "an element of 0 tensors from a reader of 1 slots",
              [&] { reader->HasNext(); });
}

TEST(QueueReader, PlansNoFurtherAheadThanWhatIsThere) {
  const Queue queue = Filled(7);
  const auto ready = [](const std::unique_ptr<ReaderBase>& reader) {
    return reader->ElementsReady();
  };
  EXPECT_EQ(ready(Reading(queue)), 7u);
  EXPECT_EQ(ready(std::make_unique<MultiPassReader>(Reading(queue), 2)), 7u);
  EXPECT_EQ(ready(std::make_unique<BatchReader>(Reading(queue), 3, false, BatchMode::kConcat)), 2u);
  EXPECT_EQ(ready(std::make_unique<ShardReader>(Reading(queue), 2, 1)), 3u);
  EXPECT_EQ(ready(std::make_unique<ShuffleReader>(Reading(queue), 2, RandomKey(1, 2, "s"))), 0u);
  ReaderHolder holder;
  holder.Reset(Reading(queue));
  const std::unique_ptr<ReaderBase> handle = holder.NewHandle();
  EXPECT_EQ(ready(handle), 7u);
  const std::unique_ptr<ReaderBase> other = holder.NewHandle();
  EXPECT_EQ(ready(handle), 0u);  // the other handle may take it
}

// No worker waits for the queue. So a double buffer can be destroyed or reset, and the process can
// fork, while no thread fills the queue.
TEST(QueueReader, KeepsNoWorkerWaiting) {
  const PoolSize pool(1);
  const auto queue = std::make_shared<ElementQueue>(10);
  DoubleBufferReader reader(
      std::make_unique<BatchReader>(Reading(queue), 4, false, BatchMode::kConcat), Place(), 3);
  for (int64_t i = 0; i < 6; ++i) queue->Push(0, Of(i));
  EXPECT_EQ(ReadSome(&reader, 1).size(), 1u);
  ThreadPool::Get().Pause();  // returns, because no job runs for ever
  ThreadPool::Get().Resume();
  reader.ReInit();
  for (int64_t i = 0; i < 6; ++i) queue->Push(queue->generation(), Of(i));
  queue->Close(queue->generation());
  EXPECT_EQ(NumbersOf(&reader), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(QueueReader, DropsWhatIsLeftOfAPassThatIsCutShort) {
  for (int repeat = 0; repeat < 50; ++repeat) {
    const auto queue = std::make_shared<ElementQueue>(2);
    DoubleBufferReader reader(Reading(queue), Place(), 2);
    std::thread provider([&] {
      uint64_t generation = queue->Attach();
      for (;;) {
        const auto first = static_cast<int64_t>(100 * generation);
        for (int64_t i = first; i < first + 20 && queue->Push(generation, Of(i)); ++i) {
        }
        queue->Close(generation);
        const auto next = queue->AwaitNext(std::chrono::minutes(1), generation);
        if (!next) return;
        generation = *next;
      }
    });
    WaitUntil([&] { return queue->attached(); });
    for (int64_t pass = 0; pass < 4; ++pass) {
      const std::vector<ElementValue> some = ReadSome(&reader, static_cast<size_t>(pass * 3));
      for (size_t i = 0; i < some.size(); ++i) {
        EXPECT_EQ(some[i], ValueOf(Of(100 * pass + static_cast<int64_t>(i))));
      }
      reader.ReInit();
    }
    std::vector<int64_t> all;
    for (int64_t i = 400; i < 420; ++i) all.push_back(i);
    EXPECT_EQ(NumbersOf(&reader), all);
    queue->Detach();
    provider.join();
  }
}

// A producer of the numbers up to 20 that can begin anywhere.
class Producer {
 public:
  explicit Producer(Queue queue)
      : queue_(std::move(queue)), thread_([this, pass = queue_->Attach()] { Provide(pass); }) {}
  ~Producer() {
    queue_->Detach();
    thread_.join();
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Where it was told to begin each pass.
  std::vector<uint64_t> begun() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return begun_;
  }

 private:
  void Provide(std::optional<uint64_t> pass) {
    for (; pass; pass = queue_->AwaitNext(std::chrono::minutes(1), *pass)) {
      const uint64_t first = queue_->TakeSkip(*pass);
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        begun_.push_back(first);
      }
      for (auto i = static_cast<int64_t>(first); i < 20; ++i) {
        if (!queue_->Push(*pass, Of(i))) break;
      }
      queue_->Close(*pass);
    }
  }

  const Queue queue_;
  std::mutex mutex_;
  std::vector<uint64_t> begun_;
  std::thread thread_;
};

TEST(QueueReader, TellsItsProducerWhereToBegin) {
  const std::unique_ptr<ReaderBase> reader = Reading(Filled(20));
  ReadSome(reader.get(), 7);
  const Position position = Position::Parse(reader->Save().Serialize());
  const auto queue = std::make_shared<ElementQueue>(2);
  const std::unique_ptr<ReaderBase> next = Reading(queue);
  next->Restore(position);
  Producer producer(queue);
  EXPECT_EQ(NumbersOf(next.get()),
            (std::vector<int64_t>{7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
  EXPECT_EQ(producer.begun(), std::vector<uint64_t>{7});
  next->ReInit();
  EXPECT_EQ(NumbersOf(next.get()).size(), 20u);
  EXPECT_EQ(producer.begun(), (std::vector<uint64_t>{7, 0}));
}

TEST(QueueReader, TellsItsProducerThePass) {
  const Queue queue = Filled(3);
  MultiPassReader reader(Reading(queue), 2);
  std::vector<LoDTensor> element;
  for (int i = 0; i < 3; ++i) reader.ReadNext(&element);
  queue->Close(0);
  std::thread producer([&queue] {
    while (queue->generation() == 0) std::this_thread::yield();
    queue->Push(1, Of(static_cast<int64_t>(queue->pass())));
    queue->Close(1);
  });
  EXPECT_EQ(NumbersOf(&reader), std::vector<int64_t>{1});
  producer.join();
}

// What its producer has noted is any bytes, and a part of the place.
TEST(QueueReader, SavesWhatItsProducerHasNoted) {
  const Queue queue = Filled(20);
  const std::string note("a\0\xff\n", 4);
  queue->Note(note);
  const std::unique_ptr<ReaderBase> reader = Reading(queue);
  ReadSome(reader.get(), 7);
  const std::string saved = reader->Save().Serialize();
  const auto other = std::make_shared<ElementQueue>(2);
  other->Note("of before");
  Reading(other)->Restore(Position::Parse(saved));
  EXPECT_EQ(other->note(), note);
}

// What a double buffer had in store is made again, and nothing before it.
TEST(QueueReader, TakesWhatWasInStoreFromItsProducerAgain) {
  DoubleBufferReader reader(Reading(Filled(20)), Place(), 3);
  reader.ExpectSave();
  ReadSome(&reader, 7);
  reader.HasNext();
  const Position position = Position::Parse(reader.Save().Serialize());
  const auto queue = std::make_shared<ElementQueue>(2);
  DoubleBufferReader next(Reading(queue), Place(), 3);
  queue->Expect("the producer must be at work");
  DoubleBufferReader early(Reading(queue), Place(), 3);
  ExpectError(ErrorCode::kInvalidArgument, "the producer must be at work",
              [&] { early.Restore(position); });
  Producer producer(queue);
  next.Restore(position);
  EXPECT_EQ(NumbersOf(&next),
            (std::vector<int64_t>{7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
  EXPECT_EQ(producer.begun().back(), 7u);
}

}  // namespace
}  // namespace millhopper

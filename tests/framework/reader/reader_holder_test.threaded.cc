// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/reader_holder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/random.h"
#include "framework/base/thread_pool.h"
#include "framework/memory/place.h"
#include "framework/reader/chunk_queue.h"
#include "framework/reader/reader.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/fakes/sources.h"
#include "tests/gate.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Values = std::vector<int64_t>;

std::unique_ptr<ReaderBase> Numbers(int64_t records, int64_t plan_error = -1,
                                    int64_t load_error = -1) {
  SourceSpec spec;
  spec.records = records;
  spec.plan_error = plan_error;
  spec.load_error = load_error;
  return MakePlannedSource(spec);
}

Values Read(ReaderBase* reader, size_t most = SIZE_MAX) {
  Values values;
  std::vector<LoDTensor> element;
  while (values.size() < most && reader->HasNext()) {
    reader->ReadNext(&element);
    for (const int64_t value : ValuesOf<int64_t>(element[0])) values.push_back(value);
  }
  return values;
}

Values UpTo(int64_t end, int64_t begin = 0) {
  Values values(static_cast<size_t>(end - begin));
  std::iota(values.begin(), values.end(), begin);
  return values;
}

TEST(ReaderHolder, SaysThatThereIsNoReader) {
  ReaderHolder holder;
  EXPECT_FALSE(holder.has_reader());
  std::vector<LoDTensor> element;
  ExpectError(ErrorCode::kInvalidArgument, "no reader", [&] { holder.NewHandle(); });
  ExpectError(ErrorCode::kInvalidArgument, "no reader", [&] { holder.HasNext(); });
  ExpectError(ErrorCode::kInvalidArgument, "no reader", [&] { holder.ReadNext(&element); });
  ExpectError(ErrorCode::kInvalidArgument, "no reader", [&] { holder.ReInit(); });
  ExpectError(ErrorCode::kInvalidArgument, "no reader", [&] { holder.slots(); });
}

TEST(ReaderHolder, ReadsAsTheReaderDoes) {
  ReaderHolder holder;
  holder.Reset(Numbers(3));
  std::vector<LoDTensor> element;
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(holder.HasNext());
      holder.ReadNext(&element);
      EXPECT_EQ(element[0].scalar<int64_t>(), i);
    }
    EXPECT_FALSE(holder.HasNext());
    const std::optional<Thrown> end = ErrorOf([&] { holder.ReadNext(&element); });
    EXPECT_TRUE(end && end->is_end);
    holder.ReInit();
  }
  EXPECT_EQ(holder.stats().passes, 2u);
  EXPECT_EQ(holder.stats().elements, 6u);
  EXPECT_EQ(holder.stats().records, 6u);
  EXPECT_EQ(holder.stats().bytes, 48u);
}

TEST(ReaderHolder, ResetLeavesHandlesOfTheOldReaderAlone) {
  ReaderHolder holder;
  holder.Reset(Numbers(5));
  const std::unique_ptr<ReaderBase> old = holder.NewHandle();
  EXPECT_EQ(Read(old.get(), 2), UpTo(2));
  holder.Reset(Numbers(9));
  EXPECT_EQ(Read(old.get()), UpTo(5, 2));
  EXPECT_EQ(Read(holder.NewHandle().get()), UpTo(9));
}

// Readers by name, each standing on the one before, as operators that create readers make them.
class Tree {
 public:
  explicit Tree(int64_t records) { root.Reset(Numbers(records)); }
  void Batch(ReaderHolder* below, ReaderHolder* reader, int64_t size) {
    reader->Reset(
        std::make_unique<BatchReader>(below->NewHandle(), size, false, BatchMode::kConcat),
        {below});
  }
  ReaderHolder root, middle, left, right;
};

Values Read(ReaderHolder* holder, size_t most = SIZE_MAX) {
  Values values;
  std::vector<LoDTensor> element;
  while (values.size() < most && holder->HasNext()) {
    holder->ReadNext(&element);
    for (const int64_t value : ValuesOf<int64_t>(element[0])) values.push_back(value);
  }
  return values;
}

TEST(ReInit, ReachesWhatStandsOnTheReader) {
  Tree tree(6);
  tree.Batch(&tree.root, &tree.middle, 1);
  tree.Batch(&tree.middle, &tree.left, 2);
  EXPECT_EQ(Read(&tree.left), UpTo(6));
  for (ReaderHolder* reader : {&tree.root, &tree.middle, &tree.left, &tree.root}) {
    EXPECT_FALSE(tree.left.HasNext());
    reader->ReInit();
    EXPECT_EQ(Read(&tree.left, 2), UpTo(2));
    reader->ReInit();  // from the middle of a pass
    EXPECT_EQ(Read(&tree.left), UpTo(6));
  }
  EXPECT_EQ(tree.left.stats().passes, 9u);
}

TEST(ReInit, IsOnePassForAllThatShareTheReader) {
  Tree tree(6);
  tree.Batch(&tree.root, &tree.middle, 1);
  tree.Batch(&tree.middle, &tree.left, 2);
  tree.Batch(&tree.middle, &tree.right, 2);
  for (ReaderHolder* alone : {&tree.left, &tree.right}) {
    alone->ReInit();  // the other one's pass is over now
    EXPECT_EQ(Read(alone, 2), UpTo(2));
    for (ReaderHolder* reader : {&tree.root, &tree.middle, &tree.root}) {
      reader->ReInit();
      EXPECT_EQ(Read(&tree.left, 2), UpTo(2));
      EXPECT_EQ(Read(&tree.right, 2), UpTo(4, 2));
      EXPECT_EQ(Read(&tree.left), UpTo(6, 4));
      EXPECT_FALSE(tree.right.HasNext());
    }
  }
}

TEST(ReInit, ReachesThoseThatReadInTheMiddle) {
  Tree tree(6);
  tree.Batch(&tree.root, &tree.left, 2);
  EXPECT_EQ(Read(&tree.root, 1), UpTo(1));
  EXPECT_EQ(Read(&tree.left, 2), UpTo(3, 1));
  tree.root.ReInit();
  EXPECT_EQ(Read(&tree.left, 2), UpTo(2));
  EXPECT_EQ(Read(&tree.root), UpTo(6, 2));
}

TEST(ReInit, ReachesOverHoldersThatAreGone) {
  Tree tree(6);
  {
    ReaderHolder gone;
    tree.Batch(&tree.root, &gone, 1);
    tree.Batch(&gone, &tree.left, 2);
    tree.Batch(&tree.root, &tree.right, 2);
    tree.right = ReaderHolder();
    EXPECT_EQ(Read(&gone, 1), UpTo(1));
  }
  tree.root.ReInit();
  EXPECT_EQ(Read(&tree.left), UpTo(6));
  tree.left = ReaderHolder();
  tree.root.ReInit();
  EXPECT_EQ(Read(&tree.root), UpTo(6));
}

TEST(ReInit, PassesOverReadersThatNoHolderReads) {
  Tree tree(6);
  std::unique_ptr<ReaderBase> handle;
  {
    ReaderHolder gone;
    tree.Batch(&tree.root, &gone, 1);
    handle = gone.NewHandle();
  }
  EXPECT_EQ(Read(handle.get(), 1), UpTo(1));
  EXPECT_EQ(Read(&tree.root, 1), UpTo(2, 1));
  tree.root.ReInit();
  EXPECT_EQ(Read(&tree.root), UpTo(6));
  EXPECT_EQ(Read(handle.get()), Values{});
}

TEST(ReInit, LeavesAReaderThatHasBeenReplacedAlone) {
  Tree tree(6);
  tree.Batch(&tree.root, &tree.left, 2);
  EXPECT_EQ(Read(&tree.left, 2), UpTo(2));
  tree.root.Reset(Numbers(3));
  tree.root.ReInit();
  EXPECT_EQ(Read(&tree.root), UpTo(3));
  EXPECT_EQ(Read(&tree.left), UpTo(6, 2));
}

TEST(Handles, TakeTurnsWithOneSource) {
  ReaderHolder holder;
  holder.Reset(Numbers(6));
  const auto one = holder.NewHandle();
  const auto two = holder.NewHandle();
  EXPECT_EQ(Read(one.get(), 2), UpTo(2));
  EXPECT_EQ(Read(two.get(), 2), UpTo(4, 2));
  EXPECT_EQ(Read(one.get()), UpTo(6, 4));
  EXPECT_EQ(Read(two.get()), Values{});
}

TEST(Handles, DeliverWhatTheyHadPlannedWhenAnotherRestartsTheSource) {
  ReaderHolder holder;
  holder.Reset(Numbers(6));
  const auto one = holder.NewHandle();
  const auto two = holder.NewHandle();
  EXPECT_TRUE(one->HasNext());  // record 0 is its own
  two->ReInit();
  EXPECT_EQ(Read(two.get(), 2), UpTo(2));
  EXPECT_EQ(Read(one.get()), Values{0});  // and then the end
  EXPECT_FALSE(one->HasNext());
  one->ReInit();  // joins the running pass
  EXPECT_EQ(Read(one.get(), 2), UpTo(4, 2));
  EXPECT_EQ(Read(two.get()), UpTo(6, 4));
  one->ReInit();  // no other handle has begun the next pass, so this one does
  EXPECT_EQ(Read(one.get()), UpTo(6));
}

TEST(Handles, GetTheErrorOfASharedSourceEach) {
  ReaderHolder holder;
  holder.Reset(Numbers(6, 2));
  const auto one = holder.NewHandle();
  const auto two = holder.NewHandle();
  EXPECT_EQ(Read(one.get(), 2), UpTo(2));
  for (int i = 0; i < 2; ++i) {
    ExpectError(ErrorCode::kDataLoss, "record 2", [&] { one->HasNext(); });
    ExpectError(ErrorCode::kDataLoss, "record 2", [&] { two->HasNext(); });
  }
  two->ReInit();
  EXPECT_EQ(Read(two.get(), 1), UpTo(1));
  ExpectError(ErrorCode::kDataLoss, "record 2", [&] { one->HasNext(); });
  one->ReInit();
  EXPECT_EQ(Read(one.get(), 1), UpTo(2, 1));
}

TEST(Handles, KeepAFailedLoadToThemselves) {
  ReaderHolder holder;
  holder.Reset(Numbers(6, -1, 0));
  const auto one = holder.NewHandle();
  const auto two = holder.NewHandle();
  std::vector<LoDTensor> element;
  ExpectError(ErrorCode::kDataLoss, "record 0", [&] { one->ReadNext(&element); });
  EXPECT_EQ(Read(two.get()), UpTo(6, 1));
}

TEST(Handles, MayBeDestroyedWhileOthersRead) {
  ReaderHolder holder;
  holder.Reset(Numbers(6));
  auto one = holder.NewHandle();
  const auto two = holder.NewHandle();
  EXPECT_EQ(Read(one.get(), 2), UpTo(2));
  one.reset();
  EXPECT_EQ(Read(two.get()), UpTo(6, 2));
}

// Tells which pass it is in.
class PassSource final : public ReaderBase {
 public:
  PassSource() : ReaderBase(SlotsOf(SourceSpec())) {}
  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override {
    for (size_t i = 0; i < n; ++i) {
      const uint64_t pass = tickets[i].id.pass;
      __builtin_memcpy(rows->Append(0, 1), &pass, sizeof(pass));
    }
  }

 private:
  void PlanNext(size_t, TicketRun* run) override {
    if (std::exchange(planned_, true)) return;
    Ticket ticket;
    ticket.id.pass = pass_;
    run->Add(ticket);
  }
  void Rewind(uint64_t pass) override {
    pass_ = pass;
    planned_ = false;
  }
  uint64_t pass_ = 0;
  bool planned_ = false;
};

TEST(Handles, HandThePassDownToASourceOfTheirOwn) {
  ReaderHolder holder;
  holder.Reset(std::make_unique<PassSource>());
  const auto only = holder.NewHandle();
  only->Restart(17);
  EXPECT_EQ(Read(only.get()), Values{17});
}

TEST(Handles, CountTheRestartsOfASharedSourceAsItsPass) {
  ReaderHolder holder;
  holder.Reset(std::make_unique<PassSource>());
  const auto one = holder.NewHandle();
  const auto two = holder.NewHandle();
  one->Restart(17);
  EXPECT_EQ(Read(one.get()), Values{1});
  two->Restart(99);  // joins pass 1, which has been read
  EXPECT_EQ(Read(two.get()), Values{});
  two->Restart(100);
  EXPECT_EQ(Read(two.get()), Values{2});
}

TEST(Handles, KnowTheLengthOfAPassOnlyWhereTheyGetAllOfIt) {
  ReaderHolder holder;
  holder.Reset(Numbers(6));
  auto one = holder.NewHandle();
  EXPECT_EQ(one->PassLength(), 6u);
  EXPECT_EQ(BatchReader(holder.NewHandle(), 4, false, BatchMode::kConcat).PassLength(),
            std::nullopt);
  EXPECT_EQ(BatchReader(std::move(one), 4, false, BatchMode::kConcat).PassLength(), 2u);
}

// Opens a gate when it is asked for its length, and answers when another one is open.
class AskedReader final : public DecoratedReader {
 public:
  AskedReader(std::unique_ptr<ReaderBase> reader, Gate* asked, Gate* answer)
      : DecoratedReader(std::move(reader)), asked_(asked), answer_(answer) {}

  std::optional<uint64_t> PassLength() const override {
    asked_->Open();
    answer_->Wait();
    return reader().PassLength();
  }

 private:
  void PlanNext(size_t n, TicketRun* run) override { reader().Plan(n, run); }

  Gate* const asked_;
  Gate* const answer_;
};

// To count records files are opened, which may take long. The consumer must not wait for it.
TEST(PassLength, IsCountedWhileOthersRead) {
  Gate asked, answer;
  ReaderHolder holder;
  holder.Reset(std::make_unique<AskedReader>(Numbers(6), &asked, &answer));
  std::optional<uint64_t> length;
  std::thread other([&] { length = holder.PassLength(); });
  asked.Wait();
  std::vector<LoDTensor> element;
  holder.ReadNext(&element);
  answer.Open();
  other.join();
  EXPECT_EQ(length, 6u);
}

// A status line asks where there is a terminal, which must not make a difference.
TEST(PassLength, LeavesNoTrace) {
  const std::string path = TempName("images.idx");
  const std::string head("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x01", 16);
  WriteFile(path, head + "ab");
  ReaderHolder holder;
  holder.Reset(OpenFile(*FindFileFormat("idx"), path, "", {}));
  EXPECT_EQ(holder.PassLength(), 2u);
  EXPECT_EQ(holder.Chain().bytes_read, 0u);
  holder.NewHandle()->TakeShare({2, 0});  // only the first handle can
  EXPECT_EQ(holder.PassLength(), std::nullopt);
}

// Readers restart at any moment, each on its own thread. No consumer gets an element twice in one
// pass of the source, and no thread hangs.
TEST(Handles, StandRestartsAtAnyMoment) {
  const PoolSize pool(2);
  SourceSpec spec;
  spec.records = 64;
  spec.jitter = 5;
  ReaderHolder holder;
  holder.Reset(MakePlannedSource(spec));
  std::vector<std::thread> threads;
  for (uint64_t k = 0; k < 3; ++k) {
    threads.emplace_back([&holder, k] {
      DoubleBufferReader reader(
          std::make_unique<BatchReader>(
              std::make_unique<ShuffleReader>(holder.NewHandle(), 5, RandomKey(k, 0, "")), 3, false,
              BatchMode::kConcat),
          Place(), 2);
      for (uint64_t round = 0; round < 30; ++round) {
        const Values values = Read(&reader, MixBits(k + 10 * round) % 40);
        EXPECT_EQ(std::set<int64_t>(values.begin(), values.end()).size(), values.size());
        reader.ReInit();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// ---- Positions of readers that share one. ----

ReaderHolder::ReadersByName TopsOf(Tree* tree) {
  return {{"left", &tree->left}, {"right", &tree->right}, {"root", &tree->root}};
}

// Two readers on one, and sometimes the one itself is read.
std::unique_ptr<Tree> Shared(int64_t records) {
  auto tree = std::make_unique<Tree>(records);
  tree->Batch(&tree->root, &tree->middle, 1);
  tree->Batch(&tree->middle, &tree->left, 2);
  tree->Batch(&tree->root, &tree->right, 3);
  return tree;
}

// What a call yields that depends on the number of the step only.
Values Step(Tree* tree, int step) {
  ReaderHolder* const readers[] = {&tree->left, &tree->right, &tree->left, &tree->root};
  if (step % 17 == 16) {
    tree->root.ReInit();
    return {-1};
  }
  if (step % 5 == 4) return {readers[step % 4]->HasNext() ? 1 : 0};
  return Read(readers[step % 4], 1);
}

// Saved and restored after every few steps, the readers yield what they yield otherwise.
void ExpectToGoOn(const std::function<std::unique_ptr<Tree>()>& make) {
  constexpr int kSteps = 60;
  const std::unique_ptr<Tree> whole = make();
  std::vector<Values> wanted;
  for (int step = 0; step < kSteps; ++step) wanted.push_back(Step(whole.get(), step));
  for (const int every : {1, 2, 3, 7, 30}) {
    std::unique_ptr<Tree> tree = make();
    ReaderHolder::ExpectSaveOfAll(TopsOf(tree.get()));
    for (int step = 0; step < kSteps; ++step) {
      if (step % every == 0) {
        ReaderHolder::PositionsByName stored;
        for (const auto& [name, position] : ReaderHolder::SaveAll(TopsOf(tree.get()))) {
          stored.emplace(name, Position::Parse(position.Serialize()));
        }
        EXPECT_EQ(stored.count("root"), step > 3 ? 1u : 0u) << "it was read at step 3";
        tree = make();
        ReaderHolder::RestoreAll(TopsOf(tree.get()), stored);
      }
      ASSERT_EQ(Step(tree.get(), step), wanted[static_cast<size_t>(step)]) << "at step " << step;
    }
  }
}

TEST(SaveAll, ReadersOnOneGoOnTogether) {
  ExpectToGoOn([] { return Shared(23); });
}

// How many records a reader takes at once decides which are left to the other one.
TEST(SaveAll, ReadersOfFilesGoOnWithTheSameRecords) {
  const PoolSize pool(0);
  std::vector<std::string> names;
  for (int64_t file = 0; file < 3; ++file) {
    const Values values = UpTo(1000 * file + 60, 1000 * file);
    names.push_back("fixed:" + TempName("numbers" + std::to_string(file)));
    WriteFile(names.back().substr(6),
              {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)});
  }
  ExpectToGoOn([&] {
    FormatArguments arguments;
    arguments.declared = {SlotSpec{DataType::kInt64, {1, 1}, 0}};
    MultiFileOptions options;
    options.cycle_length = 3;
    auto tree = std::make_unique<Tree>(0);
    tree->root.Reset(OpenFiles(names, {}, std::move(arguments), options));
    tree->left.Reset(
        std::make_unique<ShuffleReader>(tree->root.NewHandle(), 5, RandomKey(1, 2, "left")),
        {&tree->root});
    tree->Batch(&tree->root, &tree->right, 3);
    return tree;
  });
}

// Workers of both readers take elements of the one below while the place of all is saved.
TEST(SaveAll, NothingIsLostOrDoubledWhereThreadsWorkAhead) {
  static constexpr int64_t kRecords = 200;
  const PoolSize pool(3);
  const auto make = [] {
    auto tree = std::make_unique<Tree>(kRecords);
    for (ReaderHolder* const top : {&tree->left, &tree->right}) {
      auto batches =
          std::make_unique<BatchReader>(tree->root.NewHandle(), 3, false, BatchMode::kConcat);
      top->Reset(std::make_unique<DoubleBufferReader>(std::move(batches), Place(), 4),
                 {&tree->root});
    }
    return tree;
  };
  for (size_t repeat = 0; repeat < 20; ++repeat) {
    std::unique_ptr<Tree> tree = make();
    ReaderHolder::ExpectSaveOfAll(TopsOf(tree.get()));
    Values all;
    for (bool more = true; more;) {
      const size_t before = all.size();
      for (ReaderHolder* const top : {&tree->left, &tree->right}) {
        for (const int64_t value : Read(top, 1 + (repeat + all.size()) % 5)) all.push_back(value);
      }
      more = all.size() > before;
      const ReaderHolder::PositionsByName saved = ReaderHolder::SaveAll(TopsOf(tree.get()));
      tree = make();
      ReaderHolder::RestoreAll(TopsOf(tree.get()), saved);
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all, UpTo(kRecords));
  }
}

// A later reader on top need not share the reader with a handle that is not read.
TEST(SaveAll, ExpectingItMakesNoHandles) {
  Tree tree(6);
  ReaderHolder::ExpectSaveOfAll({{"root", &tree.root}});
  const std::unique_ptr<ReaderBase> later = tree.root.NewHandle();
  EXPECT_EQ(later->PassLength(), 6u) << "unknown where several handles share the reader";
  EXPECT_EQ(Read(later.get(), 2), UpTo(2));
  const Position position = later->Save();
  Tree again(6);
  const std::unique_ptr<ReaderBase> rest = again.root.NewHandle();
  rest->Restore(position);
  EXPECT_EQ(Read(rest.get()), UpTo(6, 2));
}

TEST(SaveAll, OneAloneIsAnError) {
  const std::unique_ptr<Tree> tree = Shared(23);
  const std::string words = "is read by 2 readers, and only 1 of them would be saved or restored";
  ExpectError(ErrorCode::kInvalidArgument, words, [&] { tree->left.Save(); });
  ExpectError(ErrorCode::kInvalidArgument, words, [&] {
    ReaderHolder::SaveAll({{"left", &tree->left}});
  });
  ReaderHolder::PositionsByName both = ReaderHolder::SaveAll(TopsOf(tree.get()));
  ASSERT_EQ(both.size(), 2u);
  const Position left = both.at("left");
  const std::unique_ptr<Tree> again = Shared(23);
  ExpectError(ErrorCode::kInvalidArgument, words, [&] { again->left.Restore(left); });
  ExpectError(ErrorCode::kInvalidArgument, "there is none of 'right'", [&] {
    ReaderHolder::RestoreAll(TopsOf(again.get()), {{"left", left}});
  });
  ExpectError(ErrorCode::kInvalidArgument, "there is one of 'right', which is not here", [&] {
    ReaderHolder::RestoreAll({{"left", &again->left}}, both);
  });
  Tree alone(23);
  alone.Batch(&alone.root, &alone.left, 2);
  ExpectError(ErrorCode::kInvalidArgument,
              "it was saved together with those of others that read '', too, and can only be "
              "restored with them",
              [&] { alone.left.Restore(left); });
  const std::unique_ptr<Tree> third = Shared(23);
  const std::unique_ptr<ReaderBase> more = third->root.NewHandle();
  ExpectError(ErrorCode::kInvalidArgument, "is read by 3 readers, and only 2 of them",
              [&] { ReaderHolder::SaveAll(TopsOf(third.get())); });
  ReaderHolder::RestoreAll(TopsOf(again.get()), both);
  EXPECT_EQ(Read(&again->right), UpTo(23));
}

}  // namespace
}  // namespace millhopper

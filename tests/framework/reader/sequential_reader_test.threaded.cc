// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/sequential_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "tests/fakes/fake_device.h"
#include "tests/fakes/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// Produces what a function does; calls count from 0.
class FunctionReader final : public SequentialReader {
 public:
  using Function = std::function<bool(int call, std::vector<LoDTensor>* out)>;
  explicit FunctionReader(Function function)
      : SequentialReader(SlotsOf(SourceSpec())), function_(std::move(function)) {}

  int calls() const { return calls_; }

 private:
  bool ReadNextImpl(std::vector<LoDTensor>* out) override { return function_(calls_++, out); }
  void ReInitImpl() override { calls_ = 0; }

  const Function function_;
  int calls_ = 0;
};

TEST(SequentialReader, IsNotAskedAgainBehindItsEnd) {
  FunctionReader reader([](int call, std::vector<LoDTensor>* out) {
    *out = {MakeTensor<int64_t>({1, 1}, {call})};
    return call < 3;
  });
  TicketRun run;
  EXPECT_EQ(reader.Plan(10, &run), 3u);
  EXPECT_EQ(reader.Plan(10, &run), 0u);
  EXPECT_EQ(reader.Plan(10, &run), 0u);
  EXPECT_EQ(reader.calls(), 4);
  reader.ReInit();
  EXPECT_EQ(ReadAll(&reader).size(), 3u);
  EXPECT_EQ(reader.calls(), 4);
}

TEST(SequentialReader, NamesTheRecordAndItselfInErrors) {
  FunctionReader reader([](int call, std::vector<LoDTensor>* out) {
    if (call == 2) throw std::runtime_error("no route to host");
    *out = {MakeTensor<int64_t>({1, 1}, {call})};
    return true;
  });
  reader.set_origin("reader 'feed' (my_reader, startup.pbtxt:3)");
  EXPECT_EQ(ReadSome(&reader, 2).size(), 2u);
  const std::optional<Thrown> error = ErrorOf([&] { reader.HasNext(); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->text,
            "no route to host\n  while reading record 2 of reader 'feed' (my_reader, "
            "startup.pbtxt:3)");
  EXPECT_EQ(reader.calls(), 3);
}

// A reader that calls ReadNext of another one without asking HasNext first, which must not end the
// pass.
TEST(SequentialReader, DoesNotTakeEndOfDataForTheEnd) {
  FunctionReader reader(
      [](int, std::vector<LoDTensor>*) -> bool { throw EndOfData("there is no next element"); });
  const std::optional<Thrown> error = ErrorOf([&] { reader.HasNext(); });
  ASSERT_TRUE(error);
  EXPECT_FALSE(error->is_end);
}

// F18
TEST(SequentialReader, ChecksWhatIsProduced) {
  const std::vector<std::pair<std::vector<LoDTensor>, std::string>> cases = {
      {{}, "0 tensors"},
      {{LoDTensor()}, "has no value"},
      {{MakeTensor<float>({1, 1}, {1})}, "float32 [1, 1] was found"},
      {{MakeTensor<int64_t>({2, 1}, {1, 2})}, "int64 [2, 1] was found"},
      {{MakeTensor<int64_t>({1, 1}, {1}, {{0, 1}})}, "1 level of detail was found"},
  };
  for (const auto& [element, words] : cases) {
    const std::vector<LoDTensor>& produced = element;
    FunctionReader reader([&produced](int, std::vector<LoDTensor>* out) {
      *out = produced;
      return true;
    });
    const std::optional<Thrown> error = ErrorOf([&] { reader.HasNext(); });
    ASSERT_TRUE(error);
    EXPECT_NE(error->text.find(words), std::string::npos) << error->text;
  }
}

// A reader that keeps one tensor and writes to it again for every element.
class OneTensor {
 public:
  bool operator()(int call, std::vector<LoDTensor>* out) {
    if (!tensor_.initialized()) tensor_.Allocate<int64_t>({1, 1});
    *tensor_.mutable_data<int64_t>() = call;
    *out = {tensor_};
    return call < 100;
  }

 private:
  LoDTensor tensor_;
};

TEST(SequentialReader, MayWriteOneTensorAgainAndAgain) {
  FakeDevice* device = FakeDevice::Get();
  for (const Place place : {Place(), Place(device)}) {
    const PoolSize pool(2);
    DoubleBufferReader reader(std::make_unique<FunctionReader>(OneTensor()), place, 3);
    std::vector<std::vector<LoDTensor>> elements;
    while (reader.HasNext()) {
      elements.emplace_back();
      reader.ReadNext(&elements.back());
    }
    ASSERT_EQ(elements.size(), 100u);
    for (int64_t i = 0; i < 100; ++i) {
      EXPECT_EQ(ValuesOf<int64_t>(elements[i][0]), std::vector<int64_t>{i});
    }
  }
  EXPECT_EQ(device->TakeViolations(), std::vector<std::string>{});
}

// Numbers up to 20, which can be made again. With `jumps` it begins where it is told to.
class Repeatable final : public SequentialReader {
 public:
  explicit Repeatable(bool jumps) : SequentialReader(SlotsOf(SourceSpec())), jumps_(jumps) {}

  const std::vector<int64_t>& made() const { return made_; }

 private:
  bool ReadNextImpl(std::vector<LoDTensor>* out) override {
    if (next_ == 20) return false;
    made_.push_back(next_);
    *out = {MakeTensor<int64_t>({1, 1}, {next_++})};
    return true;
  }
  void ReInitImpl() override { next_ = 0; }
  bool IsRepeatable() const override { return true; }
  void GoToImpl(uint64_t pass, uint64_t count) override {
    if (!jumps_) return SequentialReader::GoToImpl(pass, count);
    next_ = static_cast<int64_t>(count);
  }

  const bool jumps_;
  int64_t next_ = 0;
  std::vector<int64_t> made_;
};

TEST(SequentialReader, GoesThroughWhatWasTakenOrToItsPlace) {
  Repeatable reader(false);
  ReadSome(&reader, 5);
  reader.HasNext();
  const Position position = reader.Save();
  for (const bool jumps : {false, true}) {
    Repeatable next(jumps);
    next.Restore(position);
    EXPECT_EQ(ReadAll(&next).size(), 15u);
    EXPECT_EQ(next.made().size(), jumps ? 15u : 20u);
    next.ReInit();
    EXPECT_EQ(ReadAll(&next).size(), 20u);
  }
}

// A reader that goes to its place with ReadNext of another one, which has become shorter.
TEST(SequentialReader, DoesNotTakeEndOfDataForTheEndWhereItGoesOn) {
  class Lost final : public SequentialReader {
   public:
    Lost() : SequentialReader(SlotsOf(SourceSpec())) {}

   private:
    bool ReadNextImpl(std::vector<LoDTensor>*) override { return false; }
    void ReInitImpl() override {}
    bool IsRepeatable() const override { return true; }
    void GoToImpl(uint64_t, uint64_t) override { throw EndOfData("there is no next element"); }
  };
  Repeatable reader(false);
  ReadSome(&reader, 5);
  Lost lost;
  lost.Restore(reader.Save());
  const std::optional<Thrown> error = ErrorOf([&] { lost.HasNext(); });
  ASSERT_TRUE(error);
  EXPECT_FALSE(error->is_end);
  EXPECT_NE(error->text.find("while reading record 5"), std::string::npos) << error->text;
}

TEST(SequentialReader, CannotBeSavedUnlessItsAuthorSaysSo) {
  FunctionReader reader([](int, std::vector<LoDTensor>*) { return false; });
  ExpectError(ErrorCode::kInvalidArgument, "cannot say where it stands", [&] { reader.Save(); });
}

TEST(SequentialReader, SaysThatAPositionIsBehindItsEnd) {
  Repeatable all(false);
  ReadAll(&all);
  const Position position = all.Save();
  Repeatable again(false);
  again.Restore(position);
  EXPECT_FALSE(again.HasNext());

  class Short final : public SequentialReader {
   public:
    explicit Short(int64_t count) : SequentialReader(SlotsOf(SourceSpec())), count_(count) {}

   private:
    bool ReadNextImpl(std::vector<LoDTensor>* out) override {
      *out = {MakeTensor<int64_t>({1, 1}, {next_})};
      return next_++ < count_;
    }
    void ReInitImpl() override { next_ = 0; }
    bool IsRepeatable() const override { return true; }
    const int64_t count_;
    int64_t next_ = 0;
  };
  Short before(9);
  ReadSome(&before, 7);
  Short now(5);
  now.set_origin("reader 'fed'");
  now.Restore(before.Save());
  ExpectError(ErrorCode::kInvalidArgument,
              "the position is after 7 elements of reader 'fed', which has 5",
              [&] { now.HasNext(); });
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// A plugin for tests of the executor command: a reader that makes its consumer wait, and an
// operator that takes time. Both print "at work" on standard error when they begin.
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "framework/plugin.h"
#include "framework/program/operator.h"
#include "framework/reader/sequential_reader.h"

namespace millhopper {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration waited{};  // waiting for the reader, in total
Clock::duration worked{};  // work of the operator, in total

void SayAtWork() {
  fputs("at work\n", stderr);
  fflush(stderr);
}

void SleepAndAdd(Clock::duration time, Clock::duration* sum) {
  const Clock::time_point begin = Clock::now();
  std::this_thread::sleep_for(time);
  *sum += Clock::now() - begin;
}

// Yields int64 [1, 1] elements 0, 1, 2 ..., each after a pause.
class PacedReader final : public SequentialReader {
 public:
  PacedReader(std::vector<SlotSpec> slots, int count, std::chrono::milliseconds pause)
      : SequentialReader(std::move(slots)), count_(count), pause_(pause) {}

 private:
  bool ReadNextImpl(std::vector<LoDTensor>* out) override {
    if (next_ == count_) return false;
    if (next_ == 0) SayAtWork();
    SleepAndAdd(pause_, &waited);
    out->resize(1);
    *out->front().Allocate<int64_t>({1, 1}) = next_++;
    return true;
  }
  void ReInitImpl() override { next_ = 0; }

  const int64_t count_;
  const std::chrono::milliseconds pause_;
  int64_t next_ = 0;
};

OpSchema PacedSchema() {
  return OpSchema("Creates a reader of int64 [1, 1] that takes its time.")
      .Output("Out", "the reader")
      .Reader()
      .Attr({"count", int32_t{1}, "how many elements"})
      .Attr({"milliseconds", int32_t{0}, "how long each takes"})
      .CreatesReader();
}

void CreatePaced(OpContext& context) {
  context.OutVar("Out").GetMutable<ReaderHolder>()->Reset(std::make_unique<PacedReader>(
      std::vector<SlotSpec>{{DataType::kInt64, {1, 1}, 0}}, context.Attr<int32_t>("count"),
      std::chrono::milliseconds(context.Attr<int32_t>("milliseconds"))));
}

OpSchema WorkSchema() {
  return OpSchema("Takes so long that the paced reader's pauses are `wait_share` of the time.")
      .Attr({"wait_share", 0.0f, "0 to 1; 0 takes a minute"})
      .SideEffects();
}

void Work(OpContext& context) {
  const float share = context.Attr<float>("wait_share");
  if (share == 0) {
    SayAtWork();
    std::this_thread::sleep_for(std::chrono::minutes(1));
    return;
  }
  const auto wanted = std::chrono::duration_cast<Clock::duration>(
      waited * static_cast<double>((1 - share) / share));
  if (wanted > worked) SleepAndAdd(wanted - worked, &worked);
}

REGISTER_OPERATOR(create_paced_reader, PacedSchema, CreatePaced);
REGISTER_OPERATOR(work, WorkSchema, Work);
MILLHOPPER_PLUGIN;

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/pass_length.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <utility>

#include "tests/fakes/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// Calls a function when it is asked for its length.
template <typename F>
class AskedReader final : public DecoratedReader {
 public:
  AskedReader(std::unique_ptr<ReaderBase> reader, F answer)
      : DecoratedReader(std::move(reader)), answer_(std::move(answer)) {}

  std::optional<uint64_t> PassLength() const override { return answer_(); }

 private:
  void PlanNext(size_t n, TicketRun* run) override { reader().Plan(n, run); }

  const F answer_;
};

template <typename F>
std::optional<uint64_t> LengthToldBy(const F& answer) {
  ReaderHolder holder;
  holder.Reset(std::make_unique<AskedReader<F>>(MakePlannedSource({}), answer));
  const std::optional<uint64_t> length = LengthIfTold(holder);
  EXPECT_EQ(LengthIfTold(AskedReader<F>(MakePlannedSource({}), answer)), length);
  return length;
}

TEST(LengthIfTold, IsWhatTheReaderSays) {
  EXPECT_EQ(LengthToldBy([] { return std::optional<uint64_t>(7); }), 7u);
  EXPECT_EQ(LengthToldBy([] { return std::optional<uint64_t>(); }), std::nullopt);
}

TEST(LengthIfTold, IsNothingWhereAskingFails) {
  EXPECT_EQ(LengthToldBy([]() -> std::optional<uint64_t> {
              Throw(ErrorCode::kDataLoss, "the header is damaged");
            }),
            std::nullopt);
  EXPECT_EQ(LengthToldBy([]() -> std::optional<uint64_t> { throw std::bad_alloc(); }),
            std::nullopt);
}

}  // namespace
}  // namespace millhopper

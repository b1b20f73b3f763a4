// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/ticket.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace millhopper {
namespace {

class Counted final : public RefCounted {
 public:
  explicit Counted(int* alive) : alive_(alive) { ++*alive_; }

 private:
  ~Counted() override { --*alive_; }
  int* const alive_;
};

Ticket TicketOf(RefCounted* owner) {
  Ticket ticket;
  ticket.owner = owner;
  return ticket;
}

TEST(Ticket, IsTriviallyCopyable) { EXPECT_TRUE(std::is_trivially_copyable_v<Ticket>); }

TEST(Run, KeepsWhatItsTicketsPointInto) {
  int alive = 0;
  TicketRun run;
  {
    const Ref<Counted> owner(new Counted(&alive));
    for (int i = 0; i < 3; ++i) run.Add(TicketOf(owner.get()));
    run.Add(TicketOf(nullptr));
  }
  EXPECT_EQ(run.tickets.size(), 4u);
  EXPECT_EQ(alive, 1);
  run.Clear();
  EXPECT_EQ(alive, 0);
  EXPECT_TRUE(run.tickets.empty());
}

TEST(Run, KeepsAnOwnerThatIsAddedInTurnsWithOthersAndRuns) {
  int alive = 0;
  TicketRun runs[2];
  {
    const Ref<Counted> owners[] = {Ref<Counted>(new Counted(&alive)),
                                   Ref<Counted>(new Counted(&alive))};
    for (int i = 0; i < 8; ++i) runs[i % 2].Add(TicketOf(owners[i / 2 % 2].get()));
  }
  EXPECT_EQ(alive, 2);
  runs[0].Clear();
  EXPECT_EQ(alive, 2);
  runs[1].Clear();
  EXPECT_EQ(alive, 0);
}

TEST(Run, KeepsTheSameOwnerAgainAfterClear) {
  int alive = 0;
  TicketRun run;
  {
    const Ref<Counted> owner(new Counted(&alive));
    run.Add(TicketOf(owner.get()));
    run.Clear();
    run.Add(TicketOf(owner.get()));
  }
  EXPECT_EQ(alive, 1);
  run.Clear();
  EXPECT_EQ(alive, 0);
}

TEST(Run, ReturnsToItsPoolEmpty) {
  int alive = 0;
  const size_t before = Pool<TicketRun>::in_use();
  TicketRun outer;
  {
    const Ref<TicketRun> inner = Pool<TicketRun>::Take();
    inner->Add(TicketOf(Ref<Counted>(new Counted(&alive)).get()));
    outer.Add(TicketOf(inner.get()));
  }
  EXPECT_EQ(Pool<TicketRun>::in_use(), before + 1);
  EXPECT_EQ(alive, 1);
  outer.Clear();
  EXPECT_EQ(Pool<TicketRun>::in_use(), before);
  EXPECT_EQ(alive, 0);
  EXPECT_TRUE(Pool<TicketRun>::Take()->tickets.empty());
}

}  // namespace
}  // namespace millhopper

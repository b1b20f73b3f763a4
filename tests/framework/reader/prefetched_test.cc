// SPDX-License-Identifier: Apache-2.0
// A loop over prefetched tickets sees each of them once, in order, however few there are.
#include "framework/reader/prefetched.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millhopper {
namespace {

TEST(Prefetched, YieldsEachTicketOnceInOrder) {
  // Of no bytes, of fewer than are prefetched, and of more than a page.
  const std::string records[] = {"", std::string(100, 'a'), std::string(10000, 'b')};
  std::vector<Ticket> tickets;
  for (uint32_t i = 0; i < 20; ++i) {
    Ticket ticket;
    ticket.bytes = records[i % 3].data();
    ticket.size = static_cast<uint32_t>(records[i % 3].size());
    ticket.index = i;
    tickets.push_back(ticket);
  }
  tickets[10] = Ticket();  // one that has no bytes
  for (const bool fetches : {true, false}) {
    for (size_t n = 0; n <= tickets.size(); ++n) {
      std::vector<const Ticket*> seen;
      for (const Ticket& ticket : Prefetched(tickets.data(), n, fetches)) seen.push_back(&ticket);
      ASSERT_EQ(seen.size(), n);
      for (size_t i = 0; i < n; ++i) EXPECT_EQ(seen[i], &tickets[i]);
    }
  }
}

}  // namespace
}  // namespace millhopper

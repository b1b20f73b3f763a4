// SPDX-License-Identifier: Apache-2.0
// Slots that are reused: none belongs to two elements, and no reference is lost.
#include "readers/decorate/record_store.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/ref_counted.h"
#include "framework/memory/memory.h"
#include "framework/memory/memory_limit.h"
#include "framework/memory/place.h"

namespace millhopper {
namespace {

// As large as those of several kinds of slots, the largest of which does not fit into one.
constexpr size_t kSizes[] = {0, 1, 16, 17, 400, 500, 5000, 40000};

Ticket BytesTicket(const std::string& bytes) {
  Ticket ticket;
  ticket.bytes = bytes.data();
  ticket.size = static_cast<uint32_t>(bytes.size());
  return ticket;
}

std::string BytesAt(const Ticket& ticket) { return std::string(ticket.bytes, ticket.size); }

// Records of sizes that differ from one to the next.
std::vector<std::string> Records(size_t n, size_t first) {
  std::vector<std::string> records;
  for (size_t i = first; i < first + n; ++i) {
    records.emplace_back(kSizes[i % std::size(kSizes)], static_cast<char>('a' + i % 26));
  }
  return records;
}

TEST(RecordStore, SlotsOfOneLeaseMayBeOfAllKinds) {
  const Ref<RecordStore> store(new RecordStore);
  for (size_t round = 0; round < 20; ++round) {
    // A round begins with another size, so that slots go from one element to others.
    const std::vector<std::string> records = Records(64, 3 * round);
    std::vector<Ticket> tickets;
    tickets.reserve(records.size());
    for (const std::string& record : records) tickets.push_back(BytesTicket(record));
    std::vector<Ticket*> slots(records.size());
    store->Put(tickets.data(), tickets.size(), slots.data());
    const Ref<RecordStore::Lease> lease = store->NewLease();
    lease->MakeRoom(slots.size());
    for (size_t i = 0; i < records.size(); ++i) {
      ASSERT_EQ(BytesAt(*slots[i]), records[i]);
      if (RecordStore::HoldsBytes(*slots[i])) {
        lease->Add(&slots[i], 1);
      } else {
        store->Drop(slots[i]);
      }
    }
  }
}

TEST(RecordStore, GivesBackTheOwnersOfWhatIsDropped) {
  struct Owner final : RefCounted {};
  const Ref<Owner> owners[] = {Ref<Owner>(new Owner), Ref<Owner>(new Owner)};
  const Ref<RecordStore> store(new RecordStore);
  constexpr size_t kElements = 100;
  std::vector<Ticket> tickets(kElements);
  std::vector<Ticket*> slots(kElements);
  for (int round = 0; round < 2; ++round) {  // with new slots, then with free ones
    for (size_t i = 0; i < kElements; ++i) {
      tickets[i].owner = owners[i % 7 < 4 ? 0 : 1].get();
      tickets[i].index = static_cast<uint32_t>(i);
    }
    store->Put(tickets.data(), kElements, slots.data());
    for (size_t i = 0; i < kElements; ++i) {
      EXPECT_FALSE(RecordStore::HoldsBytes(*slots[i]));
      EXPECT_EQ(slots[i]->owner, tickets[i].owner);
      EXPECT_EQ(slots[i]->index, i);
      EXPECT_FALSE(owners[0]->HasOneReference() && owners[1]->HasOneReference());
      store->Drop(slots[i]);
    }
    EXPECT_TRUE(owners[0]->HasOneReference());
    EXPECT_TRUE(owners[1]->HasOneReference());
  }
}

TEST(RecordStore, StoresAllOrNothing) {
  struct Owner final : RefCounted {};
  const Ref<Owner> owner(new Owner);
  const Ref<RecordStore> store(new RecordStore);
  constexpr size_t kElements = 200;
  const std::string large(40000, 'l');
  std::vector<Ticket> tickets(kElements, BytesTicket(large));
  for (size_t i = 0; i < kElements; i += 2) {
    tickets[i] = Ticket();
    tickets[i].owner = owner.get();
  }
  std::vector<Ticket*> slots(kElements);
  const size_t before = BufferPool::At(Place()).in_use_bytes();
  MemoryLimit::Set(size_t{3} << 20);  // less than 100 large records
  EXPECT_THROW(store->Put(tickets.data(), kElements, slots.data()), Error);
  MemoryLimit::Set(SIZE_MAX);
  EXPECT_TRUE(owner->HasOneReference());
  EXPECT_LE(BufferPool::At(Place()).in_use_bytes(), before + (size_t{2} << 20));  // of slots
  store->Put(tickets.data(), kElements, slots.data());
  for (size_t i = 0; i < kElements; ++i) {
    EXPECT_EQ(BytesAt(*slots[i]), i % 2 == 0 ? "" : large);
    store->Drop(slots[i]);
  }
  EXPECT_TRUE(owner->HasOneReference());
}

TEST(RecordStore, CountsTheBytesThatAnElementKeepsInMemory) {
  struct Owner final : RefCounted {};
  const Ref<Owner> owner(new Owner);
  const std::string record(1000, 'r');
  Ticket mapped;  // its bytes are those of a file
  mapped.owner = owner.get();
  const size_t slot = RecordStore::BytesFor(mapped);
  mapped.size = 1000;
  EXPECT_EQ(RecordStore::BytesFor(mapped), slot);
  Ticket owned = BytesTicket(record);
  EXPECT_GE(RecordStore::BytesFor(owned), slot + 1000);  // in its slot
  owned.owner = owner.get();
  EXPECT_EQ(RecordStore::BytesFor(owned), slot + 1000);
}

}  // namespace
}  // namespace millhopper

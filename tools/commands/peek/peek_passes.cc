// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/peek/peek_passes.h"

#include <cstdint>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/record_id.h"
#include "framework/reader/position.h"
#include "framework/reader/ticket.h"
#include "framework/tensor/rows.h"

namespace millhopper {
namespace {

// The same records in another pass.
ElementNames InPass(uint64_t pass, ElementNames names) {
  for (RecordId& id : names.records) id.pass = pass;
  for (ElementNames& below : names.below) below = InPass(pass, std::move(below));
  return names;
}

bool IsSameRecord(const RecordId& a, const RecordId& b) {
  return a.file == b.file && a.chunk == b.chunk && a.record == b.record;
}

}  // namespace

void VisitPasses(ReaderBase* reader, ReaderBase* again, int passes,
                 const std::function<void(const std::vector<LoDTensor>&)>& visit) {
  reader->ExpectSave();  // so that what is read ahead can be named
  reader->BeginPass();
  TicketRun first;
  if (reader->Plan(1, &first) == 0) return;
  ElementNames name, names;
  reader->NameElements(first.tickets.data(), 1, &name);
  for (int pass = 0; pass < passes; ++pass) {
    names.Append(InPass(static_cast<uint64_t>(pass), name));
  }
  again->BeginPass();
  TicketRun run;
  again->PlanRunAgain(names, &run);
  for (const Ticket& ticket : run.tickets) {
    Require(IsSameRecord(ticket.id, first.tickets[0].id), again->origin(),
            " has another element at the same place of each pass");
  }
  std::vector<LoDTensor> element;
  for (const Ticket& ticket : run.tickets) {
    Rows rows(again->row_slots());
    again->Load(&ticket, 1, &rows);
    rows.MoveTo(&element);
    visit(element);
  }
}

}  // namespace millhopper

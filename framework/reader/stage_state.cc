// SPDX-License-Identifier: Apache-2.0
// How a StageReader names the elements that it holds, and makes them again from their names.
#include <map>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/stage_group.h"
#include "framework/reader/stage_reader.h"

namespace millhopper {

ElementNames StageReader::MadeOf(const Ticket& ticket) {
  const StageGroup& group = *ticket.object<StageGroup>();
  return group.names.empty() ? ElementNames() : group.names[group.made_of(ticket.index)];
}

void StageReader::Name(const Ticket& below, StageGroup* group) const {
  group->names.emplace_back();
  reader().NameElements(&below, 1, &group->names.back());
}

void StageReader::CheckNamed(const StageGroup& group) const {
  Require(!group.names.empty(), origin().empty() ? "a reader" : origin(),
          " has loaded elements ahead and does not know any more which they are; ExpectSave must "
          "be called before the first element is read");
}

void StageReader::SaveState(ReaderState* state) const {
  const MutexLock lock(&mutex_);
  ElementNames ahead;
  std::vector<uint64_t> sizes;
  for (const Ref<StageGroup>& group : planned_) {
    CheckNamed(*group);
    sizes.push_back(group->names.size());
    for (const ElementNames& one : group->names) ahead.Append(one);
  }
  if (!sizes.empty()) {
    state->SetElements("ahead", std::move(ahead));
    state->SetList("groups", std::move(sizes));
  }
  state->Set("next_in_group", next_);
  state->Set("next_part", next_part_);
}

void StageReader::RestoreState(const ReaderState& state) {
  next_ = state.Get("next_in_group", stage_->keeps_count() ? 0 : UINT64_MAX);
  next_part_ = state.Get("next_part", stage_->makes_parts() ? UINT64_MAX : 0);
  TicketRun ahead;
  reader().PlanRunAgain(state.Elements("ahead"), &ahead);
  size_t left = ahead.tickets.size();
  const Ticket* next = ahead.tickets.data();
  for (const uint64_t size : state.List("groups")) {
    if (size == 0 || size > left || (size > 1 && stage_->keeps_count())) {
      state.Fail(ahead.tickets.size(), " elements do not make these groups");
    }
    const Ref<StageGroup> group = Pool<StageGroup>::Take();
    for (uint64_t i = 0; i < size; ++i) AddAgain(*next++, group.get());
    left -= size;
    {
      const MutexLock lock(&mutex_);
      planned_.push_back(group);
    }
    wanted_.fetch_sub(1);
  }
  if (left > 0) state.Fail(ahead.tickets.size(), " elements do not make these groups");
}

void StageReader::AddAgain(const Ticket& below, StageGroup* group) const {
  if (group->run.tickets.empty()) group->first = below.id;
  group->run.Add(below);
  Name(below, group);
  group->state.store(GroupState::kDeferred, std::memory_order_release);
}

void StageReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  if (names->below.empty()) names->below.resize(1);
  std::map<std::pair<StageGroup*, size_t>, size_t> known;
  for (size_t i = 0; i < n; ++i) {
    auto* const group = tickets[i].object<StageGroup>();
    const size_t below = stage_->keeps_count() ? 0 : group->made_of(tickets[i].index);
    CheckNamed(*group);
    const auto [found, is_new] = known.emplace(std::make_pair(group, below), known.size());
    names->numbers.push_back(is_new ? 0 : known.size() - found->second);
    const RecordId& id = tickets[i].id;
    names->numbers.push_back(
        stage_->makes_parts() ? id.part - FirstPart((*group)[tickets[i].index].id) : 0);
    if (is_new) names->below[0].Append(group->names[below]);
  }
  names->count += n;
}

// Of a stage that keeps the count; what it holds itself has the names of the reader below already.
ElementNames StageReader::NamesBelow(ElementNames names) const {
  Require(names.count == 0 || names.below.size() == 1, "the position names elements of ", origin(),
          " that make no sense");
  return names.count == 0 ? ElementNames() : std::move(names.below[0]);
}

void StageReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  if (names.count == 0) return;
  const auto check = [&](bool right) {
    Require(right, "the position names elements of ", origin(), " that make no sense");
  };
  check(names.numbers.size() / 2 == names.count && names.numbers.size() % 2 == 0 &&
        names.below.size() == 1 && names.records.empty());
  // The elements that are made of each element below.
  std::vector<std::vector<size_t>> made_of_it;
  for (size_t i = 0; i < names.count; ++i) {
    const uint64_t back = names.numbers[2 * i];
    check(back <= made_of_it.size() && (back == 0 || stage_->makes_parts()));
    if (back == 0) made_of_it.emplace_back();
    made_of_it[made_of_it.size() - std::max<uint64_t>(back, 1)].push_back(i);
  }
  check(names.below[0].count == made_of_it.size());
  reader().PlanAgain(names.below[0], [&](size_t place, const Ticket& below) {
    const Ref<StageGroup> group = Pool<StageGroup>::Take();
    AddAgain(below, group.get());
    if (!stage_->keeps_count()) {
      Work(group.get(), MemoryScope::Need::kNow);
      if (group->error != nullptr) std::rethrow_exception(group->error);
      check(group->size() == 1);
    }
    for (const size_t i : made_of_it[place]) {
      Ticket ticket;
      ticket.id = group->first;
      ticket.owner = group.get();
      const uint64_t part = names.numbers[2 * i + 1];
      check(stage_->keeps_count() ? part == 0 : part < group->parts(0));
      if (stage_->makes_parts()) ticket.id.part = FirstPart(ticket.id) + part;
      take(i, ticket);
    }
  });
}

}  // namespace millhopper

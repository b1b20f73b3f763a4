// SPDX-License-Identifier: Apache-2.0
#include "readers/lanes/joined_source.h"

#include <algorithm>
#include <string>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

int Height(const std::vector<std::shared_ptr<LaneSource>>& sources) {
  int height = 0;
  for (const auto& source : sources) height = std::max(height, source->depth());
  return height + 1;
}

int Count(const std::vector<std::shared_ptr<LaneSource>>& sources) {
  int count = 1;
  for (const auto& source : sources) count += source->readers();
  return count;
}

[[noreturn]] void ThrowRead() { Throw(ErrorCode::kInternal, "the source of lanes is read itself"); }

}  // namespace

JoinedSource::JoinedSource(std::vector<std::shared_ptr<LaneSource>> sources, Elements elements)
    : LaneSource(sources.at(0)->slots(), Height(sources), Count(sources)),
      sources_(std::move(sources)),
      elements_(elements) {}

std::optional<uint64_t> JoinedSource::Total() const {
  if (elements_ == Elements::kByTurns) return std::nullopt;
  std::optional<uint64_t> joined = sources_[0]->Total();
  for (size_t k = 1; joined && k < sources_.size(); ++k) {
    const std::optional<uint64_t> total = sources_[k]->Total();
    if (!total) return std::nullopt;
    if (elements_ == Elements::kSideBySide) {
      joined = std::min(*joined, *total);
    } else if (__builtin_add_overflow(*joined, *total, &*joined)) {
      return std::nullopt;
    }
  }
  return joined;
}

void JoinedSource::MakeEqual() {
  for (const auto& source : sources_) source->MakeEqual();
}

void JoinedSource::AddStatsTo(ChainStats* lanes) const {
  while (lanes->below.size() == 1) lanes = &lanes->below[0];
  for (size_t k = 0; k < std::min(sources_.size(), lanes->below.size()); ++k) {
    sources_[k]->AddStatsTo(&lanes->below[k]);
  }
}

void JoinedSource::BeginPass() {
  for (const auto& source : sources_) source->BeginPass();
}

bool JoinedSource::BeginElement() {
  bool below = false;
  for (const auto& source : sources_) below = source->BeginElement() || below;
  return below;
}

void JoinedSource::ExpectWindow() {
  for (const auto& source : sources_) source->ExpectWindow();
}

std::vector<ReaderBase*> JoinedSource::Below() const {
  std::vector<ReaderBase*> below;
  below.reserve(sources_.size());
  for (const auto& source : sources_) below.push_back(source.get());
  return below;
}

void JoinedSource::JoinRanks(std::vector<SavedRank>* ranks, Position* own) const {
  for (SavedRank& rank : *ranks) {
    const ReaderState& state = rank.cursor.Next();
    if (&rank == &ranks->front()) own->Add(state);
  }
  for (const auto& source : sources_) source->JoinRanks(ranks, own);
}

void JoinedSource::LoadRows(const Ticket*, size_t, Rows*) const { ThrowRead(); }
void JoinedSource::PlanNext(size_t, TicketRun*) { ThrowRead(); }

void JoinedSource::NameParts(const std::string& origin, const std::string& kind,
                             const std::string& name) {
  for (const auto& source : sources_) {
    if (source->origin().empty()) source->set_origin(origin, kind, name);
  }
}

void JoinedSource::Rewind(uint64_t pass) {
  for (const auto& source : sources_) source->Restart(pass);
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "readers/combine/combined_reader.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/memory/place.h"

namespace millhopper {
namespace {

const Readers& AtLeastOne(const Readers& readers) {
  Require(!readers.empty(), "there is no reader to combine");
  return readers;
}

int Depth(const Readers& readers) {
  int depth = 0;
  for (const auto& reader : readers) depth = std::max(depth, reader->depth());
  return depth + 1;
}

// Each counts at most kMaxReadersInChain, and a list of them is limited, too.
int Count(const Readers& readers) {
  int64_t count = 1;
  for (const auto& reader : readers) count += reader->readers();
  return static_cast<int>(std::min<int64_t>(count, INT32_MAX));
}

}  // namespace

std::string Called(const ReaderBase& reader, size_t i) {
  return reader.origin().empty() ? StrCat("reader ", i) : reader.origin();
}

CombinedReader::CombinedReader(Readers&& readers, std::vector<SlotSpec> slots)
    : ReaderBase(std::move(slots), Depth(AtLeastOne(readers)), Count(readers)),
      readers_(std::move(readers)) {
  for (size_t i = 1; i < size(); ++i) {
    Require(reader(i).place() == place(), Called(i), " yields elements on ",
            reader(i).place().name(), ", and ", Called(0), " on ", place().name());
  }
}

Place CombinedReader::place() const { return reader(0).place(); }

size_t CombinedReader::ElementsReady() const {
  size_t ready = kAnyNumber;
  for (const auto& reader : readers_) ready = std::min(ready, reader->ElementsReady());
  return ready;
}

bool CombinedReader::HelpToPlan() {
  return std::any_of(readers_.begin(), readers_.end(),
                     [](const auto& reader) { return reader->HelpToPlan(); });
}

std::vector<ReaderBase*> CombinedReader::Below() const {
  std::vector<ReaderBase*> below;
  below.reserve(size());
  for (const auto& reader : readers_) below.push_back(reader.get());
  return below;
}

void CombinedReader::ExpectWindow() {
  for (const auto& reader : readers_) reader->ExpectWindow();
}

void CombinedReader::ExpectRanks(size_t ranks, size_t run) {
  for (const auto& reader : readers_) reader->ExpectRanks(ranks, run);
}

bool CombinedReader::BeginElement() {
  bool again = false;
  for (const auto& reader : readers_) again = reader->BeginElement() || again;
  return again;
}

void CombinedReader::BeginPass() {
  for (const auto& reader : readers_) reader->BeginPass();
}

void CombinedReader::Rewind(uint64_t pass) {
  for (const auto& reader : readers_) reader->Restart(pass);
}

size_t PlannedElements::Fill(ReaderBase* reader, size_t n) {
  while (available() < n) {
    try {
      if (reader->Plan(n - available(), &planned_) == 0) break;
    } catch (...) {
      if (CurrentError().interrupts()) throw;
      break;  // the reader will throw it again
    }
  }
  return std::min(n, available());
}

void PlannedElements::Drop(size_t n) {
  next_ += n;
  if (available() == 0) Clear();
}

ElementNames PlannedElements::Names(const ReaderBase& reader) const {
  ElementNames names;
  if (available() > 0) {
    reader.NameElements(&planned_.tickets[next_], available(), &names);
  }
  return names;
}

void PlannedElements::PlanAgain(ReaderBase* reader, const ElementNames& names) {
  reader->PlanRunAgain(names, &planned_);
}

void PlannedElements::Clear() {
  planned_.Clear();
  next_ = 0;
}

}  // namespace millhopper

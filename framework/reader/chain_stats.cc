// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/chain_stats.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "framework/base/error.h"
#include "framework/base/text_table.h"

namespace millhopper {
namespace {

using Row = std::vector<std::string>;

// Names that Python makes of many steps (`files.decode_image.resize ...`), so that a row stays one.
std::string Shortened(const std::string& name) {
  constexpr size_t kBegin = 30;
  constexpr size_t kEnd = 40;
  if (name.size() <= kBegin + kEnd) return name;
  return StrCat(name.substr(0, kBegin), "...", name.substr(name.size() - kEnd));
}

std::string Called(const ChainStats& reader) {
  const std::string kind = reader.kind.empty() ? "reader" : reader.kind;
  return reader.name.empty() ? kind : StrCat(Escaped(Shortened(reader.name)), " (", kind, ")");
}

void AddRows(const ChainStats& reader, size_t depth, std::vector<Row>* rows) {
  rows->push_back({std::string(2 * depth, ' ') + Called(reader), std::to_string(reader.elements),
                   std::to_string(reader.planned), ShortBytes(reader.bytes_read),
                   ShortSeconds(reader.load_seconds), ShortSeconds(reader.wait_seconds),
                   std::to_string(reader.in_store), ShortBytes(reader.memory_bytes)});
  for (const ChainStats& below : reader.below) AddRows(below, depth + 1, rows);
}

void AddLanes(const ChainStats& reader, std::string* text) {
  const std::vector<LaneStats>& lanes = reader.lanes;
  if (lanes.empty()) return;
  const auto [least, most] = std::minmax_element(
      lanes.begin(), lanes.end(),
      [](const LaneStats& a, const LaneStats& b) { return a.elements < b.elements; });
  const auto slowest = std::max_element(
      lanes.begin(), lanes.end(),
      [](const LaneStats& a, const LaneStats& b) { return a.seconds < b.seconds; });
  double seconds = 0;
  for (const LaneStats& lane : lanes) seconds += lane.seconds;
  *text +=
      StrCat(Called(reader), ": ", lanes.size(), " lanes, which have planned ", least->elements,
             " to ", most->elements, " elements; lane ", slowest - lanes.begin(), " took ",
             ShortSeconds(slowest->seconds), " of ", ShortSeconds(seconds), " s\n");
}

bool ReadsFiles(const ChainStats& reader) {
  return reader.bytes_read > 0 || std::any_of(reader.below.begin(), reader.below.end(), ReadsFiles);
}

// A shard of a stream has the elements of all processes planned, of which half or more are those of
// others. What it has of lanes, or of chunks, is its own.
void AddThrownAway(const ChainStats& reader, std::string* text) {
  if (reader.kind != "create_shard_reader" || !ReadsFiles(reader)) return;
  const uint64_t planned = reader.below.front().planned;
  if (planned <= reader.planned + reader.planned / 2) return;
  *text +=
      StrCat(Called(reader), ": of ", planned, " elements, which the readers below it plan, ",
             "and make if they look at elements (filter, pack, ...), ", planned - reader.planned,
             " are those of other processes; lanes, which these can ",
             "share (open_files with lanes: 16), leave those to them\n");
}

void AddNotes(const ChainStats& reader, std::string* text) {
  AddLanes(reader, text);
  AddThrownAway(reader, text);
  for (const ChainStats& below : reader.below) AddNotes(below, text);
}

}  // namespace

void ChainStats::Add(const ChainStats& before) {
  planned += before.planned;
  elements += before.elements;
  bytes_read += before.bytes_read;
  load_seconds += before.load_seconds;
  wait_seconds += before.wait_seconds;
  lanes.resize(std::max(lanes.size(), before.lanes.size()));
  for (size_t i = 0; i < before.lanes.size(); ++i) {
    lanes[i].elements += before.lanes[i].elements;
    lanes[i].seconds += before.lanes[i].seconds;
  }
  for (size_t i = 0; i < std::min(below.size(), before.below.size()); ++i) {
    below[i].Add(before.below[i]);
  }
}

void ChainStats::AddLane(const ChainStats& other) {
  Add(other);
  AddPresent(other);
}

void ChainStats::AddSource(const ChainStats& source) {
  if (!below.empty()) return below.front().AddSource(source);
  bytes_read += source.bytes_read;
  load_seconds += source.load_seconds;
  memory_bytes += source.memory_bytes;
  below = source.below;
}

void ChainStats::AddPresent(const ChainStats& other) {
  in_store += other.in_store;
  memory_bytes += other.memory_bytes;
  for (size_t i = 0; i < std::min(below.size(), other.below.size()); ++i) {
    below[i].AddPresent(other.below[i]);
  }
}

void ChainStats::ClearPresent() {
  in_store = memory_bytes = 0;
  for (ChainStats& reader : below) reader.ClearPresent();
}

std::string ToTable(const std::vector<ChainStats>& chains) {
  std::vector<Row> rows = {{"reader", "elements", "planned", "bytes read", "loading s", "waited s",
                            "in store", "memory"}};
  for (const ChainStats& chain : chains) AddRows(chain, 0, &rows);
  std::string text = TextTable(rows);
  for (const ChainStats& chain : chains) AddNotes(chain, &text);
  return text;
}

std::string ShortBytes(uint64_t bytes) {
  static const char* const kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes == 0) return "0";
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  for (; size >= 999.5; ++unit) size /= 1000;
  char text[32];
  snprintf(text, sizeof(text), unit == 0 || size >= 9.95 ? "%.0f%s" : "%.1f%s", size, kUnits[unit]);
  return text;
}

std::string ShortSeconds(double seconds) {
  if (seconds < 0.5e-6) return "0";
  constexpr int kDigits = 3;
  const int whole = static_cast<int>(std::floor(std::log10(seconds))) + 1;  // 0 or less below 0.1
  char text[32];
  snprintf(text, sizeof(text), "%.*f", std::clamp(kDigits - whole, 0, 6), seconds);
  return text;
}

}  // namespace millhopper

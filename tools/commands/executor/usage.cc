// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/executor/usage.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/io/status_line.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "tools/commands/shared/amounts.h"
#include "tools/commands/shared/pass_length.h"

namespace millhopper {
namespace {

double PerSecond(uint64_t number, double seconds) {
  return seconds > 0 ? static_cast<double>(number) / seconds : 0;
}

ReaderStats Difference(const ReaderStats& now, const ReaderStats& before) {
  return {now.passes - before.passes, now.elements - before.elements, now.records - before.records,
          now.bytes - before.bytes, now.wait_seconds - before.wait_seconds};
}

void AddTo(const ReaderStats& stats, ReaderStats* sum) {
  sum->passes += stats.passes;
  sum->elements += stats.elements;
  sum->records += stats.records;
  sum->bytes += stats.bytes;
  sum->wait_seconds += stats.wait_seconds;
}

std::string Counted(uint64_t number, const char* one, const char* many) {
  return WithCommas(number) + " " + (number == 1 ? one : many);
}

nlohmann::json ToJson(const ReaderStats& stats) {
  return {{"passes", stats.passes},
          {"batches", stats.elements},
          {"records", stats.records},
          {"bytes", stats.bytes},
          {"wait_seconds", stats.wait_seconds}};
}

}  // namespace

double Usage::wait_share() const { return seconds > 0 ? total.wait_seconds / seconds : 0; }

void Usage::Add(const Usage& other) {
  seconds += other.seconds;
  AddTo(other.total, &total);
}

std::string ToLine(const Usage& usage) {
  char times[64];
  snprintf(times, sizeof(times), ": %.2f s", usage.seconds);
  if (usage.readers.empty()) return usage.program + times;
  char waited[64];
  snprintf(waited, sizeof(waited), "waited for data %.1f%% of the time", 100 * usage.wait_share());
  const ReaderStats& total = usage.total;
  return usage.program + times + ", " + Counted(total.passes, "pass", "passes") + ", " +
         Counted(total.elements, "batch", "batches") + ", " +
         Counted(total.records, "record", "records") + " (" +
         WithCommas(static_cast<uint64_t>(PerSecond(total.records, usage.seconds))) + "/s), " +
         HumanBytes(static_cast<double>(total.bytes)) + " (" +
         HumanBytes(PerSecond(total.bytes, usage.seconds)) + "/s), " + waited;
}

nlohmann::json ToJson(const Usage& usage) {
  nlohmann::json json = ToJson(usage.total);
  json["program"] = usage.program;
  json["seconds"] = usage.seconds;
  json["records_per_second"] = PerSecond(usage.total.records, usage.seconds);
  json["bytes_per_second"] = PerSecond(usage.total.bytes, usage.seconds);
  json["wait_share"] = usage.wait_share();
  json["readers"] = nlohmann::json::array();
  for (const auto& [name, stats] : usage.readers) {
    nlohmann::json reader = ToJson(stats);
    reader["name"] = name;
    json["readers"].push_back(std::move(reader));
  }
  return json;
}

UsageMeter::UsageMeter(const std::string& program, const Scope& scope)
    : program_(Escaped(program)) {
  for (const std::string& name : scope.LocalNames()) {
    Variable* const variable = scope.FindLocal(name);
    if (!variable->Holds<ReaderHolder>()) continue;
    auto* const reader = variable->GetMutable<ReaderHolder>();
    readers_.push_back({name, reader, reader->stats(), false, std::nullopt});
  }
}

Usage UsageMeter::SoFar() const {
  Usage usage;
  usage.program = program_;
  usage.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  for (const Watched& watched : readers_) {
    const ReaderStats stats = Difference(watched.reader->stats(), watched.begin);
    if (stats.elements == 0 && stats.wait_seconds == 0) continue;
    usage.readers.emplace_back(watched.name, stats);
    AddTo(stats, &usage.total);
  }
  return usage;
}

std::string UsageMeter::Progress() {
  Watched* most = nullptr;
  ReaderStats stats;
  for (Watched& watched : readers_) {
    const ReaderStats since = Difference(watched.reader->stats(), watched.begin);
    if (since.elements <= stats.elements) continue;
    most = &watched;
    stats = since;
  }
  if (most == nullptr || stats.passes == 0) return "";
  if (!most->asked) {
    most->asked = true;
    most->length = LengthIfTold(*most->reader);
  }
  if (!most->length) return "";
  const uint64_t before = (stats.passes - 1) * *most->length;
  if (stats.elements < before) return "";
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  const auto done = static_cast<double>(stats.elements - before);
  const std::string progress = ProgressText(done, static_cast<double>(*most->length),
                                            seconds * done / static_cast<double>(stats.elements));
  return progress.empty() ? "" : StrCat("pass ", stats.passes, ": ", progress);
}

}  // namespace millhopper

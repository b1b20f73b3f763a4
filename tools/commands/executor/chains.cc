// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/executor/chains.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "framework/reader/reader_holder.h"

namespace millhopper {
namespace {

void AddNamesBelow(const ChainStats& reader, std::set<std::string>* names) {
  for (const ChainStats& below : reader.below) {
    names->insert(below.name);
    AddNamesBelow(below, names);
  }
}

}  // namespace

std::vector<ChainStats> ChainsIn(const Scope& scope) {
  std::vector<ChainStats> chains;
  std::set<std::string> names_below;
  for (const std::string& name : scope.LocalNames()) {
    const Variable* variable = scope.FindLocal(name);
    if (!variable->Holds<ReaderHolder>()) continue;
    const ReaderHolder& reader = variable->Get<ReaderHolder>();
    if (!reader.has_reader()) continue;
    chains.push_back(reader.Chain());
    AddNamesBelow(chains.back(), &names_below);
  }
  const auto stood_on = [&](const ChainStats& chain) { return names_below.count(chain.name) > 0; };
  chains.erase(std::remove_if(chains.begin(), chains.end(), stood_on), chains.end());
  std::sort(chains.begin(), chains.end(),
            [](const ChainStats& a, const ChainStats& b) { return a.name < b.name; });
  return chains;
}

nlohmann::json ToJson(const ChainStats& reader) {
  nlohmann::json json = {{"kind", reader.kind},
                         {"name", reader.name},
                         {"elements", reader.elements},
                         {"planned", reader.planned},
                         {"bytes_read", reader.bytes_read},
                         {"load_seconds", reader.load_seconds},
                         {"wait_seconds", reader.wait_seconds},
                         {"in_store", reader.in_store},
                         {"memory_bytes", reader.memory_bytes},
                         {"below", nlohmann::json::array()}};
  for (const LaneStats& lane : reader.lanes) {
    json["lanes"].push_back({{"elements", lane.elements}, {"seconds", lane.seconds}});
  }
  for (const ChainStats& below : reader.below) json["below"].push_back(ToJson(below));
  return json;
}

}  // namespace millhopper

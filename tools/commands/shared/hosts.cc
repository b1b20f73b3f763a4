// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/hosts.h"

#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/text_table.h"
#include "framework/reader/chain_stats.h"

namespace millhopper {

std::string ToTable(const std::vector<HttpHostStats>& hosts) {
  if (hosts.empty()) return "";
  std::vector<std::vector<std::string>> rows = {
      {"server", "requests", "retries", "bytes", "waited s"}};
  for (const HttpHostStats& host : hosts) {
    rows.push_back({Escaped(host.host), std::to_string(host.requests), std::to_string(host.retries),
                    ShortBytes(host.bytes), ShortSeconds(host.wait_seconds)});
  }
  return TextTable(rows);
}

std::string ServersTable() {
  if (RemoteCache::Get() == nullptr) return ToTable(HttpStats());
  const RemoteCacheStats cache = RemoteCache::Stats();
  return ToTable(HttpStats()) +
         TextTable({{"cache", "reads", "bytes", "kept", "bytes", "not kept", "unfit"},
                    {"blocks", std::to_string(cache.reads), ShortBytes(cache.read_bytes),
                     std::to_string(cache.written), ShortBytes(cache.written_bytes),
                     std::to_string(cache.not_written), std::to_string(cache.unfit)}});
}

nlohmann::json ToJson(const std::vector<HttpHostStats>& hosts) {
  nlohmann::json json = nlohmann::json::array();
  for (const HttpHostStats& host : hosts) {
    json.push_back({{"host", host.host},
                    {"requests", host.requests},
                    {"retries", host.retries},
                    {"bytes", host.bytes},
                    {"wait_seconds", host.wait_seconds}});
  }
  return json;
}

nlohmann::json ToJson(const RemoteCacheStats& cache) {
  return {{"reads", cache.reads},
          {"read_bytes", cache.read_bytes},
          {"written", cache.written},
          {"written_bytes", cache.written_bytes},
          {"not_written", cache.not_written},
          {"unfit", cache.unfit}};
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "framework/io/http_stats.h"

#include <cstddef>
#include <map>
#include <mutex>

#include "framework/base/url.h"
#include "framework/io/fork_mutex.h"

namespace millhopper {
namespace {

constexpr size_t kMostHosts = 1000;
constexpr char kOthers[] = "others";

using Hosts = std::map<std::string, HttpHostStats>;

Hosts& Counts() {
  static auto* const hosts = new Hosts;  // threads count until the very end
  return *hosts;
}

}  // namespace

std::vector<HttpHostStats> HttpStats() {
  const std::lock_guard<std::mutex> lock(ForkMutex<HttpHostStats>());
  std::vector<HttpHostStats> stats;
  for (const auto& [host, counts] : Counts()) stats.push_back(counts);
  return stats;
}

void CountHttp(const HttpHostStats& more) {
  if (more.host.empty()) return;
  const std::lock_guard<std::mutex> lock(ForkMutex<HttpHostStats>());
  Hosts& hosts = Counts();
  const bool is_new = hosts.count(more.host) == 0;
  const std::string name = is_new && hosts.size() >= kMostHosts ? kOthers : more.host;
  HttpHostStats& counts = hosts[name];
  counts.host = name;
  counts.requests += more.requests;
  counts.retries += more.retries;
  counts.bytes += more.bytes;
  counts.wait_seconds += more.wait_seconds;
}

std::string HttpHostOf(const std::string& url) {
  const std::string text = url.substr(FindUrl(url));
  const std::string host = text.substr(0, text.find_first_of("/?#"));
  return host.substr(host.rfind('@') + 1);
}

}  // namespace millhopper

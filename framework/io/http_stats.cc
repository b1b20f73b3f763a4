// SPDX-License-Identifier: Apache-2.0
#include "framework/io/http_stats.h"

#include <cstddef>
#include <map>
#include <mutex>

#include "framework/base/url.h"
#include "framework/io/own_object.h"

namespace millhopper {
namespace {

constexpr size_t kMostHosts = 1000;
constexpr char kOthers[] = "others";

struct Counts {
  std::mutex mutex;  // guards what is below
  std::map<std::string, HttpHostStats> hosts;
};

}  // namespace

std::vector<HttpHostStats> HttpStats() {
  Counts& counts = OwnObject<Counts>();
  const std::lock_guard<std::mutex> lock(counts.mutex);
  std::vector<HttpHostStats> stats;
  for (const auto& [host, of_host] : counts.hosts) stats.push_back(of_host);
  return stats;
}

void CountHttp(const HttpHostStats& more) {
  if (more.host.empty()) return;
  Counts& counts = OwnObject<Counts>();
  const std::lock_guard<std::mutex> lock(counts.mutex);
  const bool is_new = counts.hosts.count(more.host) == 0;
  const std::string name = is_new && counts.hosts.size() >= kMostHosts ? kOthers : more.host;
  HttpHostStats& of_host = counts.hosts[name];
  of_host.host = name;
  of_host.requests += more.requests;
  of_host.retries += more.retries;
  of_host.bytes += more.bytes;
  of_host.wait_seconds += more.wait_seconds;
}

std::string HttpHostOf(const std::string& url) {
  const std::string text = url.substr(FindUrl(url));
  const std::string host = text.substr(0, text.find_first_of("/?#"));
  return host.substr(host.rfind('@') + 1);
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "framework/io/http/http_stats.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "framework/base/mutex.h"
#include "framework/base/secrets.h"
#include "framework/base/url.h"
#include "framework/io/own_object.h"

namespace millhopper {
namespace {

constexpr size_t kMostHosts = 1000;
constexpr char kOthers[] = "others";

struct Counts {
  Mutex mutex;
  std::map<std::string, HttpHostStats> hosts GUARDED_BY(mutex);
};

}  // namespace

std::vector<HttpHostStats> HttpStats() {
  Counts& counts = OwnObject<Counts>();
  const MutexLock lock(&counts.mutex);
  std::vector<HttpHostStats> stats;
  for (const auto& [host, of_host] : counts.hosts) stats.push_back(of_host);
  return stats;
}

void CountHttp(const HttpHostStats& more) {
  if (more.host.empty()) return;
  Counts& counts = OwnObject<Counts>();
  const MutexLock lock(&counts.mutex);
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
  if (FindUrl(url) == url.size()) return "";
  const std::string shown = WithoutSecrets(url, TextKind::kName);  // "http://...@host/a"
  const size_t begin = std::min(shown.find_first_not_of("/\\", FindUrl(shown)), shown.size());
  const std::string host = shown.substr(begin, shown.find_first_of("/\\?#", begin) - begin);
  const std::string name = host.substr(host.rfind('@') + 1);
  return name == "..." ? "" : name;
}

}  // namespace millhopper

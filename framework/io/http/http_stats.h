// SPDX-License-Identifier: Apache-2.0
// What requests to servers have cost so far.
#ifndef MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_STATS_H_
#define MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_STATS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace millhopper {

// What one process has done with one server.
struct HttpHostStats {
  std::string host;         // as in URLs, with its port and without a user
  uint64_t requests = 0;    // each try counts
  uint64_t retries = 0;     // requests that came after another for the same bytes
  uint64_t bytes = 0;       // of objects and lists, in both directions
  double wait_seconds = 0;  // of all threads that have waited for a request to end
};

// Sorted by hosts. Of thousands of hosts, those that come last are counted together as "others".
// Any thread.
std::vector<HttpHostStats> HttpStats();

// Adds to the counts of `more.host`, if it is not "". Any thread.
void CountHttp(const HttpHostStats& more);

// The host of a URL, or "".
std::string HttpHostOf(const std::string& url);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_STATS_H_

// SPDX-License-Identifier: Apache-2.0
// What requests to servers have cost, and what a cache has saved, for people and for programs.
#ifndef MILLHOPPER_TOOLS_COMMANDS_SHARED_HOSTS_H_
#define MILLHOPPER_TOOLS_COMMANDS_SHARED_HOSTS_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "framework/io/cache/remote_cache.h"
#include "framework/io/http/http_stats.h"

namespace millhopper {

// A table with a line for each host; "" if there is none.
std::string ToTable(const std::vector<HttpHostStats>& hosts);

// Of the process until now: that table and, if there is a cache, one of a line for it.
std::string ServersTable();

// A list of objects with host, requests, retries, bytes and wait_seconds.
nlohmann::json ToJson(const std::vector<HttpHostStats>& hosts);
// An object with reads, read_bytes, written, written_bytes, not_written and unfit.
nlohmann::json ToJson(const RemoteCacheStats& cache);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_SHARED_HOSTS_H_

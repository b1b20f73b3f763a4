// SPDX-License-Identifier: Apache-2.0
// The chains of readers in a scope, with what each reader has done.
#ifndef MILLHOPPER_TOOLS_COMMANDS_EXECUTOR_CHAINS_H_
#define MILLHOPPER_TOOLS_COMMANDS_EXECUTOR_CHAINS_H_

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "framework/program/scope.h"
#include "framework/reader/chain_stats.h"

namespace millhopper {

// One chain for each reader in the scope itself that no other reader stands on, sorted by name. Any
// thread may call it while no program runs that creates readers.
std::vector<ChainStats> ChainsIn(const Scope& scope);

// An object with kind, name, elements, planned, bytes_read, load_seconds, wait_seconds, in_store,
// memory_bytes, and in `below` a list of the same.
nlohmann::json ToJson(const ChainStats& reader);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_EXECUTOR_CHAINS_H_

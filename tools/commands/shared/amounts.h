// SPDX-License-Identifier: Apache-2.0
// Numbers for people: how commands read and write amounts.
#ifndef MILLHOPPER_TOOLS_COMMANDS_SHARED_AMOUNTS_H_
#define MILLHOPPER_TOOLS_COMMANDS_SHARED_AMOUNTS_H_

#include <cstdint>
#include <string>

namespace millhopper {

// A number of bytes: "4096", "64kB", "64MB", "2GB" (powers of 1000), "64KiB", "64MiB", "2GiB"
// (powers of 1024). Throws kInvalidArgument naming the flag.
uint64_t ParseBytes(const std::string& flag, const std::string& text);

// "12,345,678".
std::string WithCommas(uint64_t number);
// "1 chunk", "2,345 chunks".
std::string Counted(uint64_t number, const char* what);
// "3.4 MB".
std::string HumanBytes(double bytes);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_SHARED_AMOUNTS_H_

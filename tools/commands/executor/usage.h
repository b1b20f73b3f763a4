// SPDX-License-Identifier: Apache-2.0
// What a program read, how fast, and how long it waited for data.
#ifndef MILLHOPPER_TOOLS_COMMANDS_EXECUTOR_USAGE_H_
#define MILLHOPPER_TOOLS_COMMANDS_EXECUTOR_USAGE_H_

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/program/scope.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"

namespace millhopper {

// What one program read, and how long it took.
struct Usage {
  std::string program;  // its name, as Escaped shows it
  double seconds = 0;
  ReaderStats total;  // over all readers that the program read
  std::vector<std::pair<std::string, ReaderStats>> readers;  // by the name of the variable

  // The share of the time that the program spent in reading; 0 to 1.
  double wait_share() const;
  // Adds what another program read, and its time.
  void Add(const Usage& other);
};

// "train.pbtxt: 2.33 s, 20 passes, 900 batches, 28,760 records (12,343/s), ...".
std::string ToLine(const Usage& usage);
// An object with program, seconds, passes, batches, records, bytes, records_per_second,
// bytes_per_second, wait_seconds, wait_share and readers.
nlohmann::json ToJson(const Usage& usage);

// Measures what is read, from its construction on, from the readers that `scope` itself holds at
// the construction. These readers must live as long as the meter.
class UsageMeter {
 public:
  UsageMeter(const std::string& program, const Scope& scope);

  // Any thread.
  Usage SoFar() const;
  // How far the reader that was read most is in its pass, and what is left of it: "pass 2: 42%,
  // 1:07 left"; "" if no pass has a known length. It may open files, to learn how many records they
  // have. One thread at a time.
  std::string Progress();

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    std::string name;
    ReaderHolder* reader;
    ReaderStats begin;
    bool asked = false;              // whether its pass was asked for its length
    std::optional<uint64_t> length;  // of a pass, in elements
  };

  const std::string program_;
  std::vector<Watched> readers_;
  const Clock::time_point started_ = Clock::now();
};

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_EXECUTOR_USAGE_H_

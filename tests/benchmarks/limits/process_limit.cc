// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/limits/process_limit.h"

#include <filesystem>
#include <iostream>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "tests/benchmarks/chain.h"
#include "tests/benchmarks/data.h"
#include "tests/benchmarks/usage.h"

namespace millhopper {

ProcessLimit::ProcessLimit(const std::string& workload, int processes, uint64_t records)
    : workload_(workload), records_(records) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  for (int share = 0; share < processes; ++share) {
    processes_.emplace_back(std::vector<std::string>{
        program, StrCat("--read_share=", workload), StrCat("--share=", share),
        StrCat("--shares=", processes), StrCat("--data=", DataFolder())});
  }
  SecondsPerRecord();  // the first pass finds nothing in caches
}

double ProcessLimit::SecondsPerRecord() {
  const double begin = WallSeconds();
  for (Process& process : processes_) process.Write("\n");
  uint64_t records = 0;
  for (Process& process : processes_) {
    std::string answer;
    while (answer.empty() || answer.back() != '\n') {
      const std::string more = process.Read();
      if (more.empty()) Throw(ErrorCode::kInternal, "no share of ", workload_, " was read");
      answer += more;
    }
    records += std::stoull(answer);
  }
  const double spent = WallSeconds() - begin;
  if (records != records_) {
    Throw(ErrorCode::kInternal, "shares of ", records, " records instead of ", records_);
  }
  return spent * static_cast<double>(processes_.size()) / static_cast<double>(records_);
}

void ReadForEachLine(ReaderBase* reader) {
  ThreadPool::Get().SetSize(0);
  for (std::string line; std::getline(std::cin, line);) {
    reader->ReInit();
    Consumer consumer;
    consumer.TakeRest(reader);
    std::cout << consumer.records << std::endl;
  }
}

}  // namespace millhopper

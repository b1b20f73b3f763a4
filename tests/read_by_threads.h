// SPDX-License-Identifier: Apache-2.0
// Reads a file on many threads at once.
#ifndef MILLHOPPER_TESTS_READ_BY_THREADS_H_
#define MILLHOPPER_TESTS_READ_BY_THREADS_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "framework/io/file.h"

namespace millhopper {

// The whole file, in pieces that seven threads read in turn.
inline std::string ReadByThreads(const File& file) {
  constexpr size_t kPiece = 77'777;
  constexpr size_t kThreads = 7;
  std::atomic<size_t> next{0};
  std::string got(file.size(), '\0');
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  while (threads.size() < kThreads) {
    threads.emplace_back([&] {
      for (size_t begin = 0; (begin = next.fetch_add(kPiece)) < got.size();) {
        file.Read(begin, &got[begin], std::min(kPiece, got.size() - begin));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return got;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_READ_BY_THREADS_H_

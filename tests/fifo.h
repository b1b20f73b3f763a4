// SPDX-License-Identifier: Apache-2.0
// A FIFO, and a thread that writes to it.
#ifndef MILLHOPPER_TESTS_FIFO_H_
#define MILLHOPPER_TESTS_FIFO_H_

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>

#include "tests/testing.h"

namespace millhopper {

class Fifo {
 public:
  explicit Fifo(const std::string& name) : path_(TempName(name)) {
    EXPECT_EQ(::mkfifo(path_.c_str(), S_IRUSR | S_IWUSR), 0);
  }
  ~Fifo() { ::unlink(path_.c_str()); }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// Writes a content once, to the process that reads all of it.
class FifoWriter {
 public:
  FifoWriter(const Fifo& fifo, const std::string& content)
      : thread_([path = fifo.path(), content] { WriteFile(path, content); }) {}
  ~FifoWriter() { thread_.join(); }
  FifoWriter(const FifoWriter&) = delete;
  FifoWriter& operator=(const FifoWriter&) = delete;

 private:
  std::thread thread_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FIFO_H_

// SPDX-License-Identifier: Apache-2.0
// Tells which files have been opened, in this process or in another.
#ifndef MILLHOPPER_TESTS_FILE_WATCH_H_
#define MILLHOPPER_TESTS_FILE_WATCH_H_

#include <map>
#include <string>
#include <vector>

namespace millhopper {

class FileWatch {
 public:
  explicit FileWatch(const std::vector<std::string>& paths);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  // The files that have been opened since the last call.
  std::vector<std::string> Opened() const;

 private:
  const int descriptor_;
  std::map<int, std::string> paths_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILE_WATCH_H_

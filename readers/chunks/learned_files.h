// SPDX-License-Identifier: Apache-2.0
// What a format learns of its files when they are opened, where they may differ.
#ifndef MILLHOPPER_READERS_CHUNKS_LEARNED_FILES_H_
#define MILLHOPPER_READERS_CHUNKS_LEARNED_FILES_H_

#include <cstddef>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "framework/reader/ticket.h"

namespace millhopper {

// Files with equal values share one. Learned has operator==.
template <typename Learned>
class LearnedFiles {
 public:
  // The files in the order of their reader's list; without any, all files must be alike.
  explicit LearnedFiles(const std::vector<FileEntry>& files) : by_file_(files.size(), nullptr) {
    for (size_t i = 0; i < files.size(); ++i) numbers_[files[i].path].push_back(i);
  }

  // Null before the first file.
  const Learned* first() const { return learned_.empty() ? nullptr : &learned_.front(); }

  // Keeps what is learned of a file, and returns it. By the thread that opens files, before there
  // is a ticket of the file. Throws kDataLoss if it is another than when the file was opened
  // before.
  const Learned& Add(const std::string& path, Learned learned) {
    const Learned* known = nullptr;
    for (const Learned& other : learned_) {
      if (other == learned) known = &other;
    }
    const auto numbers = numbers_.find(path);
    const bool unknown = numbers == numbers_.end();
    const Learned* const before = unknown ? first() : by_file_[numbers->second.front()];
    if (before != nullptr && before != known) {
      throw Error(ErrorCode::kDataLoss, "its columns are others than they were").InFile(path, 0);
    }
    if (known == nullptr) {
      learned_.push_back(std::move(learned));
      known = &learned_.back();
    }
    if (before == nullptr && !unknown) {
      for (const size_t number : numbers->second) by_file_[number] = known;
    }
    return *known;
  }

  // Any thread.
  const Learned& Of(const Ticket& ticket) const {
    return by_file_.empty() ? learned_.front() : *by_file_[ticket.id.file];
  }

 private:
  std::unordered_map<std::string, std::vector<size_t>> numbers_;  // of files, by their paths
  std::deque<Learned> learned_;                                   // each is another one
  std::vector<const Learned*> by_file_;  // null until the file has been opened
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_CHUNKS_LEARNED_FILES_H_

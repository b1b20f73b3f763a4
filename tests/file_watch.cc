// SPDX-License-Identifier: Apache-2.0
#include "tests/file_watch.h"

#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/fakes/memory_files.h"

namespace millhopper {

FileWatch::FileWatch(const std::vector<std::string>& paths)
    : descriptor_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  MemoryFiles::Get().TakeOpened();
  for (const std::string& path : paths) {
    if (MemoryFiles::IsIn(path)) continue;
    const int watch = inotify_add_watch(descriptor_, path.c_str(), IN_OPEN);
    EXPECT_GE(watch, 0) << path << ": " << std::strerror(errno);
    paths_[watch] = path;
  }
}

FileWatch::~FileWatch() { close(descriptor_); }

std::vector<std::string> FileWatch::Opened() const {
  std::vector<std::string> opened = MemoryFiles::Get().TakeOpened();
  alignas(inotify_event) char events[4096];
  ssize_t size = 0;
  while ((size = read(descriptor_, events, sizeof(events))) > 0) {
    for (const char* at = events; at < events + size;) {
      inotify_event event;
      std::memcpy(&event, at, sizeof(event));
      opened.push_back(paths_.at(event.wd));
      at += sizeof(event) + event.len;
    }
  }
  return opened;
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Files that operators need in each run, such as vocabularies: each is read once.
#ifndef MILLHOPPER_OPERATORS_SUPPORT_LOADED_FILES_H_
#define MILLHOPPER_OPERATORS_SUPPORT_LOADED_FILES_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/program/operator.h"

namespace millhopper {

// Files that an operator needs, and what makes a T of them.
template <typename T>
struct FilesToLoad {
  std::vector<std::string> paths;
  std::function<std::shared_ptr<const T>()> load;
};

namespace internal {
// Null if the operator has loaded nothing yet.
const void* FindLoaded(const OpContext& context);
const void* Load(const OpContext& context, const FilesToLoad<void>& files);
}  // namespace internal

// What the operator has made of its files. When it first runs, `files_to_load` is called, which
// returns a FilesToLoad<T>, and the files are loaded. Later changes of the files have no effect as
// long as the operator's program lives. Operators of one type that name the same files, unchanged,
// share it. Any thread: a thread that needs files which another thread is loading waits for that;
// other threads do not wait. If loading throws, the next run tries again. The result lives as long
// as the operator's program, and is kept after that until other files are loaded. Its memory is
// charged to the reader or program whose operator loads it first.
//
// Once the files are loaded, a call takes no memory and, on a thread that runs few such operators,
// no lock.
template <typename T, typename F>
const T& LoadedFile(const OpContext& context, const F& files_to_load) {
  const void* loaded = internal::FindLoaded(context);
  if (loaded == nullptr) {
    FilesToLoad<T> files = files_to_load();
    loaded = internal::Load(context, {std::move(files.paths), std::move(files.load)});
  }
  return *static_cast<const T*>(loaded);
}

// Whether all files that operators of this program have loaded are as they were when they were
// loaded, by their identity, size and time of change. Any thread. Throws kIo.
bool LoadedFilesAreUnchanged(const std::shared_ptr<const Program>& program);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_SUPPORT_LOADED_FILES_H_

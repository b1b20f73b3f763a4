// SPDX-License-Identifier: Apache-2.0
// Files that operators need whenever they run, such as vocabularies: each is read once.
#ifndef MILLHOPPER_OPERATORS_LOADED_FILES_H_
#define MILLHOPPER_OPERATORS_LOADED_FILES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/program/operator.h"

namespace millhopper {

namespace internal {
const void* LoadedOf(const OpContext& context, const std::vector<std::string>& paths,
                     const std::function<std::shared_ptr<const void>()>& load);
}  // namespace internal

// What `load` makes of the files with these paths, for this operator. They are looked at and read
// when the operator first runs; whatever happens to them later, the operator has the same for as
// long as its program lives. Operators of one type that name the same files, unchanged, share it.
// Any thread: one that needs what another is loading waits for that, and no other has to. If `load`
// throws, the next run tries again. The result lives as long as the operator's program, and is kept
// after that until other files are loaded.
template <typename T>
const T& LoadedFile(const OpContext& context, const std::vector<std::string>& paths,
                    const std::function<std::shared_ptr<const T>()>& load) {
  return *static_cast<const T*>(internal::LoadedOf(context, paths, load));
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_LOADED_FILES_H_

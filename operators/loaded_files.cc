// SPDX-License-Identifier: Apache-2.0
#include "operators/loaded_files.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <tuple>
#include <utility>

#include "framework/io/file_system.h"

namespace millhopper {
namespace {

// What is loaded, or will be. The mutex is held while it is loaded.
struct Loaded {
  std::mutex mutex;
  std::shared_ptr<const void> value;
};

using Identity = std::tuple<std::string, FileId, uint64_t, uint64_t>;  // path, id, size, version
using Key = std::pair<std::string, std::vector<Identity>>;             // the operator's type first

Key KeyOf(const OpContext& context, const std::vector<std::string>& paths) {
  Key key{context.type(), {}};
  for (const std::string& path : paths) {
    const FileStatus status = FileSystemOf(path).Stat(path);
    key.second.emplace_back(path, status.id, status.size, status.version);
  }
  return key;
}

class LoadedFiles {
 public:
  // Null if the operator has not loaded its files yet.
  const void* Find(const OpContext& context) {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto found = users_.find(&context.desc());
    return found != users_.end() && IsOf(found->second, context) ? found->second.loaded->value.get()
                                                                 : nullptr;
  }

  std::shared_ptr<Loaded> FindOrAdd(const Key& key) {
    const std::lock_guard<std::shared_mutex> lock(mutex_);
    std::weak_ptr<Loaded>& known = by_key_[key];
    std::shared_ptr<Loaded> loaded = known.lock();
    if (loaded == nullptr) known = loaded = std::make_shared<Loaded>();
    return loaded;
  }

  // Notes what an operator has loaded, and drops what only programs that are gone have loaded.
  const void* SetUser(const OpContext& context, std::shared_ptr<Loaded> loaded) {
    std::vector<std::shared_ptr<Loaded>> dropped;  // freed when the mutex is free again
    const std::lock_guard<std::shared_mutex> lock(mutex_);
    for (auto user = users_.begin(); user != users_.end();) {
      if (user->second.program.expired()) {
        dropped.push_back(std::move(user->second.loaded));
        user = users_.erase(user);
      } else {
        ++user;
      }
    }
    for (auto known = by_key_.begin(); known != by_key_.end();) {
      known = known->second.expired() ? by_key_.erase(known) : std::next(known);
    }
    // Another thread may have come first; then its value stays, to which it may hold a pointer.
    const auto added =
        users_.emplace(&context.desc(), User{context.program(), std::move(loaded)}).first;
    return added->second.loaded->value.get();
  }

 private:
  struct User {
    std::weak_ptr<const Program> program;  // the operator's; tells it from one at the same address
    std::shared_ptr<Loaded> loaded;
  };

  static bool IsOf(const User& user, const OpContext& context) {
    return !user.program.owner_before(context.program()) &&
           !context.program().owner_before(user.program);
  }

  std::shared_mutex mutex_;
  std::map<const proto::OpDesc*, User> users_;
  std::map<Key, std::weak_ptr<Loaded>> by_key_;
};

LoadedFiles& AllLoadedFiles() {
  static auto* const files = new LoadedFiles;
  return *files;
}

}  // namespace

namespace internal {

const void* LoadedOf(const OpContext& context, const std::vector<std::string>& paths,
                     const std::function<std::shared_ptr<const void>()>& load) {
  LoadedFiles& files = AllLoadedFiles();
  if (const void* const found = files.Find(context)) return found;
  std::shared_ptr<Loaded> loaded = files.FindOrAdd(KeyOf(context, paths));
  {
    const std::lock_guard<std::mutex> lock(loaded->mutex);
    if (loaded->value == nullptr) loaded->value = load();
  }
  return files.SetUser(context, std::move(loaded));
}

}  // namespace internal
}  // namespace millhopper

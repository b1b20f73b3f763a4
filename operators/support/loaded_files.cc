// SPDX-License-Identifier: Apache-2.0
#include "operators/support/loaded_files.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <tuple>
#include <utility>

#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/io/file_system.h"
#include "framework/memory/memory_limit.h"

namespace millhopper {
namespace {

using Identity = std::tuple<std::string, FileId, uint64_t, uint64_t>;  // path, id, size, version
using Key = std::pair<std::string, std::vector<Identity>>;             // the operator's type first

Identity IdentityOf(const std::string& path) {
  const FileStatus status = FileSystemOf(path).Stat(path);
  return {path, status.id, status.size, status.version};
}

Key KeyOf(const OpContext& context, const std::vector<std::string>& paths) {
  Key key{context.type(), {}};
  for (const std::string& path : paths) key.second.push_back(IdentityOf(path));
  return key;
}

// What is loaded, or will be. The mutex is held while it is loaded.
struct Loaded {
  explicit Loaded(Key k) : key(std::move(k)) {}

  const Key key;
  Mutex mutex;
  std::shared_ptr<const void> value;
};

using SharedProgram = std::shared_ptr<const Program>;

// Whether both are the same program, also where another one has got its address since.
bool IsSame(const std::weak_ptr<const Program>& known, const SharedProgram& program) {
  return !known.owner_before(program) && !program.owner_before(known);
}

class LoadedFiles {
 public:
  // Null if the operator has not loaded its files yet.
  const void* Find(const OpContext& context) {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto found = users_.find(&context.desc());
    if (found == users_.end() || !IsSame(found->second.program, context.program())) return nullptr;
    return found->second.loaded->value.get();
  }

  std::shared_ptr<Loaded> FindOrAdd(const Key& key) {
    const std::lock_guard<std::shared_mutex> lock(mutex_);
    std::weak_ptr<Loaded>& known = by_key_[key];
    std::shared_ptr<Loaded> loaded = known.lock();
    if (loaded == nullptr) known = loaded = std::make_shared<Loaded>(key);
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

  // The identities of all files that operators of the program have loaded.
  std::vector<Identity> FilesOf(const SharedProgram& program) {
    std::vector<Identity> files;
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    for (const auto& [op, user] : users_) {
      if (!IsSame(user.program, program)) continue;
      const std::vector<Identity>& own = user.loaded->key.second;
      files.insert(files.end(), own.begin(), own.end());
    }
    return files;
  }

 private:
  struct User {
    std::weak_ptr<const Program> program;  // the operator's
    std::shared_ptr<Loaded> loaded;
  };

  std::shared_mutex mutex_;
  std::map<const proto::OpDesc*, User> users_;
  std::map<Key, std::weak_ptr<Loaded>> by_key_;
};

LoadedFiles& AllLoadedFiles() {
  static auto* const files = new LoadedFiles;
  return *files;
}

// What operators have loaded that this thread has run lately: a table in which each operator has
// one place, and takes it from the operator that was there before.
class Memo {
 public:
  struct Place {
    const proto::OpDesc* op = nullptr;
    std::weak_ptr<const Program> program;
    const void* value = nullptr;
  };

  static Place* Of(const proto::OpDesc* op) {
    thread_local std::array<Place, kPlaces> places;
    return &places[std::hash<const void*>()(op) / alignof(std::max_align_t) % kPlaces];
  }

 private:
  static constexpr size_t kPlaces = 13;  // a prime, because addresses have a stride
};

}  // namespace

namespace internal {

const void* FindLoaded(const OpContext& context) {
  Memo::Place* const place = Memo::Of(&context.desc());
  if (place->op == &context.desc() && IsSame(place->program, context.program())) {
    return place->value;
  }
  const void* const value = AllLoadedFiles().Find(context);
  if (value != nullptr) *place = {&context.desc(), context.program(), value};
  return value;
}

const void* Load(const OpContext& context, const FilesToLoad<void>& files) {
  // Memory that is kept for ever is none ahead of need, so only a thread that needs the file loads
  // it.
  if (MemoryScope::IsAhead()) MemoryScope::ThrowRefused();
  std::shared_ptr<Loaded> loaded = AllLoadedFiles().FindOrAdd(KeyOf(context, files.paths));
  {
    const LockOrStop lock(&loaded->mutex);
    if (loaded->value == nullptr) loaded->value = files.load();
  }
  return AllLoadedFiles().SetUser(context, std::move(loaded));
}

}  // namespace internal

bool LoadedFilesAreUnchanged(const std::shared_ptr<const Program>& program) {
  const std::vector<Identity> files = AllLoadedFiles().FilesOf(program);
  return std::all_of(files.begin(), files.end(), [](const Identity& file) {
    return IdentityOf(std::get<std::string>(file)) == file;
  });
}

}  // namespace millhopper

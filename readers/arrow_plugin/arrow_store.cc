// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow_plugin/arrow_store.h"

#include <arrow/result.h>
#include <arrow/util/config.h>
#include <arrow/util/io_util.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/secrets.h"
#include "framework/io/http/http_head.h"
#include "framework/io/own_object.h"

namespace millhopper {
namespace {

constexpr std::string_view kBehindScheme = "://";
constexpr int kFirstWithBackgroundWrites = 19;  // of Arrow's versions, as an option of a URI
constexpr size_t kMostStores = 64;              // that are kept
constexpr size_t kMostShownBytes = 400;         // of a text of Arrow's

bool StartsWith(std::string_view text, std::string_view begin) {
  return text.substr(0, begin.size()) == begin;
}

// The options of a path, and what the libraries are not to do by themselves. Google's retries
// silently for a quarter of an hour; one that has no time for that leaves it to the caller. Azure's
// writes on a thread for which the end of the process would wait.
std::string OptionsOf(const StorePath& path) {
  std::string options = path.options;
  const auto set = [&options](const std::string& name, const std::string& value) {
    if (options.find(name) != std::string::npos) return;
    options += StrCat(options.empty() ? "?" : "&", name, value);
  };
  if (path.scheme == "gs") set("retry_limit_seconds=", "0.01");
  if (StartsWith(path.scheme, "abfs") && ARROW_VERSION_MAJOR >= kFirstWithBackgroundWrites) {
    set("background_writes=", "false");
  }
  return options;
}

arrow::Result<std::shared_ptr<const ArrowStore>> MakeStore(const StorePath& path) {
  const std::string uri = StrCat(path.scheme, kBehindScheme, path.authority, "/", OptionsOf(path));
  std::string root;
  arrow::Result<std::shared_ptr<arrow::fs::FileSystem>> system =
      arrow::fs::FileSystemFromUri(uri, &root);
  if (!system.ok()) {
    if (path.scheme != "hdfs") return system.status();
    return system.status().WithMessage(
        system.status().message(),
        "; hdfs:// needs Hadoop and Java: set JAVA_HOME and HADOOP_HOME, and CLASSPATH to what "
        "'$HADOOP_HOME/bin/hadoop classpath --glob' prints, or ARROW_LIBHDFS_DIR to the folder of "
        "libhdfs.so");
  }
  if (!root.empty() && root.back() != '/') root += '/';
  return std::make_shared<const ArrowStore>(*system, std::move(root));
}

struct Stores {
  std::mutex mutex;  // guards what is below
  std::map<std::string, std::shared_ptr<const ArrowStore>> stores;
};

// What the text of a failure says, without what Arrow and the libraries below it write around.
struct Said {
  std::string words;
  long status = 0;  // in HTTP, if it is told
};

// Google's library writes "google::cloud::Status(CODE: why it gave up, with a last message of TEXT
// error_info={...})".
std::optional<Said> SaidByGoogle(std::string_view message) {
  constexpr std::string_view kBegin = "google::cloud::Status(", kText = "with a last message of ";
  const size_t begin = message.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view text = message.substr(begin + kBegin.size());
  const std::string_view code = text.substr(0, text.find(':'));
  text = text.substr(0, text.find(" error_info={"));
  const size_t last = text.find(kText);
  if (last == std::string_view::npos) return Said{std::string(text)};
  return Said{StrCat(code, ": ", text.substr(last + kText.size()))};
}

// Azure's library writes "... Azure Error: [CODE] STATUS REASON\nTEXT\nRequest ID: ...".
std::optional<Said> SaidByAzure(std::string_view message) {
  constexpr std::string_view kBegin = "Azure Error: [";
  const size_t begin = message.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view text = message.substr(begin + kBegin.size());
  text = text.substr(0, text.find("\nRequest ID"));
  const size_t end = text.find("] ");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view code = text.substr(0, end);
  text.remove_prefix(end + 2);
  Said said;
  said.words = text.substr(0, text.find('\n'));
  said.status = std::atol(said.words.c_str());
  const std::string_view more = text.substr(std::min(said.words.size() + 1, text.size()));
  if (!code.empty()) said.words += StrCat(" (", code, more.empty() ? "" : ": ", more, ")");
  return said;
}

Said WhatIsSaid(const arrow::Status& status) {
  constexpr long kForbidden = 403, kNotFound = 404;
  std::optional<Said> said = SaidByGoogle(status.message());
  if (!said) said = SaidByAzure(status.message());
  if (!said) said = Said{status.message()};
  const int reason = arrow::internal::ErrnoFromStatus(status);
  if (reason == ENOENT) said->status = kNotFound;
  if (reason == EACCES) said->status = kForbidden;
  std::replace(said->words.begin(), said->words.end(), '\n', ' ');
  if (said->words.size() > kMostShownBytes) {
    said->words = said->words.substr(0, kMostShownBytes) + "...";
  }
  return *std::move(said);
}

}  // namespace

StorePath StorePath::Of(const std::string& path) {
  StorePath parts;
  const size_t scheme = path.find(kBehindScheme);
  const size_t authority = scheme + kBehindScheme.size();
  const size_t options = std::min(path.find('?', authority), path.size());
  const size_t slash = std::min(path.find('/', authority), options);
  parts.scheme = path.substr(0, scheme);
  parts.authority = path.substr(authority, slash - authority);
  if (slash < options) parts.key = path.substr(slash + 1, options - slash - 1);
  parts.options = path.substr(options);
  const auto refuse = [&path](const std::string& problem) {
    throw Error(ErrorCode::kInvalidArgument, problem).InFile(path, -1);
  };
  if (path.find('\0') != std::string::npos) refuse("a name with a zero byte");
  if (path.find('#') != std::string::npos) refuse("a '#', which a name in this store cannot have");
  if (parts.authority.empty() && parts.scheme != "hdfs") {
    refuse(parts.scheme == "gs" ? "it is not written gs://BUCKET/KEY"
                                : "it is not written " + parts.scheme +
                                      "://CONTAINER@ACCOUNT.dfs.core.windows.net/NAME");
  }
  return parts;
}

std::string StorePath::With(const std::string& other_key) const {
  return StrCat(scheme, kBehindScheme, authority, "/", other_key, options);
}

std::string StorePath::Host() const {
  return WithoutSecrets(StrCat(scheme, kBehindScheme, authority.substr(authority.rfind('@') + 1)),
                        TextKind::kName);
}

std::string ArrowStore::Environment() {
  constexpr std::string_view kBegins[] = {"AZURE_", "CLOUD_STORAGE_", "GOOGLE_", "HADOOP_"};
  std::string settings;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view setting = *variable;
    const bool counts = std::any_of(std::begin(kBegins), std::end(kBegins),
                                    [&](auto begin) { return StartsWith(setting, begin); });
    if (counts) settings += StrCat(setting, '\n');
  }
  return settings;
}

arrow::Result<std::shared_ptr<const ArrowStore>> ArrowStore::Make(const StorePath& path,
                                                                  const std::string& environment) {
  const std::string name =
      StrCat(path.scheme, '\n', path.authority, '\n', path.options, '\n', environment);
  Stores& known = OwnObject<Stores>();
  {
    const std::lock_guard<std::mutex> lock(known.mutex);
    const auto found = known.stores.find(name);
    if (found != known.stores.end()) return found->second;
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<const ArrowStore> store, MakeStore(path));
  const std::lock_guard<std::mutex> lock(known.mutex);
  if (known.stores.size() >= kMostStores) known.stores.clear();
  // Of threads that come at once all use the same store, so that it gets credentials once.
  return known.stores.emplace(name, std::move(store)).first->second;
}

ArrowStore::ArrowStore(std::shared_ptr<arrow::fs::FileSystem> system, std::string root)
    : system_(std::move(system)), root_(std::move(root)) {}

std::string ArrowStore::PathOf(const std::string& key) const {
  std::string path = root_ + key;
  if (path.size() > 1 && path.back() == '/') path.pop_back();  // of a folder
  return path;
}

BlockingCarrier::Refusal NoStore(const arrow::Status& status) {
  BlockingCarrier::Refusal refusal;
  if (status.IsInvalid()) refusal.code = ErrorCode::kInvalidArgument;
  refusal.problem = Escaped(WhatIsSaid(status).words);
  return refusal;
}

BlockingCarrier::Refusal RefusalOf(const arrow::Status& status) {
  const Said said = WhatIsSaid(status);
  BlockingCarrier::Refusal refusal;
  refusal.status = said.status;
  refusal.problem = StrCat("the server said '", Escaped(said.words), "'");
  // What is wrong with the request itself is wrong the next time, too.
  const bool stays = status.IsInvalid() || status.IsNotImplemented() || status.IsKeyError() ||
                     status.IsTypeError() || status.IsOutOfMemory();
  refusal.passes = said.status == 0 ? !stays : StatusPasses(said.status);
  if (status.IsOutOfMemory()) refusal.code = ErrorCode::kResourceLimit;
  return refusal;
}

}  // namespace millhopper

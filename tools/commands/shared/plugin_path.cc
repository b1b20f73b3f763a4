// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/plugin_path.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "framework/base/error.h"

namespace millhopper {

std::string PluginPath(const std::string& given, const std::string& program) {
  namespace fs = std::filesystem;
  if (given.empty() || fs::path(given).is_absolute()) return given;
  std::error_code none;  // what cannot be looked at is not there
  const fs::path current = fs::current_path(none);
  std::vector<fs::path> folders = {current};
  if (!program.empty()) {
    const fs::path beside = (current / fs::path(program).parent_path()).lexically_normal();
    if (!fs::equivalent(beside, current, none)) folders.push_back(beside);
  }
  std::string looked;
  for (const fs::path& folder : folders) {
    const fs::path path = (folder / given).lexically_normal();
    if (fs::exists(path, none)) return path.string();
    looked += StrCat(looked.empty() ? "" : ", nor ", Escaped(path.string()));
  }
  throw Error(ErrorCode::kPlugin, StrCat("there is no such file: no ", looked)).InFile(given, -1);
}

}  // namespace millhopper

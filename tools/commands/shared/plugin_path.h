// SPDX-License-Identifier: Apache-2.0
// Which file a --plugin names.
#ifndef MILLHOPPER_TOOLS_COMMANDS_SHARED_PLUGIN_PATH_H_
#define MILLHOPPER_TOOLS_COMMANDS_SHARED_PLUGIN_PATH_H_

#include <string>

namespace millhopper {

// The absolute path of a plugin: an absolute one as it is; a relative one in the current folder or,
// if it is not there, beside `program`, a file name that may be "". No other folder is searched, so
// that only what the user named is loaded. Throws kPlugin if there is no such file.
std::string PluginPath(const std::string& given, const std::string& program);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_SHARED_PLUGIN_PATH_H_

// SPDX-License-Identifier: Apache-2.0
// Flags that several commands have. A command offers one of them by naming it in a group of its
// help; for one that does not, it is unknown.
#ifndef MILLHOPPER_TOOLS_COMMANDS_HELP_SHARED_FLAGS_H_
#define MILLHOPPER_TOOLS_COMMANDS_HELP_SHARED_FLAGS_H_

#include <gflags/gflags_declare.h>

DECLARE_int32(threads);
DECLARE_string(memory_limit);
DECLARE_double(timeout);
DECLARE_bool(force);
DECLARE_bool(json);
DECLARE_bool(quiet);
DECLARE_uint64(seed);
DECLARE_string(set);
DECLARE_string(plugin);
DECLARE_int32(requests);
DECLARE_double(connect_timeout);
DECLARE_double(silence_timeout);
DECLARE_double(request_timeout);
DECLARE_string(cache_dir);
DECLARE_string(cache_bytes);
DECLARE_bool(index);
DECLARE_bool(allow_exec);
DECLARE_bool(allow_local_entries);

namespace millhopper {

// Whether this is the address of one of the variables above.
bool IsSharedFlag(const void* variable);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_HELP_SHARED_FLAGS_H_

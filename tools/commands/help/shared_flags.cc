// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/help/shared_flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <iterator>

DEFINE_int32(threads, -1,
             "worker threads that load data, 0 to 1024; -1: one for each core except the first");
DEFINE_string(
    memory_limit, "",
    "the most memory for data, such as 512MB: files read ahead, shuffle windows, batches, "
    "buffers and variables together; a program that needs more stops with exit code 5. "
    "Empty: no limit");
DEFINE_double(timeout, 0, "stop with exit code 5 this many seconds after the start; 0: never");
DEFINE_bool(force, false,
            "replace existing output files; without it they are an error. A file that this process "
            "reads is never overwritten, even under another name");
DEFINE_bool(json, false, "print results as JSON, one value on each line, for other programs");
DEFINE_bool(quiet, false, "no progress and no summary on standard error");
DEFINE_uint64(seed, 0, "seed of everything random: initial values, shuffles, generators");
DEFINE_string(set, "",
              "NAME=VALUE: replaces ${NAME} in programs by the text VALUE; may be repeated");
DEFINE_string(
    plugin, "",
    "a shared library with operators, readers and formats to add; it runs as part of this "
    "process; may be repeated. A relative path is looked for in the current folder, then "
    "beside the first program; which file it is, is printed");

DEFINE_int32(requests, 64, "requests to servers that are under way at once, 1 to 1024");
DEFINE_double(connect_timeout, 10, "seconds that a server has to let us connect");
DEFINE_double(silence_timeout, 30,
              "seconds that a server may send nothing; then it is asked again");
DEFINE_double(request_timeout, 1800, "seconds that a request may take with all its tries");
DEFINE_string(
    cache_dir, "",
    "a folder on a local disk in which files of servers are kept, block by block, so that "
    "they are not sent again to later runs and to other processes; it is made if need be. "
    "If it cannot be written any more, files are read past it. Empty: nothing is kept");
DEFINE_string(cache_bytes, "64GB",
              "the most that --cache_dir takes, such as 500GB, 16MiB at least; what has not been "
              "used for the longest time makes room");
DEFINE_bool(
    index, false,
    "where a file without an index is read from its beginning to its end, leave the index that "
    "`recordio index` makes, for later runs: beside a local file, as FILE.mhi, or in --cache_dir "
    "for a file on a server or in a folder that cannot be written to");
DEFINE_bool(allow_exec, false,
            "run the commands that names of files tell to run, such as 'pipe:zcat a.gz', and read "
            "what they write; without it, none is run");
DEFINE_bool(allow_local_entries, false,
            "read files of this machine that an image_list from a server names; without it, its "
            "images must lie beside it or on a server, or below the attribute root");

namespace millhopper {

bool IsSharedFlag(const void* variable) {
  static const void* const kShared[] = {&FLAGS_threads,
                                        &FLAGS_memory_limit,
                                        &FLAGS_timeout,
                                        &FLAGS_force,
                                        &FLAGS_json,
                                        &FLAGS_quiet,
                                        &FLAGS_seed,
                                        &FLAGS_index,
                                        &FLAGS_set,
                                        &FLAGS_plugin,
                                        &FLAGS_allow_exec,
                                        &FLAGS_allow_local_entries,
                                        &FLAGS_requests,
                                        &FLAGS_connect_timeout,
                                        &FLAGS_silence_timeout,
                                        &FLAGS_request_timeout,
                                        &FLAGS_cache_dir,
                                        &FLAGS_cache_bytes};
  return std::count(std::begin(kShared), std::end(kShared), variable) > 0;
}

}  // namespace millhopper

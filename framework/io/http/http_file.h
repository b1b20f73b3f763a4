// SPDX-License-Identifier: Apache-2.0
// Objects on HTTP servers as files.
#ifndef MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_FILE_H_
#define MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_FILE_H_

#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/file.h"
#include "framework/io/file_system.h"
#include "framework/io/http/http_transfers.h"

namespace millhopper {

// What is asked for is told by a request for none of the object's bytes, which is copied for each
// of its parts; `url` is the path of the file.

// Throws as File::Open.
std::unique_ptr<const File> OpenHttpFile(const HttpRequest& object);
// What the paths stand for, by the requests for them; as many are asked for at once as there may be
// requests. Throws nothing but kCancelled: a path that `request` throws for is unknown. What the
// server says 404 or 403 of is missing.
std::vector<FileStatus> StatHttpFiles(const std::vector<std::string>& paths,
                                      HttpRequest (*request)(const std::string& path));
// What FileStatus::problem says of an error: its message without the file, which the caller knows.
std::string ProblemOf(const Error& error);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_FILE_H_

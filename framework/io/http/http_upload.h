// SPDX-License-Identifier: Apache-2.0
// Objects that are written to servers by one request each, and removed.
#ifndef MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_UPLOAD_H_
#define MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_UPLOAD_H_

#include <memory>

#include "framework/io/http/http_transfers.h"
#include "framework/io/upload.h"

namespace millhopper {

// What is written is told by a request for it, without method and body; `url` is its path.

// It is sent as a whole by PUT, which a server carries out in one step.
std::unique_ptr<Upload> CreateHttpUpload(HttpRequest object);
// Throws as FileSystem::Remove.
void RemoveHttpObject(HttpRequest object);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_HTTP_HTTP_UPLOAD_H_

// SPDX-License-Identifier: Apache-2.0
// How objects are written to stores that speak the S3 protocol: a small one by one request, a large
// one by parts, several of which are under way while the next is being written.
#ifndef MILLHOPPER_FRAMEWORK_IO_S3_S3_UPLOAD_H_
#define MILLHOPPER_FRAMEWORK_IO_S3_S3_UPLOAD_H_

#include <cstddef>
#include <memory>
#include <string>

#include "framework/io/upload.h"

namespace millhopper {

// Objects are sent in one piece up to this size, and larger ones in parts of it; a store takes
// 10,000 parts, so that later ones are larger.
constexpr size_t kS3PartBytes = size_t{16} << 20;

// Throws kInvalidArgument with the path if it names no object.
std::unique_ptr<Upload> CreateS3Upload(const std::string& path, size_t part_bytes = kS3PartBytes);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_S3_S3_UPLOAD_H_

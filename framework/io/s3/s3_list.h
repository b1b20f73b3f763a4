// SPDX-License-Identifier: Apache-2.0
// What is in a bucket: the keys under a prefix, and those that match a pattern.
#ifndef MILLHOPPER_FRAMEWORK_IO_S3_S3_LIST_H_
#define MILLHOPPER_FRAMEWORK_IO_S3_S3_LIST_H_

#include <string>
#include <string_view>
#include <vector>

#include "framework/io/key_pattern.h"
#include "framework/io/s3/s3_bucket.h"

namespace millhopper {

// What lies directly under a prefix, sorted, by as many requests as that takes; with `most`, that
// many names at most, which the server chooses. Errors name `path`. Throws kIo, kDataLoss for an
// answer that is not whole and for names that are listed twice, kResourceLimit if there is more
// than a list of files may hold, and kCancelled.
NamesUnder ListS3(const std::string& path, const S3Path& prefix, int most = 0);

// The paths of the objects that match a pattern with * ? or [a-z] in its key. Throws as ListS3.
std::vector<std::string> MatchS3(const std::string& pattern);

// One answer to a request for a list.
struct S3Page {
  NamesUnder folder;
  std::string next;  // the token with which to ask for the next page; "" if this is the last
};
// Throws kDataLoss with what is wrong.
S3Page ReadS3Page(std::string_view document);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_S3_S3_LIST_H_

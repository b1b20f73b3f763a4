// SPDX-License-Identifier: Apache-2.0
// Cache files (readers/cache/element_cache_file.h) that no writer has made, with the checksums that
// they need to be read at all.
#ifndef MILLHOPPER_TESTS_FILES_ELEMENT_CACHE_FILES_H_
#define MILLHOPPER_TESTS_FILES_ELEMENT_CACHE_FILES_H_

#include <string>

namespace millhopper {

// The file with the right checksums at all places where its own numbers put one.
std::string WithRightChecksums(std::string file);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_ELEMENT_CACHE_FILES_H_

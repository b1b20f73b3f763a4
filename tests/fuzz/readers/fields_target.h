// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets of formats with fields share.
#ifndef MILLHOPPER_TESTS_FUZZ_READERS_FIELDS_TARGET_H_
#define MILLHOPPER_TESTS_FUZZ_READERS_FIELDS_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"

namespace millhopper {

// A reader's settings, one of which the first byte of an input chooses.
struct FieldSettings {
  std::string format;
  std::vector<std::string> fields;
  std::vector<std::pair<std::string, Attribute>> attributes = {};
};

// Reads the bytes after the first one as a file, twice, and checks that both give the same. Where
// the format can guess fields, it guesses them and reads the file with those, too.
void FuzzFields(const std::vector<FieldSettings>& settings, const uint8_t* data, size_t size);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FUZZ_READERS_FIELDS_TARGET_H_

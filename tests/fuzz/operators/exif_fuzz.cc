// SPDX-License-Identifier: Apache-2.0
// Fuzzes EXIF data.
#include "operators/image/codecs/exif.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const int orientation = millhopper::OrientationOfExif(data, size);
  CHECK(orientation >= 1 && orientation <= 8);
  return 0;
}

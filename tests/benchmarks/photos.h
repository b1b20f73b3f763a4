// SPDX-License-Identifier: Apache-2.0
// Photographs for benchmarks of images.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_PHOTOS_H_
#define MILLHOPPER_TESTS_BENCHMARKS_PHOTOS_H_

#include <cstdint>
#include <string>

namespace millhopper {

constexpr int kPhotoWidth = 500;
constexpr int kPhotoHeight = 375;

// A JPEG file of 500x375 pixels, 4:2:0, quality 93, about 100 KB: random, its contrast the same at
// every scale, as that of photographs is. The same bytes for the same number.
std::string MakePhoto(uint64_t number);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_PHOTOS_H_

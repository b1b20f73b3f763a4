// SPDX-License-Identifier: Apache-2.0
// The limit of the workloads that decode and crop photographs: what none of them can leave out.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_LIMITS_IMAGE_LIMIT_H_
#define MILLHOPPER_TESTS_BENCHMARKS_LIMITS_IMAGE_LIMIT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace millhopper {

// Decodes the rows and columns of random crops, by libjpeg-turbo directly, and writes an output of
// 224x224 pixels and three colours in float32; from memory to memory. It does not resize: the
// output is made of decoded bytes as they come. The crops have the distribution of those that
// random_resized_crop draws.
class ImageLimit {
 public:
  // Makes so many photographs; SecondsPerRecord uses some of them.
  explicit ImageLimit(uint64_t photos);

  // Does all of the work once more, on the calling thread. Returns its processor time in seconds
  // per record.
  double SecondsPerRecord();

 private:
  struct Photo {
    std::string bytes;
    uint32_t x, y, width, height;  // of the crop
  };

  void Work(const Photo& photo);

  std::vector<Photo> photos_;
  std::vector<uint8_t> pixels_;
  std::vector<float> out_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_LIMITS_IMAGE_LIMIT_H_

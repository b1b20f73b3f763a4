// SPDX-License-Identifier: Apache-2.0
// Images in files, for the quickstart command: the digits as JPEG files in class folders, and class
// folders that a user names, divided into images for training and for the test.
#ifndef MILLHOPPER_TOOLS_COMMANDS_QUICKSTART_QUICKSTART_IMAGES_H_
#define MILLHOPPER_TOOLS_COMMANDS_QUICKSTART_QUICKSTART_IMAGES_H_

#include <cstddef>
#include <filesystem>
#include <string>

#include "framework/io/output_file.h"

namespace millhopper {

struct ImageFiles {
  std::string train, test;  // what open_files opens
  size_t train_count = 0;   // images
  size_t test_count = 0;
  size_t classes = 0;
};

// Writes the digits as JPEG files of 32 x 32 pixels: `folder`/train/3/00017.jpg, and every fifth
// one in `folder`/test.
ImageFiles WriteDigitImages(const std::filesystem::path& folder, const OutputRules& rules);

// Divides the images of `images`, a folder with a folder for each class, whose images lie in it and
// below it: writes the lists train.txt and test.txt into `folder`. Every fifth image is for the
// test; the others are listed in a random order, always the same. Throws kIo or kInvalidArgument.
ImageFiles DivideImages(const std::string& images, const std::filesystem::path& folder,
                        const OutputRules& rules);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_QUICKSTART_QUICKSTART_IMAGES_H_

// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/quickstart/quickstart_images.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "operators/image/codecs/jpeg_encoder.h"
#include "tools/commands/quickstart/quickstart_digits.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

// A digit at four times its size, with values between those of its pixels.
constexpr size_t kFactor = 4;
constexpr size_t kSide = kDigitSide * kFactor;
std::vector<uint8_t> Enlarged(const Digit& digit) {
  // Where pixel i lies among those of the digit, in eighths: between `first` and the next one.
  struct Place {
    size_t first, next, eighths;
  };
  const auto place = [](size_t i) {
    const size_t at = 2 * i + 1 < kFactor ? 0 : 2 * i + 1 - kFactor;
    const size_t first = std::min(at / (2 * kFactor), kDigitSide - 1);
    return Place{first, std::min(first + 1, kDigitSide - 1), at % (2 * kFactor)};
  };
  std::vector<uint8_t> pixels;
  for (size_t i = 0; i < kSide; ++i) {
    const Place y = place(i);
    for (size_t j = 0; j < kSide; ++j) {
      const Place x = place(j);
      const auto at = [&](size_t row, size_t column) {
        return size_t{digit.pixels[row * kDigitSide + column]};
      };
      const size_t above = at(y.first, x.first) * (8 - x.eighths) + at(y.first, x.next) * x.eighths;
      const size_t below = at(y.next, x.first) * (8 - x.eighths) + at(y.next, x.next) * x.eighths;
      const size_t value = above * (8 - y.eighths) + below * y.eighths;  // in 64ths
      pixels.push_back(
          static_cast<uint8_t>(std::min<size_t>(value * 255 / (size_t{64} * kDigitWhite), 255)));
    }
  }
  return pixels;
}

void CreateFolder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) Throw(ErrorCode::kIo, folder.string(), ": ", failed.message());
}

// Writes one of many files. OutputFile would wait for the disk with each of them; the next run
// writes all of them again.
void WriteImage(const fs::path& path, const std::vector<uint8_t>& bytes, const OutputRules& rules) {
  if (!rules.overwrite && fs::exists(path)) {
    Throw(ErrorCode::kIo, path.string(), ": ", rules.refusal);
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) Throw(ErrorCode::kIo, path.string(), ": cannot be written");
}

// Whether decode_image takes a file of this name.
bool IsImage(const fs::path& path) {
  std::string end = path.extension().string();
  std::transform(end.begin(), end.end(), end.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return end == ".jpg" || end == ".jpeg" || end == ".png" || end == ".webp";
}

// The folders of a folder, sorted by name.
std::vector<fs::path> Folders(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  if (failed) Throw(ErrorCode::kIo, "--images=", folder.string(), ": ", failed.message());
  std::sort(folders.begin(), folders.end());
  return folders;
}

// The images in a folder and below it, sorted by path.
std::vector<std::string> ImagesBelow(const fs::path& folder) {
  std::vector<std::string> images;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, failed)) {
    if (!entry.is_directory() && IsImage(entry.path())) images.push_back(entry.path().string());
  }
  if (failed) Throw(ErrorCode::kIo, folder.string(), ": ", failed.message());
  std::sort(images.begin(), images.end());
  return images;
}

}  // namespace

ImageFiles WriteDigitImages(const fs::path& folder, const OutputRules& rules) {
  constexpr int kQuality = 95;
  const std::vector<Digit> digits = ReadDigits();
  const Ref<JpegEncoder> encoder = JpegEncoder::Take();
  ImageFiles files;
  files.classes = 10;
  for (size_t i = 0; i < digits.size(); ++i) {
    const fs::path place =
        folder / (IsForTest(i) ? "test" : "train") / std::to_string(digits[i].label);
    CreateFolder(place);
    char name[32];
    snprintf(name, sizeof(name), "%05zu.jpg", i);
    const std::vector<uint8_t> pixels = Enlarged(digits[i]);
    const auto image = Contiguous<const uint8_t>(pixels.data(), {kSide, kSide, 1});
    WriteImage(place / name, encoder->Encode(image, kQuality), rules);
    ++(IsForTest(i) ? files.test_count : files.train_count);
  }
  files.train = "image_folder:" + (folder / "train").string();
  files.test = "image_folder:" + (folder / "test").string();
  return files;
}

ImageFiles DivideImages(const std::string& images, const fs::path& folder,
                        const OutputRules& rules) {
  ImageFiles files;
  std::vector<std::string> train, test;  // lines
  const std::vector<fs::path> classes = Folders(fs::absolute(images));
  size_t index = 0;
  for (size_t label = 0; label < classes.size(); ++label) {
    for (const std::string& path : ImagesBelow(classes[label])) {
      Require(path.find_first_of("\t\n") == std::string::npos, "--images: the name of ",
              Escaped(path),
              " has a tab or the end of a line in it, which a list of images cannot have");
      (IsForTest(index++) ? test : train).push_back(StrCat(path, "\t", label, "\n"));
    }
  }
  Require(classes.size() >= 2 && !test.empty(), "--images=", images, ": ", index,
          " images (.jpg, .jpeg, .png, .webp) in ", classes.size(),
          " folders; there must be a folder for each of at least 2 classes, and 5 images");
  const RandomKey key(0, 0, "train.txt");
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i = 0; i < train.size(); ++i) order.emplace_back(key.Bits(i, 0), i);
  std::sort(order.begin(), order.end());
  OutputFile train_list((folder / "train.txt").string(), rules);
  for (const auto& [bits, i] : order) train_list.Write(train[i]);
  OutputFile test_list((folder / "test.txt").string(), rules);
  for (const std::string& line : test) test_list.Write(line);
  train_list.Publish();
  test_list.Publish();
  files.train = "image_list:" + train_list.path();
  files.test = "image_list:" + test_list.path();
  files.train_count = train.size();
  files.test_count = test.size();
  files.classes = classes.size();
  return files;
}

}  // namespace millhopper

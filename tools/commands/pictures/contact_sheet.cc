// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/pictures/contact_sheet.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "framework/base/error.h"
#include "tools/commands/pictures/picture.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {
namespace {

constexpr int64_t kSmallestSide = 4;  // a slot with smaller sides is not taken for images
constexpr int64_t kLargestSide = 4096;
constexpr size_t kGap = 2;            // pixels between images
constexpr size_t kReadableSide = 32;  // smaller images are magnified to this
constexpr uint8_t kBackground = 64;   // dark grey, which differs from black and from white

// Where the values of one image are: value (y, x, c) is at y * row + x * column + c * plane.
struct Layout {
  int64_t height, width, channels;
  int64_t row, column, plane;
};

bool IsSide(int64_t side) { return side >= kSmallestSide && side <= kLargestSide; }
bool IsChannels(int64_t n) { return n == 1 || n == 3; }

std::optional<Layout> LayoutOf(const LoDTensor& tensor) {
  const bool shown = tensor.dtype() == DataType::kUint8 || tensor.dtype() == DataType::kUint16 ||
                     tensor.dtype() == DataType::kFp16 || tensor.dtype() == DataType::kBf16 ||
                     tensor.dtype() == DataType::kFp32 || tensor.dtype() == DataType::kFp64;
  if (!shown || !tensor.lod().empty()) return std::nullopt;
  const Dims& d = tensor.dims();
  if (d.size() == 4 && IsChannels(d[1]) && IsSide(d[2]) && IsSide(d[3])) {
    return Layout{d[2], d[3], d[1], d[3], 1, d[2] * d[3]};
  }
  if (d.size() == 4 && IsChannels(d[3]) && IsSide(d[1]) && IsSide(d[2])) {
    return Layout{d[1], d[2], d[3], d[2] * d[3], d[3], 1};
  }
  if (d.size() == 3 && IsSide(d[1]) && IsSide(d[2])) return Layout{d[1], d[2], 1, d[2], 1, 0};
  if (d.size() != 2) return std::nullopt;
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(d[1]))));
  if (side * side != d[1] || !IsSide(side)) return std::nullopt;
  return Layout{side, side, 1, side, 1, 0};
}

// The red, green and blue values of image `index`.
std::vector<float> Values(const LoDTensor& tensor, const Layout& layout, int64_t index) {
  const int64_t begin = index * layout.height * layout.width * layout.channels;
  std::vector<float> rgb;
  for (int64_t y = 0; y < layout.height; ++y) {
    for (int64_t x = 0; x < layout.width; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        const int64_t channel = layout.channels == 3 ? c : 0;
        const int64_t at = y * layout.row + x * layout.column + channel * layout.plane;
        rgb.push_back(static_cast<float>(ValueAt(tensor, begin + at)));
      }
    }
  }
  return rgb;
}

// The values that are drawn black and white.
struct Range {
  float black = 0;
  float white = 0;

  void Include(float value) {
    if (!std::isfinite(value)) return;
    black = std::min(black, value);
    white = std::max(white, value);
  }
  uint8_t ToByte(float value) const {
    if (!std::isfinite(value) || white <= black) return 0;
    return static_cast<uint8_t>(std::lround(255 * ((value - black) / (white - black))));
  }
};

}  // namespace

void ContactSheet::Add(const std::vector<LoDTensor>& element, size_t most) {
  slots_.resize(std::max(slots_.size(), element.size()));
  for (size_t slot = 0; slot < element.size(); ++slot) {
    const LoDTensor tensor = element[slot].OnHost();
    const std::optional<Layout> layout = LayoutOf(tensor);
    if (!layout) continue;
    for (int64_t i = 0; i < tensor.dims()[0] && slots_[slot].size() < most; ++i) {
      slots_[slot].push_back({static_cast<size_t>(layout->height),
                              static_cast<size_t>(layout->width),
                              Values(tensor, *layout, i),
                              {}});
    }
  }
}

std::pair<size_t, size_t> ContactSheet::image_size(size_t slot, size_t image) const {
  return {slots_[slot][image].height, slots_[slot][image].width};
}

void ContactSheet::SetMarks(size_t slot, size_t image, Marks marks) {
  slots_[slot][image].marks = std::move(marks);
}

size_t ContactSheet::image_count(size_t slot) const {
  return slot < slots_.size() ? slots_[slot].size() : 0;
}

size_t ContactSheet::image_count() const {
  size_t most = 0;
  for (const std::vector<Image>& images : slots_) most = std::max(most, images.size());
  return most;
}

std::string ContactSheet::ToPng() const {
  size_t count = 0, cell_height = 0, cell_width = 0;
  for (const std::vector<Image>& images : slots_) {
    count += images.size();
    for (const Image& image : images) {
      cell_height = std::max(cell_height, image.height);
      cell_width = std::max(cell_width, image.width);
    }
  }
  Require(count > 0, "--png: no slot of this reader looks like an image");
  const size_t zoom = std::max<size_t>(1, kReadableSide / std::max(cell_height, cell_width));
  cell_height *= zoom;
  cell_width *= zoom;
  const auto columns = static_cast<size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  size_t rows = 0;
  for (const std::vector<Image>& images : slots_) rows += (images.size() + columns - 1) / columns;
  const size_t width = kGap + columns * (cell_width + kGap);
  const size_t height = kGap + rows * (cell_height + kGap);
  Picture sheet(width, height, {kBackground, kBackground, kBackground});
  size_t row = 0;
  for (const std::vector<Image>& images : slots_) {
    Range range;
    for (const Image& image : images) {
      for (const float value : image.rgb) range.Include(value);
    }
    for (size_t i = 0; i < images.size(); ++i) {
      const size_t top = kGap + (row + i / columns) * (cell_height + kGap);
      const size_t left = kGap + i % columns * (cell_width + kGap);
      for (size_t y = 0; y < images[i].height * zoom; ++y) {
        for (size_t x = 0; x < images[i].width * zoom; ++x) {
          const float* const rgb = &images[i].rgb[(y / zoom * images[i].width + x / zoom) * 3];
          sheet.Set(left + x, top + y,
                    {range.ToByte(rgb[0]), range.ToByte(rgb[1]), range.ToByte(rgb[2])});
        }
      }
      DrawMarks(images[i].marks, {left, top, images[i].width * zoom, images[i].height * zoom, zoom},
                &sheet);
    }
    row += (images.size() + columns - 1) / columns;
  }
  return sheet.ToPng();
}

}  // namespace millhopper

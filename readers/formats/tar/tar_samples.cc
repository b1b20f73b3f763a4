// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/tar/tar_samples.h"

#include <xxhash.h>

#include <algorithm>

namespace millhopper {
namespace {

constexpr size_t kFewestPlaces = 64;
constexpr size_t kMostPlaces = size_t{1} << 22;

uint64_t DigestOf(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace

TarSample::TarSample(std::string_view sample_key, uint64_t offset)
    : key(DigestOf(sample_key)), begin(offset) {
  if (key == 0) key = 1;
}

void TarSample::Add(std::string_view extension) { extensions += DigestOf(extension); }

std::optional<uint64_t> TarSamples::Add(const TarSample& sample) {
  if (2 * count_ >= places_.size()) Grow();
  TarSample& place = places_[Find(sample.key)];
  if (place.key == sample.key) {
    if (place.extensions == sample.extensions) return std::nullopt;
    return place.begin;
  }
  if (2 * count_ < kMostPlaces) {
    place = sample;
    ++count_;
  }
  return std::nullopt;
}

void TarSamples::Clear() {
  places_.clear();
  count_ = 0;
}

size_t TarSamples::Find(uint64_t key) const {
  const size_t mask = places_.size() - 1;
  size_t place = key & mask;
  while (places_[place].key != 0 && places_[place].key != key) place = (place + 1) & mask;
  return place;
}

void TarSamples::Grow() {
  if (places_.size() == kMostPlaces) return;
  std::vector<TarSample> places(std::max(kFewestPlaces, 2 * places_.size()));
  places_.swap(places);
  for (const TarSample& sample : places) {
    if (sample.key != 0) places_[Find(sample.key)] = sample;
  }
}

}  // namespace millhopper

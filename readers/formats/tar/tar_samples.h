// SPDX-License-Identifier: Apache-2.0
// Notices samples of an archive whose files do not lie together.
#ifndef MILLHOPPER_READERS_FORMATS_TAR_TAR_SAMPLES_H_
#define MILLHOPPER_READERS_FORMATS_TAR_TAR_SAMPLES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace millhopper {

// A sample: files of one key that follow one another. Holds only digests.
struct TarSample {
  TarSample() = default;
  // Its first header begins with this byte of the archive.
  TarSample(std::string_view key, uint64_t offset);
  // Adds a file; in which order they come does not matter.
  void Add(std::string_view extension);

  uint64_t key = 0;  // 0: none
  uint64_t extensions = 0;
  uint64_t begin = 0;
};

// The samples that were read of an archive, or the first two million of them, in 100 MB at most.
// One thread at a time.
class TarSamples {
 public:
  // Notes a sample. If the archive has had the same key with other extensions, returns where these
  // files begin: the files of one sample do not lie together. The same key with the same extensions
  // is another whole sample, as where archives have been joined.
  std::optional<uint64_t> Add(const TarSample& sample);
  void Clear();

 private:
  // The place of a sample with this key, or the free place where it would be.
  size_t Find(uint64_t key) const;
  void Grow();

  std::vector<TarSample> places_;  // a hash table by key
  size_t count_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_TAR_TAR_SAMPLES_H_

// SPDX-License-Identifier: Apache-2.0
// The members of tar archives as their headers describe them: ustar (POSIX.1-1988), its forerunner
// of Unix V7, GNU's long names and numbers, and PAX (POSIX.1-2001).
#ifndef MILLHOPPER_READERS_FORMATS_TAR_TAR_MEMBER_H_
#define MILLHOPPER_READERS_FORMATS_TAR_TAR_MEMBER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millhopper {

// An archive is made of blocks of this size: headers, contents padded with zeros, and two blocks of
// zeros at the end.
constexpr size_t kTarBlockBytes = 512;

// One member. Reused for the next member, it takes no new memory.
struct TarMember {
  std::string name;      // the whole path
  bool is_file = false;  // a regular file; else a directory, or something that is about the archive
  size_t header_bytes = 0;  // its headers, after which its content lies
  uint64_t size = 0;        // of its content

  // By WebDataset's rule (base_plus_ext) a file "train/7.seg.png" has the key "train/7" and the
  // extension "seg.png", in lower case. False for what the rule leaves out: all but files, names
  // without a dot, hidden files, and those that begin with "__name__"; and, other than by that
  // rule, for what lies in hidden folders and what macOS leaves beside files (hidden_names.h).
  bool in_record = false;
  size_t key_bytes = 0;  // of the name
  std::string extension;

  std::string_view key() const { return {name.data(), key_bytes}; }
  // Where its content ends, and where the next member begins, counted from its first header.
  uint64_t content_end() const { return header_bytes + size; }
  uint64_t end() const {
    return header_bytes + (size + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
  }

  // While headers are read: the byte, from the first on, at which the header lies that was looked
  // at last, for texts of errors; and how many bytes the headers take as far as is known.
  size_t looked_at = 0;
  size_t needed = 0;
};

enum class TarHeaders {
  kMember,  // a member was read
  kEnd,     // a block of zeros: the archive ends
  kCut,     // the headers continue beyond the given bytes, up to TarMember::needed or more
};

// Reads the headers that `bytes` begin with. Throws kDataLoss for headers that are damaged, and for
// members that are no plain files (links, devices, sparse files) and kResourceLimit for headers of
// more than a MiB. Any thread.
TarHeaders ReadTarHeaders(const char* bytes, size_t size, TarMember* member);

// Whether a block is a header, by its checksum.
bool IsTarHeader(const char* block);
bool AreZeros(const char* bytes, size_t size);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_TAR_TAR_MEMBER_H_

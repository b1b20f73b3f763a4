// SPDX-License-Identifier: Apache-2.0
// Tar archives for tests, written by their own code.
#ifndef MILLHOPPER_TESTS_FILES_TARS_H_
#define MILLHOPPER_TESTS_FILES_TARS_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace millhopper {

using TarFiles = std::vector<std::pair<std::string, std::string>>;  // names and contents

// Puts the checksum into a header: the sum of its bytes, signed or not.
inline std::string WithTarChecksum(std::string header, bool as_signed = false) {
  header.replace(148, 8, 8, ' ');
  int sum = 0;
  for (const char c : header) sum += as_signed ? static_cast<signed char>(c) : c & 0xff;
  char digits[16];
  std::snprintf(digits, sizeof(digits), "%06o", static_cast<unsigned>(sum));
  return header.replace(148, 7, digits, 7);
}

// A header of POSIX.
inline std::string TarHeader(const std::string& name, uint64_t size, char type = '0',
                             const std::string& prefix = "") {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%011llo", static_cast<unsigned long long>(size));
  header.replace(124, 11, digits, 11);
  header[156] = type;
  header.replace(257, 8, "ustar\00000", 8);
  header.replace(345, prefix.size(), prefix);
  return WithTarChecksum(header);
}

// A content and its padding.
inline std::string TarBlocks(const std::string& content) {
  return content + std::string((512 - content.size() % 512) % 512, '\0');
}

inline std::string TarMemberBytes(const std::string& name, const std::string& content,
                                  char type = '0') {
  return TarHeader(name, content.size(), type) + TarBlocks(content);
}

inline std::string PaxRecord(const std::string& keyword, const std::string& value) {
  const size_t rest = keyword.size() + value.size() + 3;
  size_t length = rest + 1;
  while (rest + std::to_string(length).size() != length) ++length;
  return std::to_string(length) + " " + keyword + "=" + value + "\n";
}

// The blocks that end an archive.
inline std::string TarEnd() { return std::string(1024, '\0'); }

inline std::string TarOf(const TarFiles& files) {
  std::string archive;
  for (const auto& [name, content] : files) archive += TarMemberBytes(name, content);
  return archive + TarEnd();
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_TARS_H_

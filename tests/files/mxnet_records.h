// SPDX-License-Identifier: Apache-2.0
// Files of MXNet's RecordIO for tests, written by their own code.
#ifndef MILLHOPPER_TESTS_FILES_MXNET_RECORDS_H_
#define MILLHOPPER_TESTS_FILES_MXNET_RECORDS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace millhopper {

template <typename T>
std::string LittleEndian(T number) {
  return std::string(reinterpret_cast<const char*>(&number), sizeof(number));
}

constexpr uint32_t kMxnetMagic = 0xced7230a;

inline std::string MxnetPart(uint32_t flag, const std::string& bytes) {
  const auto length = static_cast<uint32_t>(bytes.size());
  return LittleEndian(kMxnetMagic) + LittleEndian(flag << 29 | length) + bytes +
         std::string((4 - length % 4) % 4, '\0');
}

// A record is split where the magic lies in it at a multiple of 4.
inline std::string MxnetRecord(const std::string& record) {
  const std::string magic = LittleEndian(kMxnetMagic);
  std::string parts;
  size_t begin = 0;
  for (size_t at = 0; at + 4 <= record.size(); at += 4) {
    if (record.compare(at, 4, magic) != 0) continue;
    parts += MxnetPart(begin == 0 ? 1 : 2, record.substr(begin, at - begin));
    begin = at + 4;
  }
  return parts + MxnetPart(begin == 0 ? 0 : 3, record.substr(begin));
}

inline std::string MxnetRecords(const std::vector<std::string>& records) {
  std::string file;
  for (const std::string& record : records) file += MxnetRecord(record);
  return file;
}

// The index of such a file, without the last line's end.
inline std::string MxnetIndex(const std::vector<std::string>& records) {
  std::string index;
  uint64_t offset = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    if (i > 0) index += "\n";
    index += std::to_string(i) + "\t" + std::to_string(offset);
    offset += MxnetRecord(records[i]).size();
  }
  return index;
}

// An image after its header; one label stands in the header unless `flag` says otherwise.
inline std::string MxnetImage(const std::vector<float>& labels, uint64_t id,
                              const std::string& image, bool flag = false) {
  const bool behind = flag || labels.size() != 1;
  std::string record = LittleEndian(static_cast<uint32_t>(behind ? labels.size() : 0)) +
                       LittleEndian(behind ? 0.0F : labels[0]) + LittleEndian(id) +
                       LittleEndian(id + 1);
  if (behind) {
    for (const float label : labels) record += LittleEndian(label);
  }
  return record + image;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_MXNET_RECORDS_H_

// SPDX-License-Identifier: Apache-2.0
// Arrays as numpy stores them, and zip files of them, written by their own code.
#ifndef MILLHOPPER_TESTS_FILES_NPY_FILES_H_
#define MILLHOPPER_TESTS_FILES_NPY_FILES_H_

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

namespace millhopper {

inline std::string LittleEndian(uint64_t number, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i));
  return bytes;
}

// An array with this dictionary, padded as numpy pads it.
inline std::string NpyOf(const std::string& dictionary, const std::string& values,
                         int version = 1) {
  const size_t length_bytes = version == 1 ? 2 : 4;
  std::string text = dictionary;
  while ((8 + length_bytes + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' +
         LittleEndian(text.size(), length_bytes) + text + values;
}

// `shape` is a tuple as Python writes it, such as "(2, 3)".
inline std::string Npy(const std::string& descr, const std::string& shape,
                       const std::string& values, bool fortran_order = false) {
  return NpyOf("{'descr': '" + descr + "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                   ", 'shape': " + shape + ", }",
               values);
}

struct ZipMember {
  std::string name;
  std::string content;
  bool deflated = false;
  bool zip64 = false;  // the sizes and the place are in an extra field of 64 bits each
  int method = -1;     // that the directory says, whatever it is
  int flags = 0;
};

inline std::string Deflated(const std::string& content) {
  z_stream zlib = {};
  deflateInit2(&zlib, 9, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&zlib, content.size()), '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  zlib.avail_in = static_cast<uInt>(content.size());
  zlib.next_out = reinterpret_cast<Bytef*>(out.data());
  zlib.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&zlib, Z_FINISH), Z_STREAM_END);
  out.resize(zlib.total_out);
  deflateEnd(&zlib);
  return out;
}

inline std::string Zip(const std::vector<ZipMember>& members, const std::string& comment = "") {
  std::string file, directory;
  bool zip64 = false;
  for (const ZipMember& member : members) {
    const std::string stored = member.deflated ? Deflated(member.content) : member.content;
    const auto crc =
        static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(member.content.data()),
                                    static_cast<uInt>(member.content.size())));
    const int method = member.method >= 0 ? member.method : member.deflated ? 8 : 0;
    const uint64_t offset = file.size();
    zip64 = zip64 || member.zip64;
    const auto size = [&](uint64_t value) {
      return LittleEndian(member.zip64 ? 0xffffffff : value, 4);
    };
    const std::string sizes =
        LittleEndian(member.content.size(), 8) + LittleEndian(stored.size(), 8);
    const std::string local_extra =
        member.zip64 ? LittleEndian(1, 2) + LittleEndian(16, 2) + sizes : "";
    const std::string extra =
        member.zip64 ? LittleEndian(1, 2) + LittleEndian(24, 2) + sizes + LittleEndian(offset, 8)
                     : "";
    const std::string common = LittleEndian(20, 2) + LittleEndian(member.flags, 2) +
                               LittleEndian(method, 2) + LittleEndian(0, 4) + LittleEndian(crc, 4) +
                               size(stored.size()) + size(member.content.size()) +
                               LittleEndian(member.name.size(), 2);
    file += StrCat("PK\3\4", common, LittleEndian(local_extra.size(), 2), member.name, local_extra,
                   stored);
    directory +=
        StrCat("PK\1\2", LittleEndian(20, 2), common, LittleEndian(extra.size(), 2),
               LittleEndian(0, 2 + 2 + 2), LittleEndian(0, 4), size(offset), member.name, extra);
  }
  const uint64_t begin = file.size();
  file += directory;
  const auto number = [&](uint64_t value, size_t bytes) {
    return LittleEndian(zip64 ? ~uint64_t{0} : value, bytes);
  };
  if (zip64) {
    const uint64_t end = file.size();
    file += "PK\6\6" + LittleEndian(44, 8) + LittleEndian(45, 2) + LittleEndian(45, 2) +
            LittleEndian(0, 4) + LittleEndian(0, 4) + LittleEndian(members.size(), 8) +
            LittleEndian(members.size(), 8) + LittleEndian(directory.size(), 8) +
            LittleEndian(begin, 8);
    file += "PK\6\7" + LittleEndian(0, 4) + LittleEndian(end, 8) + LittleEndian(1, 4);
  }
  return file + "PK\5\6" + LittleEndian(0, 4) + number(members.size(), 2) +
         number(members.size(), 2) + number(directory.size(), 4) + number(begin, 4) +
         LittleEndian(comment.size(), 2) + comment;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_NPY_FILES_H_

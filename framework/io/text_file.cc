// SPDX-License-Identifier: Apache-2.0
#include "framework/io/text_file.h"

#include <algorithm>
#include <cstdint>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/byte_stream.h"

namespace millhopper {

std::string ReadTextFile(const std::string& path, const char* what) {
  ByteStream stream(path);
  std::string text(std::min<uint64_t>(stream.most_left(), kMaxUnsizedBytes + 1), '\0');
  text.resize(stream.Read(text.data(), text.size()));
  if (text.size() > kMaxUnsizedBytes) {
    throw Error(ErrorCode::kResourceLimit,
                StrCat("the ", what, " is larger than ", kMaxUnsizedBytes, " bytes"))
        .InFile(path, 0);
  }
  return text;
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "framework/io/digest.h"

#include <openssl/evp.h>

#include "framework/base/error.h"

namespace millhopper {

std::string DigestOf(std::initializer_list<std::string_view> texts) {
  std::string all;
  for (const std::string_view text : texts) all += StrCat(text.size(), ":", text);
  std::string digest(kSha256Bytes, '\0');
  if (EVP_Digest(all.data(), all.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
                 EVP_sha256(), nullptr) != 1) {
    Throw(ErrorCode::kResourceLimit, "no memory for a digest");
  }
  return digest;
}

}  // namespace millhopper

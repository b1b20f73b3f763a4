// SPDX-License-Identifier: Apache-2.0
#include "framework/io/saved_name.h"

#include <cstddef>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/secrets.h"
#include "framework/io/digest.h"

namespace millhopper {
namespace {

constexpr size_t kDigestBytes = 8;

class SavingSink final : public TextSink {
 public:
  void Put(std::string_view piece) override { text.append(piece); }

  void PutQuery(std::string_view query) override {
    text += "...";
    std::string rest;
    ForEachPart(query, [&](std::string_view part) {
      if (part.empty() || IsVersion(part) || IsSignature(part, query)) return;
      rest += StrCat(part.size(), ":", part);
    });
    if (rest.empty()) return;
    text += '=';
    PutDigest(rest);
  }

  void PutValue(std::string_view value) override {
    text += "...";
    PutDigest(value);
  }

  std::string text;

 private:
  void PutDigest(std::string_view bytes) {
    for (const char c : DigestOf({bytes}).substr(0, kDigestBytes)) {
      const auto byte = static_cast<unsigned char>(c);
      text += {"0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
    }
  }
};

std::string Saved(std::string_view text, TextKind kind) {
  SavingSink sink;
  PutWithoutSecrets(text, kind, &sink);
  return std::move(sink.text);
}

}  // namespace

std::string SavedName(std::string_view name) { return Saved(name, TextKind::kName); }

std::string SavedText(std::string_view text) { return Saved(text, TextKind::kProgram); }

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "framework/base/url.h"

namespace millhopper {
namespace {

constexpr std::string_view kBehindScheme = "://";

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

size_t FindUrl(std::string_view text) {
  for (size_t at = 0; (at = text.find(kBehindScheme, at)) != std::string_view::npos;) {
    const std::string_view before = text.substr(0, at);
    at += kBehindScheme.size();
    if (EndsWith(before, "http") || EndsWith(before, "https")) return at;
  }
  return text.size();
}

std::string_view WithoutQuery(std::string_view path) {
  const size_t host = FindUrl(path);
  return path.substr(0, path.find_first_of("?#", host));
}

}  // namespace millhopper

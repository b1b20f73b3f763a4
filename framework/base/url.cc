// SPDX-License-Identifier: Apache-2.0
#include "framework/base/url.h"

#include <strings.h>

#include <algorithm>
#include <iterator>

#include "framework/base/error.h"
#include "framework/base/secrets.h"

namespace millhopper {
namespace {

constexpr std::string_view kBehindScheme = "://";

// Schemes are the same in capital letters.
bool EndsWith(std::string_view text, std::string_view scheme) {
  return text.size() >= scheme.size() && ::strncasecmp(text.data() + text.size() - scheme.size(),
                                                       scheme.data(), scheme.size()) == 0;
}

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

std::string PathIn(std::string_view folder, std::string_view name) {
  const std::string_view place = WithoutQuery(folder);
  const bool ends = !place.empty() && place.back() == '/';
  return StrCat(place, ends ? "" : "/", name, folder.substr(place.size()));
}

std::string_view FolderOf(std::string_view path) {
  const std::string_view name = WithoutQuery(path);
  return name.substr(0, name.rfind('/') + 1);
}

std::string ObjectUrl(std::string_view url) {
  const size_t host = FindUrl(url);
  url = url.substr(0, url.find('#', host));
  const size_t query = std::min(url.find('?', host), url.size());
  const std::string_view server = url.substr(host, url.find_first_of("/?", host) - host);
  std::string name(url.substr(0, query));
  if (const size_t user = server.rfind('@'); user != std::string_view::npos) {
    const size_t password = std::min(server.find(':'), user);
    name.erase(host + password, user - password);
  }
  if (query == url.size()) return name;
  url.remove_prefix(query + 1);
  char mark = '?';
  ForEachPart(url, [&](std::string_view part) {
    if (IsSignature(part, url)) return;
    name += mark;
    name += part;
    mark = '&';
  });
  return name;
}

bool EndsWithHttp(std::string_view text) {
  return EndsWith(text, "http") || EndsWith(text, "https");
}

// Its letters are the last letters of many words.
bool EndsWithStore(std::string_view text) {
  return std::any_of(std::begin(kArrowSchemes), std::end(kArrowSchemes),
                     [&](std::string_view scheme) {
                       if (!EndsWith(text, scheme)) return false;
                       if (text.size() == scheme.size()) return true;
                       return !IsLetterOrDigit(text[text.size() - scheme.size() - 1]);
                     });
}

size_t FindUrl(std::string_view text) {
  for (size_t at = 0; (at = text.find(kBehindScheme, at)) != std::string_view::npos;) {
    const std::string_view before = text.substr(0, at);
    at += kBehindScheme.size();
    if (EndsWithHttp(before) || EndsWithStore(before)) return at;
  }
  return text.size();
}

std::string_view PatternIn(std::string_view path) {
  path = WithoutQuery(path);
  const size_t host = FindUrl(path);
  if (host == path.size()) return path;
  return path.substr(std::min(path.find('/', host), path.size()));
}

std::string_view WithoutQuery(std::string_view path) {
  const size_t host = FindUrl(path);
  return path.substr(0, path.find_first_of("?#", host));
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "framework/base/url.h"

#include <strings.h>

#include <algorithm>
#include <iterator>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr std::string_view kBehindScheme = "://";

// Schemes are the same in capital letters.
bool EndsWith(std::string_view text, std::string_view scheme) {
  return text.size() >= scheme.size() && ::strncasecmp(text.data() + text.size() - scheme.size(),
                                                       scheme.data(), scheme.size()) == 0;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Whether a part of a query is there to sign a request.
bool IsSignature(std::string_view part) {
  constexpr std::string_view kBegins[] = {"X-Amz-", "X-Goog-"};
  return std::any_of(std::begin(kBegins), std::end(kBegins), [&](std::string_view begin) {
    return part.size() >= begin.size() &&
           ::strncasecmp(part.data(), begin.data(), begin.size()) == 0;
  });
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool EndsWithHttp(std::string_view text) {
  return EndsWith(text, "http") || EndsWith(text, "https");
}

// Whether a text ends with the scheme of a store that takes options. Its letters are the last
// letters of many words, so no letter or digit may stand before it.
bool EndsWithStore(std::string_view text) {
  return std::any_of(std::begin(kArrowSchemes), std::end(kArrowSchemes),
                     [&](std::string_view scheme) {
                       if (!EndsWith(text, scheme)) return false;
                       if (text.size() == scheme.size()) return true;
                       const char before = text[text.size() - scheme.size() - 1];
                       return !IsLetter(before) && !IsDigit(before);
                     });
}

}  // namespace

std::string PathIn(std::string_view folder, std::string_view name) {
  const std::string_view place = WithoutQuery(folder);
  const bool ends = !place.empty() && place.back() == '/';
  return StrCat(place, ends ? "" : "/", name, folder.substr(place.size()));
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
  char mark = '?';
  for (url.remove_prefix(query); !url.empty();) {
    const std::string_view part = url.substr(0, url.find('&', 1));
    if (!IsSignature(part.substr(1))) {
      name += mark;
      name += part.substr(1);
      mark = '&';
    }
    url.remove_prefix(part.size());
  }
  return name;
}

size_t FindUrl(std::string_view text) {
  for (size_t at = 0; (at = text.find(kBehindScheme, at)) != std::string_view::npos;) {
    const std::string_view before = text.substr(0, at);
    at += kBehindScheme.size();
    if (EndsWithHttp(before) || EndsWithStore(before)) return at;
  }
  return text.size();
}

size_t SizeOfShownUser(std::string_view before, std::string_view user) {
  if (EndsWithHttp(before.substr(0, before.size() - kBehindScheme.size()))) return 0;
  const size_t password = user.find(':');
  return password == std::string_view::npos ? user.size() : password + 1;
}

size_t SizeOfBrokenUrl(std::string_view text) {
  const std::string_view host = text.substr(0, text.find_first_of("/?# \t\r\n"));
  if (host.find('@') != std::string_view::npos) return 0;
  const size_t number = host.find(']');  // the end of an address of IPv6
  const size_t colon = host.find(':', number == std::string_view::npos ? 0 : number);
  if (colon == std::string_view::npos) return 0;
  std::string_view port = host.substr(colon + 1);
  port = port.substr(0, port.find_last_not_of(":,;.)'\"") + 1);  // of the text around the URL
  if (std::all_of(port.begin(), port.end(), IsDigit)) return 0;
  const std::string_view line = text.substr(0, text.find_first_of("\r\n"));
  const size_t at = line.rfind('@');
  const size_t end = text.find_first_of(" \t\r\n", at == std::string_view::npos ? 0 : at);
  return std::min(end, text.size());
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

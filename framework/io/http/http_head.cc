// SPDX-License-Identifier: Apache-2.0
#include "framework/io/http/http_head.h"

#include <strings.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <system_error>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr size_t kMostHeaderBytes = 1024;  // of a header that is kept as it is

std::string_view Trimmed(std::string_view text) {
  constexpr char kBlanks[] = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<uint64_t> NumberIn(std::string_view text) {
  uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "chunked" or "gzip, chunked".
bool EndsWithChunked(std::string_view value) {
  constexpr std::string_view kChunked = "chunked";
  return value.size() >= kChunked.size() &&
         ::strncasecmp(value.data() + value.size() - kChunked.size(), kChunked.data(),
                       kChunked.size()) == 0;
}

// Whether a header names the version of an object, as stores of several makers do.
bool NamesVersion(std::string name) {
  constexpr std::string_view kEnds[] = {"-version-id", "-generation"};
  for (char& c : name) c = static_cast<char>(::tolower(c));
  return name.substr(0, 2) == "x-" &&
         std::any_of(std::begin(kEnds), std::end(kEnds), [&](std::string_view end) {
           return name.size() > end.size() &&
                  name.compare(name.size() - end.size(), end.size(), end) == 0;
         });
}

// What is kept of a value that tells one object from another. Of a long one it is a digest, which
// is compared like a weak ETag and, like one, not sent back.
std::string Kept(std::string_view value) {
  if (value.size() <= kMostHeaderBytes) return std::string(value);
  return StrCat("W/", value.size(), "-", XXH3_64bits(value.data(), value.size()));
}

}  // namespace

std::string HttpObject::ChangeTo(const HttpObject& now) const {
  const auto change = [](const char* what, const std::string& was, const std::string& is) {
    const auto shown = [](const std::string& value) {
      return value.empty() ? std::string("not told") : Escaped(value);
    };
    return StrCat("; its ", what, " was ", shown(was), ", now it is ", shown(is));
  };
  if (size && now.size != size) {
    return change("size", StrCat(*size), now.size ? StrCat(*now.size) : "");
  }
  if (coding != now.coding) return change("Content-Encoding", coding, now.coding);
  if (version != now.version) return change("version", version, now.version);
  if (etag != now.etag) return change("ETag", etag, now.etag);
  if (modified != now.modified) return change("date", modified, now.modified);
  return "";
}

bool HttpObject::IsCoded() const {
  return !coding.empty() && ::strcasecmp(coding.c_str(), "identity") != 0;
}

void HttpHead::Take(std::string_view line) {
  line = Trimmed(line);
  if (line.substr(0, 5) == "HTTP/") {  // also the answers before the last, such as redirects
    *this = HttpHead();
    status_line = line.substr(0, kMostHeaderBytes);
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string name(line.substr(0, colon));
  const std::string_view value = Trimmed(line.substr(colon + 1));
  const auto is = [&](const char* header) { return ::strcasecmp(name.c_str(), header) == 0; };
  if (is("ETag")) object.etag = Kept(value);
  if (is("Content-Encoding")) object.coding = Kept(value);
  if (is("Last-Modified")) object.modified = Kept(value);
  if (NamesVersion(name)) object.version += StrCat(object.version.empty() ? "" : ", ", Kept(value));
  if (is("Date")) object.date = value;
  if (is("Content-Length")) length = NumberIn(value);
  if (is("Content-Range")) TakeRange(value);
  if (is("x-amz-bucket-region")) region = value;
  if (is("Transfer-Encoding")) chunked = EndsWithChunked(value);
}

// "bytes 0-99/1000", "bytes 0-99/*" or "bytes */1000".
void HttpHead::TakeRange(std::string_view value) {
  constexpr std::string_view kUnit = "bytes ";
  const size_t slash = value.find('/');
  if (value.substr(0, kUnit.size()) != kUnit || slash == std::string_view::npos) return;
  const std::string_view part = Trimmed(value.substr(kUnit.size(), slash - kUnit.size()));
  const size_t dash = part.find('-');
  total = NumberIn(value.substr(slash + 1));
  if (dash == std::string_view::npos) return;
  first = NumberIn(part.substr(0, dash));
  last = NumberIn(part.substr(dash + 1));
}

bool StatusPasses(long status) {
  constexpr long kStatuses[] = {408, 425, 429, 500, 502, 503, 504};
  return std::find(std::begin(kStatuses), std::end(kStatuses), status) != std::end(kStatuses);
}

}  // namespace millhopper

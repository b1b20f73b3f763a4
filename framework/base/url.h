// SPDX-License-Identifier: Apache-2.0
// Paths that are URLs: which part of them is a name, and which part nobody may see.
#ifndef MILLHOPPER_FRAMEWORK_BASE_URL_H_
#define MILLHOPPER_FRAMEWORK_BASE_URL_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace millhopper {

// The schemes of the stores that the plugin in readers/arrow reads.
inline constexpr std::string_view kArrowSchemes[] = {"gs", "abfs", "abfss", "hdfs"};

// URLs are those of HTTP servers (http://, https://) and of these stores, which take options as a
// query. Other paths with a scheme are names, all bytes of which count.

// A path without the query and the fragment of a URL. Its end is the extension of a format, for
// example. Any other path is returned as it is.
std::string_view WithoutQuery(std::string_view path);

// The path of a name in a folder, which may be a URL with a query.
std::string PathIn(std::string_view folder, std::string_view name);

// A URL without what does not tell which object it is: a password, what signs a request (X-Amz-...,
// X-Goog-...) and the fragment. Other parts of a query may say which object it is.
std::string ObjectUrl(std::string_view url);

// Where the first URL of a text begins, behind the two slashes; the size of the text if there is
// none. It takes no memory.
size_t FindUrl(std::string_view text);

// The part of a path in which * ? [ are wildcards: of a URL what lies between its host and its
// query, of any other path all of it.
std::string_view PatternIn(std::string_view path);

// The size of a URL, given from behind its two slashes with the text that follows, if it is so
// broken that a password with a character such as / # ? or a blank may be in it: what should be the
// port is no number. 0 for any other URL.
size_t SizeOfBrokenUrl(std::string_view text);

// How much may be shown of what stands before the @ of a URL's host: nothing for HTTP servers, and
// for stores the name of a container or a user, which a password may follow. `before` is the text
// up to the two slashes, with them.
size_t SizeOfShownUser(std::string_view before, std::string_view user);

// Calls put(std::string_view) for one piece of a text after another, without the secrets of the
// URLs in it: "https://me:word@host/a.csv?sig=1" is shown as "https://...@host/a.csv?...", a broken
// URL as "https://...", and "abfs://data:word@host/a" as "abfs://data:...@host/a". A URL ends
// before a blank. It takes no memory, so that the handler of a signal may call it.
template <typename Put>
void PutWithoutSecrets(std::string_view text, const Put& put) {
  for (;;) {
    const size_t begin = FindUrl(text);
    const std::string_view before = text.substr(0, begin);
    put(before);
    text.remove_prefix(begin);
    if (text.empty()) return;
    if (const size_t broken = SizeOfBrokenUrl(text); broken > 0) {
      put("...");
      text.remove_prefix(broken);
      continue;
    }
    std::string_view url = text.substr(0, text.find_first_of(" \t\r\n"));
    text.remove_prefix(url.size());
    const size_t at = url.substr(0, url.find_first_of("/?#")).rfind('@');
    if (at != std::string_view::npos) {
      const size_t shown = SizeOfShownUser(before, url.substr(0, at));
      put(url.substr(0, shown));
      if (shown < at) put("...");
      url.remove_prefix(at);
    }
    const size_t query = url.find_first_of("?#");
    put(url.substr(0, query));
    if (query == std::string_view::npos) continue;
    put(url.substr(query, 1));
    put("...");
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_URL_H_

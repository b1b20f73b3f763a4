// SPDX-License-Identifier: Apache-2.0
// Paths that are URLs: which part of them is a name. secrets.h says which parts are secret.
#ifndef MILLHOPPER_FRAMEWORK_BASE_URL_H_
#define MILLHOPPER_FRAMEWORK_BASE_URL_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace millhopper {

// The schemes of the stores that the plugin in readers/arrow_plugin reads.
inline constexpr std::string_view kArrowSchemes[] = {"gs", "abfs", "abfss", "hdfs"};

// URLs are those of HTTP servers (http://, https://) and of these stores, which take options as a
// query. Other paths with a scheme are names, all bytes of which count.

// A path without the query and the fragment of a URL. Its end is the extension of a format, for
// example. Any other path is returned as it is.
std::string_view WithoutQuery(std::string_view path);

// The path of a name in a folder, which may be a URL with a query.
std::string PathIn(std::string_view folder, std::string_view name);

// The folder that a file lies in, with the slash at its end and without a query; "" is the working
// folder.
std::string_view FolderOf(std::string_view path);

// A URL without what does not tell which object it is: a password, what signs a request
// (IsSignature) and the fragment. Other parts of a query may say which object it is.
std::string ObjectUrl(std::string_view url);

// Whether a text ends with http or https, or with the scheme of such a store, before which stands
// neither letter nor digit. Capital letters are the same.
bool EndsWithHttp(std::string_view text);
bool EndsWithStore(std::string_view text);

// Where the first URL of a text begins, after the two slashes; the size of the text if there is
// none. It takes no memory.
size_t FindUrl(std::string_view text);

// The part of a path in which * ? [ are wildcards: of a URL what lies between its host and its
// query, of any other path all of it.
std::string_view PatternIn(std::string_view path);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_URL_H_

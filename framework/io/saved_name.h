// SPDX-License-Identifier: Apache-2.0
// What is saved of names: in positions of readers, in checkpoints, and in what tells caches of
// elements apart. It holds no secret, and is the same for the same file whatever credentials its
// URL has.
#ifndef MILLHOPPER_FRAMEWORK_IO_SAVED_NAME_H_
#define MILLHOPPER_FRAMEWORK_IO_SAVED_NAME_H_

#include <string>
#include <string_view>

namespace millhopper {

// The name without its secrets (framework/base/secrets.h). Of a query there are what names a
// version of the object and, after "...=", 16 digits of a SHA-256 of what is left without
// signatures and credentials, if anything is: "https://host/a?versionId=3&...=1f0a33c277e1904b". So
// a new signature does not change the name, but another version or another ?id=7 does. The values
// of what is called like a credential elsewhere are such digits, too. A name that was saved so
// stays as it is.
std::string SavedName(std::string_view name);

// A text of a program, such as a block or one of its values, with the names in it as SavedName
// gives them: all of it if it begins with a URL, those in quotes, and others up to a blank.
std::string SavedText(std::string_view text);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_SAVED_NAME_H_

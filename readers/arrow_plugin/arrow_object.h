// SPDX-License-Identifier: Apache-2.0
// Objects of stores and the lists of their folders, as requests that are carried by Arrow.
#ifndef MILLHOPPER_READERS_ARROW_PLUGIN_ARROW_OBJECT_H_
#define MILLHOPPER_READERS_ARROW_PLUGIN_ARROW_OBJECT_H_

#include <string>

#include "framework/io/http/http_transfers.h"
#include "framework/io/key_pattern.h"

namespace millhopper {

// A request for an object. The first try opens the object, for this request and all copies of it.
// Throws kInvalidArgument with the path if it names none.
HttpRequest ArrowRequest(const std::string& path);

// The same for an object that is to be written or removed (http_upload.h).
HttpRequest ArrowWriteRequest(const std::string& path);

// What lies directly under a prefix of keys, sorted; `with_folders` is false if the keys that have
// a slash after the prefix need not be told. Errors name `path`. Throws kIo, kResourceLimit if
// there is more than a list of files may hold, and kCancelled.
NamesUnder ListArrow(const std::string& path, const std::string& prefix, bool with_folders);

// Whether keys lie in a folder of this name. Throws as ListArrow.
bool IsArrowFolder(const std::string& path);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_PLUGIN_ARROW_OBJECT_H_

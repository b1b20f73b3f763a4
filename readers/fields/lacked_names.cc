// SPDX-License-Identifier: Apache-2.0
#include "readers/fields/lacked_names.h"

#include <algorithm>

#include "framework/base/stop.h"
#include "framework/io/one_pass.h"

namespace millhopper {

const Field* FirstLackedByAll(const std::vector<Field>& fields, const HasColumn& has,
                              const std::string& path, const std::vector<FileEntry>& files,
                              const ColumnsOfFile& columns_of) {
  std::vector<const Field*> lacked;
  for (const Field& field : fields) {
    if (field.missing != Field::Missing::kError && !has(field)) lacked.push_back(&field);
  }
  for (const FileEntry& file : files) {
    if (lacked.empty()) break;
    if (file.path == path) continue;
    CheckStop();  // there may be many
    if (CanBeReadOnceOnly(file.path)) return nullptr;
    try {
      const HasColumn other_has = columns_of(file.path);
      lacked.erase(std::remove_if(lacked.begin(), lacked.end(),
                                  [&](const Field* field) { return other_has(*field); }),
                   lacked.end());
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      return nullptr;
    }
  }
  return lacked.empty() ? nullptr : lacked.front();
}

Error LackedByAll(const Error& error) {
  return error.WithMessage(
      StrCat(error.message(),
             "; missing= and default= are for columns that some of the files have, and none has "
             "this one"));
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// What slots of files are called.
#ifndef MILLHOPPER_OPERATORS_READERS_SUPPORT_SLOT_NAMES_H_
#define MILLHOPPER_OPERATORS_READERS_SUPPORT_SLOT_NAMES_H_

#include <map>
#include <string>
#include <vector>

#include "framework/base/attribute.h"

namespace millhopper {

// What the slots of the files that open_files reads without `fields` are called: as the fields that
// it infers, or their format, call them. Empty if neither does, as of RecordIO, whose manifests may
// tell (recordio_manifest.h), and if what the first file is can only be told by reading it, which
// can be done once. `attributes` are those of open_files, of which those of the format count.
// Throws what opening the files throws.
std::vector<std::string> SlotNamesOfFiles(const std::vector<std::string>& files,
                                          const std::map<std::string, Attribute>& attributes);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_READERS_SUPPORT_SLOT_NAMES_H_

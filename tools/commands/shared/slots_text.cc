// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/slots_text.h"

#include "framework/base/error.h"

namespace millhopper {

NamedSlots SlotsOfFlag(const std::string& text) {
  try {
    return ParseSlots(text);
  } catch (const Error& error) {
    throw error.WithMessage(StrCat("--slots: ", error.message()));
  }
}

}  // namespace millhopper

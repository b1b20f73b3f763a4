// SPDX-License-Identifier: Apache-2.0
// Fuzzes programs as text.
#include <string>

#include "framework/program/program_text.h"
#include "tests/fuzz/framework/program_target.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string content(reinterpret_cast<const char*>(data), size);
  if (millhopper::IsText(content)) millhopper::LoadProgram(content);
  return 0;
}

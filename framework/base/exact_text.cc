// SPDX-License-Identifier: Apache-2.0
#include "framework/base/exact_text.h"

#include <charconv>

namespace millhopper {
namespace {

template <typename T>
std::string Shortest(T value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

}  // namespace

std::string ExactText(double value) { return Shortest(value); }

std::string ExactText(float value) { return Shortest(value); }

}  // namespace millhopper

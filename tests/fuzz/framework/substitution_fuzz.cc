// SPDX-License-Identifier: Apache-2.0
// Fuzzes the replacement of ${name}. The input is a value, up to the first line feed, and then a
// text; ${value} stands for the value. Each place in the expanded text must lead to a place in the
// text. A program with ${value} between quotes must get exactly the value.
#include <algorithm>
#include <string>
#include <vector>

#include "framework/base/limits.h"
#include "framework/program/program.h"
#include "framework/program/program_text.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

std::vector<size_t> LineLengths(const std::string& text) {
  std::vector<size_t> lengths = {0};
  for (const char c : text) {
    if (c == '\n') {
      lengths.push_back(0);
    } else {
      ++lengths.back();
    }
  }
  return lengths;
}

void CheckPlace(const SourcePlace& place, const std::vector<size_t>& lengths) {
  CHECK_GE(place.line, 1);
  CHECK_LE(static_cast<size_t>(place.line), lengths.size());
  CHECK_GE(place.column, 1);
  // The line feed, or the end of the file, is the last place of a line.
  CHECK_LE(static_cast<size_t>(place.column), lengths[static_cast<size_t>(place.line) - 1] + 1);
}

void CheckPlaces(const std::string& written, const Settings& settings) {
  constexpr int kTab = 8;
  constexpr size_t kMostPlaces = 256;  // each costs a scan of the whole text
  Problems problems("fuzz");
  const ProgramText text(written, "fuzz", settings, &problems);
  const std::vector<size_t> lengths = LineLengths(written);
  const std::vector<Problem> found = problems.InOrder();
  // The problem after these may only say how many more there are.
  for (size_t i = 0; i < std::min(found.size(), kMaxProblems); ++i) {
    CheckPlace(found[i].place, lengths);
  }
  SourcePlace last = {1, 1};
  int line = 0;
  int column = 0;
  const size_t step = 1 + text.expanded().size() / kMostPlaces;
  for (size_t i = 0; i < text.expanded().size(); ++i) {
    const char c = text.expanded()[i];
    if (i % step == 0) {
      const SourcePlace place = text.Written(line, column);
      CheckPlace(place, lengths);
      CHECK(last.line < place.line || (last.line == place.line && last.column <= place.column));
      last = place;
      CheckPlace(text.Written(line, column, "value"), lengths);
    }
    column = c == '\n' ? 0 : (c == '\t' ? column + kTab - column % kTab : column + 1);
    line += c == '\n' ? 1 : 0;
  }
  CheckPlace(text.Written(line, column), lengths);
}

void CheckValue(const std::string& value, char quote) {
  const std::string text = std::string("blocks { idx: 0 parent_idx: -1 ops { type: ") + quote +
                           "${value}" + quote + " } }";
  const auto program = Program::FromString(text, "fuzz", {{"value", value}});
  CHECK(program->desc().blocks(0).ops(0).type() == value);
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\n'), input.size());
  const std::string value = input.substr(0, end);
  const std::string written = input.substr(std::min(end + 1, input.size()));
  millhopper::CheckPlaces(written, {{"value", value}});
  millhopper::CheckPlaces(written, {{"value", written}});
  for (const char quote : {'"', '\''}) {
    millhopper::CheckValue(value, quote);
    millhopper::CheckValue(written, quote);
  }
  millhopper::Outcome([&] {
    millhopper::Program::FromString(written, "fuzz", {{"value", value}});
  });
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "framework/program/problems.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"

namespace millhopper {

void Problems::Add(Problem problem, int block, int op) {
  ++count_;
  if (full()) return;
  const size_t longest = name_.size() + kMaxProblemBytes;
  if (problem.text.size() > longest) {
    size_t end = longest;  // not within a character
    while ((static_cast<unsigned char>(problem.text[end]) & 0xc0u) == 0x80u) --end;
    problem.text = StrCat(problem.text.substr(0, end), " ... (", problem.text.size(), " bytes)");
  }
  found_.push_back({std::move(problem), block, op});
}

std::vector<Problem> Problems::InOrder() const {
  std::vector<Found> found = found_;
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.problem.place.line, a.problem.place.column, a.block, a.op) <
           std::tie(b.problem.place.line, b.problem.place.column, b.block, b.op);
  });
  std::vector<Problem> problems;
  problems.reserve(found.size() + 1);
  for (Found& one : found) problems.push_back(std::move(one.problem));
  if (count_ > found_.size()) {
    problems.push_back({{}, StrCat(name_, ": and ", count_ - found_.size(), " more problems")});
  }
  return problems;
}

std::string Join(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) text += (text.empty() ? "" : "\n") + problem.text;
  return text;
}

Error ProblemsOfProgram::ErrorOf(std::vector<Problem> problems) {
  const std::string text = Join(problems);
  return Error(ErrorCode::kInvalidArgument, text)
      .WithCause(std::make_shared<ProblemsOfProgram>(std::move(problems)));
}

}  // namespace millhopper

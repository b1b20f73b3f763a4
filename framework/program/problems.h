// SPDX-License-Identifier: Apache-2.0
// What is wrong with a program, in as many lines as a user may read.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_PROBLEMS_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_PROBLEMS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/program/program_text.h"

namespace millhopper {

// Something wrong with a program: "train.pbtxt:41:9: operator 'create_shuffle_reader': ...".
struct Problem {
  SourcePlace place;
  std::string text;  // complete, with file, line and column
};

// Collects the problems of one program. From kMaxProblems on they are only counted, and long texts
// are cut, so that no program makes a list that is much larger than itself.
class Problems {
 public:
  // `name` is how the texts call the program, at their beginning.
  explicit Problems(std::string name) : name_(std::move(name)) {}

  // Problems at the same place come by block and operator, else in the order in which they are
  // added.
  void Add(Problem problem, int block = 0, int op = 0);
  // Counts one without its text; for collectors that are full().
  void AddUnread() { ++count_; }
  bool full() const { return found_.size() >= kMaxProblems; }
  size_t count() const { return count_; }
  // In the order of the file; where some were only counted, a last one says how many.
  std::vector<Problem> InOrder() const;

 private:
  struct Found {
    Problem problem;
    int block, op;
  };

  const std::string name_;
  std::vector<Found> found_;
  size_t count_ = 0;
};

// The problems as one text, one a line.
std::string Join(const std::vector<Problem>& problems);

// The cause of the error that a program is wrong, for those who show its problems one by one.
class ProblemsOfProgram final : public ErrorCause {
 public:
  explicit ProblemsOfProgram(std::vector<Problem> found) : problems(std::move(found)) {}

  // The error kInvalidArgument, whose text is Join of the problems.
  static Error ErrorOf(std::vector<Problem> problems);

  const std::vector<Problem> problems;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_PROBLEMS_H_

// SPDX-License-Identifier: Apache-2.0
// Prints the output of programs to Python's standard output.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_OUTPUT_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_OUTPUT_H_

#include <ostream>
#include <streambuf>

namespace millhopper {

// Writes to the present value of sys.stdout. So lines keep their order with those that Python
// prints, and notebooks and tests get them, too. For threads without the interpreter. What writing
// raises is thrown as an Error with the exception as its cause; after that, nothing is written
// until clear().
class PythonOutput final : private std::streambuf, public std::ostream {
 public:
  PythonOutput();

 private:
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int overflow(int character) override;
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_OUTPUT_H_

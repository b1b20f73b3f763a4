// SPDX-License-Identifier: Apache-2.0
// What programs print, among what Python prints.
#ifndef MILLHOPPER_PYTHON_CORE_OUTPUT_H_
#define MILLHOPPER_PYTHON_CORE_OUTPUT_H_

#include <ostream>
#include <streambuf>

namespace millhopper {

// Writes to sys.stdout, whatever that is at the moment: so lines keep their order, and notebooks
// and tests get them, too. For threads without the interpreter. What writing raises is thrown as
// Error, with the exception as its cause, and then nothing is written until clear().
class PythonOutput final : private std::streambuf, public std::ostream {
 public:
  PythonOutput();

 private:
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int overflow(int character) override;
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_OUTPUT_H_

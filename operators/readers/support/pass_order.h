// SPDX-License-Identifier: Apache-2.0
// Whether the passes of a reader have one order, as far as its program tells.
#ifndef MILLHOPPER_OPERATORS_READERS_SUPPORT_PASS_ORDER_H_
#define MILLHOPPER_OPERATORS_READERS_SUPPORT_PASS_ORDER_H_

#include <string>

namespace millhopper {

class Program;

// Names the reader below the operator at this place because of which the passes of its reader
// differ in the order of their elements, and the remedy; "" if they do not.
std::string WhyPassesDiffer(const Program& program, int block, int op);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_READERS_SUPPORT_PASS_ORDER_H_

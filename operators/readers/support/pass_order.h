// SPDX-License-Identifier: Apache-2.0
// Tells from a program whether all passes of a reader have the same order.
#ifndef MILLHOPPER_OPERATORS_READERS_SUPPORT_PASS_ORDER_H_
#define MILLHOPPER_OPERATORS_READERS_SUPPORT_PASS_ORDER_H_

#include <string>

namespace millhopper {

class Program;

// For the reader that the operator at this place creates: names the reader below it that gives each
// pass another order, and the remedy; "" if all passes have one order.
std::string WhyPassesDiffer(const Program& program, int block, int op);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_READERS_SUPPORT_PASS_ORDER_H_

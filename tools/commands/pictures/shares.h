// SPDX-License-Identifier: Apache-2.0
// Shares of a whole, drawn for people.
#ifndef MILLHOPPER_TOOLS_COMMANDS_PICTURES_SHARES_H_
#define MILLHOPPER_TOOLS_COMMANDS_PICTURES_SHARES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millhopper {

class Picture;

class Shares {
 public:
  void Add(std::string name, uint64_t count);

  // A line for each, in the order of Add: its name, a bar that would have 20 blocks if it were the
  // whole, its part in percent, and its count. Lines begin with `indent` and end in "\n".
  std::string ToText(const std::string& indent) const;
  // Draws a bar for each, one below another, into a part of the picture. A bar that is as wide as
  // the part is the whole.
  void Draw(size_t left, size_t top, size_t width, size_t height, Picture* picture) const;
  // Whether nothing was counted.
  bool empty() const { return sum_ == 0; }

 private:
  struct Share {
    std::string name;
    uint64_t count;
  };
  double PartOf(const Share& share) const;

  std::vector<Share> shares_;
  uint64_t sum_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_PICTURES_SHARES_H_

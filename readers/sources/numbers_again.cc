// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/numbers_again.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "framework/base/error.h"
#include "framework/base/permutation.h"
#include "framework/base/stop.h"

namespace millhopper {

std::vector<uint64_t> NumbersAgain(const ElementNames& names, uint64_t count,
                                   const std::optional<RandomKey>& key, const std::string& origin) {
  names.CheckRecords(origin);
  const std::vector<RecordId>& records = names.records;
  std::vector<size_t> by_pass(records.size());
  std::iota(by_pass.begin(), by_pass.end(), size_t{0});
  std::stable_sort(by_pass.begin(), by_pass.end(),
                   [&](size_t a, size_t b) { return records[a].pass < records[b].pass; });
  std::vector<uint64_t> numbers(records.size());
  std::optional<Permutation> order;
  uint64_t pass = 0;  // of `order`
  for (const size_t i : by_pass) {
    CheckStop();  // a position may name very many passes
    const RecordId& id = records[i];
    Require(id.sample < count, "the position names element ", id.sample, " of the ", count, " of ",
            origin);
    if (key && (!order || pass != id.pass)) {
      pass = id.pass;
      order.emplace(count, *key, pass);
    }
    numbers[i] = order ? (*order)[id.sample] : id.sample;
  }
  return numbers;
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// What each pass makes of one element: the same records, with other random numbers.
#ifndef MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_PASSES_H_
#define MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_PASSES_H_

#include <functional>
#include <vector>

#include "framework/reader/reader.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// Calls visit with the first element of pass 0 as each of so many passes makes it; not at all if
// the pass is empty. `again` is another reader like `reader`; nothing has been read of either.
// Throws kInvalidArgument, before the first call, if a reader of the chain cannot find an element
// again in another pass.
void VisitPasses(ReaderBase* reader, ReaderBase* again, int passes,
                 const std::function<void(const std::vector<LoDTensor>&)>& visit);

}  // namespace millhopper

#endif  // MILLHOPPER_TOOLS_COMMANDS_PEEK_PEEK_PASSES_H_

// SPDX-License-Identifier: Apache-2.0
#include "framework/io/counted_reads.h"

namespace millhopper {

thread_local std::atomic<uint64_t>* CountedReads::sum_ = nullptr;

}  // namespace millhopper

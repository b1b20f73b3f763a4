// SPDX-License-Identifier: Apache-2.0
// What tests tell the operator create_number_source beside its attributes.
#ifndef MILLHOPPER_TESTS_CHAINS_NUMBER_SOURCE_H_
#define MILLHOPPER_TESTS_CHAINS_NUMBER_SOURCE_H_

#include <memory>

#include "tests/sources.h"

namespace millhopper {

// Number sources that are created from now on count their loads in this ledger, which must have
// room for all of their records; null ends it. The thread that creates them.
void CountLoads(std::shared_ptr<Ledger> ledger);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_CHAINS_NUMBER_SOURCE_H_

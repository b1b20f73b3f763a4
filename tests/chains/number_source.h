// SPDX-License-Identifier: Apache-2.0
// What tests tell the operator create_number_source besides its attributes.
#ifndef MILLHOPPER_TESTS_CHAINS_NUMBER_SOURCE_H_
#define MILLHOPPER_TESTS_CHAINS_NUMBER_SOURCE_H_

#include <memory>

#include "tests/fakes/sources.h"

namespace millhopper {

// Number sources that are created from now on count their loads in this ledger, which must have
// room for all of their records; null ends the counting. For the thread that creates the sources.
void CountLoads(std::shared_ptr<Ledger> ledger);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_CHAINS_NUMBER_SOURCE_H_

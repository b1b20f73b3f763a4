// SPDX-License-Identifier: Apache-2.0
// A source of documents for tests of readers that look at lengths.
#ifndef MILLHOPPER_TESTS_FAKES_DOCUMENTS_H_
#define MILLHOPPER_TESTS_FAKES_DOCUMENTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/reader/reader.h"
#include "tests/framework/program/program_runner.h"

namespace millhopper {

// Document i of the source is int64 [n] with one level of detail: its values.
std::unique_ptr<ReaderBase> MakeDocuments(std::vector<std::vector<int64_t>> documents);

// What is left of a pass: for each element its slots, joined by "; ", such as "[2, 3] 1 2 0 3 4 5"
// or "[3] 1 2 3 from 0 2 3" with a level of detail. The values must be int64.
std::vector<std::string> Shown(ReaderBase* reader);

// The same of a reader that an operator makes of documents, which must not depend on the number of
// threads.
std::vector<std::string> ShownOf(const std::string& type, const AttributeTexts& attributes,
                                 const std::vector<std::vector<int64_t>>& documents);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FAKES_DOCUMENTS_H_

// SPDX-License-Identifier: Apache-2.0
// What the tests of lists and folders of images share.
#ifndef MILLHOPPER_TESTS_READERS_FORMATS_LABELED_RECORDS_H_
#define MILLHOPPER_TESTS_READERS_FORMATS_LABELED_RECORDS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "framework/reader/reader.h"
#include "tests/testing.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {

// The bytes of each record and its label.
using LabeledRecords = std::vector<std::pair<std::string, int64_t>>;

inline LabeledRecords LabeledRecordsOf(ReaderBase* reader) {
  LabeledRecords records;
  for (const ElementValue& element : ReadAll(reader)) {
    EXPECT_EQ(element.size(), 2u);
    EXPECT_EQ(element[0].dtype, DataType::kUint8);
    EXPECT_EQ(element[0].lod, (Lod{{0, element[0].bytes.size()}}));
    EXPECT_EQ(element[1].dtype, DataType::kInt64);
    EXPECT_EQ(element[1].dims, (std::vector<int64_t>{1}));
    int64_t label = 0;
    std::memcpy(&label, element[1].bytes.data(), sizeof(label));
    records.emplace_back(element[0].bytes, label);
  }
  return records;
}

// Size and SHA-256 in hex.
using SizeAndDigest = std::pair<std::string, std::string>;

inline SizeAndDigest SizeAndDigestOf(const std::string& bytes) {
  Sha256 digest;
  digest.Add(bytes.data(), bytes.size());
  return {std::to_string(bytes.size()), ToHex(digest.Value())};
}

// What the sample files whose names begin so have, by the rest of the name, in their order.
inline std::map<std::string, SizeAndDigest> TruthOf(const std::string& begin) {
  std::map<std::string, SizeAndDigest> truth;
  std::ifstream manifest(TestData() + "/truth/manifest.tsv");
  for (std::string line; std::getline(manifest, line);) {
    std::istringstream fields(line);
    std::string name, size, sha256;
    fields >> name >> size >> sha256;
    if (name.rfind(begin, 0) == 0) truth[name.substr(begin.size())] = {size, sha256};
  }
  return truth;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_READERS_FORMATS_LABELED_RECORDS_H_

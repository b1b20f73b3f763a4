// SPDX-License-Identifier: Apache-2.0
// What a reader or a stream yields before its end or an error.
#ifndef MILLHOPPER_TESTS_OUTCOME_H_
#define MILLHOPPER_TESTS_OUTCOME_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/reader/reader.h"
#include "tests/testing.h"

namespace millhopper {

// What a reader yields before the end of the pass or an error, and the error.
struct Outcome {
  std::vector<ElementValue> elements;
  std::optional<Error> error;
};

inline Outcome OutcomeOf(ReaderBase* reader) {
  Outcome outcome;
  std::vector<LoDTensor> element;
  try {
    while (reader->HasNext()) {
      reader->ReadNext(&element);
      outcome.elements.push_back(ValueOf(element));
    }
  } catch (const Error& error) {
    outcome.error = error;
  }
  return outcome;
}

// What a stream gives before its end or an error, and the error.
struct StreamOutcome {
  std::string content;
  std::optional<Error> error;
};

// Reads a file in pieces of this size.
inline StreamOutcome ReadStream(const std::string& path, size_t piece) {
  StreamOutcome outcome;
  std::string buffer(piece, '\0');
  try {
    ByteStream stream(path);
    for (;;) {
      EXPECT_LE(outcome.content.size(), stream.position());
      const size_t got = stream.Read(buffer.data(), piece);
      outcome.content.append(buffer, 0, got);
      EXPECT_EQ(stream.position(), outcome.content.size());
      if (got == 0) return outcome;
    }
  } catch (const Error& error) {
    outcome.error = error;
  }
  return outcome;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_OUTCOME_H_

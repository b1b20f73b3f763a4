// SPDX-License-Identifier: Apache-2.0
// Fuzzes Examples and SequenceExamples. (Those in a file have a checksum, which a fuzzer cannot
// guess.)
#include <string>

#include "readers/formats/tfrecord/example.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

void Fuzz(const char* bytes, size_t size) {
  static const auto* parser = new ExampleParser(
      ParseFields({"i int64[-1]", "f float32[3] default=0", "b bytes missing=default",
                   "l bytes[-1] missing=default", "d float64[-1,2] scale=2 missing=default",
                   "t int32[] decode=text default=0", "s uint8[] missing=skip"}),
      Others::kIgnore);
  Ticket ticket;
  ticket.bytes = bytes;
  ticket.size = static_cast<uint32_t>(size);
  Outcome([&] {
    if (parser->IsLeftOut({bytes, size})) return;
    Rows rows(SlotsOf(parser->fields()));
    parser->Load(&ticket, 1, &rows);
  });
  std::vector<std::string> guessed;
  Outcome([&] { guessed = GuessExampleFields({std::string_view(bytes, size)}).entries; });
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millhopper::Fuzz(reinterpret_cast<const char*>(data), size);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Fuzzes what object stores answer, lists and errors, and the files of profiles of those who ask.
#include <string>
#include <string_view>

#include "framework/io/s3/aws_settings.h"
#include "framework/io/s3/s3_list.h"
#include "framework/io/s3/s3_xml.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  millhopper::Outcome([&] {
    const millhopper::S3Page page = millhopper::ReadS3Page(text);
    // Each name has at least its own element.
    CHECK_LE(page.folder.keys.size() + page.folder.prefixes.size(), size);
  });
  const millhopper::S3Error error = millhopper::ReadS3Error(text);
  CHECK_LE(error.code.size() + error.message.size() + error.region.size(), 3 * size);
  bool found = false;
  for (const auto& [name, value] : millhopper::AwsSection(text, "default", &found)) {
    CHECK_LT(name.size() + value.size(), size);
  }
  return 0;
}

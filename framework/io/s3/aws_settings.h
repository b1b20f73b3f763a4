// SPDX-License-Identifier: Apache-2.0
// What the environment and the profile files of AWS say: ~/.aws/config and ~/.aws/credentials.
#ifndef MILLHOPPER_FRAMEWORK_IO_S3_AWS_SETTINGS_H_
#define MILLHOPPER_FRAMEWORK_IO_S3_AWS_SETTINGS_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace millhopper {

// Settings by their names; some are secrets. Those that are not set are not in it.
using AwsSettings = std::map<std::string, std::string, std::less<>>;

// The variables of the environment that are heeded, with their present values. An empty one counts
// as not set.
AwsSettings AwsEnvironment();

// The profile that the environment names, or "default": the values of the credentials file before
// those of the config file. Throws kIo with the file's name if a file cannot be read, and
// kInvalidArgument if a profile is named and neither file has it.
AwsSettings AwsProfile(const AwsSettings& environment);

// The settings of one section, such as "profile train". Lines that are indented belong to the
// setting before, and are left out. Of a name that is there twice, the last value counts. Sets
// `found` if there is such a section.
AwsSettings AwsSection(std::string_view file, std::string_view section, bool* found);

// The value, or "".
std::string ValueOf(const AwsSettings& settings, std::string_view name);
// Whether it is set to "true" in any case.
bool IsTrue(const AwsSettings& settings, std::string_view name);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_S3_AWS_SETTINGS_H_

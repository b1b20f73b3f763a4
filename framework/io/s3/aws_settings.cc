// SPDX-License-Identifier: Apache-2.0
#include "framework/io/s3/aws_settings.h"

#include <strings.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>

#include "framework/base/error.h"
#include "framework/io/counted_reads.h"
#include "framework/io/file_system.h"

namespace millhopper {
namespace {

constexpr size_t kMostProfileBytes = size_t{1} << 20;  // of a file of profiles

constexpr const char* kVariables[] = {"AWS_ACCESS_KEY_ID",
                                      "AWS_CONFIG_FILE",
                                      "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                                      "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                                      "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                      "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                      "AWS_DEFAULT_REGION",
                                      "AWS_EC2_METADATA_DISABLED",
                                      "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                                      "AWS_ENDPOINT_URL",
                                      "AWS_ENDPOINT_URL_S3",
                                      "AWS_NO_SIGN_REQUEST",
                                      "AWS_PROFILE",
                                      "AWS_REGION",
                                      "AWS_SECRET_ACCESS_KEY",
                                      "AWS_SESSION_TOKEN",
                                      "AWS_SHARED_CREDENTIALS_FILE",
                                      "AWS_WEB_IDENTITY_TOKEN_FILE",
                                      "HOME"};

std::string_view Trimmed(std::string_view text) {
  constexpr char kBlanks[] = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// The file that a variable names, or that of the home directory. "" if there is none.
std::string ContentOf(const AwsSettings& environment, const char* variable, const char* name) {
  std::string path = ValueOf(environment, variable);
  const std::string home = ValueOf(environment, "HOME");
  if (path.empty() && !home.empty()) path = StrCat(home, "/.aws/", name);
  if (path.substr(0, 2) == "~/") path.replace(0, 1, home);
  if (path.empty() || !FileSystemOf("").Stat(path).exists()) return "";
  const CountedReads uncounted(nullptr);  // these are no data
  const std::unique_ptr<const File> file = FileSystemOf("").Open(path);
  if (file->size() > kMostProfileBytes) {
    throw Error(ErrorCode::kResourceLimit,
                StrCat("a file of profiles with more than ", kMostProfileBytes, " bytes"))
        .InFile(path, -1);
  }
  std::string content(file->size(), '\0');
  file->Read(0, content.data(), content.size());
  return content;
}

}  // namespace

AwsSettings AwsEnvironment() {
  AwsSettings settings;
  for (const char* const name : kVariables) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') settings[name] = value;
  }
  return settings;
}

AwsSettings AwsProfile(const AwsSettings& environment) {
  const std::string named = ValueOf(environment, "AWS_PROFILE");
  const std::string name = named.empty() ? "default" : named;
  bool found = false;
  AwsSettings settings = AwsSection(
      ContentOf(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials"), name, &found);
  const std::string config = ContentOf(environment, "AWS_CONFIG_FILE", "config");
  settings.merge(AwsSection(config, StrCat("profile ", name), &found));
  if (name == "default") settings.merge(AwsSection(config, name, &found));
  Require(found || named.empty(), "AWS_PROFILE is '", Escaped(named),
          "', and no file of profiles has it (~/.aws/config, ~/.aws/credentials)");
  return settings;
}

AwsSettings AwsSection(std::string_view file, std::string_view section, bool* found) {
  AwsSettings settings;
  bool inside = false;
  while (!file.empty()) {
    const size_t end = std::min(file.find('\n'), file.size() - 1);
    const std::string_view line = file.substr(0, end + 1);
    file.remove_prefix(end + 1);
    const bool is_indented = line[0] == ' ' || line[0] == '\t';
    std::string_view text = Trimmed(line.substr(0, line.find('\n')));
    if (is_indented || text.empty() || text[0] == '#' || text[0] == ';') continue;
    if (text[0] == '[') {
      const size_t close = text.find(']');
      text = Trimmed(text.substr(1, close == std::string_view::npos ? close : close - 1));
      inside = text == section;
      *found = *found || inside;
      continue;
    }
    const size_t equals = text.find('=');
    if (!inside || equals == std::string_view::npos) continue;
    settings[std::string(Trimmed(text.substr(0, equals)))] = Trimmed(text.substr(equals + 1));
  }
  return settings;
}

std::string ValueOf(const AwsSettings& settings, std::string_view name) {
  const auto found = settings.find(name);
  return found == settings.end() ? "" : found->second;
}

bool IsTrue(const AwsSettings& settings, std::string_view name) {
  return ::strcasecmp(ValueOf(settings, name).c_str(), "true") == 0;
}

}  // namespace millhopper

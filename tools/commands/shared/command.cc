// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/command.h"

#include <errno.h>
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <system_error>

#include "framework/base/at_work.h"
#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "framework/base/version.h"
#include "framework/io/cache/remote_cache.h"
#include "framework/io/command.h"
#include "framework/io/files_in_use.h"
#include "framework/io/http/http_transfers.h"
#include "framework/io/listed_files.h"
#include "framework/memory/memory_limit.h"
#include "framework/plugin.h"
#include "framework/reader/first_pass_indexes.h"
#include "tools/commands/help/completion.h"
#include "tools/commands/help/man_page.h"
#include "tools/commands/help/shared_flags.h"
#include "tools/commands/shared/amounts.h"
#include "tools/commands/shared/plugin_path.h"
#include "tools/commands/shared/watcher.h"

namespace millhopper {
namespace {

__attribute__((noreturn)) void ExitForBug() { _exit(static_cast<int>(ErrorCode::kInternal)); }

// Without --log_dir nothing is logged, unless --v or --vmodule asks for logs on standard error.
void StartLogging(const char* program) {
  if (FLAGS_log_dir.empty()) {
    FLAGS_logtostderr = true;
    if (FLAGS_v == 0 && FLAGS_vmodule.empty()) FLAGS_minloglevel = google::GLOG_FATAL;
  } else {
    std::error_code failed;
    std::filesystem::create_directories(FLAGS_log_dir, failed);
    if (failed) Throw(ErrorCode::kIo, "--log_dir=", FLAGS_log_dir, ": ", failed.message());
    FLAGS_stderrthreshold = google::GLOG_FATAL;
  }
  google::InitGoogleLogging(program);
  google::InstallFailureFunction(&ExitForBug);
}

int ReportError() {
  const Error error = CurrentError();
  // What was printed before comes first where both go to one place. If standard output is closed,
  // the error is still printed.
  signal(SIGPIPE, SIG_IGN);
  std::cout.flush();
  fflush(stdout);
  PrintError(error.what());
  return static_cast<int>(error.code());
}

// Applies --timeout, which must come before everything that may take long.
void SetTimeLimit(const CommandHelp& help, const std::vector<GivenFlag>& flags, Watcher* watcher) {
  std::vector<GivenFlag> limits;
  std::copy_if(flags.begin(), flags.end(), std::back_inserter(limits),
               [](const GivenFlag& flag) { return flag.name == "timeout"; });
  SetFlags(help, limits);
  Require(FLAGS_timeout >= 0, "--timeout=", FLAGS_timeout, " is less than 0");
  watcher->SetLimit(FLAGS_timeout);
}

// A flag's number of seconds, which is at least a millisecond and at most a year.
std::chrono::milliseconds Seconds(const char* flag, double seconds) {
  constexpr double kLeast = 1e-3, kMost = 365.0 * 24 * 3600;
  Require(seconds >= kLeast && seconds <= kMost, "--", flag, "=", seconds,
          ": seconds from 0.001 to a year are possible");
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

void SetHttpLimits() {
  constexpr int kMostRequests = 1024;
  Require(FLAGS_requests >= 1 && FLAGS_requests <= kMostRequests, "--requests=", FLAGS_requests,
          ": 1 to ", kMostRequests, " are possible");
  HttpLimits limits;
  limits.under_way = static_cast<size_t>(FLAGS_requests);
  limits.connecting = Seconds("connect_timeout", FLAGS_connect_timeout);
  limits.silence = Seconds("silence_timeout", FLAGS_silence_timeout);
  limits.in_all = Seconds("request_timeout", FLAGS_request_timeout);
  HttpLimits::Set(limits);
}

void UseRemoteCache() {
  const uint64_t bytes = ParseBytes("cache_bytes", FLAGS_cache_bytes);
  if (FLAGS_cache_dir.empty()) return;
  try {
    RemoteCache::Use(FLAGS_cache_dir, bytes);
  } catch (const Error& error) {
    throw Error(error.code(), StrCat("--cache_dir: ", error.what()));
  }
}

// Prints what the words ask to be told of the command itself; returns false if they ask nothing.
// words[0] is the program.
bool IsTold(const CommandHelp& help, const std::vector<std::string>& words) {
  const std::string called = words[0].substr(words[0].rfind('/') + 1);
  for (size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    const std::string bare = WithoutDashes(words[i]);
    if (bare == "help" || bare == "h") {
      std::cout << HelpText(CalledAs(help, called));
    } else if (bare == "version") {
      std::cout << called << " of Millhopper " << kVersion << "\n";
    } else if (bare == "man") {
      std::cout << ManPage(CalledAs(help, called));
    } else if (bare == "completion" || bare.rfind("completion=", 0) == 0) {
      const bool separate = bare == "completion" && i + 1 < words.size();
      const std::string shell = separate ? words[i + 1] : bare.substr(bare.find('=') + 1);
      std::cout << Completion(CalledAs(help, called), shell);
    } else if (bare == "helpfull") {
      gflags::ShowUsageWithFlags(words[0].c_str());
    } else {
      continue;
    }
    FlushOutput();
    return true;
  }
  return false;
}

// Loads the plugins of the flags.
void LoadPlugins(const CommandHelp& help, const Arguments& arguments,
                 const std::vector<GivenFlag>& flags) {
  std::vector<std::string> programs;
  for (const std::string& name : help.programs) {
    for (const GivenFlag& flag : flags) {
      if (flag.name == name) programs.push_back(flag.value);
    }
    const std::vector<std::string> repeated = arguments.all(name);
    programs.insert(programs.end(), repeated.begin(), repeated.end());
  }
  for (const std::string& given : arguments.all("plugin")) {
    const std::string path = PluginPath(given, programs.empty() ? "" : programs.front());
    if (path != given) std::cerr << "--plugin=" << Escaped(given) << ": " << Escaped(path) << "\n";
    LoadPlugin(path);
  }
}

// What RunCommand does, except for the handling of errors.
int ParseAndRun(const CommandHelp& help, const std::vector<std::string>& words,
                const std::function<int(const Arguments& arguments)>& body, Watcher* watcher) {
  std::vector<GivenFlag> flags;
  SplitArguments(help, {words.begin() + 1, words.end()}, &flags);
  SetTimeLimit(help, flags, watcher);
  FilesRead flagfiles(FileRole::kFlags);
  std::vector<std::string> expanded = ExpandFlagfiles(words, &flagfiles);
  if (IsTold(help, expanded)) return 0;
  expanded.erase(expanded.begin());
  flags.clear();
  const Arguments arguments = SplitArguments(help, expanded, &flags);
  SetTimeLimit(help, flags, watcher);
  LoadPlugins(help, arguments, flags);
  SetFlags(help, flags);
  AllowExec(FLAGS_allow_exec);
  AllowLocalEntries(FLAGS_allow_local_entries);
  StartLogging(words[0].c_str());
  Require(FLAGS_threads >= -1, "--threads=", FLAGS_threads,
          ": 0 to 1024 are possible, and -1 for one per core but the first");
  ThreadPool::Get().SetSize(FLAGS_threads == -1 ? ThreadPool::DefaultSize() : FLAGS_threads);
  if (!FLAGS_memory_limit.empty()) {
    MemoryLimit::Set(ParseBytes("memory_limit", FLAGS_memory_limit));
  }
  SetHttpLimits();
  UseRemoteCache();
  FirstPassIndexes::Leave(FLAGS_index);
  const int code = body(arguments);
  FlushOutput();
  return code;
}

}  // namespace

int RunCommand(int argc, char** argv, const CommandHelp& help,
               const std::function<int(const Arguments& arguments)>& body) {
  InstallCrashLines(&AbandonOutputs);
  std::exception_ptr no_watcher;
  Watcher* const watcher = Watcher::Start(&no_watcher);
  int code = 0;
  try {
    const std::vector<std::string> words(argv, argv + argc);
    if (!IsTold(help, words)) {
      if (watcher == nullptr) std::rethrow_exception(no_watcher);
      code = ParseAndRun(help, words, body, watcher);
    }
    if (watcher != nullptr && watcher->exit_code() != 0) code = watcher->exit_code();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCancelled || watcher == nullptr || watcher->exit_code() == 0) {
      code = ReportError();
    } else {
      if (!watcher->ReasonText().empty()) PrintError(watcher->ReasonText());
      fflush(stdout);
      code = watcher->exit_code();
    }
  } catch (...) {
    code = ReportError();
  }
  ExpectExit();
  return code;
}

OutputRules RulesOfFlags() {
  OutputRules rules;
  rules.overwrite = FLAGS_force;
  rules.stream = true;
  rules.refusal = "the file exists; --force replaces it";
  return rules;
}

void FlushOutput() {
  errno = 0;
  std::cout.flush();
  const bool flushed = fflush(stdout) == 0;
  if (!flushed || !std::cout || ferror(stdout) != 0) {
    Throw(ErrorCode::kIo, "standard output: ", errno == 0 ? "cannot be written" : strerror(errno));
  }
}

void PrintError(std::string_view text) {
  // Prints line by line and allocates nothing, because there may be no memory left.
  for (std::string_view left = text; !left.empty();) {
    const std::string_view line = left.substr(0, left.find('\n'));
    const bool is_step = line.substr(0, 2) == "  ";
    fprintf(stderr, "%s%.*s\n", is_step ? "" : "error: ", static_cast<int>(line.size()),
            line.data());
    left.remove_prefix(std::min(left.size(), line.size() + 1));
  }
}

std::map<std::string, std::string> ParseSettings(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> settings;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    // The text is not shown: it may be a value, and that a secret.
    Require(equals != std::string::npos && equals > 0,
            "--set: ", equals == 0 ? "there is nothing before the '='" : "there is no '='",
            " in one of them; a setting is NAME=VALUE, such as --set passes=3");
    settings[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return settings;
}

}  // namespace millhopper

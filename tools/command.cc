// SPDX-License-Identifier: Apache-2.0
#include "tools/command.h"

#include <errno.h>
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "framework/base/at_work.h"
#include "framework/base/error.h"
#include "framework/base/memory_limit.h"
#include "framework/base/spelling.h"
#include "framework/base/stop.h"
#include "framework/base/thread_pool.h"
#include "framework/io/files_in_use.h"
#include "framework/plugin.h"

DEFINE_int32(threads, -1,
             "worker threads that load data, 0 to 1024; -1: one for each core except the first");
DEFINE_string(
    memory_limit, "",
    "the most memory for data, such as 512MB: files read ahead, shuffle windows, batches, "
    "buffers and variables together; a program that needs more stops with exit code 5. "
    "Empty: no limit");
DEFINE_double(timeout, 0, "stop with exit code 5 this many seconds after the start; 0: never");
DEFINE_bool(force, false,
            "replace existing output files; without it they are an error. A file that this process "
            "reads is never overwritten, even under another name");
DEFINE_uint64(seed, 0, "seed of everything random: initial values, shuffles, generators");
DEFINE_string(set, "",
              "NAME=VALUE: replaces ${NAME} in programs by the text VALUE; may be repeated");
DEFINE_string(plugin, "",
              "absolute path of a shared library with operators, readers and formats to add; it "
              "runs as part of this process; may be repeated");

namespace millhopper {
namespace {

constexpr std::chrono::milliseconds kGrace(80);          // for a clean stop after a signal
constexpr std::chrono::milliseconds kTimeoutGrace(500);  // and after --timeout
constexpr size_t kHelpWidth = 80;
constexpr size_t kMaxFlagfileDepth = 8;

// The flags above. A command offers one of them by naming it in a group of its help.
const void* const kShared[] = {&FLAGS_threads, &FLAGS_memory_limit, &FLAGS_timeout, &FLAGS_force,
                               &FLAGS_seed,    &FLAGS_set,          &FLAGS_plugin};

// ---- Flags ----

struct GivenFlag {
  std::string name;
  std::string value;
  bool has_value;
};

// "name=value" of "--name=value" or "-name=value"; "" if the argument is not a flag.
std::string WithoutDashes(const std::string& argument) {
  if (argument.size() < 2 || argument[0] != '-') return "";
  return argument.substr(argument[1] == '-' ? 2 : 1);
}

// Copies the arguments, but replaces each --flagfile by the flags in the file: one on each line,
// and lines that begin with # are comments.
void ExpandFlagfiles(const std::vector<std::string>& from, size_t depth,
                     std::vector<std::string>* to, FilesRead* read) {
  Require(depth <= kMaxFlagfileDepth, "--flagfile: files name each other more than ",
          kMaxFlagfileDepth, " deep");
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] == "--") {
      to->insert(to->end(), from.begin() + static_cast<ptrdiff_t>(i), from.end());
      return;
    }
    const std::string bare = WithoutDashes(from[i]);
    const bool separate = bare == "flagfile" && i + 1 < from.size();
    if (!separate && bare.rfind("flagfile=", 0) != 0) {
      to->push_back(from[i]);
      continue;
    }
    const std::string path = separate ? from[++i] : bare.substr(strlen("flagfile="));
    std::ifstream file(path);
    if (!file) Throw(ErrorCode::kIo, "--flagfile=", path, ": ", strerror(errno));
    read->AddLocal(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
      const size_t begin = line.find_first_not_of(" \t");
      if (begin == std::string::npos || line[begin] == '#') continue;
      lines.push_back(line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin));
    }
    ExpandFlagfiles(lines, depth + 1, to, read);
  }
}

bool IsRepeatable(const CommandHelp& help, const std::string& name) {
  return std::count(help.repeatable.begin(), help.repeatable.end(), name) > 0;
}

// A command knows a flag of this file only if it names the flag in a group of its help. Every
// command knows the flags that libraries and plugins define.
bool IsFlag(const CommandHelp& help, const std::string& name, gflags::CommandLineFlagInfo* info) {
  if (!gflags::GetCommandLineFlagInfo(name.c_str(), info)) return false;
  if (std::count(std::begin(kShared), std::end(kShared), info->flag_ptr) == 0) return true;
  return std::any_of(help.groups.begin(), help.groups.end(), [&](const FlagGroup& group) {
    return std::count(group.flags.begin(), group.flags.end(), name) > 0;
  });
}

[[noreturn]] void ThrowUnknownFlag(const CommandHelp& help, const std::string& name) {
  std::vector<std::string> known;
  for (const FlagGroup& group : help.groups) {
    known.insert(known.end(), group.flags.begin(), group.flags.end());
  }
  Throw(ErrorCode::kInvalidArgument, "no flag --", name, DidYouMean(name, known),
        " (--help lists them)");
}

// Splits expanded arguments into words, repeatable flags and other flags. A flag that is not known
// yet may come with a plugin; its value, if any, must follow '='.
Arguments SplitArguments(const CommandHelp& help, const std::vector<std::string>& arguments,
                         std::vector<GivenFlag>* flags) {
  Arguments result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      result.words.insert(result.words.end(), arguments.begin() + static_cast<ptrdiff_t>(i) + 1,
                          arguments.end());
      break;
    }
    const std::string bare = WithoutDashes(argument);
    if (bare.empty()) {
      result.words.push_back(argument);
      continue;
    }
    const size_t equals = bare.find('=');
    GivenFlag flag{bare.substr(0, equals), "", equals != std::string::npos};
    if (flag.has_value) {
      flag.value = bare.substr(equals + 1);
    } else {
      gflags::CommandLineFlagInfo info;
      if (IsFlag(help, flag.name, &info) && info.type != "bool") {
        Require(i + 1 < arguments.size(), "--", flag.name, " needs a value");
        flag.value = arguments[++i];
        flag.has_value = true;
      }
    }
    if (IsRepeatable(help, flag.name)) {
      result.repeated[flag.name].push_back(flag.value);
    } else {
      flags->push_back(flag);
    }
  }
  return result;
}

void SetFlags(const CommandHelp& help, const std::vector<GivenFlag>& flags) {
  for (const GivenFlag& flag : flags) {
    gflags::CommandLineFlagInfo info;
    std::string name = flag.name;
    std::string value = flag.has_value ? flag.value : "true";
    if (!IsFlag(help, name, &info)) {
      const bool negated = !flag.has_value && name.rfind("no", 0) == 0 &&
                           IsFlag(help, name.substr(2), &info) && info.type == "bool";
      if (!negated) ThrowUnknownFlag(help, name);
      name = name.substr(2);
      value = "false";
    }
    Require(info.type == "bool" || flag.has_value, "--", name, " needs a value");
    Require(!gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty(), "--", name, "=",
            value, ": not a valid ", info.type == "string" ? "value" : info.type);
  }
}

// ---- Help ----

void PrintWrapped(const std::string& text, const std::string& indent) {
  std::istringstream words(text);
  std::string line = indent;
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kHelpWidth && line != indent) {
      std::cout << line << "\n";
      line = indent;
    }
    if (line != indent) line += ' ';
    line += word;
  }
  std::cout << line << "\n";
}

void PrintHelp(const CommandHelp& help) {
  std::istringstream usages(help.usage);
  const char* before = "usage: ";
  for (std::string line; std::getline(usages, line); before = "       ") {
    std::cout << before << line << "\n";
  }
  std::istringstream lines(help.text);
  std::string paragraph;
  const auto finish_paragraph = [&] {
    if (!paragraph.empty()) PrintWrapped(paragraph, "");
    paragraph.clear();
  };
  std::cout << "\n";
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != ' ') {
      paragraph += line + " ";
      continue;
    }
    finish_paragraph();
    std::cout << line << "\n";
  }
  finish_paragraph();
  for (const FlagGroup& group : help.groups) {
    std::cout << "\n" << group.title << ":\n";
    for (const std::string& name : group.flags) {
      const gflags::CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
      std::cout << "  --" << name;
      if (info.type != "bool") {
        std::cout << "=" << (info.type == "string" ? "..." : "N");
        if (!info.default_value.empty()) std::cout << "  (" << info.default_value << ")";
      }
      std::cout << "\n";
      PrintWrapped(info.description, "      ");
    }
  }
  std::cout << "\nEverywhere:\n"
               "  --help, --helpfull      this text; all flags of all libraries\n"
               "  --flagfile=FILE         more flags, one on each line\n"
               "  --v=N, --log_dir=DIR    log more; write the logs into files\n";
  if (!help.examples.empty()) std::cout << "\nExamples:\n" << help.examples;
  std::cout << "\nExit codes: 0 success, 2 usage or an invalid program, 3 damaged data, 4 the\n"
               "operating system, 5 a limit, 6 a plugin, 70 a bug, 128+n the signal n.\n";
}

// ---- Logs ----

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

// ---- Signals ----

using Clock = std::chrono::steady_clock;

// Its thread waits for signals and for the time limit, then requests a stop, and ends the process
// if it does not end by itself.
class Watcher {
 public:
  // Must be called before any other thread starts, so that every thread has the signals blocked. If
  // the watcher's thread cannot be started, blocks no signal, returns null and says why in
  // `failure`. The watcher lives until the process ends.
  static Watcher* Start(std::exception_ptr* failure) {
    // By default SIGXFSZ ends the process. Ignored, it lets a write beyond the limit on the size of
    // files (ulimit -f) fail, which is reported.
    signal(SIGXFSZ, SIG_IGN);
    auto* watcher = new Watcher;
    pthread_sigmask(SIG_BLOCK, &watcher->signals_, nullptr);
    try {
      watcher->thread_ = std::thread([watcher] { watcher->Watch(); });
    } catch (...) {
      *failure = std::current_exception();
      pthread_sigmask(SIG_UNBLOCK, &watcher->signals_, nullptr);
      delete watcher;
      return nullptr;
    }
    return watcher;
  }

  // Sets the limit, counted from the start of the watcher; 0 is no limit. One thread at a time.
  void SetLimit(double seconds) {
    if (seconds == limit_seconds_.exchange(seconds)) return;
    pthread_kill(thread_.native_handle(), kLookAgain);
  }

  // The exit code of the process after a signal or the time limit; 0 before.
  int exit_code() const { return exit_code_.load(); }
  std::string ReasonText() const {
    const int code = exit_code();
    if (code == static_cast<int>(ErrorCode::kResourceLimit)) {
      return StrCat("stopped after --timeout=", limit_seconds_.load(), " seconds");
    }
    return code == 128 + SIGXCPU ? "stopped: the limit on processor time (ulimit -t) is reached"
                                 : "";
  }

 private:
  // SetLimit sends this signal to the watcher's thread, which then reads the limit again. If
  // another process sends it, it has no effect, as by default.
  static constexpr int kLookAgain = SIGURG;

  Watcher() {
    sigemptyset(&signals_);
    for (const int number : {SIGINT, SIGTERM, SIGXCPU, kLookAgain}) sigaddset(&signals_, number);
    struct sigaction hang_up;
    const bool ignored = sigaction(SIGHUP, nullptr, &hang_up) == 0 && hang_up.sa_handler == SIG_IGN;
    if (!ignored) sigaddset(&signals_, SIGHUP);
  }

  // Returns the signal, 0 when the time is over, or kLookAgain if the wait was interrupted.
  int WaitForSignal(std::chrono::duration<double> left) const {
    constexpr double kLongest = 1e9;
    const double seconds = std::clamp(left.count(), 0.0, kLongest);
    timespec time;
    time.tv_sec = static_cast<time_t>(seconds);
    time.tv_nsec = static_cast<int64_t>((seconds - std::floor(seconds)) * 1e9);
    const int number = sigtimedwait(&signals_, nullptr, &time);
    if (number > 0) return number;
    return errno == EAGAIN ? 0 : kLookAgain;
  }

  // Returns a signal other than kLookAgain, or 0 when the time limit is reached.
  int WaitForSignalUntilLimit() const {
    for (;;) {
      const double limit = limit_seconds_.load();
      std::chrono::duration<double> left = std::chrono::hours(1);
      if (limit > 0) left = started_ + std::chrono::duration<double>(limit) - Clock::now();
      const int number = WaitForSignal(left);
      if (number != kLookAgain && (number != 0 || limit > 0)) return number;
    }
  }

  void Watch() {
    const int first = WaitForSignalUntilLimit();
    exit_code_.store(first > 0 ? 128 + first : static_cast<int>(ErrorCode::kResourceLimit));
    RequestStop();
    const auto end = Clock::now() + (first > 0 ? kGrace : kTimeoutGrace);
    int second = kLookAgain;
    while (second == kLookAgain) second = WaitForSignal(end - Clock::now());
    if (second > 0) exit_code_.store(128 + second);
    AbandonOutputs();
    if (!ReasonText().empty()) PrintError(ReasonText());
    FlushWithoutWaiting();
    _exit(exit_code());
  }

  // Flushes standard output, unless another thread holds its lock or the write would have to wait.
  static void FlushWithoutWaiting() {
    pollfd output = {STDOUT_FILENO, POLLOUT, 0};
    if (ftrylockfile(stdout) != 0) return;
    if (poll(&output, 1, 0) == 1 && (output.revents & POLLOUT) != 0) fflush_unlocked(stdout);
    funlockfile(stdout);
  }

  const Clock::time_point started_ = Clock::now();
  sigset_t signals_;
  std::atomic<double> limit_seconds_{0};
  std::atomic<int> exit_code_{0};
  std::thread thread_;
};

int ReportError() {
  const Error error = CurrentError();
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

// Prints the help if the words ask for it; returns false if they do not. words[0] is the program.
bool HelpIsPrinted(const CommandHelp& help, const std::vector<std::string>& words) {
  for (size_t i = 1; i < words.size() && words[i] != "--"; ++i) {
    const std::string bare = WithoutDashes(words[i]);
    if (bare == "help" || bare == "h") {
      PrintHelp(help);
      FlushOutput();
      return true;
    }
    if (bare == "helpfull") {
      gflags::ShowUsageWithFlags(words[0].c_str());
      return true;
    }
  }
  return false;
}

// What RunCommand does, except for the handling of errors.
int ParseAndRun(const CommandHelp& help, const std::vector<std::string>& words,
                const std::function<int(const Arguments& arguments)>& body, Watcher* watcher) {
  std::vector<GivenFlag> flags;
  SplitArguments(help, {words.begin() + 1, words.end()}, &flags);
  SetTimeLimit(help, flags, watcher);
  FilesRead flagfiles(FileRole::kFlags);
  std::vector<std::string> expanded;
  ExpandFlagfiles(words, 0, &expanded, &flagfiles);
  if (HelpIsPrinted(help, expanded)) return 0;
  expanded.erase(expanded.begin());
  flags.clear();
  const Arguments arguments = SplitArguments(help, expanded, &flags);
  SetTimeLimit(help, flags, watcher);
  for (const std::string& path : arguments.all("plugin")) LoadPlugin(path);
  SetFlags(help, flags);
  StartLogging(words[0].c_str());
  Require(FLAGS_threads >= -1, "--threads=", FLAGS_threads,
          ": 0 to 1024 are possible, and -1 for one per core but the first");
  ThreadPool::Get().SetSize(FLAGS_threads == -1 ? ThreadPool::DefaultSize() : FLAGS_threads);
  if (!FLAGS_memory_limit.empty()) {
    MemoryLimit::Set(ParseBytes("memory_limit", FLAGS_memory_limit));
  }
  const int code = body(arguments);
  FlushOutput();
  return code;
}

// The width of the terminal. A status line that is longer would take several lines.
size_t TerminalWidth() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kHelpWidth;
  return size.ws_col;
}

}  // namespace

std::vector<std::string> Arguments::all(const std::string& flag) const {
  const auto found = repeated.find(flag);
  return found == repeated.end() ? std::vector<std::string>() : found->second;
}

int RunCommand(int argc, char** argv, const CommandHelp& help,
               const std::function<int(const Arguments& arguments)>& body) {
  InstallCrashLines(&AbandonOutputs);
  std::exception_ptr no_watcher;
  Watcher* const watcher = Watcher::Start(&no_watcher);
  int code = 0;
  try {
    const std::vector<std::string> words(argv, argv + argc);
    if (!HelpIsPrinted(help, words)) {
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
    Require(equals != std::string::npos && equals > 0, "--set=", text,
            ": a setting is NAME=VALUE, such as --set passes=3");
    settings[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return settings;
}

uint64_t ParseBytes(const std::string& flag, const std::string& text) {
  static const std::map<std::string, uint64_t> kUnits = {
      {"", 1},          {"B", 1},         {"kB", 1000},
      {"KB", 1000},     {"MB", 1000000},  {"GB", 1000000000},
      {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
  size_t digits = 0;
  uint64_t number = 0;
  bool fits = true;
  for (; digits < text.size() && isdigit(static_cast<unsigned char>(text[digits])); ++digits) {
    fits = fits && !__builtin_mul_overflow(number, uint64_t{10}, &number) &&
           !__builtin_add_overflow(number, static_cast<uint64_t>(text[digits] - '0'), &number);
  }
  const auto unit = kUnits.find(text.substr(digits));
  if (digits == 0 || unit == kUnits.end() || !fits ||
      __builtin_mul_overflow(number, unit->second, &number)) {
    Throw(ErrorCode::kInvalidArgument, "--", flag, "=", text,
          ": not a number of bytes, such as 4096, 64MB or 64MiB");
  }
  return number;
}

std::string WithCommas(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3;) text.insert(i -= 3, ",");
  return text;
}

std::string Counted(uint64_t number, const char* what) {
  return StrCat(WithCommas(number), " ", what, number == 1 ? "" : "s");
}

std::string HumanBytes(double bytes) {
  static const char* const kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1000;
  char text[32];
  snprintf(text, sizeof(text), unit == 0 || bytes >= 99.5 ? "%.0f %s" : "%.1f %s", bytes,
           kUnits[unit]);
  return text;
}

StatusLine::StatusLine(std::function<std::string()> text) : text_(std::move(text)) {
  if (isatty(STDERR_FILENO) == 0) return;
  try {
    thread_ = std::thread([this] { Show(); });
  } catch (const std::system_error&) {  // the command works without a status line
  }
}

void StatusLine::Show() {
  std::unique_lock<std::mutex> lock(mutex_);
  // Waits before it shows the first line, so that short work shows none.
  while (!wake_.wait_for(lock, std::chrono::milliseconds(100), [this] { return done_; })) {
    const std::string line = text_().substr(0, TerminalWidth() - 1);
    fprintf(stderr, "\r%s\033[K\r", line.c_str());
  }
}

StatusLine::~StatusLine() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  thread_.join();
  fputs("\r\033[K", stderr);
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// The executor command: runs a startup program and main programs in one scope.
// tools/commands/shared/command.h lists the exit codes, which all commands share; ErrorCode in
// framework/base/error.h says which error has which code.
#include "framework/program/executor.h"

#include <gflags/gflags.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <streambuf>
#include <utility>

#include "framework/base/launcher.h"
#include "framework/base/spelling.h"
#include "framework/base/thread_pool.h"
#include "framework/checkpoint/run_checkpoints.h"
#include "framework/io/cache/remote_cache.h"
#include "framework/io/output_file.h"
#include "framework/io/status_line.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "tools/commands/executor/catalog.h"
#include "tools/commands/executor/chains.h"
#include "tools/commands/executor/usage.h"
#include "tools/commands/help/shared_flags.h"
#include "tools/commands/shared/command.h"
#include "tools/commands/shared/digest.h"
#include "tools/commands/shared/hosts.h"
#include "tools/commands/shared/json_line.h"
#include "tools/commands/shared/standard_streams.h"
#include "tools/commands/shared/watcher.h"

DEFINE_string(startup, "", "the startup program: creates readers and initial values, runs once");
DEFINE_string(main, "",
              "a main program: reads, trains, tests; may be repeated, all run in one scope, in the "
              "order given");
DEFINE_bool(check, false,
            "only check the programs: print all problems, open no data file; the exit code is 2 if "
            "there is a problem");
DEFINE_bool(explain, false,
            "only check the programs and print what running them does that they do not show, such "
            "as operators on images that are run as one; open no data file");
DEFINE_bool(list_ops, false, "list all operators, or describe in full the types that follow");
DEFINE_bool(list_formats, false, "list all file formats, or those whose tags follow");
DEFINE_string(print, "",
              "print a program file, text or binary, as text; it is not checked, so it may use "
              "unknown operators");
DEFINE_string(fetch, "",
              "A,B: variables to print at the end, one line of JSON each: name, dtype, dims, lod "
              "and data");
DEFINE_int64(max_steps, -1,
             "the most steps that all loops of a program may make together; -1: any number");
DEFINE_bool(stats, false,
            "at the end, also after an error, print what every reader has done (elements, bytes, "
            "seconds) and what it holds, and what requests to servers have cost");
DEFINE_string(stats_json, "",
              "a file for the summary and what readers and requests have done, as JSON; also "
              "written after an "
              "error. An existing file is replaced only with --force; pipes and devices are "
              "possible");
DEFINE_string(checkpoint_dir, "",
              "a folder for checkpoints, or one in a store (s3://bucket/run): the run is saved "
              "between steps of its loops, so that --resume can continue it in another process; "
              "SIGTERM saves it once more, which may take up to 5 seconds. Ranks that torchrun, "
              "mpirun, srun or JAX has started each have a folder of their own in it");
DEFINE_string(
    checkpoint_every, "60s",
    "how often: a number of steps, such as 1000steps, or of seconds, such as 60s. Only "
    "with a number of steps do several ranks save after the same steps, from which another "
    "number of ranks can resume");
DEFINE_int32(keep, 3, "how many checkpoints are kept, the newest ones");
DEFINE_string(
    resume, "",
    "continue from the newest checkpoint that is whole, or begin if there is none; "
    "--resume=required: it is an error if there is none. The programs, their data and the "
    "flags that change what they do must be the same, the number of threads may change. A "
    "startup program is run again, but what it prints is left out. A run that has ended is gone on "
    "with from its last checkpoint, too, so that its end is printed again. Several ranks go on "
    "from the newest step that all have saved, and on another number of ranks than before, too, "
    "if what they share is read with lanes; then variables are those of the first rank");

namespace millhopper {
namespace {

CommandHelp Help() {
  CommandHelp help;
  help.name = "executor";
  help.programs = {"startup", "main"};
  help.usage =
      "executor --startup=FILE --main=FILE [--main=FILE ...] [flags]\n"
      "executor --list_ops [TYPE ...]\n"
      "executor --list_formats [FORMAT ...]\n"
      "executor --print=FILE\n";
  help.text =
      "Runs programs. The startup program creates readers and initial values, once; the\n"
      "main programs read and compute. All share one scope: persistable variables of one\n"
      "program stay for the next. All programs are checked before the first one runs. What\n"
      "`print` operators and --fetch print goes to standard output, all else to standard error.\n"
      "A program named - is read from standard input; or a file of a program may be named -, or,\n"
      "with --allow_exec, 'pipe:COMMAND', and is read once. With --json, a run ends with a line "
      "that "
      "has\n"
      "what --stats_json writes, --check prints {\"problems\": [...]}, each with its text, file,\n"
      "line and column (those of a binary program have no place), --list_ops and --list_formats a\n"
      "line for each, --print protobuf's JSON.\n";
  help.groups = {
      {"Programs",
       {"startup", "main", "set", "check", "explain", "plugin", "allow_exec",
        "allow_local_entries"}},
      {"Running", {"threads", "seed", "index", "memory_limit", "max_steps", "timeout"}},
      {"Servers",
       {"cache_dir", "cache_bytes", "requests", "connect_timeout", "silence_timeout",
        "request_timeout"}},
      {"Going on", {"checkpoint_dir", "checkpoint_every", "keep", "resume"}},
      {"Results", {"fetch", "stats", "stats_json", "json", "force", "quiet"}},
      {"Looking things up", {"list_ops", "list_formats", "print"}},
  };
  help.repeatable = {"main", "set", "plugin"};
  help.alone = {{"resume", "if-any"}};
  help.examples =
      "  executor --startup=startup.pbtxt --main=train.pbtxt --main=test.pbtxt --set passes=5\n"
      "  executor --startup=startup.pbtxt --main=train.pbtxt --check\n"
      "  executor --startup=startup.pbtxt --main=train.pbtxt --checkpoint_dir=saved --resume\n"
      "  executor --list_ops create_shuffle_reader read\n";
  return help;
}

// ---- Programs ----

struct ProgramFile {
  std::string path;
  ProgramRole role;
  std::shared_ptr<const Program> program;     // null if it cannot be parsed
  std::unique_ptr<PreparedProgram> prepared;  // kept for --fetch
};

std::vector<ProgramFile> ProgramsOfFlags(const Arguments& arguments) {
  std::vector<ProgramFile> files;
  if (!FLAGS_startup.empty()) {
    files.push_back({ProgramName(FLAGS_startup), ProgramRole::kStartup, {}, {}});
  }
  for (const std::string& path : arguments.all("main")) {
    files.push_back({ProgramName(path), ProgramRole::kMain, {}, {}});
  }
  Require(!files.empty(), "no program: give --startup and --main (--help tells more)");
  return files;
}

// A problem of a program, or a warning about it.
struct FoundProblem {
  std::string file;  // of the program
  Problem problem;
};
using FoundProblems = std::vector<FoundProblem>;

void AddFound(const std::string& file, const std::vector<Problem>& problems, FoundProblems* found) {
  for (const Problem& problem : problems) found->push_back({file, problem});
}

// For --json: the whole text of each, and its place, as far as that is known.
nlohmann::json JsonOf(const FoundProblems& found) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [file, problem] : found) {
    nlohmann::json one = {{"text", problem.text}, {"file", Escaped(file)}};
    if (problem.place.line > 0) {
      one["line"] = problem.place.line;
      one["column"] = problem.place.column;
    }
    list.push_back(std::move(one));
  }
  return list;
}

// Parses and checks all programs; returns all problems of all programs.
FoundProblems LoadPrograms(const Settings& settings, std::vector<ProgramFile>* files) {
  FoundProblems problems;
  std::vector<const Program*> before;
  bool all_parsed = true;
  for (ProgramFile& file : *files) {
    try {
      file.program = Program::FromFile(file.path, settings);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      const auto* const cause = dynamic_cast<const ProblemsOfProgram*>(error.cause().get());
      AddFound(file.path,
               cause == nullptr ? std::vector<Problem>{{{}, error.what()}} : cause->problems,
               &problems);
      all_parsed = false;
      continue;
    }
    // If an earlier program cannot be parsed, the variables that it makes are unknown.
    if (!all_parsed) continue;
    CheckContext context;
    context.role = file.role;
    context.before = before;
    AddFound(file.path, file.program->Check(context), &problems);
    before.push_back(file.program.get());
  }
  return problems;
}

// What to do about a variable that only a block within others declares; "" if none does.
std::string InnerBlockHint(const std::vector<ProgramFile>& files, const std::string& name) {
  for (const ProgramFile& file : files) {
    for (int block = 1; block < file.program->desc().blocks_size(); ++block) {
      if (file.program->FindOwnDeclaration(block, name) == nullptr) continue;
      return StrCat("; block ", block, " of ", file.program->name(),
                    " has it for a step at a time: declare it in block 0 instead");
    }
  }
  return "";
}

std::vector<std::string> FetchNames(const std::vector<ProgramFile>& files) {
  std::vector<std::string> declared;
  for (const ProgramFile& file : files) {
    for (const proto::VarDesc& variable : file.program->desc().blocks(0).vars()) {
      declared.push_back(variable.name());
    }
  }
  std::vector<std::string> names;
  std::istringstream list(FLAGS_fetch);
  for (std::string name; std::getline(list, name, ',');) {
    if (std::count(declared.begin(), declared.end(), name) == 0) {
      const std::string hint = InnerBlockHint(files, name);
      Throw(ErrorCode::kInvalidArgument, "--fetch=", FLAGS_fetch,
            ": no program declares a variable '", name, "' in its first block",
            hint.empty() ? DidYouMean(name, declared) : hint);
    }
    names.push_back(name);
  }
  return names;
}

void PrintFetched(const std::string& name, const std::vector<ProgramFile>& files) {
  const Variable* variable = nullptr;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    const Variable* found = file->prepared->Find(name);
    if (variable == nullptr || (!variable->has_value() && found != nullptr)) variable = found;
  }
  Require(variable != nullptr, "--fetch=", FLAGS_fetch, ": no variable '", name, "' was made");
  std::cout << "{\"name\":" << nlohmann::json(name).dump() << ","
            << JsonFields(variable->Get<LoDTensor>()) << "}\n";
}

// Prints the summary and what the readers of the scope have done, and writes both to `stats`, which
// may be null, and with --json to standard output. It is called after a run that succeeded and
// after one that failed.
void Report(const std::vector<Usage>& usages, const Scope& scope, const std::string& error,
            OutputFile* stats) {
  if (!FLAGS_quiet && !FLAGS_json) {
    for (const Usage& usage : usages) std::cerr << ToLine(usage) << "\n";
  }
  if (FLAGS_stats) std::cerr << ToTable(ChainsIn(scope)) << ServersTable();
  if (stats == nullptr && !FLAGS_json) return;
  Usage all;
  nlohmann::json programs = nlohmann::json::array();
  for (const Usage& usage : usages) {
    all.Add(usage);
    programs.push_back(ToJson(usage));
  }
  nlohmann::json json = ToJson(all);
  json.erase("program");
  json.erase("readers");
  json["programs"] = std::move(programs);
  json["readers"] = nlohmann::json::array();
  for (const ChainStats& chain : ChainsIn(scope)) json["readers"].push_back(ToJson(chain));
  json["servers"] = ToJson(HttpStats());
  if (RemoteCache::Get() != nullptr) json["cache"] = ToJson(RemoteCache::Stats());
  json["threads"] = ThreadPool::Get().size();
  json["seed"] = FLAGS_seed;
  if (!error.empty()) json["error"] = error;
  // The text of an error may contain a file name that is not UTF-8.
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  if (FLAGS_json) PrintJsonLine(json);
  if (stats == nullptr) return;
  stats->Write(json.dump(2, ' ', false, kReplace) + "\n");
  stats->Publish();
}

// Runs one program and adds what it read to `usages`, also if it throws. `checkpoints` may be null.
void RunProgram(const Executor& executor, Scope* scope, RunCheckpoints* checkpoints,
                ProgramFile* file, std::vector<Usage>* usages) {
  file->prepared = executor.Prepare(file->program, file->role, scope);
  // A startup program has yet to create its readers, so the meter has none to watch.
  const Scope none;
  UsageMeter meter(file->path, file->role == ProgramRole::kStartup ? none : *scope);
  std::unique_ptr<StatusLine> status;
  if (!FLAGS_quiet) {
    status = std::make_unique<StatusLine>([&meter] {
      const std::string progress = meter.Progress();
      return StrCat(progress, progress.empty() ? "" : "; ", ToLine(meter.SoFar()));
    });
  }
  try {
    if (checkpoints != nullptr && file->role == ProgramRole::kMain) {
      checkpoints->Run(file->program, file->prepared.get());
    } else {
      file->prepared->Run();
    }
  } catch (...) {
    usages->push_back(meter.SoFar());
    throw;
  }
  usages->push_back(meter.SoFar());
}

// Prints what running the operators of a program does that it does not show.
void Explain(const Program& program) {
  for (int block = 0; block < program.desc().blocks_size(); ++block) {
    const proto::BlockDesc& desc = program.desc().blocks(block);
    for (int op = 0; op < desc.ops_size(); ++op) {
      const OpSchema& schema = FindOperator(desc.ops(op).type())->schema;
      if (schema.explain == nullptr) continue;
      for (const std::string& line : schema.explain(program, block, op)) {
        std::cout << program.OperatorLocation(block, op) << ": " << desc.ops(op).type() << ": "
                  << line << "\n";
      }
    }
  }
}

// The program in protobuf's JSON, with the names of framework.proto.
std::string AsJson(const Program& program) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(program.desc(), &json, options);
  Require(status.ok(), program.name(), ": cannot be written as JSON: ", status.ToString());
  return json;
}

// ---- Checkpoints ----

// Sets what --checkpoint_every says.
void SetInterval(RunCheckpointOptions* options) {
  const std::string& text = FLAGS_checkpoint_every;
  size_t end = 0;
  double amount = 0;
  try {
    amount = std::stod(text, &end);
  } catch (const std::logic_error&) {  // no number, or none that fits
  }
  const std::string unit = text.substr(end);
  Require(std::isfinite(amount) && amount > 0 && amount <= 1e9 &&
              (unit == "s" || (unit == "steps" && amount == std::floor(amount))),
          "--checkpoint_every=", text,
          ": a number of steps or seconds is wanted, such as 1000steps or 60s");
  if (unit == "s") {
    options->every_seconds = amount;
  } else {
    options->every_steps = static_cast<int64_t>(amount);
  }
}

// Which of the processes of a launcher this is.
Rank RankOfLauncher() {
  const Launcher& launcher = FoundLauncher();
  const std::optional<int64_t> ranks = NumberInEnvironment(launcher.ranks);
  if (!ranks || *ranks <= 1) return {};
  const int64_t rank = NumberInEnvironment(launcher.rank).value_or(-1);
  Require(rank >= 0 && rank < *ranks, "--checkpoint_dir: the environment's ", launcher.ranks,
          " is ", *ranks, ", so ", launcher.rank, " must be 0 to ", *ranks - 1);
  return {static_cast<size_t>(rank), static_cast<size_t>(*ranks)};
}

// The checkpoints of a run, ready to go on from if --resume says so; null without --checkpoint_dir.
std::unique_ptr<RunCheckpoints> CheckpointsOfFlags(const std::vector<ProgramFile>& files) {
  const std::string& folder = FLAGS_checkpoint_dir;
  const bool required = FLAGS_resume == "required";
  Require(FLAGS_resume.empty() || FLAGS_resume == "if-any" || required, "--resume=", FLAGS_resume,
          ": --resume and --resume=required are possible");
  if (folder.empty()) {
    for (const char* const flag : {"resume", "checkpoint_every", "keep"}) {
      Require(!IsGiven(flag), "--", flag, " needs --checkpoint_dir, the folder of the checkpoints");
    }
    return nullptr;
  }
  RunCheckpointOptions options;
  options.folder = folder;
  options.rank = RankOfLauncher();
  Require(FLAGS_keep > 0, "--keep=", FLAGS_keep, ": at least 1 checkpoint must be kept");
  options.keep = static_cast<size_t>(FLAGS_keep);
  SetInterval(&options);
  options.before_save = FlushOutput;
  options.stop_wanted = Watcher::SaveRequested;
  std::map<std::string, std::string> settings = {{"the seed", StrCat(FLAGS_seed)}};
  for (const ProgramFile& file : files) {
    if (file.role == ProgramRole::kStartup) settings["startup program"] = file.program->ToText();
  }
  auto checkpoints = std::make_unique<RunCheckpoints>(std::move(options), std::move(settings));
  if (FLAGS_resume.empty()) {
    Require(FLAGS_force || !checkpoints->HasAny(), "--checkpoint_dir=", Escaped(folder),
            ": the folder has checkpoints of a run; --resume continues it, --force removes them "
            "and begins anew");
    checkpoints->Clear();
  } else {
    std::vector<std::string> damaged;
    const bool found = checkpoints->Resume(&damaged);
    for (const std::string& text : damaged) std::cerr << "warning: " << text << "; passed over\n";
    Require(found || !required, "--resume=required: no whole checkpoint is in ", Escaped(folder));
  }
  Watcher::LetSave();
  if (!FLAGS_quiet) {
    std::cerr << (checkpoints->resumes() ? "continuing" : "saving") << " the run in "
              << Escaped(folder) << "\n";
  }
  return checkpoints;
}

// A stream that prints nothing.
class Silence final : public std::streambuf {
  int overflow(int character) override { return traits_type::not_eof(character); }
};

// Runs all programs.
void RunAll(const RunState& state, std::vector<ProgramFile>* files, Scope* scope,
            std::vector<Usage>* usages) {
  const std::unique_ptr<RunCheckpoints> checkpoints = CheckpointsOfFlags(*files);
  Silence silence;
  std::ostream nowhere(&silence);
  RunState of_startup = state;
  RunState of_main = state;
  of_main.watcher = checkpoints.get();
  if (checkpoints != nullptr && checkpoints->resumes()) of_startup.output = &nowhere;
  const auto is_startup = [](const ProgramFile& file) {
    return file.role == ProgramRole::kStartup;
  };
  bool watched = false;
  for (ProgramFile& file : *files) {
    if (checkpoints != nullptr && !is_startup(file) && !std::exchange(watched, true)) {
      checkpoints->Watch(scope);
    }
    RunProgram(Executor(is_startup(file) ? of_startup : of_main), scope, checkpoints.get(), &file,
               usages);
  }
  if (checkpoints != nullptr) checkpoints->Finish();
}

int RunPrograms(const Arguments& arguments) {
  Scope scope;  // must outlive the programs prepared in it
  std::vector<ProgramFile> files = ProgramsOfFlags(arguments);
  const FoundProblems problems = LoadPrograms(ParseSettings(arguments.all("set")), &files);
  FoundProblems warnings;
  if (problems.empty()) {
    for (const ProgramFile& file : files) AddFound(file.path, file.program->Warnings(), &warnings);
  }
  if (FLAGS_check && FLAGS_json) {
    nlohmann::json found = {{"problems", JsonOf(problems)}};
    if (!warnings.empty()) found["warnings"] = JsonOf(warnings);
    PrintJsonLine(found);
    return problems.empty() ? 0 : static_cast<int>(ErrorCode::kInvalidArgument);
  }
  std::string text;
  for (const FoundProblem& found : problems) {
    text += (text.empty() ? "" : "\n") + found.problem.text;
  }
  Require(problems.empty(), text);
  for (const FoundProblem& found : warnings) std::cerr << "warning: " << found.problem.text << "\n";
  const std::vector<std::string> fetched = FetchNames(files);
  if (FLAGS_check) {
    for (const ProgramFile& file : files) {
      std::cerr << Escaped(file.path) << ": no problem found\n";
    }
    return 0;
  }
  if (FLAGS_explain) {
    for (const ProgramFile& file : files) Explain(*file.program);
    return 0;
  }
  RunState run;
  run.seed = FLAGS_seed;
  Require(FLAGS_max_steps >= -1, "--max_steps=", FLAGS_max_steps,
          ": 0 or more are possible, and -1 for any number");
  run.max_steps = FLAGS_max_steps;
  std::unique_ptr<OutputFile> stats;
  if (!FLAGS_stats_json.empty()) {
    stats = std::make_unique<OutputFile>(OutputName(FLAGS_stats_json), RulesOfFlags());
  }
  std::vector<Usage> usages;
  try {
    RunAll(run, &files, &scope, &usages);
  } catch (...) {
    Report(usages, scope, CurrentError().what(), stats.get());
    throw;
  }
  for (const std::string& name : fetched) PrintFetched(name, files);
  FlushOutput();
  Report(usages, scope, "", stats.get());
  return 0;
}

int RunExecutor(const Arguments& arguments) {
  if (FLAGS_list_ops) {
    FLAGS_json ? ListOperatorsAsJson(arguments.words) : ListOperators(arguments.words);
    return 0;
  }
  if (FLAGS_list_formats) {
    FLAGS_json ? ListFormatsAsJson(arguments.words) : ListFormats(arguments.words);
    return 0;
  }
  Require(arguments.words.empty(), "'", arguments.words.empty() ? "" : arguments.words.front(),
          "' is no flag; programs are named by --startup and --main");
  if (!FLAGS_print.empty()) {
    const std::shared_ptr<const Program> program =
        Program::FromFile(ProgramName(FLAGS_print), ParseSettings(arguments.all("set")));
    std::cout << (FLAGS_json ? AsJson(*program) + "\n" : program->ToText());
  } else {
    return RunPrograms(arguments);
  }
  return 0;
}

}  // namespace
}  // namespace millhopper

int main(int argc, char** argv) {
  return millhopper::RunCommand(argc, argv, millhopper::Help(), millhopper::RunExecutor);
}

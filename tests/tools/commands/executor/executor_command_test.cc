// SPDX-License-Identifier: Apache-2.0
// The executor command, run as a child process: its flags, exit codes, signals and summary. The
// labels are those of tests/faults.md.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/child.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Words = std::vector<std::string>;

ChildResult Execute(const Words& flags) {
  Words command = {"tools/executor"};
  command.insert(command.end(), flags.begin(), flags.end());
  return RunChild(command);
}

Words PluginAnd(const Words& flags) {
  Words all = {"--plugin=" + Runfile("tests/libpace.so")};
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

// A program that sets x to ${value} and prints it.
constexpr char kMain[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "x" persistable: true type { type: LOD_TENSOR } }
  ops {
    type: "fill_constant"
    outputs { parameter: "Out" arguments: "x" }
    attrs { name: "shape" ints: 2 }
    attrs { name: "value" f: ${value} }
  }
  ops {
    type: "print"
    inputs { parameter: "In" arguments: "x" }
    attrs { name: "message" s: "${text}" }
  }
}
)";

// A program that adds 1 to x, which another program has made.
constexpr char kAddOne[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "y" type { type: LOD_TENSOR } }
  ops {
    type: "scale"
    inputs { parameter: "X" arguments: "x" }
    outputs { parameter: "Out" arguments: "y" }
    attrs { name: "bias" f: 1 }
  }
}
)";

constexpr char kEndless[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "go" type { type: LOD_TENSOR } }
  ops {
    type: "fill_constant"
    outputs { parameter: "Out" arguments: "go" }
    attrs { name: "shape" ints: 1 }
    attrs { name: "dtype" i: 0 }
    attrs { name: "value" f: 1 }
  }
  ops {
    type: "while"
    inputs { parameter: "Condition" arguments: "go" }
    attrs { name: "sub_block" block_idx: 1 }
  }
}
blocks {
  idx: 1
  parent_idx: 0
  ops {
    type: "logical_or"
    inputs { parameter: "X" arguments: "go" }
    inputs { parameter: "Y" arguments: "go" }
    outputs { parameter: "Out" arguments: "go" }
  }
}
)";

const std::string kPacedStartup = BlockText(
    0, -1,
    {CreatedReaderText("paced", "create_paced_reader", {},
                       {{"count", "i: ${count}"}, {"milliseconds", "i: ${milliseconds}"}})});

// Reads all elements, and runs the operator `work` after each of them.
const std::string kPacedMain =
    ReadingProgram("paced", {OpText("work", {}, {}, {{"wait_share", "f: ${share}"}})});

// Reads numbers one by one from a mapped file, and lets a paced reader say so.
const std::string kMappedStartup =
    BlockText(0, -1,
              {CreatedReaderText("paced", "create_paced_reader", {}),
               CreatedReaderText("numbers", "create_fixed_file_reader", {},
                                 {{"filename", "s: '${file}'"}, {"buffer_type", "s: 'mmap'"}},
                                 {{"INT64", {1, 1}}})});

const std::string kMappedMain = ReadingProgram(
    "numbers", {},
    {TensorsText({"said"}), OpText("read", {{"Reader", {"paced"}}}, {{"Out", {"said"}}})});

// A named pipe that nothing is written to.
class TempPipe {
 public:
  TempPipe() { EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0); }
  ~TempPipe() {
    Close();
    unlink(path_.c_str());
  }
  TempPipe(const TempPipe&) = delete;
  TempPipe& operator=(const TempPipe&) = delete;

  const std::string& path() const { return path_; }
  // Returns once a process has opened the pipe to read.
  void WaitForReader() {
    Close();
    while (writer_ < 0) {
      writer_ = open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
      if (writer_ < 0) std::this_thread::yield();
    }
  }

 private:
  void Close() {
    if (writer_ >= 0) close(writer_);
    writer_ = -1;
  }

  const std::string path_ = TempName("pipe");
  int writer_ = -1;
};

constexpr char kWork[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  ops { type: "work" }
}
)";

TEST(ExecutorCommand, PrintsToStandardOutputAndTheSummaryToStandardError) {
  const TempFile program("main.pbtxt", kMain);
  const ChildResult result =
      Execute({"--main=" + program.path(), "--set=value=3", "--set", "text=three \"quoted\""});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, "three \"quoted\" x: float32 [2] = {3, 3}\n");
  EXPECT_NE(result.errors.find(program.path() + ": 0."), std::string::npos) << result.errors;
}

TEST(ExecutorCommand, IsSilentIfQuiet) {
  const TempFile program("main.pbtxt", kMain);
  const ChildResult result =
      Execute({"--main", program.path(), "--quiet", "--set=value=3", "--set=text=x"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors, "");
}

TEST(ExecutorCommand, FetchesVariablesOfSeveralPrograms) {
  const TempFile first("first.pbtxt", kMain), second("second.pbtxt", kAddOne);
  const ChildResult result = Execute({"--main=" + first.path(), "--main=" + second.path(),
                                      "--fetch=y,x", "--set=value=0.1", "--set=text=", "--quiet"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output,
            "x: float32 [2] = {0.1, 0.1}\n"
            "{\"name\":\"y\",\"dtype\":\"float32\",\"dims\":[2],\"lod\":[],\"data\":[1.1,1.1]}\n"
            "{\"name\":\"x\",\"dtype\":\"float32\",\"dims\":[2],\"lod\":[],\"data\":[0.1,0.1]}\n");
}

TEST(ExecutorCommand, RefusesToFetchWhatNoProgramDeclares) {
  const TempFile program("main.pbtxt", kAddOne);
  const ChildResult result = Execute({"--startup=" + program.path(), "--fetch=z"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "");
  const TempFile inner("inner.pbtxt", R"(
      blocks { idx: 0 parent_idx: -1 }
      blocks { idx: 1 parent_idx: 0 vars { name: "loss" type { type: LOD_TENSOR } } })");
  EXPECT_EQ(
      Execute({"--main=" + inner.path(), "--fetch=loss"}).errors,
      StrCat("error: --fetch=loss: no program declares a variable 'loss' in its first block; ",
             "block 1 of ", inner.path(),
             " has it for a step at a time: declare it in block 0 instead\n"));
}

TEST(ExecutorCommand, ChecksWithoutRunningAndReportsAllProblems) {
  std::string text = kMain;
  text.replace(text.find("\"print\""), 7, "\"prnit\"");
  text.replace(text.find("\"value\""), 7, "\"valeu\"");
  const TempFile program("main.pbtxt", text);
  const ChildResult result =
      Execute({"--main=" + program.path(), "--check", "--set=value=3", "--set=text="});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.errors.rfind("error: " + program.path() + ":10:", 0), 0u) << result.errors;
  EXPECT_NE(result.errors.find("did you mean 'value'?"), std::string::npos) << result.errors;
  EXPECT_NE(result.errors.find("\nerror: " + program.path() + ":12:"), std::string::npos)
      << result.errors;
  EXPECT_NE(result.errors.find("did you mean 'print'?"), std::string::npos) << result.errors;
}

TEST(ExecutorCommand, SuggestsOperatorsByTheirMiddle) {
  const ChildResult result = Execute({"--list_ops", "suffle"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors,
            "error: no operator 'suffle'; did you mean 'create_shuffle_reader'? (--list_ops lists "
            "all)\n");
}

// No file is opened: there is no such folder.
TEST(ExecutorCommand, ExplainsWhatIsRunAsOne) {
  const std::string program = Runfile("tests/programs/augmented_images/startup.pbtxt");
  const ChildResult result = Execute({"--startup=" + program, "--explain", "--set=data=/nowhere"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output,
            program +
                ":32: create_custom_reader: block 1: decode_image, random_resized_crop, flip, "
                "normalize, transpose are run as one, from 'bytes' to 'image', written straight "
                "into the element\n");
}

TEST(ExecutorCommand, ExplainsThatColorsAreChangedBetween) {
  std::string text = ReadFile(Runfile("tests/programs/augmented_images/startup.pbtxt"));
  const std::string flip = "type: \"flip\"";
  ASSERT_NE(text.find(flip), std::string::npos);
  text.replace(text.find(flip), flip.size(), "type: \"equalize\"");
  const TempFile program("startup.pbtxt", text);
  const ChildResult result =
      Execute({"--startup=" + program.path(), "--explain", "--set=data=/nowhere"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, program.path() +
                               ":32: create_custom_reader: block 1: decode_image, "
                               "random_resized_crop are run as one, from 'bytes' to 'part'\n");
}

TEST(ExecutorCommand, ChecksGoodProgramsWithoutRunningThem) {
  const TempFile program("main.pbtxt", kMain);
  const ChildResult result =
      Execute({"--main=" + program.path(), "--check", "--set=value=3", "--set=text="});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.errors, program.path() + ": no problem found\n");
}

TEST(ExecutorCommand, WarnsOfPartsThatLeak) {
  const TempFile data("data.txt", "a\nb\nc\n");
  const auto reader = [](const std::string& name, const std::string& type, const std::string& in,
                         const std::string& attributes) {
    return StrCat(
        "vars { name: \"", name, "\" persistable: true type { type: READER } } ops { type: \"",
        type, "\" ",
        in.empty() ? ""
                   : StrCat("inputs { parameter: \"UnderlyingReader\" arguments: \"", in, "\" } "),
        "outputs { parameter: \"Out\" arguments: \"", name, "\" } ", attributes, " }\n");
  };
  const std::string text = StrCat(
      "blocks { idx: 0 parent_idx: -1\n",
      reader("files", "open_files", "", "attrs { name: \"file_names\" strings: \"${data}\" }"),
      reader("shuffled", "create_shuffle_reader", "files",
             "attrs { name: \"buffer_size\" i: 9 } attrs { name: \"reshuffle\" b: ${reshuffle} }"),
      reader("training", "create_skip_reader", "shuffled", "attrs { name: \"count\" i: 1 }"), "}");
  const TempFile program("startup.pbtxt", text);
  const Words settings = {"--startup=" + program.path(), "--set=data=" + data.path()};
  const std::string warning = "warning: " + program.path() + ":4:";
  const std::string what = "operator 'create_skip_reader': leaves out other elements in each pass";
  for (const bool reshuffle : {true, false}) {
    const std::string set = StrCat("--set=reshuffle=", reshuffle ? "true" : "false");
    for (Words words : std::vector<Words>{
             {"tools/executor"}, {"tools/executor", "--check"}, {"tools/peek", "--all"}}) {
      words.insert(words.end(), settings.begin(), settings.end());
      words.push_back(set);
      const ChildResult result = RunChild(words);
      EXPECT_EQ(result.exit_code, 0) << result.errors;
      EXPECT_EQ(result.errors.rfind(warning, 0) == 0, reshuffle) << result.errors;
      EXPECT_EQ(result.errors.find(what) != std::string::npos, reshuffle) << result.errors;
    }
    Words words = settings;
    words.insert(words.end(), {set, "--check", "--json"});
    EXPECT_EQ(Execute(words).output.find("\"warnings\":[{") != std::string::npos, reshuffle);
  }
}

TEST(ExecutorCommand, PrintsProgramsThatItCouldNotRun) {
  const TempFile program("other.pbtxt",
                         "blocks { idx: 0 parent_idx: -1 ops { type: \"conv9d\" } }");
  const ChildResult result = Execute({"--print=" + program.path()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.output.find("type: \"conv9d\""), std::string::npos) << result.output;
  const TempFile again("again.pbtxt", result.output);
  EXPECT_EQ(Execute({"--print=" + again.path()}).output, result.output);
}

TEST(ExecutorCommand, ListsOperatorsWithTheirDocumentation) {
  const ChildResult all = Execute({"--list_ops"});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_NE(all.output.find("create_shuffle_reader "), std::string::npos);
  EXPECT_NE(all.output.find("create_recordio_file_reader "), std::string::npos);
  const ChildResult one = Execute({"--list_ops", "create_batch_reader"});
  EXPECT_EQ(one.exit_code, 0);
  for (const char* words :
       {"create_batch_reader: ", "input UnderlyingReader, a reader\n", "output Out",
        "attribute batch_size, INT, required, at least 1\n",
        "attribute discard_leftover, BOOLEAN, default false, ", ", in Python drop_last\n"}) {
    EXPECT_NE(one.output.find(words), std::string::npos) << words << "\n" << one.output;
  }
  const ChildResult cache = Execute({"--list_ops", "create_cache_reader"});
  EXPECT_NE(cache.output.find("attribute directory, STRING, optional\n"), std::string::npos)
      << cache.output;
  EXPECT_EQ(Execute({"--list_ops", "create_batch_raeder"}).exit_code, 2);
}

TEST(ExecutorCommand, ListsFormats) {
  const ChildResult result = Execute({"--list_formats"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* tag :
       {"recordio: ", "idx: ", "text: ", "fixed: ", "tfrecord: ", "jpg: ", "png: ", "webp: ",
        "image_folder: ", "image_list: ", "npy: ", "npz: ", "tar: "}) {
    EXPECT_NE(("\n" + result.output).find("\n" + std::string(tag)), std::string::npos) << tag;
  }
  EXPECT_NE(result.output.find("'recordio:FILE'"), std::string::npos);
  EXPECT_NE(result.output.find("'image_folder:FOLDER'"), std::string::npos);
  const ChildResult two = Execute({"--list_formats", "npz", "--json", "idx"});
  EXPECT_EQ(two.output.rfind("{\"attributes\":", 0), 0u) << two.output;
  EXPECT_EQ(std::count(two.output.begin(), two.output.end(), '\n'), 2);
  const ChildResult none = Execute({"--list_formats", "cvs"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.errors,
            "error: no format 'cvs'; did you mean 'csv'? (--list_formats lists all)\n");
}

TEST(ExecutorCommand, ExplainsItsFlags) {
  const ChildResult result = Execute({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors, "");
  for (const char* flag :
       {"--startup=", "--main=", "--set=", "--check", "--list_ops", "--list_formats", "--fetch=",
        "--threads=", "--seed=", "--plugin=", "--print=", "--max_steps=", "--timeout=", "--stats\n",
        "--stats_json=", "--flagfile="}) {
    EXPECT_NE(result.output.find(flag), std::string::npos) << flag;
  }
}

TEST(ExecutorCommand, TakesFlagsFromFiles) {
  const TempFile program("main.pbtxt", kMain);
  const TempFile flags("flags", "# a comment\n--quiet\n\n  --main=" + program.path() +
                                    "\n--set=value=1\n--set=text=a\n");
  const ChildResult result = Execute({"--flagfile=" + flags.path(), "--set=value=2"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output, "a x: float32 [2] = {2, 2}\n");
}

TEST(ExecutorCommand, ExitsWith2ForWrongUsage) {
  const TempFile program("main.pbtxt", kMain);
  for (const Words& flags : std::vector<Words>{
           {},
           {"--mian=x"},
           {"--threads=many"},
           {"--threads=2000"},
           {"--threads=-2", "--list_formats"},
           {"--timeout=-1", "--list_formats"},
           {"--timeout=nan", "--list_formats"},
           {"--max_steps"},
           {"--main=" + program.path(), "--max_steps=-2", "--set=value=1", "--set=text="},
           {"--main=" + program.path(), "--set=value"},
           {"--main=" + program.path()},  // ${value} is not set
           {"main.pbtxt"}}) {
    const ChildResult result = Execute(flags);
    EXPECT_EQ(result.exit_code, 2) << ::testing::PrintToString(flags);
    EXPECT_EQ(result.errors.rfind("error: ", 0), 0u) << result.errors;
    EXPECT_EQ(result.output, "");
  }
  EXPECT_NE(Execute({"--statrup=x"}).errors.find("did you mean 'startup'?"), std::string::npos);
}

const std::string kOpenFile =
    BlockText(0, -1,
              {CreatedReaderText("paced", "create_recordio_file_reader", {},
                                 {{"filename", "s: '${file}'"}}, {{"INT64", {1, 1}}})});

TEST(ExecutorCommand, ExitsWith3ForDamagedData) {
  const TempFile startup("startup.pbtxt", kOpenFile), main("main.pbtxt", kPacedMain);
  const TempFile data("data.recordio", "\4\3\2\1 and then nothing that makes sense");
  const ChildResult result =
      Execute(PluginAnd({"--startup=" + startup.path(), "--main=" + main.path(),
                         "--set=file=" + data.path(), "--set=share=1"}));
  EXPECT_EQ(result.exit_code, 3) << result.errors;
  EXPECT_NE(result.errors.find("error: " + data.path()), std::string::npos) << result.errors;
  EXPECT_NE(result.errors.find("\n  while running operator 'has_next' (" + main.path() + ":5"),
            std::string::npos)
      << result.errors;
}

// The file has more numbers than are read in a minute, none of which lies on the disk.
TEST(ExecutorCommand, ExitsWith3IfAMappedFileIsCutOffWhileItIsRead) {
  constexpr off_t kBytes = off_t{8} << 30;
  constexpr off_t kLeft = 5 * 4096 + 3;
  const TempFile startup("startup.pbtxt", kMappedStartup), main("main.pbtxt", kMappedMain);
  const TempFile data("numbers.bin", "");
  ASSERT_EQ(truncate(data.path().c_str(), kBytes), 0);
  Child child({"tools/executor", "--plugin=" + Runfile("tests/libpace.so"),
               "--startup=" + startup.path(), "--main=" + main.path(), "--set=file=" + data.path(),
               "--quiet"});
  child.WaitForError("at work");
  ASSERT_EQ(truncate(data.path().c_str(), kLeft), 0);
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 3) << result.errors;
  for (const std::string& words :
       {StrCat("error: ", data.path(), ": file is shorter than when it was opened: it ends before ",
               "byte ", kLeft, " and had ", kBytes, " bytes"),
        std::string("\n  while reading record "), "(" + main.path() + ":"}) {
    EXPECT_NE(result.errors.find(words), std::string::npos) << words << "\n" << result.errors;
  }
}

TEST(ExecutorCommand, ExitsWith4ForMissingFiles) {
  EXPECT_EQ(Execute({"--main=no_such_file.pbtxt"}).exit_code, 4);
  const TempFile startup("startup.pbtxt", kOpenFile);
  const ChildResult result =
      Execute({"--startup=" + startup.path(), "--set=file=no_such_file.recordio"});
  EXPECT_EQ(result.exit_code, 4) << result.errors;
  EXPECT_NE(result.errors.find("no_such_file.recordio"), std::string::npos) << result.errors;
}

// F29: standard output is a full disk.
TEST(ExecutorCommand, ExitsWith4IfTheOutputIsNotTaken) {
  const TempFile program("main.pbtxt", kMain);
  const ChildResult result =
      RunChild({"/bin/sh", "-c",
                "exec tools/executor --quiet --set=value=1 --set=text=x --main=" + program.path() +
                    " >/dev/full"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.errors, "error: standard output: No space left on device\n");
}

// F29: the run stops at the first print that fails, not at its end.
TEST(ExecutorCommand, StopsWhenTheOutputIsNotTakenAnyMore) {
  std::string printing = kEndless;
  printing.insert(printing.rfind("  ops {"),
                  "  ops { type: \"print\" inputs { parameter: \"In\" arguments: \"go\" } }\n");
  const TempFile program("main.pbtxt", printing);
  const ChildResult result = RunChild(
      {"/bin/sh", "-c",
       "exec tools/executor --quiet --max_steps=100000 --main=" + program.path() + " >/dev/full"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.errors.find("error: standard output: No space left on device\n"), 0u)
      << result.errors;
}

// F40: a loop that never ends is ended by --max_steps or --timeout.
TEST(ExecutorCommand, ExitsWith5AfterTooManySteps) {
  const TempFile program("main.pbtxt", kEndless);
  const ChildResult result = Execute({"--main=" + program.path(), "--max_steps=100"});
  EXPECT_EQ(result.exit_code, 5) << result.errors;
  EXPECT_NE(result.errors.find("--max_steps=100"), std::string::npos) << result.errors;
}

// F20: --timeout ends an endless loop, and an operator that takes a minute.
TEST(ExecutorCommand, ExitsWith5AfterTheTimeIsOver) {
  const TempFile endless("main.pbtxt", kEndless), work("work.pbtxt", kWork);
  const ChildResult clean = Execute({"--main=" + endless.path(), "--timeout=0.2", "--quiet"});
  EXPECT_EQ(clean.exit_code, 5);
  EXPECT_EQ(clean.errors, "error: stopped after --timeout=0.2 seconds\n");
  const ChildResult forced =
      Execute(PluginAnd({"--main=" + work.path(), "--timeout=0.2", "--quiet"}));
  EXPECT_EQ(forced.exit_code, 5);
  EXPECT_EQ(forced.errors, "at work\nerror: stopped after --timeout=0.2 seconds\n");
}

TEST(ExecutorCommand, ExitsWith6ForPluginsThatCannotBeLoaded) {
  const TempFile program("main.pbtxt", kMain), no_library("libno.so", "not a library");
  for (const std::string& plugin :
       {std::string("tests/libnone.so"), std::string("/no/such/lib.so"), no_library.path()}) {
    const ChildResult result = Execute({"--plugin=" + plugin, "--main=" + program.path()});
    EXPECT_EQ(result.exit_code, 6) << plugin << "\n" << result.errors;
    EXPECT_NE(result.errors.find(plugin), std::string::npos) << result.errors;
  }
}

class ExecutorCommandSignals : public ::testing::TestWithParam<int> {
 protected:
  // Sends the signal to a run that has said that it is at work.
  static void ExpectStops(const Words& flags) {
    Words command = {"tools/executor", "--plugin=" + Runfile("tests/libpace.so")};
    command.insert(command.end(), flags.begin(), flags.end());
    Child child(command);
    child.WaitForError("at work");
    child.Signal(GetParam());
    EXPECT_EQ(child.Wait().exit_code, 128 + GetParam());
  }
};

// F26: the signal ends a run that reads many records, and one that waits for a record.
TEST_P(ExecutorCommandSignals, StopWhatIsReading) {
  const TempFile startup("startup.pbtxt", kPacedStartup), main("main.pbtxt", kPacedMain);
  const Words programs = {"--startup=" + startup.path(), "--main=" + main.path(), "--set=share=1"};
  Words quick = programs, slow = programs;
  quick.insert(quick.end(), {"--set=count=1000000000", "--set=milliseconds=0"});
  slow.insert(slow.end(), {"--set=count=2", "--set=milliseconds=60000"});
  ExpectStops(quick);
  ExpectStops(slow);
}

TEST_P(ExecutorCommandSignals, StopWhatIsComputing) {
  const TempFile work("main.pbtxt", kWork);
  ExpectStops({"--main=" + work.path()});
}

// A signal also ends a command that has no program yet, because a pipe is never written to or
// because loading a plugin does not end.
TEST_P(ExecutorCommandSignals, StopWhatIsStarting) {
  TempPipe pipe;
  const std::string plugin = Runfile("tests/libinitialiser.so");
  for (const Words& command :
       {Words{"tools/executor", "--flagfile=" + pipe.path()},
        Words{"tools/executor", "--startup=" + pipe.path()},
        Words{"tools/executor", "--main", pipe.path()},
        Words{"tools/executor", "--print=" + pipe.path()},
        Words{"tools/peek", "--startup=" + pipe.path()},
        Words{"/usr/bin/env", "INITIALISER=wait", "tools/executor", "--plugin=" + plugin}}) {
    Child child(command);
    if (command[0] == "/usr/bin/env") {
      child.WaitForError("at work");
    } else {
      pipe.WaitForReader();
    }
    child.Signal(GetParam());
    EXPECT_EQ(child.Wait().exit_code, 128 + GetParam()) << ::testing::PrintToString(command);
  }
}

INSTANTIATE_TEST_SUITE_P(AllSignals, ExecutorCommandSignals,
                         ::testing::Values(SIGINT, SIGTERM, SIGHUP, SIGXCPU));

// A command that nohup starts continues after SIGHUP.
TEST(ExecutorCommand, IgnoresAHangUpThatItWasToldToIgnore) {
  const TempFile work("main.pbtxt", kWork);
  Child child({"/bin/sh", "-c",
               "trap '' HUP; exec tools/executor --plugin=" + Runfile("tests/libpace.so") +
                   " --main=" + work.path()});
  child.WaitForError("at work");
  child.Signal(SIGHUP);
  child.Signal(SIGTERM);
  EXPECT_EQ(child.Wait().exit_code, 128 + SIGTERM);
}

// F20: --timeout counts from the start of the process, also while flags, programs and plugins are
// loaded.
TEST(ExecutorCommand, ExitsWith5WhileItIsStarting) {
  const TempPipe pipe;
  const TempFile flags("flags", "--timeout=0.1\n");
  const std::string plugin = "--plugin=" + Runfile("tests/libinitialiser.so");
  for (const Words& command :
       {Words{"tools/executor", "--timeout=0.1", "--flagfile=" + pipe.path()},
        Words{"tools/executor", "--timeout", "0.1", "--startup=" + pipe.path()},
        Words{"/usr/bin/env", "INITIALISER=wait", "tools/executor", "--timeout=0.1", plugin},
        Words{"/usr/bin/env", "INITIALISER=wait", "tools/executor", plugin,
              "--flagfile=" + flags.path()}}) {
    const ChildResult result = RunChild(command);
    EXPECT_EQ(result.exit_code, 5) << ::testing::PrintToString(command);
    EXPECT_NE(result.errors.find("error: stopped after --timeout=0.1 seconds\n"), std::string::npos)
        << result.errors;
  }
}

// F15: threads cannot be started. Here the reason is that no memory is left for their stacks.
TEST(ExecutorCommand, SaysThatNoThreadCanBeStarted) {
  rlimit stack;
  ASSERT_EQ(getrlimit(RLIMIT_STACK, &stack), 0);
  if (stack.rlim_max != RLIM_INFINITY) GTEST_SKIP() << "the stack is limited";
  const std::string without = "ulimit -s 100000000; ulimit -v 10000000; exec tools/";
  const ChildResult result = RunChild({"/bin/sh", "-c", without + "executor --list_formats"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.errors.find("error: no thread can be started: "), 0u) << result.errors;
  EXPECT_NE(result.errors.find("ulimit -u"), std::string::npos) << result.errors;
  EXPECT_EQ(RunChild({"/bin/sh", "-c", without + "executor --help"}).exit_code, 0);
}

// F28: a run that is stopped for a while and continued loses nothing.
TEST(ExecutorCommand, GoesOnAfterItWasSuspended) {
  const TempFile startup("startup.pbtxt", kPacedStartup), main("main.pbtxt", kPacedMain);
  Child child({"tools/executor", "--plugin=" + Runfile("tests/libpace.so"),
               "--startup=" + startup.path(), "--main=" + main.path(), "--set=share=1",
               "--set=count=40", "--set=milliseconds=5"});
  child.WaitForError("at work");
  for (int i = 0; i < 100; ++i) {
    child.Signal(SIGSTOP);
    child.Signal(SIGCONT);
  }
  const ChildResult result = child.Wait();
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.errors.find("1 pass, 40 batches, 40 records ("), std::string::npos)
      << result.errors;
}

// F29: the process that reads the output ends early.
TEST(ExecutorCommand, EndsWithItsReader) {
  std::string program = kEndless;
  program.insert(program.rfind("  ops {"), R"(  ops {
    type: "print"
    inputs { parameter: "In" arguments: "go" }
  }
)");
  const TempFile file("main.pbtxt", program);
  const ChildResult result =
      RunChild({"/bin/bash", "-c",
                "set -o pipefail; tools/executor --quiet --main=" + file.path() + " | head -n 1"});
  EXPECT_EQ(result.exit_code, 128 + SIGPIPE) << result.errors;
  EXPECT_EQ(result.output, "go: bool [1] = {true}\n");
}

TEST(ExecutorCommand, SaysHowMuchItReadAndHowLongItWaited) {
  const TempFile startup("startup.pbtxt", kPacedStartup), main("main.pbtxt", kPacedMain);
  const std::string stats = TempName("stats.json");
  const ChildResult result = Execute(
      PluginAnd({"--startup=" + startup.path(), "--main=" + main.path(), "--set=share=0.3",
                 "--set=count=50", "--set=milliseconds=6", "--stats_json=" + stats, "--seed=7"}));
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.errors.find("1 pass, 50 batches, 50 records ("), std::string::npos)
      << result.errors;
  const nlohmann::json json = nlohmann::json::parse(ReadFile(stats));
  EXPECT_EQ(json["passes"], 1);
  EXPECT_EQ(json["batches"], 50);
  EXPECT_EQ(json["records"], 50);
  EXPECT_EQ(json["bytes"], 400);
  EXPECT_EQ(json["seed"], 7);
  const nlohmann::json& program = json["programs"][1];
  EXPECT_EQ(program["program"], main.path());
  EXPECT_EQ(program["readers"][0]["name"], "paced");
  // The pauses are 30% of the time that the plugin takes. The rest of the run lowers the share.
  EXPECT_GT(program["wait_share"], 0.2);
  EXPECT_LT(program["wait_share"], 0.35);
}

TEST(ExecutorCommand, WritesStatisticsAfterAnErrorToo) {
  const TempFile program("main.pbtxt", kEndless);
  const std::string stats = TempName("stats.json");
  EXPECT_EQ(
      Execute({"--main=" + program.path(), "--max_steps=10", "--stats_json=" + stats}).exit_code,
      5);
  const nlohmann::json json = nlohmann::json::parse(ReadFile(stats));
  EXPECT_NE(json["error"].get<std::string>().find("--max_steps=10"), std::string::npos);
}

// A program that reads ten numbers from a file, shuffled, in batches of four.
const std::string kCountedStartup = BlockText(
    0, -1,
    {CreatedReaderText("numbers", "create_fixed_file_reader", {}, {{"filename", "s: '${file}'"}},
                       {{"INT64", {1, 1}}}),
     CreatedReaderText("shuffled", "create_shuffle_reader", {"numbers"}, {{"buffer_size", "i: 3"}}),
     CreatedReaderText("batches", "create_batch_reader", {"shuffled"}, {{"batch_size", "i: 4"}})});
const std::string kCountedMain = ReadingProgram("batches");

// Checks and removes the fields that depend on the machine.
nlohmann::json WithoutTimes(nlohmann::json readers) {
  for (nlohmann::json& reader : readers) {
    for (const char* field : {"load_seconds", "wait_seconds", "memory_bytes"}) {
      EXPECT_GE(reader.at(field).get<double>(), 0) << field;
      reader.erase(field);
    }
    reader["below"] = WithoutTimes(reader["below"]);
  }
  return readers;
}

TEST(ExecutorCommand, SaysWhatEachReaderHasDone) {
  const TempFile startup("startup.pbtxt", kCountedStartup), main("main.pbtxt", kCountedMain);
  const TempFile numbers("numbers.bin", std::string(80, 'x'));
  for (const char* threads : {"--threads=0", "--threads=2"}) {
    const std::string stats = TempName("stats.json");
    const ChildResult result =
        Execute({"--startup=" + startup.path(), "--main=" + main.path(), threads,
                 "--set=file=" + numbers.path(), "--stats", "--quiet", "--stats_json=" + stats});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    // The first byte of the file is read once more, which tells that it is not compressed.
    EXPECT_EQ(WithoutTimes(nlohmann::json::parse(ReadFile(stats))["readers"]),
              nlohmann::json::parse(R"([{
                "kind": "create_batch_reader", "name": "batches", "elements": 3, "planned": 3,
                "bytes_read": 0, "in_store": 0, "below": [{
                  "kind": "create_shuffle_reader", "name": "shuffled", "elements": 10,
                  "planned": 10, "bytes_read": 0, "in_store": 0, "below": [{
                    "kind": "create_fixed_file_reader", "name": "numbers", "elements": 10,
                    "planned": 10, "bytes_read": 81, "in_store": 0, "below": []}]}]}])"));
    const std::string& table = result.errors;
    EXPECT_EQ(table.substr(0, 7), "reader ");
    EXPECT_NE(table.find("\nbatches (create_batch_reader)"), std::string::npos) << table;
    EXPECT_NE(table.find("\n  shuffled (create_shuffle_reader)"), std::string::npos) << table;
    EXPECT_NE(table.find("\n    numbers (create_fixed_file_reader)        10       10         81B"),
              std::string::npos)
        << table;
  }
}

TEST(ExecutorCommand, SaysWhatEachReaderHasDoneBeforeAnError) {
  const TempFile startup("startup.pbtxt", kCountedStartup), main("main.pbtxt", kCountedMain);
  const TempFile cut("numbers.bin", std::string(77, 'x'));
  const std::string stats = TempName("stats.json");
  const ChildResult result =
      Execute({"--startup=" + startup.path(), "--main=" + main.path(), "--set=file=" + cut.path(),
               "--stats", "--stats_json=" + stats});
  EXPECT_EQ(result.exit_code, 3) << result.errors;
  EXPECT_NE(result.errors.find("\n  shuffled (create_shuffle_reader) "), std::string::npos);
  const nlohmann::json batches = nlohmann::json::parse(ReadFile(stats))["readers"][0];
  EXPECT_EQ(batches["elements"], 2);
  EXPECT_EQ(batches["below"][0]["below"][0]["planned"], 9);
}

TEST(ExecutorCommand, ReplacesStatisticsOnlyIfToldTo) {
  const TempFile program("main.pbtxt", kMain), stats("stats.json", "mine");
  const Words flags = {"--main=" + program.path(), "--set=value=1", "--set=text=", "--quiet",
                       "--stats_json=" + stats.path()};
  const ChildResult refused = Execute(flags);
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_EQ(refused.errors, "error: " + stats.path() + ": the file exists; --force replaces it\n");
  EXPECT_EQ(refused.output, "") << "the error comes before anything is run";
  EXPECT_EQ(ReadFile(stats.path()), "mine");
  Words forced = flags;
  forced.emplace_back("--force");
  EXPECT_EQ(Execute(forced).exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(ReadFile(stats.path()))["seed"], 0);
  forced.back() = "--stats_json=" + program.path();
  forced.emplace_back("--force");
  EXPECT_EQ(Execute(forced).exit_code, 2);
  EXPECT_EQ(ReadFile(program.path()), kMain);
}

TEST(ExecutorCommand, WritesStatisticsToAPipe) {
  const TempFile program("main.pbtxt", kMain);
  const std::string link = TempName("stdout");  // a link as /dev/stdout is one
  ASSERT_EQ(symlink("/proc/self/fd/1", link.c_str()), 0);
  const ChildResult result =
      RunChild({"/bin/sh", "-c",
                "tools/executor --quiet --set=value=1 --set=text= --main=" + program.path() +
                    " --stats_json=" + link + " | tail -n +2"});
  unlink(link.c_str());
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(nlohmann::json::parse(result.output)["seed"], 0) << result.output;
}

}  // namespace
}  // namespace millhopper

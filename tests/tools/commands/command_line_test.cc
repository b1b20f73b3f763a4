// SPDX-License-Identifier: Apache-2.0
// What all commands have in common: versions, man pages, completions, JSON, standard input and
// output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "framework/base/version.h"
#include "tests/child.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

const char* const kCommands[] = {"executor", "peek", "recordio", "quickstart"};

ChildResult Bash(const std::string& line) { return RunChild({"/bin/bash", "-c", line}); }

// The output of a line of bash, which must succeed.
std::string OutputOf(const std::string& line) {
  const ChildResult result = Bash("set -e -o pipefail; " + line);
  EXPECT_EQ(result.exit_code, 0) << line << "\n" << result.errors;
  return result.output;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<nlohmann::json> JsonLinesOf(const std::string& command) {
  std::vector<nlohmann::json> values;
  for (const std::string& line : LinesOf(OutputOf(command))) {
    values.push_back(nlohmann::json::parse(line));
  }
  return values;
}

// The flags of --help, but for those under "Everywhere".
std::vector<std::string> FlagsOf(const std::string& command) {
  std::vector<std::string> flags;
  for (const std::string& line : LinesOf(OutputOf("tools/" + command + " --help"))) {
    if (line == "Everywhere:") break;
    if (line.rfind("  --", 0) == 0)
      flags.push_back(line.substr(2, line.find_first_of("= ", 2) - 2));
  }
  return flags;
}

TEST(CommandLine, SaysItsVersion) {
  for (const std::string command : kCommands) {
    EXPECT_EQ(OutputOf("tools/" + command + " --version"),
              command + " of Millhopper " + kVersion + "\n");
  }
}

TEST(CommandLine, HasAManPageWithEveryFlag) {
  for (const std::string command : kCommands) {
    const std::string page = OutputOf("tools/" + command + " --man");
    EXPECT_EQ(page.rfind(".TH ", 0), 0u);
    for (const std::string& flag : FlagsOf(command)) {
      EXPECT_THAT(page, HasSubstr("\\fB\\-\\-" + flag.substr(2) + "\\fR")) << command;
    }
    for (const char* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS"}) {
      EXPECT_THAT(page, HasSubstr(std::string("\n.SH ") + section + "\n")) << command;
    }
  }
}

// What bash offers in place of the last of these words.
std::vector<std::string> Completed(const std::string& command, const std::string& words) {
  return LinesOf(OutputOf("compopt() { :; }; source <(tools/" + command +
                          " --completion=bash); COMP_WORDS=(" + command + " " + words +
                          "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _" + command +
                          "; printf '%s\\n' \"${COMPREPLY[@]}\""));
}

TEST(CommandLine, CompletesEveryFlagInBash) {
  for (const std::string command : kCommands) {
    std::vector<std::string> offered = Completed(command, "--");
    for (std::string& flag : offered) flag = flag.substr(0, flag.find('='));
    EXPECT_THAT(offered, IsSupersetOf(FlagsOf(command))) << command;
  }
}

TEST(CommandLine, CompletesValuesInBash) {
  EXPECT_THAT(Completed("recordio", "write --compressor = sn"), ElementsAre("snappy"));
  EXPECT_THAT(Completed("recordio", "write --compressor s"), ElementsAre("snappy"));
  EXPECT_THAT(Completed("recordio", "ver"), ElementsAre("verify"));
  const std::string folder = TempName("completed");
  fs::create_directory(folder);
  WriteFile(folder + "/a program.pbtxt", "");
  EXPECT_THAT(Completed("executor", "--startup = " + folder + "/a"),
              ElementsAre(folder + "/a program.pbtxt"));
  EXPECT_THAT(Completed("peek", folder + "/a"), ElementsAre(folder + "/a program.pbtxt"));
}

TEST(CommandLine, CompletesInZshAndFish) {
  for (const std::string command : kCommands) {
    const std::string zsh = OutputOf("tools/" + command + " --completion=zsh");
    const std::string fish = OutputOf("tools/" + command + " --completion fish");
    EXPECT_EQ(zsh.rfind("#compdef " + command + "\n", 0), 0u);
    for (const std::string& flag : FlagsOf(command)) {
      EXPECT_THAT(zsh, ::testing::ContainsRegex("'[*]?" + flag + "=?\\["));
      EXPECT_THAT(fish, HasSubstr("complete -c " + command + " -l " + flag.substr(2) + " "));
    }
  }
  EXPECT_EQ(Bash("tools/peek --completion=csh").exit_code, 2);
}

// The help of a command that is installed under another name, as tools/install does.
TEST(CommandLine, SpeaksOfItselfByTheNameThatItIsCalledBy) {
  const std::string link = TempName("millhopper-peek");
  fs::create_symlink(Runfile("tools/peek"), link);
  EXPECT_THAT(OutputOf(link + " --help"),
              HasSubstr("usage: " + link.substr(link.rfind('/') + 1) + " FILE... [flags]\n"));
  EXPECT_THAT(OutputOf(link + " --man"), HasSubstr(".SH SYNOPSIS\n.nf\n"));
  EXPECT_THAT(OutputOf(link + " --help"),
              HasSubstr("  zcat train.csv.gz | " + link.substr(link.rfind('/') + 1) + " csv:-\n"));
}

TEST(CommandLine, PrintsItsErrorIfNobodyReadsItsOutput) {
  const TempFile rows("rows.csv", "a,b\n1,2\n3,\n");
  // The reader of the pipe has ended before the command begins.
  const ChildResult result =
      Bash("exec 3> >(exec <&-; exit 0); wait $!; tools/peek --field='b int64[]' " + rows.path() +
           " >&3");
  EXPECT_EQ(result.exit_code, 3) << result.errors;
  EXPECT_THAT(result.errors, HasSubstr("error: "));
}

TEST(CommandLine, SaysWhichFlagWasMeantAndWhichLacksItsValue) {
  const auto error_of = [](const std::string& line) {
    const ChildResult result = Bash("tools/" + line);
    EXPECT_EQ(result.exit_code, 2) << line;
    return result.errors;
  };
  EXPECT_EQ(error_of("recordio write -o x y"),
            "error: no flag --o; did you mean 'output'? (--help lists them)\n");
  EXPECT_EQ(error_of("recordio write -z x y"), "error: no flag --z (--help lists them)\n");
  EXPECT_EQ(error_of("recordio write --=5"), "error: no flag -- (--help lists them)\n");
  EXPECT_EQ(
      error_of("executor --stats_json --quiet"),
      "error: --stats_json needs a value; '--quiet' is a flag (a value that begins so follows "
      "'=')\n");
}

constexpr char kReads[] = R"(
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "lines" persistable: true type { type: READER } }
  ops {
    type: "create_text_file_reader"
    outputs { parameter: "Out" arguments: "lines" }
    attrs { name: "filename" s: "${file}" }
  }
}
)";

TEST(CommandLine, ReadsStandardInput) {
  const std::string expected = OutputOf(
      "printf 'a\\nbb\\n' >$TEST_TMPDIR/in.txt; "
      "tools/peek --digest text:$TEST_TMPDIR/in.txt");
  EXPECT_EQ(LinesOf(expected).size(), 3u);
  EXPECT_EQ(OutputOf("printf 'a\\nbb\\n' | tools/peek --digest text:-"), expected);
  EXPECT_EQ(OutputOf("tools/peek --digest text:- <$TEST_TMPDIR/in.txt"), expected);
  EXPECT_EQ(OutputOf("gzip -c $TEST_TMPDIR/in.txt | tools/peek --digest text:-"), expected);
  const ChildResult twice = Bash("tools/peek text:- text:- </dev/null");
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.errors, HasSubstr("-: can be read once only, because it is standard input"));
}

// A shell, or head, may have read the beginning: what a command gets is the rest.
TEST(CommandLine, ReadsTheRestOfStandardInput) {
  const TempFile text("text", "first\na\nbb\n");
  const std::string file = "<" + text.path();
  EXPECT_EQ(OutputOf("{ read line; tools/peek --digest text:-; } " + file),
            OutputOf("printf 'a\nbb\n' | tools/peek --digest text:-"));
  const TempFile program("program", "not a program\n" + std::string(kReads));
  const TempFile alone("alone", kReads);
  EXPECT_EQ(OutputOf("{ read line; tools/executor --print=- --set=file=x; } <" + program.path()),
            OutputOf("tools/executor --set=file=x --print=" + alone.path()));
}

TEST(CommandLine, ReadsLabelsAndPositionsFromStandardInput) {
  const TempFile images("images", std::string("\0\0\x08\x03\0\0\0\x01\0\0\0\x01\0\0\0\x01"
                                              "a",
                                              17));
  const TempFile labels("labels", std::string("\0\0\x08\x01\0\0\0\x01\7", 9));
  const std::string write = "tools/recordio write --output=- idx:" + images.path();
  EXPECT_EQ(OutputOf(write + " --label_filename=- <" + labels.path() + " | sha256sum"),
            OutputOf(write + " --label_filename=" + labels.path() + " | sha256sum"));
  EXPECT_THAT(Bash("printf damaged | tools/peek --state=-").errors,
              HasSubstr("error: /dev/stdin: "));
}

TEST(CommandLine, RefusesSeveralFilesForStandardOutput) {
  const ChildResult result =
      Bash("printf 'a\n' | tools/recordio write --output=- --shards=2 text:-");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("standard output takes one file, and --shards=2 makes"));
}

TEST(CommandLine, WritesStandardOutput) {
  EXPECT_EQ(OutputOf("printf 'a\\nbb\\n' | tools/recordio write --output=- text:- | "
                     "tools/recordio verify --json - | grep -o '\"records\":[0-9]*'"),
            "\"records\":2\n");
}

TEST(CommandLine, ReadsProgramsFromStandardInput) {
  const TempFile startup("startup.pbtxt", kReads);
  const TempFile text("text", "a\nbb\n");
  const std::string flags = " --set=file=" + text.path();
  EXPECT_EQ(OutputOf("tools/peek --digest --startup=-" + flags + " <" + startup.path()),
            OutputOf("tools/peek --digest --startup=" + startup.path() + flags));
  EXPECT_EQ(OutputOf("cat " + startup.path() + " | tools/executor --print=-" + flags),
            OutputOf("tools/executor --print=" + startup.path() + flags));
}

TEST(CommandLine, PrintsJson) {
  const TempFile startup("startup.pbtxt", kReads);
  const TempFile text("text", "a\nbb\n");
  const std::string peek = "tools/peek --json text:" + text.path();
  const std::vector<nlohmann::json> elements = JsonLinesOf(peek);
  ASSERT_EQ(elements.size(), 2u);
  EXPECT_EQ(elements[1]["slots"][0]["dims"], nlohmann::json({2}));
  const std::vector<nlohmann::json> digests = JsonLinesOf(peek + " --digest");
  ASSERT_EQ(digests.size(), 3u);
  EXPECT_EQ(digests[0]["sha256"].get<std::string>().size(), 64u);
  EXPECT_EQ(digests[2]["elements"], 2);
  const std::vector<nlohmann::json> statistics = JsonLinesOf(peek + " --all");
  ASSERT_EQ(statistics.size(), 1u);
  EXPECT_EQ(statistics[0]["elements"], 2);
  EXPECT_EQ(statistics[0]["slots"][0]["values"]["highest"], 'b');

  const std::string executor = "tools/executor --json ";
  const std::vector<nlohmann::json> operators = JsonLinesOf(executor + "--list_ops");
  EXPECT_EQ(operators.size(), LinesOf(OutputOf("tools/executor --list_ops")).size());
  EXPECT_EQ(JsonLinesOf(executor + "--list_ops read")[0]["inputs"][0]["reader"], true);
  std::vector<std::string> tags;
  for (const nlohmann::json& format : JsonLinesOf(executor + "--list_formats")) {
    tags.push_back(format["tag"]);
  }
  EXPECT_THAT(tags, IsSupersetOf({"csv", "recordio", "text"}));
  const std::string program = " --set=file=" + text.path() + " --startup=" + startup.path();
  EXPECT_EQ(JsonLinesOf(executor + "--check" + program)[0]["problems"], nlohmann::json::array());
  const ChildResult wrong = Bash(executor + "--check --startup=" + startup.path());
  EXPECT_EQ(wrong.exit_code, 2);
  const nlohmann::json problem = nlohmann::json::parse(wrong.output)["problems"][0];
  EXPECT_EQ(problem["file"], startup.path());
  EXPECT_THAT(problem["text"].get<std::string>(),
              StartsWith(StrCat(startup.path(), ":", problem["line"].get<int>(), ":",
                                problem["column"].get<int>(), ": ")));
  // Problems that a check finds have places, too, and each has its own.
  const TempFile two("two.pbtxt",
                     "blocks { idx: 0 parent_idx: -1\n  ops { type: \"no_such\" }\n"
                     "  ops { type: \"nor_this\" }\n}\n");
  const nlohmann::json found =
      nlohmann::json::parse(Bash(executor + "--check --main=" + two.path()).output)["problems"];
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]["line"], 2);
  EXPECT_EQ(found[1]["line"], 3);
  EXPECT_EQ(found[1]["column"], 3);
  const nlohmann::json printed =
      JsonLinesOf(executor + "--set=file=x --print=" + startup.path())[0];
  EXPECT_EQ(printed["blocks"][0]["ops"][0]["type"], "create_text_file_reader");
  EXPECT_EQ(JsonLinesOf(executor + program)[0]["records"], 0);

  const std::string file = TempName("file.recordio");
  const std::string recordio = "tools/recordio --json ";
  EXPECT_EQ(JsonLinesOf(recordio + "write --output=" + file + " text:" + text.path())[0]["records"],
            2);
  EXPECT_EQ(JsonLinesOf(recordio + "verify " + file)[0]["whole"], true);
  const std::vector<nlohmann::json> inspected = JsonLinesOf(recordio + "inspect " + file);
  ASSERT_EQ(inspected.size(), 2u);
  EXPECT_EQ(inspected[0]["damaged"], false);
  EXPECT_EQ(inspected[1]["chunks"], 1);
  const std::vector<nlohmann::json> head = JsonLinesOf(recordio + "head " + file);
  ASSERT_EQ(head.size(), 2u);
  EXPECT_EQ(head[0]["slots"][0]["data"], nlohmann::json({'a'}));
  EXPECT_EQ(head[0]["hex"].get<std::string>().substr(0, 8), "01000000");

  const std::vector<nlohmann::json> trained =
      JsonLinesOf("tools/quickstart --json --passes=1 --data_dir=" + TempName("digits"));
  ASSERT_EQ(trained.size(), 3u);
  EXPECT_EQ(trained[1]["pass"], 1);
  EXPECT_EQ(trained[2]["total"], trained[0]["test"]);
}

TEST(CommandLine, LoadsAPluginByARelativePath) {
  const std::string folder = fs::path(TempName("plugins")).lexically_normal();
  fs::create_directory(folder);
  fs::copy_file(Runfile("tests/libadd_constant.so"), folder + "/libadd_constant.so");
  WriteFile(folder + "/startup.pbtxt", "blocks { idx: 0 parent_idx: -1 }");
  const std::string flags = " --list_ops add_constant --plugin=libadd_constant.so --startup=";
  const ChildResult beside = Bash("tools/executor" + flags + folder + "/startup.pbtxt");
  EXPECT_EQ(beside.exit_code, 0) << beside.errors;
  EXPECT_EQ(beside.errors, "--plugin=libadd_constant.so: " + folder + "/libadd_constant.so\n");
  EXPECT_THAT(beside.output, HasSubstr("Adds a constant to every value."));
  // Without a program, or of one elsewhere, that folder is not searched.
  const ChildResult nowhere = Bash("tools/executor" + flags + "elsewhere/startup.pbtxt");
  EXPECT_EQ(nowhere.exit_code, 6);
  EXPECT_THAT(nowhere.errors, HasSubstr("there is no such file"));
  const ChildResult current = Bash("here=$PWD; cd " + folder + "; $here/tools/executor" + flags);
  EXPECT_EQ(current.exit_code, 0) << current.errors;
}

}  // namespace
}  // namespace millhopper

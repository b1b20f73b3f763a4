// SPDX-License-Identifier: Apache-2.0
// The quickstart command: writes handwritten digits as RecordIO files and trains on them, with the
// programs of tools/programs.
#include <gflags/gflags.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <streambuf>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/byte_stream.h"
#include "framework/io/output_file.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "framework/tensor/tensor_stream.h"
#include "readers/recordio_commit.h"
#include "readers/recordio_writer.h"
#include "tools/command.h"

DEFINE_string(mnist, "",
              "a folder with the four files of MNIST, plain or gzip, to train on instead of the "
              "digits that are shipped");
DEFINE_int32(passes, 0,
             "how often to go through the training images; 0: 20 times, or 5 with --mnist");
DEFINE_string(program, "loop",
              "loop: the program itself loops over the passes; multi_pass: the reader does. Both "
              "train in the same way");
DEFINE_string(
    data_dir, "",
    "the folder for the RecordIO files; existing files are replaced only with --force. By "
    "default a temporary folder, whose files each run replaces");
DECLARE_uint64(seed);

namespace millhopper {
namespace {

namespace fs = std::filesystem;

constexpr size_t kShards = 4;
constexpr size_t kBatchSize = 32;  // as in the programs

CommandHelp Help() {
  CommandHelp help;
  help.usage = "quickstart [--mnist=DIR] [flags]\n";
  help.text =
      "Trains a network of two layers to read handwritten digits. Writes the images as four\n"
      "RecordIO files (and a fifth of the images, kept for the test, as one more), then runs a\n"
      "startup program, a training program and a test program.\n";
  help.groups = {{"Training", {"mnist", "passes", "program", "threads", "seed"}},
                 {"Data", {"data_dir", "force"}}};
  return help;
}

// ---- Data ----

struct Digit {
  std::vector<uint8_t> pixels;
  int64_t label;
};

OutputRules Rules() {
  OutputRules rules = RulesOfFlags();
  rules.overwrite = rules.overwrite || FLAGS_data_dir.empty();
  rules.stream = false;
  return rules;
}

// Writes records in turn to `shards` files, "NAME-00000.recordio" and so on.
class ShardedWriter {
 public:
  ShardedWriter(const fs::path& folder, const std::string& name, size_t shards) {
    for (size_t i = 0; i < shards; ++i) {
      char file_name[64];
      snprintf(file_name, sizeof(file_name), "%s-%05zu.recordio", name.c_str(), i);
      writers_.push_back(std::make_unique<RecordIOWriter>((folder / file_name).string(),
                                                          RecordIOOptions(), Rules()));
      files_.push_back(writers_.back().get());
    }
    CheckListing(files_);
  }

  void Write(const Digit& digit) {
    LoDTensor image, label;
    const auto pixels = static_cast<int64_t>(digit.pixels.size());
    memcpy(image.Allocate<uint8_t>({1, pixels}), digit.pixels.data(), digit.pixels.size());
    *label.Allocate<int64_t>({1, 1}) = digit.label;
    record_.assign({2, 0, 0, 0});  // the number of tensors, as u32
    AppendTensor(image, &record_);
    AppendTensor(label, &record_);
    writers_[count_++ % writers_.size()]->Write(record_);
  }

  // Ends the files and returns how many records they hold.
  size_t Finish() {
    CommitRecordIO(files_, true);
    return count_;
  }

 private:
  std::vector<std::unique_ptr<RecordIOWriter>> writers_;
  std::vector<RecordIOWriter*> files_;
  std::string record_;
  size_t count_ = 0;
};

struct DataSet {
  fs::path folder;
  size_t pixels;       // of an image
  double scale;        // maps a byte of an image to 0..1
  size_t train_count;  // images
  size_t test_count;
};

// The path of a file that comes with this program: beside it, or in the folder of its runfiles that
// Bazel makes.
fs::path ShippedFile(const std::string& name) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  std::vector<fs::path> folders = {program.parent_path(),
                                   program.string() + ".runfiles/millhopper/tools"};
  for (const char* variable : {"TEST_SRCDIR", "RUNFILES_DIR"}) {
    const char* value = getenv(variable);
    if (value != nullptr) folders.push_back(fs::path(value) / "millhopper" / "tools");
  }
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / name)) return folder / name;
  }
  Throw(ErrorCode::kIo, "'", name, "' is not where this program is, in ", folders.front().string(),
        " (build //tools:quickstart with Bazel, which puts it there)");
}

Digit ParseDigit(const std::string& line, const std::string& place) {
  constexpr size_t kPixels = 64;
  std::istringstream numbers(line);
  std::vector<int> values;
  for (std::string text; std::getline(numbers, text, ',');) values.push_back(atoi(text.c_str()));
  if (values.size() != kPixels + 1) {
    Throw(ErrorCode::kDataLoss, place, ": ", values.size(), " numbers instead of ", kPixels + 1);
  }
  return {std::vector<uint8_t>(values.begin(), values.end() - 1), values.back()};
}

// The content of a file that may be compressed.
std::string ReadText(const std::string& path) {
  ByteStream stream(path);
  std::string text;
  char block[1 << 16];
  while (const size_t got = stream.Read(block, sizeof(block))) text.append(block, got);
  return text;
}

// Every fifth digit is for the test.
DataSet WriteDigits(const fs::path& folder) {
  const std::string path = ShippedFile("digits/digits.csv.gz").string();
  std::istringstream lines(ReadText(path));
  ShardedWriter train(folder, "train", kShards);
  ShardedWriter test(folder, "test", 1);
  std::string line;
  for (size_t i = 1; std::getline(lines, line); ++i) {
    (i % 5 == 0 ? test : train).Write(ParseDigit(line, StrCat(path, ":", i)));
  }
  return {folder, 64, 1.0 / 16, train.Finish(), test.Finish()};
}

// The path of a file that may be compressed.
std::string MnistFile(const std::string& name) {
  const fs::path plain = fs::path(FLAGS_mnist) / name;
  const fs::path compressed = plain.string() + ".gz";
  if (fs::exists(plain)) return plain.string();
  if (!fs::exists(compressed)) {
    Throw(ErrorCode::kIo, "--mnist=", FLAGS_mnist, ": neither ", name, " nor ", name,
          ".gz is there");
  }
  return compressed.string();
}

size_t WriteMnist(const std::string& name, const std::string& images, const std::string& labels,
                  size_t shards, const fs::path& folder) {
  static const char* const kStartup = R"(
blocks {
  idx: 0
  parent_idx: -1
  vars { name: "digits" persistable: true type { type: READER } }
  ops {
    type: "create_idx_file_reader"
    outputs { parameter: "Out" arguments: "digits" }
    attrs { name: "filename" s: "${images}" }
    attrs { name: "label_filename" s: "${labels}" }
  }
})";
  const Settings files = {{"images", MnistFile(images)}, {"labels", MnistFile(labels)}};
  Scope scope;
  Executor().Run(Program::FromString(kStartup, "mnist.pbtxt", files), ProgramRole::kStartup,
                 &scope);
  auto* reader = scope.Var("digits")->GetMutable<ReaderHolder>();
  ShardedWriter writer(folder, name, shards);
  std::vector<LoDTensor> element;
  while (reader->HasNext()) {
    reader->ReadNext(&element);
    const auto* pixels = element[0].data<uint8_t>();
    writer.Write(
        {std::vector<uint8_t>(pixels, pixels + element[0].numel()), element[1].scalar<int64_t>()});
  }
  return writer.Finish();
}

DataSet WriteData() {
  std::error_code failed;
  fs::path base = FLAGS_data_dir;
  if (base.empty()) {
    base = fs::temp_directory_path(failed) / StrCat("millhopper-quickstart-", geteuid());
    if (failed) {
      const char* const folder = getenv("TMPDIR");
      Throw(ErrorCode::kIo, "no folder for temporaries: TMPDIR=", folder == nullptr ? "" : folder,
            ": ", failed.message(), "; --data_dir names another folder");
    }
  }
  const fs::path folder = fs::absolute(base / (FLAGS_mnist.empty() ? "digits" : "mnist"));
  fs::create_directories(folder, failed);
  if (failed) Throw(ErrorCode::kIo, folder.string(), ": ", failed.message());
  struct stat status;
  if (FLAGS_data_dir.empty() && lstat(base.c_str(), &status) == 0 && status.st_uid != geteuid()) {
    Throw(ErrorCode::kIo, base.string(),
          ": belongs to another user; --data_dir names another folder");
  }
  if (FLAGS_mnist.empty()) return WriteDigits(folder);
  const size_t train =
      WriteMnist("train", "train-images-idx3-ubyte", "train-labels-idx1-ubyte", kShards, folder);
  const size_t test =
      WriteMnist("test", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", 1, folder);
  return {folder, size_t{28} * 28, 1.0 / 255, train, test};
}

// ---- Training ----

// Takes the lines "name = {value}" that the programs print, and prints one line for each pass.
class PassLines : public std::streambuf {
 protected:
  int overflow(int c) override {
    if (c == traits_type::eof()) return 0;
    if (c != '\n') {
      line_.push_back(static_cast<char>(c));
    } else {
      Take(line_);
      line_.clear();
    }
    return c;
  }

 private:
  void Take(const std::string& line) {
    const size_t end = line.find(" = {");
    if (end == std::string::npos) return;
    const std::string name = line.substr(0, end);
    const double value = atof(line.c_str() + end + 4);
    if (name == "pass") pass_ = value;
    if (name == "loss") loss_ = value;
    if (name == "accuracy") {
      printf("pass %2.0f: loss %.4f, accuracy %.2f%%\n", pass_, loss_, 100 * value);
      fflush(stdout);
    }
  }

  std::string line_;
  double pass_ = 0, loss_ = 0;
};

// The settings of the programs. They are also written to a file, for the executor command.
Settings WriteSettings(const DataSet& data, const std::string& path) {
  Settings settings = {
      {"data", data.folder.string()},
      {"pixels", std::to_string(data.pixels)},
      {"scale", StrCat(data.scale)},
      {"passes", std::to_string(FLAGS_passes)},
      // The fewer passes there are, the sooner the steps must become small.
      {"decay", FLAGS_mnist.empty() ? "0.95" : "0.7"},
      {"batches", std::to_string((data.train_count + kBatchSize - 1) / kBatchSize)},
  };
  OutputFile file(path, Rules());
  for (const auto& [name, value] : settings) file.Write(StrCat("--set=", name, "=", value, "\n"));
  file.Publish();
  return settings;
}

int RunQuickstart(const Arguments& arguments) {
  Require(arguments.words.empty(), "'", arguments.words.empty() ? "" : arguments.words.front(),
          "' is no flag (--help lists them)");
  Require(FLAGS_program == "loop" || FLAGS_program == "multi_pass", "--program=", FLAGS_program,
          ": it is loop or multi_pass");
  Require(FLAGS_passes >= 0, "--passes=", FLAGS_passes, " is less than 0");
  if (FLAGS_passes == 0) FLAGS_passes = FLAGS_mnist.empty() ? 20 : 5;

  const DataSet data = WriteData();
  std::cout << WithCommas(data.train_count) << " images for training in " << kShards
            << " RecordIO files, " << WithCommas(data.test_count) << " for the test in one, in\n"
            << data.folder.string() << "\n"
            << std::flush;

  const std::string flags = (data.folder / "settings.flags").string();
  const Settings settings = WriteSettings(data, flags);
  PassLines lines;
  std::ostream output(&lines);
  RunState run;
  run.seed = FLAGS_seed;
  run.output = &output;
  const Executor executor(run);
  const std::string startup = ShippedFile("programs/" + FLAGS_program + "_startup.pbtxt").string();
  const std::string train = ShippedFile("programs/" + FLAGS_program + "_main.pbtxt").string();
  const std::string test = ShippedFile("programs/test.pbtxt").string();
  Scope scope;
  executor.Run(Program::FromFile(startup, settings), ProgramRole::kStartup, &scope);
  executor.Run(Program::FromFile(train, settings), ProgramRole::kMain, &scope);
  const std::unique_ptr<PreparedProgram> tested =
      executor.Prepare(Program::FromFile(test, settings), ProgramRole::kMain, &scope);
  tested->Run();
  const auto correct = tested->Find("correct")->Get<LoDTensor>().scalar<int32_t>();
  const auto total = tested->Find("total")->Get<LoDTensor>().scalar<int32_t>();
  char accuracy[32];
  snprintf(accuracy, sizeof(accuracy), "%.2f%%", 100.0 * correct / total);
  std::cout << "test accuracy " << accuracy << " (" << WithCommas(correct) << " of "
            << WithCommas(total) << ")\n\n"
            << "What to look at next:\n"
            << "  The programs, explained: tools/programs/" << FLAGS_program << "_startup.pbtxt, "
            << FLAGS_program << "_main.pbtxt, test.pbtxt.\n"
            << "  The same, and what the reader 'train' yields, as commands and as a picture:\n"
            << "    bazel build -c opt //tools:executor //tools:peek\n"
            << "    bazel-bin/tools/executor --flagfile=" << flags << " \\\n"
            << "      --startup=tools/programs/" << FLAGS_program << "_startup.pbtxt \\\n"
            << "      --main=tools/programs/" << FLAGS_program
            << "_main.pbtxt --main=tools/programs/test.pbtxt\n"
            << "    bazel-bin/tools/peek --flagfile=" << flags << " \\\n"
            << "      --startup=tools/programs/" << FLAGS_program
            << "_startup.pbtxt --reader=train --png=digits.png\n"
            << "  How to add an operator and a file format: README.md in operators and readers.\n";
  return 0;
}

}  // namespace
}  // namespace millhopper

int main(int argc, char** argv) {
  return millhopper::RunCommand(argc, argv, millhopper::Help(), millhopper::RunQuickstart);
}

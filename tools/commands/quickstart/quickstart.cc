// SPDX-License-Identifier: Apache-2.0
// The quickstart command: writes handwritten digits as RecordIO files, or as images, and trains on
// them, with the programs of tools/programs.
#include <gflags/gflags.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <streambuf>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/output_file.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "framework/tensor/tensor_stream.h"
#include "readers/formats/recordio/recordio_commit.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "tools/commands/help/shared_flags.h"
#include "tools/commands/quickstart/quickstart_digits.h"
#include "tools/commands/quickstart/quickstart_images.h"
#include "tools/commands/shared/amounts.h"
#include "tools/commands/shared/command.h"
#include "tools/commands/shared/json_line.h"

DEFINE_string(mnist, "",
              "a folder with the four files of MNIST, plain or gzip, to train on instead of the "
              "digits that are shipped");
DEFINE_string(images, "",
              "train a convolutional network on images in files: --images alone on the digits as "
              "JPEG files, --images=DIR on a folder with a folder of images for each class");
DEFINE_int32(passes, 0,
             "how often to go through the training images; 0: 20 times, or 5 with --mnist");
DEFINE_string(program, "loop",
              "loop: the program itself loops over the passes; multi_pass: the reader does. Both "
              "train in the same way");
DEFINE_string(
    data_dir, "",
    "the folder for the files that it writes; existing files are replaced only with --force. By "
    "default a temporary folder, whose files each run replaces");

namespace millhopper {
namespace {

namespace fs = std::filesystem;

constexpr size_t kShards = 4;
constexpr size_t kBatchSize = 32;     // as in the programs
constexpr char kDigits[] = "digits";  // the value of --images without one

CommandHelp Help() {
  CommandHelp help;
  help.name = "quickstart";
  help.usage =
      "quickstart [--mnist=DIR] [flags]\n"
      "quickstart --images[=DIR] [flags]\n";
  help.text =
      "Trains a network of two layers to read handwritten digits. Writes the images as four\n"
      "RecordIO files (and a fifth of the images, kept for the test, as one more), then runs a\n"
      "startup program, a training program and a test program. With --images the network is a\n"
      "convolutional one, and the images are files that are decoded and augmented.\n"
      "With --json it prints a line for the data, one for each pass, and one for the test.\n";
  help.groups = {{"Training", {"mnist", "images", "passes", "program", "threads", "seed"}},
                 {"Data", {"data_dir", "force"}},
                 {"Results", {"json"}}};
  return help;
}

// ---- Data ----

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

DataSet WriteDigits(const fs::path& folder) {
  const std::vector<Digit> digits = ReadDigits();
  ShardedWriter train(folder, "train", kShards);
  ShardedWriter test(folder, "test", 1);
  for (size_t i = 0; i < digits.size(); ++i) (IsForTest(i) ? test : train).Write(digits[i]);
  return {folder, kDigitSide * kDigitSide, 1.0 / kDigitWhite, train.Finish(), test.Finish()};
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

// The folder for what is written, which is created.
fs::path DataFolder(const std::string& name) {
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
  fs::path folder = fs::absolute(base / name);
  fs::create_directories(folder, failed);
  if (failed) Throw(ErrorCode::kIo, folder.string(), ": ", failed.message());
  struct stat status;
  if (FLAGS_data_dir.empty() && lstat(base.c_str(), &status) == 0 && status.st_uid != geteuid()) {
    Throw(ErrorCode::kIo, base.string(),
          ": belongs to another user; --data_dir names another folder");
  }
  return folder;
}

DataSet WriteData(const fs::path& folder) {
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
      if (FLAGS_json) {
        PrintJsonLine(
            {{"pass", pass_}, {"loss", JsonNumber(loss_)}, {"accuracy", JsonNumber(value)}});
      } else {
        printf("pass %2.0f: loss %.4f, accuracy %.2f%%\n", pass_, loss_, 100 * value);
      }
      FlushOutput();
    }
  }

  std::string line_;
  double pass_ = 0, loss_ = 0;
};

// Programs, what they are given, and the reader of training images.
struct Training {
  std::string startup, train, test;  // names in tools/programs
  Settings settings;
  fs::path folder;  // for the settings
};

// How many batches a pass over so many images has.
size_t BatchesOf(size_t images) { return (images + kBatchSize - 1) / kBatchSize; }

Training TrainOnRecords() {
  const DataSet data = WriteData(DataFolder(FLAGS_mnist.empty() ? "digits" : "mnist"));
  if (FLAGS_json) {
    PrintJsonLine(
        {{"train", data.train_count}, {"test", data.test_count}, {"folder", data.folder.string()}});
  } else {
    std::cout << WithCommas(data.train_count) << " images for training in " << kShards
              << " RecordIO files, " << WithCommas(data.test_count) << " for the test in one, in\n"
              << data.folder.string() << "\n";
  }
  FlushOutput();
  return {FLAGS_program + "_startup.pbtxt",
          FLAGS_program + "_main.pbtxt",
          "test.pbtxt",
          {
              {"data", data.folder.string()},
              {"pixels", std::to_string(data.pixels)},
              {"scale", StrCat(data.scale)},
              {"passes", std::to_string(FLAGS_passes)},
              // The fewer passes there are, the sooner the steps must become small.
              {"decay", FLAGS_mnist.empty() ? "0.95" : "0.7"},
              {"batches", std::to_string(BatchesOf(data.train_count))},
          },
          data.folder};
}

Training TrainOnImages() {
  const bool are_digits = FLAGS_images == kDigits;
  const fs::path folder = DataFolder(are_digits ? "digit_images" : "images");
  const ImageFiles files =
      are_digits ? WriteDigitImages(folder, Rules()) : DivideImages(FLAGS_images, folder, Rules());
  const std::string place = are_digits ? folder.string() : FLAGS_images;
  if (FLAGS_json) {
    PrintJsonLine({{"train", files.train_count},
                   {"test", files.test_count},
                   {"classes", files.classes},
                   {"folder", place}});
  } else {
    std::cout << WithCommas(files.train_count) << " images of " << files.classes
              << " classes for training, " << WithCommas(files.test_count) << " for the test, in\n"
              << place << "\n";
  }
  FlushOutput();
  const size_t size = are_digits ? 32 : 64;
  return {"images_startup.pbtxt",
          "images_main.pbtxt",
          "images_test.pbtxt",
          {
              {"train", files.train},
              {"test", files.test},
              {"classes", std::to_string(files.classes)},
              {"window", are_digits ? "4096" : "1024"},
              {"size", std::to_string(size)},
              {"features", std::to_string(32 * (size / 8) * (size / 8))},
              // A digit is recognised by all of it, and not in a mirror.
              {"smallest", are_digits ? "0.8" : "0.25"},
              {"mirrored", are_digits ? "0" : "0.5"},
              {"passes", std::to_string(FLAGS_passes)},
              {"batches", std::to_string(BatchesOf(files.train_count))},
              {"rate", are_digits ? "0.01" : "0.002"},
              {"decay", "0.95"},
          },
          folder};
}

// Writes settings to a file, as flags of the executor command.
void WriteSettings(const Settings& settings, const std::string& path) {
  OutputFile file(path, Rules());
  for (const auto& [name, value] : settings) file.Write(StrCat("--set=", name, "=", value, "\n"));
  file.Publish();
}

void Train(const Training& training) {
  PassLines lines;
  std::ostream output(&lines);
  RunState run;
  run.seed = FLAGS_seed;
  run.output = &output;
  const Executor executor(run);
  const auto program = [&](const std::string& name) {
    return Program::FromFile(ShippedFile("programs/" + name).string(), training.settings);
  };
  Scope scope;
  executor.Run(program(training.startup), ProgramRole::kStartup, &scope);
  executor.Run(program(training.train), ProgramRole::kMain, &scope);
  const std::unique_ptr<PreparedProgram> tested =
      executor.Prepare(program(training.test), ProgramRole::kMain, &scope);
  tested->Run();
  const auto correct = tested->Find("correct")->Get<LoDTensor>().scalar<int32_t>();
  const auto total = tested->Find("total")->Get<LoDTensor>().scalar<int32_t>();
  char accuracy[32];
  snprintf(accuracy, sizeof(accuracy), "%.2f%%", 100.0 * correct / total);
  if (FLAGS_json) {
    PrintJsonLine({{"correct", correct}, {"total", total}});
    return;
  }
  std::cout << "test accuracy " << accuracy << " (" << WithCommas(correct) << " of "
            << WithCommas(total) << ")\n";
}

void ShowNext(const Training& training, const std::string& flags) {
  std::cout << "\nWhat to look at next:\n"
            << "  The programs, explained: tools/programs/" << training.startup << ", "
            << training.train << ", " << training.test << ".\n"
            << "  The same, and what the reader 'train' yields, as commands and as a picture:\n"
            << "    bazel build -c opt //tools:executor //tools:peek\n"
            << "    bazel-bin/tools/executor --flagfile=" << flags << " \\\n"
            << "      --startup=tools/programs/" << training.startup << " \\\n"
            << "      --main=tools/programs/" << training.train << " --main=tools/programs/"
            << training.test << "\n"
            << "    bazel-bin/tools/peek --flagfile=" << flags << " \\\n"
            << "      --startup=tools/programs/" << training.startup
            << " --reader=train --png=digits.png\n"
            << "  How to add an operator and a file format: README.md in operators and readers.\n";
}

int RunQuickstart(const Arguments& arguments) {
  Require(arguments.words.empty(), "'", arguments.words.empty() ? "" : arguments.words.front(),
          "' is no flag (--help lists them)");
  Require(FLAGS_program == "loop" || FLAGS_program == "multi_pass", "--program=", FLAGS_program,
          ": it is loop or multi_pass");
  Require(FLAGS_images.empty() || FLAGS_mnist.empty(), "--images and --mnist exclude each other");
  Require(FLAGS_passes >= 0, "--passes=", FLAGS_passes, " is less than 0");
  if (FLAGS_passes == 0) FLAGS_passes = FLAGS_mnist.empty() ? 20 : 5;

  const Training training = FLAGS_images.empty() ? TrainOnRecords() : TrainOnImages();
  const std::string flags = (training.folder / "settings.flags").string();
  WriteSettings(training.settings, flags);
  Train(training);
  if (!FLAGS_json) ShowNext(training, flags);
  return 0;
}

}  // namespace
}  // namespace millhopper

int main(int argc, char** argv) {
  // A flag of gflags has a value.
  static std::string images_of_digits = std::string("--images=") + millhopper::kDigits;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--images") argv[i] = images_of_digits.data();
  }
  return millhopper::RunCommand(argc, argv, millhopper::Help(), millhopper::RunQuickstart);
}

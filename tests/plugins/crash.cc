// SPDX-License-Identifier: Apache-2.0
// A plugin for tests of the report of a crash: an operator and a file format that end the process
// in the way and at the place that their attributes say.
#include <sys/types.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>

#include "framework/io/file.h"
#include "framework/plugin.h"
#include "framework/reader/file_format.h"

namespace millhopper {
namespace {

// Recurses until the stack is full. The volatile pointer hides from compiler and optimizer that it
// never returns.
int Recurse(int depth);
int (*volatile recurse)(int) = Recurse;
int Recurse(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return recurse(depth + 1) + frame[0];
}

void Crash(const std::string& way) {
  if (way == "abort") std::abort();
  if (way == "segfault") raise(SIGSEGV);
  if (way == "exit") std::exit(0);
  if (way == "overflow") recurse(0);
}

OpSchema CrashSchema() {
  return OpSchema("Ends the process.").Attr({"way", "", "abort, segfault, exit, overflow"});
}

void RunCrash(OpContext& context) { Crash(context.Attr<std::string>("way")); }

// A file of one chunk with one record, which is the file's first byte.
class CrashingSource final : public FileSource {
 public:
  CrashingSource(std::string place, std::string way, const std::string& path)
      : place_(std::move(place)), way_(std::move(way)), file_(File::Open(path)) {}

  bool Claim(Chunk* chunk) override {
    if (claimed_) return false;
    claimed_ = true;
    if (place_ == "claim") Crash(way_);
    chunk->offset = 7;
    return true;
  }
  void Fetch(Chunk* chunk) const override {
    if (place_ == "fetch") Crash(way_);
    chunk->bytes = BufferPool::At(Place()).Take(1);
    file_->Read(0, chunk->bytes->data(), 1);
    chunk->pieces.push_back({0, 1});
  }

 private:
  const std::string place_, way_;
  const std::unique_ptr<const File> file_;
  bool claimed_ = false;
};

class CrashingFormat final : public FileFormat {
 public:
  explicit CrashingFormat(const FormatArguments& arguments)
      : FileFormat({{DataType::kInt64, {1, 1}, 0}}),
        place_(arguments.attributes.Get<std::string>("place")),
        way_(arguments.attributes.Get<std::string>("way")) {}

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    if (place_ == "open") Crash(way_);
    return std::make_unique<CrashingSource>(place_, way_, file.path);
  }
  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    if (place_ == "load") Crash(way_);
    for (size_t i = 0; i < n; ++i) {
      if (place_ == "load x" && *tickets[i].bytes == 'x') Crash(way_);
    }
    rows->Append(0, n);
  }

 private:
  const std::string place_, way_;
};

FormatSchema FormatText() {
  return FormatSchema("a file that ends the process")
      .Attr({"place", "", "open, claim, fetch, load or (where the file begins so) load x"})
      .Attr({"way", "", "abort, segfault, exit, overflow"});
}

std::unique_ptr<FileFormat> MakeFormat(const FormatArguments& arguments) {
  return std::make_unique<CrashingFormat>(arguments);
}

REGISTER_OPERATOR(crash, CrashSchema, RunCrash);
REGISTER_FILE_FORMAT(crashing, FormatText, MakeFormat);

}  // namespace
}  // namespace millhopper

MILLHOPPER_PLUGIN;

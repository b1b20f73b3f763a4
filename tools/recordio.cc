// SPDX-License-Identifier: Apache-2.0
// The recordio command: writes RecordIO files from files of any format, and looks into them.
#include <map>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "tools/command.h"
#include "tools/recordio_command.h"

namespace millhopper {
namespace {

CommandHelp Help() {
  CommandHelp help;
  help.usage =
      "recordio write --output=FILE INPUT... [flags]\n"
      "recordio inspect FILE...\n"
      "recordio verify FILE...\n"
      "recordio head FILE... [--count=N] [--bytes=N]\n";
  help.text =
      "Writes RecordIO files and looks into them.\n"
      "\n"
      "  write    stores the records of the inputs, one input behind another. Inputs are\n"
      "           of any format that is known: idx, text, fixed, recordio; by their\n"
      "           prefix (idx:FILE), extension or first bytes. Records of RecordIO files\n"
      "           are copied as they are, unless --slots says to check them and write\n"
      "           them anew. Outputs that exist are replaced only with --force, and none\n"
      "           that is an input. A file gets its name when all are complete; until then\n"
      "           it is called FILE.partial. A manifest beside the files says what they\n"
      "           hold (FILE.manifest.json; for shards OUTPUT.recordio.manifest.json): keep\n"
      "           it with them, and a file that has lost chunks, or is missing, is an error\n"
      "           for its readers\n"
      "  inspect  prints a line a chunk: number, first byte, records, bytes as stored and\n"
      "           expanded, compressor, checksum; then totals\n"
      "  verify   reads everything, compares every checksum and demands that each chunk\n"
      "           holds exactly the records that its header says; exits with 3 if not.\n"
      "           It reports every damaged chunk that it can find, and files that are\n"
      "           missing. A file that was cut off between two chunks looks whole unless\n"
      "           it has a manifest: compare the totals\n"
      "  head     prints the first records: bytes, and the tensors if they are some\n"
      "\n"
      "Names may have *, ?, [a-z], {a,b} and {00000..00127}.\n";
  help.groups = {
      {"Input of write", {"slots", "label_filename", "plugin"}},
      {"Output of write",
       {"output", "shards", "content", "dialect", "compressor", "chunk_bytes", "force"}},
      {"head", {"count", "bytes"}},
      {"Running", {"threads", "timeout"}},
  };
  help.repeatable = {"plugin"};
  help.examples =
      "  recordio write --output=train --shards=4 --label_filename=train-labels-idx1-ubyte.gz \\\n"
      "      train-images-idx3-ubyte.gz\n"
      "  recordio write --output=lines.recordio --compressor=snappy text:input.txt\n"
      "  recordio write --output=points.recordio --slots='float32[1,2] int64[1,1]' fixed:points\n"
      "  recordio write --output=again.recordio --dialect=go --chunk_bytes=32MiB old.recordio\n"
      "  recordio verify 'train-*.recordio'\n";
  return help;
}

int RunRecordIO(const Arguments& arguments) {
  static const std::map<std::string, int (*)(const std::vector<std::string>&)> actions = {
      {"write", &WriteRecordIO},
      {"inspect", &InspectRecordIO},
      {"verify", &VerifyRecordIO},
      {"head", &HeadOfRecordIO}};
  Require(!arguments.words.empty(),
          "say what to do: write, inspect, verify or head "
          "(--help tells more)");
  const std::string& name = arguments.words[0];
  const auto action = actions.find(name);
  Require(action != actions.end(), "'", Escaped(name),
          "' is none of write, inspect, verify and head",
          DidYouMean(name, {"write", "inspect", "verify", "head"}));
  const std::vector<std::string> files(arguments.words.begin() + 1, arguments.words.end());
  Require(!files.empty(), name, ": no file is named (--help tells more)");
  return action->second(files);
}

}  // namespace
}  // namespace millhopper

int main(int argc, char** argv) {
  return millhopper::RunCommand(argc, argv, millhopper::Help(), &millhopper::RunRecordIO);
}

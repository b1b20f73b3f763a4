// SPDX-License-Identifier: Apache-2.0
// The recordio command: writes RecordIO files from files of any format, shows what they hold, and
// writes indexes.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "tools/commands/recordio/recordio_command.h"
#include "tools/commands/shared/command.h"
#include "tools/commands/shared/standard_streams.h"

namespace millhopper {
namespace {

CommandHelp Help() {
  CommandHelp help;
  help.name = "recordio";
  help.actions = {"write", "convert", "inspect", "verify", "head", "index"};
  help.choices = {{"compressor", {"none", "snappy", "gzip"}},
                  {"dialect", {"fluid", "go", "crc32c"}},
                  {"content", {"tensors", "bytes"}}};
  help.alone = {{"shuffle", "0"}};
  help.usage =
      "recordio write --output=FILE INPUT... [flags]\n"
      "recordio convert --output=FILE INPUT... [flags]\n"
      "recordio inspect FILE...\n"
      "recordio verify FILE... [--field='NAME TYPE']\n"
      "recordio head FILE... [--count=N] [--bytes=N]\n"
      "recordio index FILE... [--field='NAME TYPE']\n";
  help.text =
      "Writes RecordIO files and shows what they hold; converts, checks and indexes files of many\n"
      "formats.\n"
      "\n"
      "  write    stores the records of the inputs, one input after another. Inputs may\n"
      "           have any format of executor --list_formats, told by a prefix (idx:FILE),\n"
      "           the extension or the first bytes. Records of RecordIO files\n"
      "           are copied unchanged, unless --slots is given: then they are checked and\n"
      "           written anew. Existing outputs are replaced only with --force, and an\n"
      "           input never is. The files get their names when all are complete; until\n"
      "           then each is called FILE.partial. A manifest beside the files says what\n"
      "           they hold (FILE.manifest.json; for shards OUTPUT.recordio.manifest.json).\n"
      "           Keep it with them: by it readers notice a file that is missing or has\n"
      "           lost chunks, and know the slots and their names without a declaration\n"
      "  convert  writes the records of the inputs to files of another format, told by the\n"
      "           extension of --output or a prefix (jsonl:out.txt): recordio, csv, tsv,\n"
      "           jsonl, npy, tar, tfrecord, mds and, with --plugin, parquet, arrow and\n"
      "           feather; all but recordio, npy, mds and those of the plugin may end in .gz\n"
      "           and .zst. Inputs of formats with fields are read as a whole, or as --field\n"
      "           says. Readers with the fields that are printed in the end yield the same\n"
      "           records. What a format cannot hold, such as sequences in csv, is refused\n"
      "           before anything is written, by the name of the slot. --shard_size writes\n"
      "           several files, --split parts such as train and val. The same inputs and\n"
      "           flags make the same bytes. A terminal shows how far it is, and a log gets\n"
      "           a line of that every ten seconds, unless --quiet is given\n"
      "  inspect  prints a line for each chunk: number, first byte, records, bytes as\n"
      "           stored and expanded, compressor, checksum; then totals\n"
      "  verify   reads everything and checks, of RecordIO files, that all checksums are right\n"
      "           and that each chunk holds exactly the records that its header says; of\n"
      "           files of any other format, that each record can be read, with the fields\n"
      "           that fit the first ones or that --field says; exits with 3 if not. Reports\n"
      "           every bad record and damaged chunk that it can find, and missing files:\n"
      "           after a record whose end is not known, the next one is that of the next\n"
      "           chunk, if there is one that can be found. A RecordIO file that was cut off\n"
      "           between two chunks looks whole unless it has a manifest: compare the totals\n"
      "  head     prints the first records: their bytes, and their tensors, if any\n"
      "  index    writes FILE.mhi beside each file: where its chunks begin, and how many\n"
      "           records they have. Readers find it there: then the length of a pass is\n"
      "           known, create_shard_reader takes by: \"chunk\", shuffle_chunks needs no\n"
      "           look at the files, and seeking reads nothing. For recordio and tar, of\n"
      "           which it tells only how many records there are, and tfrecord, mxnet,\n"
      "           text, csv, tsv, jsonl, libsvm, libffm, multislot and ctr_svm, on local\n"
      "           disks, not for a file compressed as a whole. A file that has changed\n"
      "           since is an error that says so: make its index again. Another file\n"
      "           that has the name of the index is replaced only with --force. executor\n"
      "           and peek leave the same index of what they read as a whole with --index\n"
      "\n"
      "Names may contain *, ?, [a-z], {a,b} and {00000..00127}, and be of the kinds\n"
      "https://host/name (without *, ? and [a-z]) and s3://bucket/name, with the credentials\n"
      "and settings of the AWS tools (AWS_PROFILE ...). An input named -, or FORMAT:-,\n"
      "or a file of labels named - is standard input; with --allow_exec, 'pipe:COMMAND' or\n"
      "'FORMAT:pipe:COMMAND' is what a command writes; --output=- is standard output, for one\n"
      "file (of convert csv:-), and --output=s3://bucket/name an object, but of npy. With --json,\n"
      "write and convert print a line for each file, inspect one for each chunk and file, verify "
      "and index for each file, head for\n"
      "each record.\n";
  help.groups = {
      {"Input of write, convert, verify and index",
       {"slots", "field", "attribute", "label_filename", "plugin"}},
      {"Output of write, convert and index",
       {"output", "shards", "content", "dialect", "compressor", "chunk_bytes", "force"}},
      {"convert",
       {"filter", "shuffle", "shuffle_buffer", "split", "sample", "shard_size", "seed", "quiet"}},
      {"head", {"count", "bytes"}},
      {"Running", {"threads", "timeout", "json", "allow_exec", "allow_local_entries"}},
      {"Servers",
       {"cache_dir", "cache_bytes", "requests", "connect_timeout", "silence_timeout",
        "request_timeout"}},
  };
  help.repeatable = {"field", "attribute", "plugin"};
  help.examples =
      "  recordio write --output=train --shards=4 --label_filename=train-labels-idx1-ubyte.gz \\\n"
      "      train-images-idx3-ubyte.gz\n"
      "  recordio write --output=lines.recordio --compressor=snappy text:input.txt\n"
      "  recordio write --output=rows.recordio --field='price float32[]' --field='title bytes' \\\n"
      "      rows.csv.gz\n"
      "  recordio write --output=points.recordio --slots='float32[1,2] int64[1,1]' fixed:points\n"
      "  recordio write --output=again.recordio --dialect=go --chunk_bytes=32MiB old.recordio\n"
      "  recordio convert --output='train-{shard:05}.tfrecord' --shard_size=256MB rows.csv.gz\n"
      "  recordio convert --output='{split}.jsonl.zst' --split=0.9,0.1 --shuffle=7 'rows-*.csv'\n"
      "  recordio verify 'train-*.recordio'\n"
      "  recordio index 'train-*.tfrecord'\n"
      "  recordio index --attribute='delimiter=;' prices.csv\n";
  return help;
}

// "write, convert and index".
std::string ListOf(const std::vector<std::string>& words) {
  std::string text = words.front();
  for (size_t i = 1; i < words.size(); ++i) {
    text += StrCat(i + 1 == words.size() ? " and " : ", ", words[i]);
  }
  return text;
}

// Throws if a flag was given that another action has.
void CheckFlagsOf(const std::string& action, const Arguments& arguments) {
  const std::vector<std::string> write = {"write"}, head = {"head"}, convert = {"convert"};
  const std::vector<std::string> outputs = {"write", "convert"};
  const std::vector<std::string> inputs = {"write", "convert", "verify", "index"};
  const std::map<std::string, std::vector<std::string>> actions = {
      {"slots", {"write", "convert", "verify"}},
      {"attribute", inputs},
      {"field", inputs},
      {"label_filename", outputs},
      {"output", outputs},
      {"force", {"write", "convert", "index"}},
      {"shards", write},
      {"content", write},
      {"dialect", write},
      {"compressor", write},
      {"chunk_bytes", write},
      {"shuffle", convert},
      {"shuffle_buffer", convert},
      {"split", convert},
      {"filter", convert},
      {"sample", convert},
      {"shard_size", convert},
      {"seed", convert},
      {"quiet", convert},
      {"count", head},
      {"bytes", head}};
  for (const auto& [flag, of] : actions) {
    if (!IsGiven(flag) && arguments.all(flag).empty()) continue;
    Require(std::count(of.begin(), of.end(), action) > 0, action, ": --", flag, " is a flag of ",
            ListOf(of), " (--help tells more)");
  }
}

int RunRecordIO(const Arguments& arguments) {
  using Action = std::function<int(const std::vector<std::string>& files)>;
  const std::map<std::string, Action> actions = {
      {"write",
       [&](const auto& files) {
         return WriteRecordIO(files, arguments.all("field"), arguments.all("attribute"));
       }},
      {"convert",
       [&](const auto& files) {
         return ConvertFiles(files, arguments.all("field"), arguments.all("attribute"));
       }},
      {"inspect", &InspectRecordIO},
      {"verify",
       [&](const auto& files) {
         return VerifyFiles(files, arguments.all("field"), arguments.all("attribute"));
       }},
      {"head", &HeadOfRecordIO},
      {"index", [&](const auto& files) {
         return IndexFiles(files, arguments.all("field"), arguments.all("attribute"));
       }}};
  Require(!arguments.words.empty(),
          "say what to do: write, convert, inspect, verify, head or index "
          "(--help tells more)");
  const std::string& name = arguments.words[0];
  const auto action = actions.find(name);
  Require(action != actions.end(), "'", Escaped(name), "' is none of ", ListOf(Help().actions),
          DidYouMean(name, Help().actions));
  std::vector<std::string> files(arguments.words.begin() + 1, arguments.words.end());
  for (std::string& file : files) file = DataName(file);
  Require(!files.empty(), name, ": no file is named (--help tells more)");
  CheckFlagsOf(name, arguments);
  return action->second(files);
}

}  // namespace
}  // namespace millhopper

int main(int argc, char** argv) {
  return millhopper::RunCommand(argc, argv, millhopper::Help(), &millhopper::RunRecordIO);
}

// SPDX-License-Identifier: Apache-2.0
// Writes the first inputs of fuzzing: seeds FOLDER [PROGRAM...]. The folder of each target gets
// small files made by our own writers. The programs, which are text, and the malformed ones of the
// tests become inputs in three forms: as they are, with a value before them that ${value} stands
// for, and as binary programs. To be run in the root of the tree.
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/checkpoint/checkpoint.h"
#include "framework/program/program.h"
#include "framework/tensor/tensor_stream.h"
#include "proto/position.pb.h"
#include "readers/cache/element_cache_file.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "tests/bytes.h"
#include "tests/files/index_files.h"
#include "tests/files/mds_shards.h"
#include "tests/files/mxnet_records.h"
#include "tests/files/npy_files.h"
#include "tests/files/record_files.h"
#include "tests/files/tars.h"
#include "tests/files/tfrecords.h"
#include "tests/framework/program/malformed_programs.h"
#include "tests/fuzz/framework/checkpoint_target.h"
#include "tests/readers/position_chain.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

LoDTensor Sequence(uint64_t rows) {
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < rows; ++i) values.push_back(static_cast<int64_t>(i * i));
  return MakeTensor<int64_t>({static_cast<int64_t>(rows), 1}, values, {{0, rows / 2, rows}});
}

std::string Numbers(int n) {
  const auto value = static_cast<float>(n);
  return RecordOf({MakeTensor<float>({1, 2}, {value, -value}), MakeTensor<int64_t>({1, 1}, {n})});
}

void WriteRecordIO(const std::string& folder) {
  for (const auto dialect :
       {RecordIODialect::kFluid, RecordIODialect::kGo, RecordIODialect::kCrc32c}) {
    const std::string target = folder + "/recordio_" + ToString(dialect);
    std::filesystem::create_directories(target);
    for (const auto compressor :
         {RecordIOCompressor::kNone, RecordIOCompressor::kSnappy, RecordIOCompressor::kGzip}) {
      RecordIOOptions options;
      options.dialect = dialect;
      options.compressor = compressor;
      options.chunk_records = 2;
      RecordIOWriter numbers(StrCat(target, "/numbers_", ToString(compressor)), options);
      for (int i = 0; i < 3; ++i) numbers.Write(Numbers(i));
      numbers.Close();
      RecordIOWriter others(StrCat(target, "/others_", ToString(compressor)), options);
      others.Write(RecordOf({Sequence(4)}));
      others.Write("");
      others.Write(std::string(300, 'a'));
      others.Close();
    }
  }
}

void WriteIdx(const std::string& folder) {
  std::filesystem::create_directories(folder);
  std::string images = BigEndian(0x0803, 4) + BigEndian(3, 4) + BigEndian(2, 4) + BigEndian(2, 4);
  for (char value = 0; value < 12; ++value) images += value;
  const std::string labels =
      BigEndian(0x0c01, 4) + BigEndian(3, 4) + BigEndian(7, 4) + BigEndian(8, 4) + BigEndian(9, 4);
  const std::string doubles = BigEndian(0x0e02, 4) + BigEndian(1, 4) + BigEndian(2, 4) +
                              BigEndian(0x3ff0000000000000, 8) + BigEndian(0, 8);
  WriteFile(folder + "/images", images);
  WriteFile(folder + "/images.gz", Gzipped(images));
  WriteFile(folder + "/images_in_two_members.gz",
            Gzipped(images.substr(0, 20)) + Gzipped(images.substr(20)));
  WriteFile(folder + "/labels", labels);
  WriteFile(folder + "/labels.gz", Gzipped(labels));
  WriteFile(folder + "/doubles", doubles);
  WriteFile(folder + "/nothing_many_times",
            BigEndian(0x0802, 4) + BigEndian(1000, 4) + BigEndian(0, 4));
}

void WriteTFRecords(const std::string& folder) {
  std::filesystem::create_directories(folder);
  const std::vector<std::string> records = {"one", "", std::string(300, 'a')};
  const std::string file = TFRecords(records);
  WriteFile(folder + "/records", file);
  WriteFile(folder + "/records.gz", Gzipped(file));
  const std::string index = TFRecordIndex(records);
  WriteFile(folder + "/with_index", static_cast<char>(index.size()) + index + file);
}

void WriteIndexes(const std::string& folder) {
  std::filesystem::create_directories(folder);
  const std::vector<std::string> records = {"one", "", std::string(300, 'a')};
  const auto write = [&folder](const std::string& tag, const std::string& content,
                               const std::vector<std::string>& fields = {}) {
    const TempFile file("indexed", content);
    const std::string index = IndexOf(tag, file.path(), fields);
    WriteFile(StrCat(folder, "/", tag), static_cast<char>(index.size()) + index + content);
  };
  write("text", "one\n\r\nlast");
  write("csv", "1,\"two\nlines\"\n3,four\n", {"#1 bytes"});
  write("tfrecord", TFRecords(records));
  write("mxnet", MxnetRecords(records));
}

void WriteMxnet(const std::string& folder) {
  std::filesystem::create_directories(folder);
  const std::vector<std::string> records = {"one", "", "four" + LittleEndian(kMxnetMagic) + "five",
                                            MxnetImage({1, 2}, 3, "an image")};
  const std::string file = MxnetRecords(records);
  const std::string index = MxnetIndex(records);
  WriteFile(folder + "/records", file);
  WriteFile(folder + "/records.gz", Gzipped(file));
  WriteFile(folder + "/images", MxnetRecords({MxnetImage({7}, 8, "\xff\xd8\xff an image")}));
  WriteFile(folder + "/with_index", static_cast<char>(index.size()) + index + file);
}

void WriteMds(const std::string& folder) {
  std::filesystem::create_directories(folder);
  const MdsTestColumns columns = {{"n", "int", 8}, {"text", "str", 0}};
  const std::string number = LittleEndian(int64_t{7});
  const std::string shard =
      MdsShardOf({MdsSample(columns, {number, "text"}), MdsSample(columns, {number, ""})});
  const MdsTestColumns two = {{"a", "", 0}, {"b", "", 0}};
  const MdsTestColumns three = {{"a", "", 0}, {"b", "", 0}, {"i", "", 0}};
  const std::string images = FromHex("01000000 02000000 6162");
  WriteFile(folder + "/index", MdsIndexOf({MdsEntry(columns, "a", 70, 2),
                                           MdsEntry(columns, "b/c", 70, 2, "zstd", 60)}));
  WriteFile(folder + "/texts", "\4" + shard);
  WriteFile(folder + "/arrays",
            "\1" + MdsShardOf({MdsSample(
                       two, {FromHex("11 04 01 0700"), FromHex("08 01 02 0000803f 00000040")})}));
  WriteFile(folder + "/shaped", "\2" + MdsShardOf({std::string(20, 'x')}));
  WriteFile(folder + "/images",
            "\3" + MdsShardOf({MdsSample(three, {images, FromHex("00000000") + images, "12"})}));
}

void WriteImageLists(const std::string& folder) {
  std::filesystem::create_directories(folder);
  WriteFile(folder + "/spaces", "cat/1.jpg 0\ndog/a b.png  -12\n\n");
  WriteFile(folder + "/tabs", "cat/1.jpg\t0\r\n/data/dog 2.png\t9223372036854775807");
  WriteFile(folder + "/tabs.gz", Gzipped("cat/1.jpg\t0\n"));
}

void WriteWholeFiles(const std::string& folder) {
  std::filesystem::create_directories(folder);
  WriteFile(folder + "/jpg", FromHex("ffd8ffe0 00104a46 49460001"));
  WriteFile(folder + "/png", FromHex("89504e47 0d0a1a0a 0000000d 49484452"));
  WriteFile(folder + "/webp", "RIFF" + FromHex("0c000000") + "WEBPVP8 ");
  WriteFile(folder + "/bmp", "BM" + FromHex("8a000000 00000000 36000000"));
}

void WriteArrays(const std::string& npy, const std::string& npz) {
  std::filesystem::create_directories(npy);
  std::filesystem::create_directories(npz);
  const std::string rows = Npy("<i2", "(3, 2)", "aabbccddeeff");
  const std::string columns = Npy(">f4", "(2, 2)", std::string(16, 'x'), true);
  WriteFile(npy + "/rows", rows);
  WriteFile(npy + "/rows.gz", Gzipped(rows));
  WriteFile(npy + "/columns", columns);
  WriteFile(npy + "/scalar", Npy("<c16", "()", std::string(16, 'c')));
  WriteFile(npy + "/widened", Npy("<u8", "(2,)", std::string(16, 'u')));
  WriteFile(npz + "/stored", Zip({{"a.npy", rows}, {"b.npy", columns}}));
  WriteFile(npz + "/deflated", Zip({{"a.npy", columns, true}}));
  WriteFile(npz + "/zip64", Zip({{"a.npy", rows, false, true}}, "a comment"));
}

void WriteTars(const std::string& folder) {
  std::filesystem::create_directories(folder);
  const TarFiles files = {{"1.a", "x"}, {"1.cls", "7\n"}, {"2.json", R"({"n": 1})"}, {"2.a", ""}};
  WriteFile(folder + "/files", TarOf(files));
  WriteFile(folder + "/files.gz", Gzipped(TarOf(files)));
  WriteFile(folder + "/long_names",
            TarMemberBytes("d/", "", '5') + TarMemberBytes("././@LongLink", "d/1.a", 'L') +
                TarMemberBytes("cut", "x") +
                TarMemberBytes("x", PaxRecord("path", "d/1.cls") + PaxRecord("size", "1"), 'x') +
                TarMemberBytes("cut", "1") + TarEnd());
}

void WriteTensors(const std::string& folder) {
  std::filesystem::create_directories(folder);
  const auto write = [&folder](const std::string& name, const LoDTensor& tensor) {
    std::string bytes;
    AppendTensor(tensor, &bytes);
    WriteFile(StrCat(folder, "/", name), bytes);
  };
  write("floats", MakeTensor<float>({1, 2}, {1, 2}));
  write("sequence", Sequence(5));
  write("no_rows", MakeTensor<double>({0, 3}, {}));
  write("two_levels", MakeTensor<uint8_t>({4, 1}, {1, 2, 3, 4}, {{0, 1, 2}, {0, 3, 4}}));
  WriteFile(folder + "/older_layout",
            FromHex("00000000 06000000 080310031001 0a00000000000000 0b00000000000000"
                    "0c00000000000000 0100000000000000 1800000000000000 0000000000000000"
                    "0200000000000000 0300000000000000"));
  WriteFile(folder + "/packed_dims",
            FromHex("00000000 0000000000000000 00000000 06000000 080512020102 0000803f00000040"));
}

// The content of positions, without their checksums, which the target adds.
void WriteElementCacheFiles(const std::string& folder) {
  std::filesystem::create_directories(folder);
  SlotSpec slot;
  slot.dims = {-1, 2};
  SlotSpec unknown;
  unknown.known = false;
  unknown.lod_level = 1;
  ElementCacheWriter writer(folder + "/numbers", {'f', 'u', 'z', 'z'}, {slot, unknown},
                            [](uint64_t) {});
  for (uint64_t i = 0; i < 3; ++i) {
    RecordId id;
    id.sample = i;
    writer.Add(id, {MakeTensor<float>({1, 2}, {1, static_cast<float>(i)}), Sequence(2 * i)});
  }
  writer.Publish();
}

void WritePositions(const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const size_t elements : {0, 1, 12, 40}) {
    const std::unique_ptr<ReaderBase> reader = MakePositionChain();
    reader->ExpectSave();
    ReadSome(reader.get(), elements);
    position_proto::StoredPosition stored;
    stored.ParseFromString(reader->Save().Serialize());
    WriteFile(StrCat(folder, "/after_", elements), stored.chain());
  }
}

void WriteCheckpoints(const std::string& folder) {
  std::filesystem::create_directories(folder);
  WriteCheckpoint(Checkpoint(), folder + "/empty");
  Checkpoint checkpoint;
  checkpoint.settings = {{"the seed", "0"}};
  checkpoint.numbers = {{"steps", 7}, {"times 0.3", 2}};
  checkpoint.tensors["w"] = MakeTensor<float>({1, 2}, {1, 2});
  checkpoint.tensors["words"] = Sequence(3);
  WriteCheckpoint(checkpoint, folder + "/tensors");
  for (const int64_t steps : {0, 3, 9}) {
    const SavedRun run = MakeFuzzedRun();
    RunSteps(run, steps);
    std::filesystem::copy_file(run.folder + "/checkpoint-00000001.save",
                               StrCat(folder, "/run_after_", steps));
  }
}

void WriteProgram(const std::string& folder, const std::string& name, const std::string& text) {
  WriteFile(StrCat(folder, "/program_text/", name), text);
  WriteFile(StrCat(folder, "/substitution/", name), "a \"value\"\n" + text);
  try {
    WriteFile(StrCat(folder, "/program_binary/", name),
              Program::FromString(text, name)->ToBinary());
  } catch (const Error&) {
    // The program is malformed on purpose, or needs values.
  }
}

void WritePrograms(const std::string& folder, const std::vector<std::string>& programs) {
  for (const char* target : {"/program_text", "/program_binary", "/substitution"}) {
    std::filesystem::create_directories(folder + target);
  }
  for (const std::string& program : programs) {
    const std::filesystem::path path(program);
    WriteProgram(folder, StrCat(path.parent_path().filename().string(), "_", path.stem().string()),
                 ReadFile(program));
  }
  for (const MalformedProgram& program : MalformedPrograms()) {
    WriteProgram(folder, "malformed_" + program.name, program.text);
  }
}

}  // namespace
}  // namespace millhopper

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: seeds FOLDER [PROGRAM...]\n";
    return 2;
  }
  const std::string folder = argv[1];
  millhopper::WriteRecordIO(folder);
  millhopper::WriteIdx(folder + "/idx");
  millhopper::WriteTFRecords(folder + "/tfrecord");
  millhopper::WriteIndexes(folder + "/chunk_index");
  millhopper::WriteMxnet(folder + "/mxnet");
  millhopper::WriteMds(folder + "/mds");
  millhopper::WriteImageLists(folder + "/image_list");
  millhopper::WriteWholeFiles(folder + "/whole_file");
  millhopper::WriteArrays(folder + "/npy", folder + "/npz");
  millhopper::WriteTars(folder + "/tar");
  millhopper::WriteTensors(folder + "/lod_tensor");
  millhopper::WriteElementCacheFiles(folder + "/element_cache_file");
  millhopper::WritePositions(folder + "/position");
  millhopper::WriteCheckpoints(folder + "/checkpoint");
  millhopper::WritePrograms(folder, {argv + 2, argv + argc});
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Golden programs: every folder of tests/programs holds a startup program, in most cases a main
// program, and the output that they print, with the error that ends them if there is one. Where
// there is a resumed.pbtxt, too, it is run afterwards as another process would run it: in a new
// scope, after the startup program, with the files that the main program has written. Each is run
// with several numbers of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "framework/io/command.h"
#include "framework/plugin.h"
#include "readers/formats/recordio/recordio_manifest.h"
#include "tests/child.h"
#include "tests/files/compressed.h"
#include "tests/files/encoded_images.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr char kPrograms[] = "tests/programs";

std::vector<std::string> ProgramNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kPrograms)) {
    if (!std::filesystem::exists(entry.path() / "startup.pbtxt")) continue;
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The numbers once more, with a manifest that tells their slots.
void WriteStored(const std::string& folder) {
  RecordIOManifest manifest;
  for (const int shard : {0, 1}) {
    const std::string file = StrCat(folder, "/stored-0000", shard, ".recordio");
    const std::string bytes = ReadFile(StrCat(folder, "/numbers-", shard, ".recordio"));
    WriteFile(file, bytes);
    manifest.Set(file, {{bytes.size(), 3, 5}, std::nullopt, "x float32[1,2] label int64[1,1]"});
  }
  WriteFile(folder + "/stored.recordio.manifest.json", manifest.ToText());
}

// Writes the files that the programs may read, and returns their folder, which is ${data}.
std::string WriteData() {
  std::string folder = NewFolder("programs");
  WriteNumbers(folder, 4, 5);
  WriteStored(folder);
  const std::string lines = "to be\r\nor not\n\nto be\n";
  WriteFile(folder + "/lines.txt", lines);
  WriteFile(folder + "/lines.txt.zst", Zstd(lines));
  WriteFile(folder + "/lines.txt.lz4", Lz4(lines));
  WriteFile(folder + "/merges.txt", "#version: 0.2\nb e\nt o\n\u0120 be\no r\n");
  WriteFile(folder + "/words.txt", "to be\nor not\n");
  WriteFile(folder + "/scores.txt", "1 0.5 1.5\n0\n2 -3\n2 -3 x\n");
  WriteFile(folder + "/rides.csv", "id,city,price\na1,Oslo,12.5\n\"b,2\",Rome,\nc3,Oslo,3\n");
  WriteFile(folder + "/users.jsonl",
            "{\"user\": {\"id\": 7}, \"tags\": [\"x\", \"yz\"], \"scores\": [0.5]}\n"
            "{\"user\": {\"id\": 8}, \"scores\": []}\n");
  WriteFile(folder + "/points.libsvm", "+1 1:0.5 4:-2\n-1 2:3\n");
  WriteFile(folder + "/pairs.bin", std::string("\x01\x00\x02\x00\x03\x00\x04\x00", 8));
  std::string images("\x00\x00\x08\x03\x00\x00\x00\x03\x00\x00\x00\x02\x00\x00\x00\x02", 16);
  for (char value = 0; value < 12; ++value) images += value;
  WriteFile(folder + "/images.idx3-ubyte", images);
  WriteFile(folder + "/labels.idx1-ubyte",
            std::string("\x00\x00\x08\x01\x00\x00\x00\x03\x07\x08\x09", 11));
  for (const char* image : {"dog/1.webp", "cat/more/2.PNG", "cat/1.jpg", "cat/notes.txt"}) {
    const std::string path = folder + "/pets/" + image;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    WriteFile(path, std::filesystem::path(image).filename().string());
  }
  const ImageShape shape = {1, 2, 3};
  PngImage png;
  png.height = shape.height;
  png.width = shape.width;
  png.rows = std::string("\x01\x02\x03\x04\x05\x06", 6);
  png.exif = ExifWith(2);
  std::filesystem::create_directories(folder + "/pictures/all");
  WriteFile(folder + "/pictures/all/1.png", EncodePng(png));
  WriteFile(folder + "/pictures/all/2.jpg", EncodeWebp({7, 8, 9, 10, 11, 12}, shape));
  WriteFile(folder + "/pictures/all/3.jpg", "no image");
  for (const uint32_t number : {1, 2, 3}) {
    const ImageShape photo{6 + number, 9 - number, 3};
    const std::string place = StrCat(folder, "/photos/", number % 2 == 0 ? "cats" : "dogs");
    std::filesystem::create_directories(place);
    WriteFile(StrCat(place, "/", number, ".webp"), EncodeWebp(SomePixels(photo, number), photo));
  }
  std::string damaged = ReadFile(folder + "/numbers-0.recordio");
  damaged.back() ^= 1;
  WriteFile(folder + "/damaged.recordio", damaged);
  return folder;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// What a startup program prints, and a main program after it if there is one, followed by
// "error: ..." if they end with an error.
std::string OutputOfRun(const std::string& folder, const std::string& main,
                        const Settings& settings) {
  ProgramRunner runner(settings);
  std::string error;
  try {
    runner.Startup(ReadFile(folder + "/startup.pbtxt"));
    if (std::filesystem::exists(folder + main)) runner.Main(ReadFile(folder + main));
  } catch (const Error& caught) {
    error = StrCat("error: ", caught.what(), "\n");
  }
  return runner.printed() + error;
}

std::string OutputOf(const std::string& folder, const std::string& data) {
  const std::string parser = Runfile("tests/libscores.so");
  LoadPlugin(parser);
  AllowExec();
  const Settings settings = {{"data", data}, {"count", "3"}, {"parser", parser}};
  std::string output = OutputOfRun(folder, "/main.pbtxt", settings);
  if (std::filesystem::exists(folder + "/resumed.pbtxt")) {
    output += "resumed:\n" + OutputOfRun(folder, "/resumed.pbtxt", settings);
  }
  return Replaced(Replaced(output, data, "${data}"), parser, "${parser}");
}

class ProgramsTest : public testing::TestWithParam<std::string> {};

TEST_P(ProgramsTest, PrintsWhatIsExpectedWithAnyNumberOfThreads) {
  const std::string folder = std::string(kPrograms) + "/" + GetParam();
  const std::string expected = ReadFile(folder + "/expected.txt");
  for (const int threads : {0, 1, 2, 7}) {
    PoolSize size(threads);
    EXPECT_EQ(OutputOf(folder, WriteData()), expected) << "with " << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(All, ProgramsTest, testing::ValuesIn(ProgramNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace millhopper

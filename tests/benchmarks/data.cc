// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <unordered_set>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/tensor/tensor_stream.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "tests/benchmarks/photos.h"
#include "tests/files/base64.h"
#include "tests/files/tars.h"
#include "tests/files/tfrecords.h"

namespace millhopper {
namespace {

constexpr uint64_t kSeed = 20180501;
constexpr int kSide = 28;
constexpr size_t kPixels = size_t{kSide} * kSide;

std::string& Folder() {
  static auto* folder = new std::string;
  return *folder;
}

// Random numbers by position, so that every record can be made by itself.
class RecordRandom {
 public:
  RecordRandom(const RandomKey& key, uint64_t record) : key_(key), record_(record) {}
  uint64_t Below(uint64_t n) { return key_.Below(n, record_, next_++); }
  uint64_t Bits() { return key_.Bits(record_, next_++); }

 private:
  const RandomKey& key_;
  const uint64_t record_;
  uint64_t next_ = 0;
};

// A stroke that wanders down the image: full inside, grey at its edges, 0 around it.
void DrawImage(RecordRandom* random, uint8_t* pixels) {
  std::memset(pixels, 0, kPixels);
  auto left = static_cast<int>(6 + random->Below(10));
  for (int y = 4; y < kSide - 4; ++y) {
    left = std::clamp(left + static_cast<int>(random->Below(5)) - 2, 3, 16);
    const auto width = static_cast<int>(4 + random->Below(7));
    uint8_t* row = pixels + static_cast<ptrdiff_t>(y) * kSide + left;
    for (int x = 0; x < width; ++x) {
      const bool edge = x == 0 || x == width - 1;
      row[x] = static_cast<uint8_t>(edge ? 1 + random->Below(252) : 253 + random->Below(8) / 7);
    }
  }
}

SlotSpec Slot(DataType dtype, const Dims& dims, int lod_level = 0) {
  SlotSpec slot;
  slot.dtype = dtype;
  slot.dims = dims;
  slot.lod_level = lod_level;
  return slot;
}

// Calls write(path) for each file that does not exist yet. A file that exists is whole.
void WriteMissing(const std::vector<std::string>& files,
                  const std::function<void(size_t index, const std::string& path)>& write) {
  for (size_t i = 0; i < files.size(); ++i) {
    if (!std::filesystem::exists(files[i])) write(i, files[i]);
  }
}

DataSet OneFile(const std::string& format, const std::string& name, uint64_t records,
                std::vector<SlotSpec> slots) {
  DataSet set;
  set.format = format;
  set.files = {StrCat(Folder(), "/", name, "-", records, ".", format)};
  set.slots = std::move(slots);
  set.records = records;
  return set;
}

// The records are spread over `files` files.
DataSet ManyFiles(const std::string& format, const std::string& name, uint64_t records, int files,
                  std::vector<SlotSpec> slots) {
  DataSet set;
  set.format = format;
  set.files.reserve(static_cast<size_t>(files));
  for (int i = 0; i < files; ++i) {
    set.files.push_back(StrCat(Folder(), "/", name, "-", records, "-", files, "-", i, ".", format));
  }
  set.slots = std::move(slots);
  set.records = records;
  return set;
}

// Calls write(record) for those of one of these files.
void ForEachRecord(const DataSet& set, size_t file,
                   const std::function<void(uint64_t record)>& write) {
  const uint64_t files = set.files.size();
  for (uint64_t i = set.records * file / files; i < set.records * (file + 1) / files; ++i) write(i);
}

// Writes a file and renames it when it is whole. Nothing waits for the disk.
void WriteWhole(const std::string& path, const std::function<void(std::ostream*)>& write) {
  const std::string partial = path + ".partial";
  std::ofstream out(partial, std::ios::binary);
  write(&out);
  out.close();
  if (!out) Throw(ErrorCode::kIo, partial, ": cannot be written");
  std::filesystem::rename(partial, path);
}

// Images one after another, as `write` wants them, with the bytes that precede and follow all.
void WriteImages(const DataSet& set, const std::string& head, const std::string& tail,
                 const std::function<void(uint64_t, const std::string&, std::ostream*)>& write) {
  const RandomKey key(kSeed, 1, "idx");
  WriteMissing(set.files, [&](size_t, const std::string& path) {
    WriteWhole(path, [&](std::ostream* out) {
      *out << head;
      std::string pixels(kPixels, '\0');
      for (uint64_t i = 0; i < set.records; ++i) {
        RecordRandom random(key, i);
        DrawImage(&random, reinterpret_cast<uint8_t*>(pixels.data()));
        write(i, pixels, out);
      }
      *out << tail;
    });
  });
}

void AppendU32(uint32_t value, std::string* out) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  out->append(bytes, sizeof(value));
}

// A serialised record of an image and its label. Its values are replaced for each record.
class ImageRecord {
 public:
  ImageRecord() {
    AppendU32(2, &bytes_);
    AppendTensorHeader(DataType::kFp32, Dims{1, kPixels}, {}, &bytes_);
    pixels_at_ = bytes_.size();
    bytes_.append(kPixels * sizeof(float), '\0');
    AppendTensorHeader(DataType::kInt64, Dims{1, 1}, {}, &bytes_);
    bytes_.append(sizeof(int64_t), '\0');
    for (size_t value = 0; value < 256; ++value) grey_[value] = static_cast<float>(value) / 255;
  }

  const std::string& Make(const RandomKey& key, uint64_t record) {
    RecordRandom random(key, record);
    uint8_t pixels[kPixels];
    DrawImage(&random, pixels);
    for (size_t i = 0; i < kPixels; ++i) {
      std::memcpy(&bytes_[pixels_at_ + i * sizeof(float)], &grey_[pixels[i]], sizeof(float));
    }
    const auto label = static_cast<int64_t>(random.Below(10));
    std::memcpy(&bytes_[bytes_.size() - sizeof(label)], &label, sizeof(label));
    return bytes_;
  }

 private:
  std::string bytes_;
  size_t pixels_at_ = 0;
  float grey_[256];
};

std::vector<SlotSpec> ImageSlots() {
  return {Slot(DataType::kFp32, {1, kPixels}), Slot(DataType::kInt64, {1, 1})};
}

}  // namespace

void SetDataFolder(const std::string& folder) { Folder() = folder; }
const std::string& DataFolder() { return Folder(); }

DataSet MnistRecords(RecordIOCompressor compressor, uint64_t records, int files) {
  DataSet set =
      ManyFiles("recordio", StrCat("mnist-", ToString(compressor)), records, files, ImageSlots());
  WriteMissing(set.files, [&](size_t index, const std::string& path) {
    const RandomKey key(kSeed, 0, "mnist");
    RecordIOOptions options;
    options.compressor = compressor;
    RecordIOWriter writer(path, options);
    ImageRecord record;
    ForEachRecord(set, index, [&](uint64_t i) { writer.Write(record.Make(key, i)); });
    writer.Close();
  });
  return set;
}

DataSet MnistIdx(uint64_t records) {
  DataSet set =
      OneFile("idx", "images", records,
              {Slot(DataType::kUint8, {1, kSide, kSide}), Slot(DataType::kInt64, {1, 1})});
  set.companions = {StrCat(Folder(), "/labels-", records, ".idx")};
  const auto header = [records](int rank) {
    std::string bytes{0, 0, 8, static_cast<char>(rank)};
    AppendU32(__builtin_bswap32(static_cast<uint32_t>(records)), &bytes);
    for (int i = 1; i < rank; ++i) AppendU32(__builtin_bswap32(kSide), &bytes);
    return bytes;
  };
  WriteImages(set, header(3), "",
              [](uint64_t, const std::string& pixels, std::ostream* out) { *out << pixels; });
  WriteMissing(set.companions, [&](size_t, const std::string& path) {
    WriteWhole(path, [&](std::ostream* out) {
      *out << header(1);
      for (uint64_t i = 0; i < records; ++i) out->put(static_cast<char>(i % 10));
    });
  });
  return set;
}

DataSet MnistNpy(uint64_t records) {
  DataSet set = OneFile("npy", "images", records, {Slot(DataType::kUint8, {1, kSide, kSide})});
  std::string head = StrCat("{'descr': '|u1', 'fortran_order': False, 'shape': (", records, ", ",
                            kSide, ", ", kSide, "), }");
  constexpr size_t kHeadBytes = 118;  // so that the values begin at byte 128
  head.resize(kHeadBytes - 1, ' ');
  head = StrCat("\x93NUMPY\x01", '\0', static_cast<char>(kHeadBytes), '\0', head, '\n');
  WriteImages(set, head, "",
              [](uint64_t, const std::string& pixels, std::ostream* out) { *out << pixels; });
  return set;
}

DataSet MnistTar(uint64_t records) {
  DataSet set = OneFile("tar", "images", records, {});
  set.fields = {"img bytes", "cls int64[] decode=text"};
  WriteImages(set, "", TarEnd(), [](uint64_t record, const std::string& pixels, std::ostream* out) {
    *out << TarMemberBytes(StrCat(record, ".img"), pixels)
         << TarMemberBytes(StrCat(record, ".cls"), std::to_string(record % 10));
  });
  return set;
}

namespace {

constexpr size_t kTinyBytes = 64;

void MakeTiny(const RandomKey& key, uint64_t record, char* out) {
  RecordRandom random(key, record);
  for (size_t at = 0; at < kTinyBytes; at += sizeof(uint64_t)) {
    const uint64_t bits = random.Bits();
    std::memcpy(out + at, &bits, sizeof(bits));
  }
}

}  // namespace

DataSet Tiny64Fixed(uint64_t records) {
  DataSet set = OneFile("fixed", "tiny", records, {Slot(DataType::kUint8, {1, kTinyBytes})});
  const RandomKey key(kSeed, 2, "tiny");
  WriteMissing(set.files, [&](size_t, const std::string& path) {
    WriteWhole(path, [&](std::ostream* out) {
      char bytes[kTinyBytes];
      for (uint64_t i = 0; i < records; ++i) {
        MakeTiny(key, i, bytes);
        out->write(bytes, kTinyBytes);
      }
    });
  });
  return set;
}

DataSet SparseFixed(uint64_t records, DataType dtype, int64_t width) {
  DataSet set = OneFile("fixed", StrCat("sparse", width * static_cast<int64_t>(SizeOf(dtype))),
                        records, {Slot(dtype, {1, width})});
  const auto bytes = static_cast<std::streamoff>(records * SizeOf(dtype)) * width;
  WriteMissing(set.files, [&](size_t, const std::string& path) {
    WriteWhole(path, [&](std::ostream* out) { out->seekp(bytes - 1).put('\0'); });
  });
  return set;
}

DataSet Tiny64Records(uint64_t records) {
  DataSet set = OneFile("recordio", "tiny", records, {Slot(DataType::kUint8, {1, kTinyBytes})});
  const RandomKey key(kSeed, 2, "tiny");
  WriteMissing(set.files, [&](size_t, const std::string& path) {
    RecordIOWriter writer(path, {});
    std::string record;
    AppendU32(1, &record);
    AppendTensorHeader(DataType::kUint8, Dims{1, kTinyBytes}, {}, &record);
    record.append(kTinyBytes, '\0');
    for (uint64_t i = 0; i < records; ++i) {
      MakeTiny(key, i, &record[record.size() - kTinyBytes]);
      writer.Write(record);
    }
    writer.Close();
  });
  return set;
}

DataSet TokenSequences(uint64_t records) {
  DataSet set = OneFile("recordio", "tokens", records, {Slot(DataType::kInt64, {-1, 1}, 1)});
  const RandomKey key(kSeed, 3, "tokens");
  WriteMissing(set.files, [&](size_t, const std::string& path) {
    constexpr uint64_t kShortest = 5;
    constexpr uint64_t kLongest = 64;
    constexpr uint64_t kVocabulary = 50000;
    std::vector<std::string> headers;  // by length
    for (uint64_t length = 0; length <= kLongest; ++length) {
      std::string header;
      AppendU32(1, &header);
      AppendTensorHeader(DataType::kInt64, Dims{static_cast<int64_t>(length), 1}, {{0, length}},
                         &header);
      headers.push_back(std::move(header));
    }
    RecordIOWriter writer(path, {});
    std::string record;
    for (uint64_t i = 0; i < records; ++i) {
      RecordRandom random(key, i);
      const uint64_t length = kShortest + random.Below(kLongest - kShortest + 1);
      record = headers[length];
      for (uint64_t k = 0; k < length; ++k) {
        const uint64_t token = random.Below(kVocabulary);
        record.append(reinterpret_cast<const char*>(&token), sizeof(token));
      }
      writer.Write(record);
    }
    writer.Close();
  });
  return set;
}

namespace {

// The number of made-up words, and of those of them that tokens are made for.
constexpr uint64_t kWords = 50000;
constexpr uint64_t kFrequentWords = 8000;

// Short words come first, as in languages. No two are the same.
const std::vector<std::string>& MadeUpWords() {
  static const auto* const words = [] {
    const RandomKey key(kSeed, 4, "words");
    std::unordered_set<std::string> seen;
    auto* made = new std::vector<std::string>;
    for (uint64_t i = 0; made->size() < kWords; ++i) {
      RecordRandom random(key, i);
      std::string word;
      const uint64_t length = 2 + random.Below(3) + made->size() * 8 / kWords;
      while (word.size() < length) word += static_cast<char>('a' + random.Below(26));
      if (seen.insert(word).second) made->push_back(word);
    }
    return made;
  }();
  return *words;
}

}  // namespace

DataSet WordLines(uint64_t records) {
  DataSet set = OneFile("text", "words", records, {Slot(DataType::kUint8, {-1}, 1)});
  const RandomKey key(kSeed, 5, "lines");
  WriteMissing(set.files, [&](size_t, const std::string& path) {
    const std::vector<std::string>& words = MadeUpWords();
    WriteWhole(path, [&](std::ostream* out) {
      for (uint64_t i = 0; i < records; ++i) {
        RecordRandom random(key, i);
        for (uint64_t left = 20 + random.Below(181); left > 0; --left) {
          // Word n is drawn about 1 / n times as often as the first one.
          const double share = static_cast<double>(random.Below(1 << 20)) / (1 << 20);
          const double place = std::pow(static_cast<double>(kWords), share) - 1;
          *out << words[static_cast<size_t>(place)] << (left > 1 ? ' ' : '\n');
        }
      }
    });
  });
  return set;
}

std::string WordTokens() {
  std::string file = StrCat(Folder(), "/words.tiktoken");
  WriteMissing({file}, [](size_t, const std::string& path) {
    WriteWhole(path, [](std::ostream* out) {
      uint64_t rank = 0;
      std::unordered_set<std::string> seen;
      const auto write = [&](const std::string& token) {
        if (seen.insert(token).second) *out << Base64(token) << ' ' << rank++ << '\n';
      };
      for (int byte = 0; byte < 256; ++byte) write(std::string(1, static_cast<char>(byte)));
      for (uint64_t i = 0; i < kFrequentWords; ++i) {
        const std::string word = " " + MadeUpWords()[i];
        for (size_t size = 2; size <= word.size(); ++size) write(word.substr(0, size));
      }
    });
  });
  return file;
}

namespace {

constexpr int kNumbers = 13;
constexpr int kCategories = 26;

// A row: its label, numbers and categories; -1 is an empty cell.
struct CriteoRow {
  int64_t label;
  int64_t numbers[kNumbers];
  int64_t categories[kCategories];
};

CriteoRow MakeCriteoRow(const RandomKey& key, uint64_t record) {
  RecordRandom random(key, record);
  CriteoRow row = {};
  row.label = static_cast<int64_t>(random.Below(2));
  for (int64_t& number : row.numbers) {
    // Most numbers are short.
    const uint64_t digits = 1 + random.Below(4);
    const uint64_t most[] = {1, 10, 100, 1000, 10000};
    number = random.Below(8) == 0 ? -1 : static_cast<int64_t>(random.Below(most[digits]));
  }
  for (int64_t& category : row.categories) {
    category = random.Below(16) == 0 ? -1 : static_cast<int64_t>(random.Bits() >> 32);
  }
  return row;
}

std::string Hexadecimal(int64_t category) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(8, '0');
  for (int i = 0; i < 8; ++i) text[7 - i] = kDigits[category >> (4 * i) & 15];
  return text;
}

DataSet CriteoFiles(const std::string& format, uint64_t records, int files,
                    const std::function<std::string(const CriteoRow&)>& text) {
  DataSet set = ManyFiles(format, "criteo", records, files, {});
  const RandomKey key(kSeed, 4, "criteo");
  WriteMissing(set.files, [&](size_t index, const std::string& path) {
    WriteWhole(path, [&](std::ostream* out) {
      ForEachRecord(set, index, [&](uint64_t i) { *out << text(MakeCriteoRow(key, i)); });
    });
  });
  return set;
}

}  // namespace

DataSet CriteoTsv(uint64_t records, int files) {
  DataSet set = CriteoFiles("tsv", records, files, [](const CriteoRow& row) {
    std::string line = std::to_string(row.label);
    for (const int64_t number : row.numbers) {
      line += '\t';
      if (number >= 0) line += std::to_string(number);
    }
    for (const int64_t category : row.categories) {
      line += '\t';
      if (category >= 0) line += Hexadecimal(category);
    }
    return line + '\n';
  });
  set.fields = {"#0 int64[]", "#1-#13 float32[13] default=0",
                "#14-#39 int64[26] base=16 default=0"};
  return set;
}

DataSet CriteoJsonl(uint64_t records) {
  DataSet set = CriteoFiles("jsonl", records, 1, [](const CriteoRow& row) {
    std::string line = "{\"label\": " + std::to_string(row.label) + ", \"numbers\": [";
    for (int i = 0; i < kNumbers; ++i) {
      line += (i == 0 ? "" : ", ") + std::to_string(std::max<int64_t>(row.numbers[i], 0));
    }
    line += "], \"categories\": [";
    for (int i = 0; i < kCategories; ++i) {
      line += (i == 0 ? "" : ", ") + std::to_string(std::max<int64_t>(row.categories[i], 0));
    }
    return line + "]}\n";
  });
  set.fields = {"label int64[]", "numbers float32[13]", "categories int64[26]"};
  return set;
}

namespace {

// The wire format of protocol buffers, as far as Examples need it.
std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string Message(int number, const std::string& bytes) {
  return Varint(static_cast<uint64_t>(number) << 3 | 2) + Varint(bytes.size()) + bytes;
}

std::string Feature(const std::string& name, const std::string& value) {
  return Message(1, Message(1, name) + Message(2, value));
}

std::string Int64Feature(const std::string& name, uint64_t value) {
  return Feature(name, Message(3, Message(1, Varint(value))));
}

}  // namespace

DataSet CriteoExamples(uint64_t records) {
  DataSet set = CriteoFiles("tfrecord", records, 1, [](const CriteoRow& row) {
    std::string map = Int64Feature("label", static_cast<uint64_t>(row.label));
    for (int i = 0; i < kNumbers; ++i) {
      const auto number = static_cast<float>(std::max<int64_t>(row.numbers[i], 0));
      const std::string bytes(reinterpret_cast<const char*>(&number), sizeof(number));
      map += Feature(StrCat("I", i + 1), Message(2, Message(1, bytes)));
    }
    for (int i = 0; i < kCategories; ++i) {
      const auto category = static_cast<uint64_t>(std::max<int64_t>(row.categories[i], 0));
      map += Int64Feature(StrCat("C", i + 1), category);
    }
    return TFRecords({Message(1, map)});
  });
  set.fields = {"label int64[]"};
  for (int i = 1; i <= kNumbers; ++i) set.fields.push_back(StrCat("I", i, " float32[]"));
  for (int i = 1; i <= kCategories; ++i) set.fields.push_back(StrCat("C", i, " int64[]"));
  return set;
}

DataSet PhotoExamples(uint64_t records) {
  DataSet set = OneFile("tfrecord", "photos", records, {});
  set.fields = {"image bytes", "label int64[1]"};
  WriteMissing(set.files, [&](size_t, const std::string& path) {
    WriteWhole(path, [&](std::ostream* out) {
      for (uint64_t i = 0; i < records; ++i) {
        *out << TFRecords({Message(1, Feature("image", Message(1, Message(1, MakePhoto(i)))) +
                                          Int64Feature("label", i % 10))});
      }
    });
  });
  return set;
}

DataSet PhotoTar(uint64_t records) {
  DataSet set = OneFile("tar", "photos", records, {});
  set.fields = {"jpg bytes", "cls int64[1] decode=text"};
  WriteMissing(set.files, [&](size_t, const std::string& path) {
    WriteWhole(path, [&](std::ostream* out) {
      for (uint64_t i = 0; i < records; ++i) {
        *out << TarMemberBytes(StrCat(i, ".jpg"), MakePhoto(i))
             << TarMemberBytes(StrCat(i, ".cls"), std::to_string(i % 10));
      }
      *out << TarEnd();
    });
  });
  return set;
}

DataSet PhotoFolder(uint64_t records) {
  DataSet set = OneFile("image_folder", "photos", records, {});
  WriteMissing(set.files, [&](size_t, const std::string& path) {
    for (uint64_t i = 0; i < records; ++i) {
      const std::string label = StrCat(path, ".partial/", i % 10);
      std::filesystem::create_directories(label);
      WriteWhole(StrCat(label, "/", i, ".jpg"), [&](std::ostream* out) { *out << MakePhoto(i); });
    }
    std::filesystem::rename(path + ".partial", path);
  });
  return set;
}

DataSet ManySmallFiles(int files) {
  const uint64_t records = 2 * static_cast<uint64_t>(files);
  return MnistRecords(RecordIOCompressor::kNone, records, files);
}

}  // namespace millhopper

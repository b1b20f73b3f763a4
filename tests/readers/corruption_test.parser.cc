// SPDX-License-Identifier: Apache-2.0
// Small files of every format, cut off at every byte and with every single bit flipped: the right
// records come, then an error with file, byte and record; or all records if the bit has no meaning.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/listed_files.h"
#include "framework/memory/memory.h"
#include "framework/reader/file_format.h"
#include "framework/reader/file_reader.h"
#include "readers/formats/recordio/recordio_chunk.h"
#include "readers/formats/recordio/recordio_manifest.h"
#include "readers/formats/tar/tar_member.h"
#include "readers/sources/open_files.h"
#include "readers/support/byte_records.h"
#include "tests/bytes.h"
#include "tests/fakes/memory_files.h"
#include "tests/files/compressed.h"
#include "tests/files/mxnet_records.h"
#include "tests/files/npy_files.h"
#include "tests/files/record_files.h"
#include "tests/files/tars.h"
#include "tests/files/tfrecords.h"
#include "tests/outcome.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// No more than this for files of a few hundred bytes, whatever they declare.
constexpr size_t kMostBytes = size_t{4} << 20;

struct Case {
  std::string name;
  std::string file_name;
  std::string content;
  std::string format;
  FormatArguments arguments;
  // Lengths at which a file that is cut off looks whole.
  std::vector<size_t> whole_at = {};
  // The record whose value a bit belongs to, if no checksum protects it; nothing for other bits.
  std::function<std::optional<size_t>(size_t bit)> payload = nullptr;
  std::string labels = "";  // the content of a second file
  std::string manifest = "";
  bool in_memory = false;  // in a file system other than that of the operating system
  size_t most_bytes = kMostBytes;
};

void PrintTo(const Case& item, std::ostream* out) { *out << item.name; }

SlotSpec Slot(DataType dtype, const Dims& dims) { return {dtype, dims, 0, true}; }

// ---- RecordIO ----

using Records = std::vector<std::string>;

const Records& Letters() {
  static const auto* records =
      new Records{"one", "", "three, three, three, three, three", "four", "five"};
  return *records;
}

// A chunk, its payload compressed as files of the dialect `framing` have it.
std::string ChunkOf(const Records& records, RecordIODialect dialect, RecordIOCompressor compressor,
                    RecordIODialect framing) {
  std::string payload;
  for (const std::string& record : records) {
    const auto size = static_cast<uint32_t>(record.size());
    payload.append(reinterpret_cast<const char*>(&size), sizeof(size)).append(record);
  }
  payload = CompressRecordIO(framing, compressor, payload);
  RecordIOHeader header;
  header.records = static_cast<uint32_t>(records.size());
  header.checksum = RecordIOChecksum(dialect, payload.data(), payload.size());
  header.compressor_code = RecordIOCompressorCode(dialect, compressor);
  header.payload_bytes = static_cast<uint32_t>(payload.size());
  char bytes[kRecordIOHeaderBytes];
  WriteRecordIOHeader(header, dialect, bytes);
  return std::string(bytes, sizeof(bytes)) + payload;
}

Case RecordIOCase(RecordIODialect dialect, RecordIOCompressor compressor, RecordIODialect framing,
                  const Records& records, const std::string& content) {
  Case item;
  item.name = StrCat(ToString(dialect), "_", ToString(compressor),
                     framing == dialect ? "" : StrCat("_of_", ToString(framing)), "_", content);
  item.file_name = "a.recordio";
  item.format = "recordio";
  item.arguments.attributes.Set("content", content);
  for (size_t i = 0; i < records.size(); i += 2) {
    item.whole_at.push_back(item.content.size());
    const auto begin = records.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end = begin + std::min<std::ptrdiff_t>(2, records.end() - begin);
    item.content += ChunkOf({begin, end}, dialect, compressor, framing);
  }
  return item;
}

// With the manifest that `recordio write` leaves; `slots` is what it says of them, after a comma.
Case WithManifest(Case item, size_t records, const std::string& slots = "") {
  item.name += "_manifest";
  item.manifest = StrCat(R"({"format": "recordio-manifest", "version": 1, "files": [)"
                         "\n "
                         R"({"name": "a.recordio", "bytes": )",
                         item.content.size(), R"(, "chunks": )", item.whole_at.size(),
                         R"(, "records": )", records, slots, "}\n]}\n");
  item.whole_at.clear();
  return item;
}

std::vector<Case> RecordIOCases() {
  constexpr RecordIODialect kFluid = RecordIODialect::kFluid;
  constexpr RecordIODialect kGo = RecordIODialect::kGo;
  constexpr RecordIODialect kCrc32c = RecordIODialect::kCrc32c;
  std::vector<Case> cases;
  for (const RecordIODialect dialect : {kFluid, kGo, kCrc32c}) {
    for (const RecordIOCompressor compressor :
         {RecordIOCompressor::kNone, RecordIOCompressor::kSnappy, RecordIOCompressor::kGzip}) {
      cases.push_back(RecordIOCase(dialect, compressor, dialect, Letters(), "bytes"));
    }
    cases.push_back(
        WithManifest(RecordIOCase(dialect, RecordIOCompressor::kNone, dialect, Letters(), "bytes"),
                     Letters().size()));
  }
  cases.push_back(RecordIOCase(kFluid, RecordIOCompressor::kSnappy, kGo, Letters(), "bytes"));
  cases.push_back(RecordIOCase(kGo, RecordIOCompressor::kSnappy, kFluid, Letters(), "bytes"));
  Records tensors;
  for (int i = 0; i < 3; ++i) {
    const auto length = static_cast<uint64_t>(i);
    const std::vector<uint8_t> text(length, static_cast<uint8_t>(i));
    tensors.push_back(RecordOf(
        {MakeTensor<uint8_t>({i}, text, {{0, length}}), MakeTensor<int64_t>({1, 1}, {i})}));
  }
  Case item = RecordIOCase(kGo, RecordIOCompressor::kSnappy, kGo, tensors, "tensors");
  item.arguments.declared = {{DataType::kUint8, {-1}, 1, true}, Slot(DataType::kInt64, {1, 1})};
  cases.push_back(WithManifest(item, tensors.size(),
                               R"(, "format": "d93af76a name uint8[-1]:1 label int64[1,1]")"));
  cases.push_back(std::move(item));
  return cases;
}

// ---- Formats without a checksum, plain and through gzip, which has one ----

constexpr size_t kIdxHeaderBytes = 16;
constexpr size_t kPixels = 6;

std::string Images() {
  std::string bytes = FromHex("00000803 00000004 00000002 00000003");
  for (char i = 0; i < 24; ++i) bytes += static_cast<char>(3 * i);
  return bytes;
}

Case IdxCase() {
  Case item;
  item.name = "idx";
  item.file_name = "images";
  item.content = Images();
  item.format = "idx";
  item.arguments.declared = {Slot(DataType::kUint8, {1, 2, 3})};
  item.payload = [](size_t bit) -> std::optional<size_t> {
    if (bit / 8 < kIdxHeaderBytes) return std::nullopt;
    return (bit / 8 - kIdxHeaderBytes) / kPixels;
  };
  return item;
}

Case NpyCase(bool fortran_order) {
  Case item;
  item.name = fortran_order ? "npy_fortran" : "npy";
  item.file_name = "a.npy";
  item.content = Npy("|u1", "(4, 2, 3)", Images().substr(kIdxHeaderBytes), fortran_order);
  item.format = "npy";
  item.arguments.declared = {Slot(DataType::kUint8, {1, 2, 3})};
  item.payload = [fortran_order](size_t bit) -> std::optional<size_t> {
    constexpr size_t kHeaderBytes = 128;
    constexpr size_t kRecords = 4;
    if (bit / 8 < kHeaderBytes) return std::nullopt;
    const size_t value = bit / 8 - kHeaderBytes;
    return fortran_order ? value % kRecords : value / kPixels;
  };
  return item;
}

// The checksums of zip protect all that has a meaning.
Case NpzCase(bool deflated) {
  Case item;
  item.name = deflated ? "npz_deflated" : "npz_stored";
  item.file_name = "a.npz";
  item.content = Zip({{"a.npy", NpyCase(false).content, deflated},
                      {"b.npy", Npy("<i2", "(4,)", "aabbccdd"), deflated}});
  item.format = "npz";
  item.arguments.attributes.Set("fields", std::vector<std::string>{"a", "b"});
  return item;
}

Case IdxWithLabelsCase() {
  Case item = IdxCase();
  item.name = "idx_with_labels";
  item.labels = FromHex("00000801 00000004 07050301");
  item.arguments.declared.push_back(Slot(DataType::kInt64, {1, 1}));
  return item;
}

Case FixedCase() {
  Case item;
  item.name = "fixed";
  item.file_name = "records";
  item.format = "fixed";
  item.arguments.declared = {Slot(DataType::kUint8, {1, 3}), Slot(DataType::kInt16, {2})};
  constexpr size_t kRecordBytes = 7;
  for (char i = 0; i < 35; ++i) {
    if (i % kRecordBytes == 0) item.whole_at.push_back(item.content.size());
    item.content += static_cast<char>(5 * i);
  }
  item.payload = [](size_t bit) { return bit / 8 / kRecordBytes; };
  return item;
}

Case TextCase() {
  Case item;
  item.name = "text";
  item.file_name = "lines.txt";
  item.content = "one\n\nthree, three, three, three\r\nfour\nfive\n";
  item.format = "text";
  return item;
}

// A cut between two records cannot be noticed: such a file says nothing of its length.
Case TFRecordCase() {
  Case item;
  item.name = "tfrecord";
  item.file_name = "a.tfrecord";
  item.format = "tfrecord";
  item.arguments.declared = {BytesSlot()};  // so that nothing is looked at before it is read
  for (const std::string& record : Letters()) {
    item.whole_at.push_back(item.content.size());
    item.content += TFRecords({record});
  }
  return item;
}

Case IndexedTFRecordCase() {
  Case item = TFRecordCase();
  item.name = "tfrecord_with_index";
  item.labels = TFRecordIndex(Letters());
  item.whole_at.clear();
  return item;
}

// The bytes of records are all that nothing checks: these have whole words, so that no part has
// padding, and the third has two parts.
Case MxnetCase() {
  Case item;
  item.name = "mxnet";
  item.file_name = "a.rec";
  item.format = "mxnet";
  item.arguments.declared = {BytesSlot()};  // so that nothing is looked at before it is read
  const std::vector<size_t> sizes = {4, 0, 16, 8};
  std::vector<std::pair<size_t, size_t>> contents;  // bytes, and the record that they belong to
  for (size_t i = 0; i < sizes.size(); ++i) {
    item.whole_at.push_back(item.content.size());
    std::string record(sizes[i], static_cast<char>('a' + i));
    if (i == 2) record.replace(4, 4, LittleEndian(kMxnetMagic));
    const std::string frame = MxnetRecord(record);
    for (size_t at = 0; at < frame.size(); ++at) {
      if (frame[at] == static_cast<char>('a' + i)) {
        contents.emplace_back(item.content.size() + at, i);
      }
    }
    item.content += frame;
  }
  item.payload = [contents](size_t bit) -> std::optional<size_t> {
    for (const auto& [byte, record] : contents) {
      if (byte == bit / 8) return record;
    }
    return std::nullopt;
  };
  return item;
}

// Formats of text; they have no checksum, so that only compressed ones are damaged here
// (text_damage_test damages the others).
Case FieldsCase(const std::string& format, const std::string& content,
                std::vector<std::string> fields) {
  Case item;
  item.name = item.format = format;
  item.file_name = "a." + format;
  item.content = content;
  item.arguments.attributes.Set("fields", std::move(fields));
  return item;
}

Case CsvCase() {
  return FieldsCase("csv", "n,text\n1,a\n2,\"b\nc\"\n3,d\n", {"n int64[]", "text bytes"});
}
Case JsonlCase() {
  return FieldsCase("jsonl", "{\"n\": [1]}\n{\"n\": [2]}\n{\"n\": [3, 4]}\n", {"n int64[-1]"});
}

// Only where it is compressed does a list tell all damage. Its images are elsewhere.
Case ImageListCase() {
  static const TempFile image("image.jpg", "an image");
  Case item;
  item.name = "image_list";
  item.file_name = "list.txt";
  item.format = "image_list";
  for (const int label : {3, 1, 4, 1}) item.content += StrCat(image.path(), " ", label, "\n");
  return item;
}

// Headers have a checksum, contents have none. A cut between two records looks whole, and so does
// one in the padding after a record or in the blocks of zeros at the end.
Case TarCase() {
  Case item;
  item.name = "tar";
  item.file_name = "a.tar";
  item.format = "tar";
  item.arguments.attributes.Set("fields", std::vector<std::string>{"txt bytes", "cls bytes"});
  const TarFiles files = {{"1.txt", "one"}, {"1.cls", "1"}, {"2.cls", "22"},
                          {"2.txt", ""},    {"3.txt", "3"}, {"3.cls", "3"}};
  std::vector<std::pair<size_t, size_t>> contents;  // by file: where it begins and ends
  item.whole_at.push_back(0);
  for (const auto& [name, content] : files) {
    const size_t begin = item.content.size() + kTarBlockBytes;
    contents.emplace_back(begin, begin + content.size());
    item.content += TarMemberBytes(name, content);
    if (contents.size() % 2 != 0) continue;
    for (size_t at = contents.back().second; at <= item.content.size(); ++at) {
      item.whole_at.push_back(at);
    }
  }
  for (size_t i = 0; i < TarEnd().size(); ++i) item.whole_at.push_back(item.content.size() + i);
  item.content += TarEnd();
  item.payload = [contents](size_t bit) -> std::optional<size_t> {
    for (size_t i = 0; i < contents.size(); ++i) {
      if (bit / 8 >= contents[i].first && bit / 8 < contents[i].second) return i / 2;
    }
    return std::nullopt;
  };
  return item;
}

// Every cut and every damage of a compressed file is noticed.
struct CompressionKind {
  const char* name;
  const char* extension;
  std::string (*compress)(const std::string& content);
  size_t most_bytes = kMostBytes;
};

const CompressionKind kCompressions[] = {
    {"gzip", ".gz", Gzipped},
    {"zstd", ".zst", [](const std::string& content) { return Zstd(content); }},
    {"lz4", ".lz4", [](const std::string& content) { return Lz4(content); }},
    // A damaged block may repeat a byte up to the end of the longest line before its checksum
    // comes.
    {"bzip2", ".bz2", Bzip2, size_t{48} << 20},
    {"xz", ".xz", [](const std::string& content) { return Xz(content); }},
};

Case Compressed(Case item, const CompressionKind& kind) {
  item.name += StrCat("_", kind.name);
  item.file_name += kind.extension;
  item.content = kind.compress(item.content);
  if (!item.labels.empty()) item.labels = kind.compress(item.labels);
  item.whole_at.clear();
  item.payload = nullptr;
  item.most_bytes = kind.most_bytes;
  return item;
}

std::vector<Case> AllCases() {
  std::vector<Case> cases = RecordIOCases();
  for (const Case& item :
       {IdxCase(), IdxWithLabelsCase(), FixedCase(), TFRecordCase(), IndexedTFRecordCase(),
        MxnetCase(), NpyCase(false), NpyCase(true), NpzCase(false), NpzCase(true), TarCase()}) {
    cases.push_back(item);
  }
  for (const CompressionKind& kind : kCompressions) {
    for (const Case& item :
         {IdxCase(), IdxWithLabelsCase(), FixedCase(), TextCase(), TFRecordCase(), MxnetCase(),
          CsvCase(), JsonlCase(), ImageListCase(), NpyCase(false), TarCase()}) {
      cases.push_back(Compressed(item, kind));
    }
  }
  const size_t on_disk = cases.size();
  for (size_t i = 0; i < on_disk; ++i) {
    cases.push_back(cases[i]);
    cases.back().in_memory = true;
    cases.back().name += "_in_memory";
  }
  return cases;
}

// The bytes that the pool has taken from the system and not given back.
size_t PooledBytes() {
  const BufferPool& pool = BufferPool::At(Place());
  return pool.in_use_bytes() + pool.idle_bytes();
}

// A file whose content changes thousands of times. It is not truncated to nothing each time,
// because some file systems would then write it to the disk.
class ChangingFile {
 public:
  explicit ChangingFile(const std::string& path) : path_(path) {
    if (MemoryFiles::IsIn(path)) return;
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_GE(descriptor_, 0);
  }
  ~ChangingFile() {
    MemoryFiles::Get().Remove(path_);
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  ChangingFile(const ChangingFile&) = delete;
  ChangingFile& operator=(const ChangingFile&) = delete;

  void Write(const std::string& content) {
    if (descriptor_ < 0) {
      MemoryFiles::Get().Write(path_, content);
      return;
    }
    EXPECT_EQ(::pwrite(descriptor_, content.data(), content.size(), 0),
              static_cast<ssize_t>(content.size()));
    EXPECT_EQ(::ftruncate(descriptor_, static_cast<off_t>(content.size())), 0);
  }

 private:
  const std::string path_;
  int descriptor_ = -1;  // of a file on the disk
};

class Corruption : public ::testing::TestWithParam<Case> {
 protected:
  Corruption()
      : path_((GetParam().in_memory ? "memory:/" : "") + NewFolder(GetParam().name) + "/" +
              GetParam().file_name) {
    AllowLocalEntries();  // a list that is no local file names images that are
    if (!item_.labels.empty()) labels_.emplace(path_ + ".labels").Write(item_.labels);
    if (!item_.manifest.empty()) manifest_.emplace(manifest_path()).Write(item_.manifest);
    whole_ = Read(item_.content);
    EXPECT_FALSE(whole_.error.has_value()) << whole_.error->what();
    EXPECT_GE(whole_.elements.size(), 3u);
  }
  ~Corruption() override { AllowLocalEntries(false); }

  std::string manifest_path() const { return RecordIOManifest::PathOf(path_); }

  Outcome Read(const std::string& content) {
    file_.Write(content);
    const std::unique_ptr<ReaderBase> reader =
        OpenFile(*FindFileFormat(item_.format), path_,
                 item_.labels.empty() ? "" : path_ + ".labels", item_.arguments);
    reader->set_origin("reader 'files'");
    return OutcomeOf(reader.get());
  }

  // The error says where it is: in a file of the case, at a byte, in the record that is
  // missing.
  void ExpectPlace(const Outcome& outcome) const {
    const std::string text = outcome.error->what();
    const std::string& file = outcome.error->file();
    EXPECT_TRUE(outcome.error->code() == ErrorCode::kDataLoss ||
                outcome.error->code() == ErrorCode::kResourceLimit)
        << text;
    EXPECT_TRUE(file == path_ || file == path_ + ".labels" || file == manifest_path()) << text;
    EXPECT_GE(outcome.error->offset(), 0) << text;
    EXPECT_NE(
        text.find(StrCat("while reading record ", outcome.elements.size(), " of reader 'files'")),
        std::string::npos)
        << text;
  }

  // Only right records, then an error, or the end if it is the right one.
  void ExpectPrefix(const Outcome& outcome, bool may_end) const {
    ASSERT_LE(outcome.elements.size(), whole_.elements.size());
    for (size_t i = 0; i < outcome.elements.size(); ++i) {
      ASSERT_EQ(outcome.elements[i], whole_.elements[i]) << "record " << i;
    }
    if (outcome.error.has_value()) {
      ExpectPlace(outcome);
    } else if (!may_end) {
      ASSERT_EQ(outcome.elements.size(), whole_.elements.size()) << "an early end";
    }
  }

  // One record may have other values; nothing else.
  void ExpectOtherRecord(const Outcome& outcome, size_t record) const {
    ASSERT_FALSE(outcome.error.has_value()) << outcome.error->what();
    ASSERT_EQ(outcome.elements.size(), whole_.elements.size());
    for (size_t i = 0; i < outcome.elements.size(); ++i) {
      ASSERT_EQ(outcome.elements[i] == whole_.elements[i], i != record) << "record " << i;
      for (size_t slot = 0; slot < outcome.elements[i].size(); ++slot) {
        ASSERT_EQ(outcome.elements[i][slot].dims, whole_.elements[i][slot].dims);
        ASSERT_EQ(outcome.elements[i][slot].dtype, whole_.elements[i][slot].dtype);
      }
    }
  }

  const Case& item_ = GetParam();
  const PoolSize pool_{0};  // thousands of files: handing them over would take most of the time
  const std::string path_;
  ChangingFile file_{path_};
  std::optional<ChangingFile> labels_, manifest_;
  const size_t pooled_ = PooledBytes();
  Outcome whole_;
};

TEST_P(Corruption, OfEveryLengthGivesRightRecordsThenAnError) {
  for (size_t size = 0; size < item_.content.size(); ++size) {
    SCOPED_TRACE(StrCat("cut to ", size));
    const bool may_end =
        std::find(item_.whole_at.begin(), item_.whole_at.end(), size) != item_.whole_at.end();
    const Outcome outcome = Read(item_.content.substr(0, size));
    ExpectPrefix(outcome, may_end);
    EXPECT_TRUE(may_end || outcome.error.has_value());
    if (HasFatalFailure()) return;
  }
  EXPECT_LE(PooledBytes(), pooled_ + item_.most_bytes);
}

TEST_P(Corruption, OfEveryBitGivesRightRecordsThenAnError) {
  // In memory the same bytes come by another way: one bit of each byte shows that.
  const size_t step = item_.in_memory ? 9 : 1;
  for (size_t bit = 0; bit < 8 * item_.content.size(); bit += step) {
    SCOPED_TRACE(StrCat("bit ", bit));
    const Outcome outcome = Read(FlipBit(item_.content, bit));
    const std::optional<size_t> record = item_.payload ? item_.payload(bit) : std::nullopt;
    if (record.has_value()) {
      ExpectOtherRecord(outcome, *record);
    } else {
      ExpectPrefix(outcome, false);
    }
    if (HasFatalFailure()) return;
  }
  EXPECT_LE(PooledBytes(), pooled_ + item_.most_bytes);
}

// A header is believed only as far as the file has the bytes.
TEST_P(Corruption, OfEveryWordTakesNoMemoryForALie) {
  if (item_.payload && !item_.whole_at.empty()) return;  // it has no header
  for (size_t byte = 0; byte + 4 <= item_.content.size(); ++byte) {
    for (const char* lie : {"ffffffff", "ffffff7f", "7fffffff", "80000000", "00000080"}) {
      SCOPED_TRACE(StrCat("byte ", byte, " says ", lie));
      std::string content = item_.content;
      content.replace(byte, 4, FromHex(lie));
      if (item_.payload && item_.payload(8 * (byte + 3)).has_value()) continue;
      ExpectPrefix(Read(content), false);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_LE(PooledBytes(), pooled_ + item_.most_bytes);
}

TEST_P(Corruption, OfTheSecondFileIsAnErrorToo) {
  if (item_.labels.empty()) return;
  const size_t head = item_.payload ? 8 : item_.labels.size();  // after it values, unprotected
  for (size_t bit = 0; bit < 8 * item_.labels.size(); ++bit) {
    SCOPED_TRACE(StrCat("bit ", bit));
    labels_->Write(FlipBit(item_.labels, bit));
    constexpr size_t kTypeByte = 2;  // which no declaration confirms: labels of any type are int64
    if (item_.payload && bit / 8 == kTypeByte) {
      const Outcome outcome = Read(item_.content);
      ASSERT_TRUE(outcome.error.has_value() || outcome.elements.size() == whole_.elements.size());
    } else if (bit < 8 * head) {
      ExpectPrefix(Read(item_.content), false);
    } else {
      ExpectOtherRecord(Read(item_.content), bit / 8 - head);
    }
    if (HasFatalFailure()) return;
  }
  for (size_t size = 0; size < item_.labels.size(); ++size) {
    SCOPED_TRACE(StrCat("cut to ", size));
    labels_->Write(item_.labels.substr(0, size));
    const Outcome outcome = Read(item_.content);
    ExpectPrefix(outcome, false);
    EXPECT_TRUE(outcome.error.has_value());
    if (HasFatalFailure()) return;
  }
}

TEST_P(Corruption, OfTheManifestIsAnErrorOrTheFileIsNotListed) {
  if (item_.manifest.empty()) return;
  const auto check = [&](const std::string& manifest) {
    manifest_->Write(manifest);
    const Outcome outcome = Read(item_.content);
    ExpectPrefix(outcome, false);
    // Either it is no manifest, or its numbers differ: that error comes after all records.
    if (outcome.error.has_value() && outcome.error->file() == path_) {
      EXPECT_EQ(outcome.elements.size(), whole_.elements.size());
    }
  };
  for (size_t bit = 0; bit < 8 * item_.manifest.size(); ++bit) {
    SCOPED_TRACE(StrCat("bit ", bit));
    check(FlipBit(item_.manifest, bit));
    if (HasFatalFailure()) return;
  }
  for (size_t size = 0; size < item_.manifest.size(); ++size) {
    SCOPED_TRACE(StrCat("cut to ", size));
    check(item_.manifest.substr(0, size));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Corruption, ::testing::ValuesIn(AllCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace millhopper

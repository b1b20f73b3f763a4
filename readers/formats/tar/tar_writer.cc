// SPDX-License-Identifier: Apache-2.0
// Writes elements as an archive of WebDataset: texts and bytes are files with the slot's name as
// their extension, numbers are files of text, and tensors and lists are values in a file of JSON. A
// record is called by its slot __key__, if there is one, or by its number. Where a mask says that
// there is no value, there is no file.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/error.h"
#include "readers/formats/tar/tar_member.h"
#include "readers/output/file_writer.h"
#include "readers/output/json_output.h"

namespace millhopper {
namespace {

constexpr char kKeySlot[] = "__key__";
constexpr char kJsonExtension[] = "json";
constexpr size_t kMostName = 100;  // bytes in a header
constexpr NumberWords kWords = {"nan", "inf"};

// How a slot lies in a record.
enum class Place { kKey, kFile, kNumber, kJson };

struct Member {
  const OutputSlot* slot;
  Place place;
};

std::string InSmallLetters(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

// Whether a file can have this extension, and a field this name for it.
bool IsExtension(const std::string& name) {
  constexpr std::string_view kOthers("/;:\0", 4);
  return name.find_first_of(kOthers) == std::string::npos && name.front() != '.' &&
         name.back() != '.';
}

// A header of ustar. Times and owners are 0, so that equal elements give equal archives.
void AppendHeader(std::string_view name, char type, uint64_t size, std::string* out) {
  char block[kTarBlockBytes] = {};
  std::memcpy(block, name.data(), std::min(name.size(), kMostName));
  const auto put = [&block](size_t at, size_t digits, unsigned long long number) {
    char text[16];
    std::snprintf(text, sizeof(text), "%0*llo", static_cast<int>(digits), number);
    std::memcpy(block + at, text, digits);
  };
  put(100, 7, 0644);
  put(108, 7, 0);
  put(116, 7, 0);
  put(124, 11, size);
  put(136, 11, 0);
  block[156] = type;
  std::memcpy(block + 257, "ustar", 6);
  std::memcpy(block + 263, "00", 2);
  std::memset(block + 148, ' ', 8);  // of the checksum itself
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(148, 6, sum);
  block[154] = '\0';
  out->append(block, sizeof(block));
}

void AppendPadded(std::string_view content, std::string* out) {
  out->append(content);
  out->append((kTarBlockBytes - content.size() % kTarBlockBytes) % kTarBlockBytes, '\0');
}

// A long name stands in a header of PAX before the member: "27 path=train/1.jpg\n", where the
// number is the length of the line.
void AppendLongName(const std::string& name, std::string* out) {
  const std::string rest = StrCat(" path=", name, "\n");
  size_t size = rest.size();
  for (size_t digits = 0; digits != StrCat(size).size(); size = rest.size() + digits) {
    digits = StrCat(size).size();
  }
  const std::string line = StrCat(size) + rest;
  AppendHeader("pax", 'x', line.size(), out);
  AppendPadded(line, out);
}

class TarWriter final : public BufferedWriter {
 public:
  TarWriter(const std::string& path, const OutputRules& rules, const std::vector<Member>& members,
            const std::string& json_extension, uint64_t first_record)
      : BufferedWriter(path, rules),
        members_(members),
        json_extension_(json_extension),
        record_(first_record) {
    for (const Member& member : members_) {
      if (member.place == Place::kJson) json_.push_back(*member.slot);
    }
  }

 private:
  void Append(const std::vector<LoDTensor>& element, std::string* out) override {
    SetKey(element);
    const size_t begin = out->size();
    for (const auto& [slot, place] : members_) {
      CheckRecord(*slot, element);
      if (!slot->HasValue(element)) continue;
      const LoDTensor& tensor = element[slot->number];
      if (place == Place::kFile) {
        AppendFile(slot->name, TextOf(tensor), out);
      } else if (place == Place::kNumber) {
        text_.clear();
        AppendNumberText(tensor.dtype(), static_cast<const char*>(tensor.raw_data()), kWords,
                         &text_);
        AppendFile(slot->name, text_, out);
      }
    }
    if (!json_.empty()) {
      text_.clear();
      AppendJsonObject("tar", json_, element, &text_);
      AppendFile(json_extension_, text_, out);
    }
    Require(out->size() > begin, "a record without any value, which has no file in an archive");
    ++record_;
  }
  void AppendEnd(std::string* out) override { out->append(2 * kTarBlockBytes, '\0'); }

  // By its number unless a slot says it. It must be one that readers find again.
  void SetKey(const std::vector<LoDTensor>& element) {
    const auto named = std::find_if(members_.begin(), members_.end(), [](const Member& member) {
      return member.place == Place::kKey;
    });
    std::string key;
    if (named == members_.end()) {
      char number[24];
      std::snprintf(number, sizeof(number), "%09llu", static_cast<unsigned long long>(record_));
      key = number;
    } else {
      key = TextOf(element[named->slot->number]);
      const std::string last = key.substr(key.rfind('/') + 1);
      Require(!last.empty() && last.find('.') == std::string::npos && key.front() != '/' &&
                  last.compare(0, 2, "__") != 0 && key.find('\0') == std::string::npos &&
                  key.find("/.") == std::string::npos && key.front() != '.',
              "slot '__key__': '", Escaped(key), "' is no name of the files of a record");
      Require(key != key_, "slot '__key__': '", Escaped(key),
              "' comes twice, one after the other, so the files would be one record");
    }
    key_ = key;
  }

  void AppendFile(const std::string& extension, std::string_view content, std::string* out) {
    const std::string name = StrCat(key_, ".", extension);
    if (name.size() > kMostName) AppendLongName(name, out);
    AppendHeader(name, '0', content.size(), out);
    AppendPadded(content, out);
  }

  const std::vector<Member>& members_;  // these are the format's
  const std::string& json_extension_;
  std::vector<OutputSlot> json_;
  uint64_t record_;
  std::string key_, text_;
};

class TarOutput final : public OutputFormat {
 public:
  explicit TarOutput(const NamedSlots& slots)
      : OutputFormat(OutputSlotsOf(slots, OutputNulls::kAsNulls)) {
    std::set<std::string> extensions;
    for (const OutputSlot& slot : this->slots()) {
      members_.push_back({&slot, PlaceOf(slot)});
      const bool is_file =
          members_.back().place == Place::kFile || members_.back().place == Place::kNumber;
      if (is_file && !extensions.insert(InSmallLetters(slot.name)).second) {
        RefuseSlot("tar", slot, "another slot differs from it in capital letters alone");
      }
    }
    while (extensions.count(json_extension_) > 0) json_extension_ = "values." + json_extension_;
  }

  std::unique_ptr<FileWriter> Open(const std::string& path, const OutputRules& rules,
                                   uint64_t first_record) const override {
    return std::make_unique<TarWriter>(path, rules, members_, json_extension_, first_record);
  }
  std::vector<std::string> Fields() const override {
    std::vector<std::string> fields;
    for (const auto& [slot, place] : members_) {
      switch (place) {
        case Place::kKey:
        case Place::kFile:
          fields.push_back(FieldOf(*slot, slot->name));
          break;
        case Place::kNumber:
          fields.push_back(FieldOf(*slot, slot->name, "decode=text"));
          break;
        case Place::kJson:
          fields.push_back(FieldOf(*slot, StrCat(json_extension_, ":", JsonFieldName(slot->name))));
      }
    }
    return fields;
  }
  bool WritesNanAsNull(const OutputSlot& slot) const override {
    return PlaceOf(slot) == Place::kJson;
  }

 private:
  static Place PlaceOf(const OutputSlot& slot) {
    RefuseBatches("tar", slot);
    if (slot.name == kKeySlot) {
      if (slot.is_text() && !slot.mask) return Place::kKey;
      RefuseSlot("tar", slot, "the key of a record is a text, and never null");
    }
    if (IsExtension(slot.name)) {
      if (slot.is_text()) return Place::kFile;
      if (slot.is_scalar()) return Place::kNumber;
    }
    CheckJsonHolds("tar", slot);
    return Place::kJson;
  }

  std::vector<Member> members_;
  std::string json_extension_ = kJsonExtension;
};

WriterSchema Schema() {
  return WriterSchema("WebDataset: a file for each text, bytes and number, JSON for lists; nulls")
      .Compresses();
}

std::unique_ptr<OutputFormat> Make(const NamedSlots& slots) {
  return std::make_unique<TarOutput>(slots);
}

REGISTER_FILE_WRITER(tar, Schema, Make);

}  // namespace
}  // namespace millhopper

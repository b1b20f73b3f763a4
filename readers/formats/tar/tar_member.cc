// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/tar/tar_member.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "framework/base/error.h"
#include "readers/support/hidden_names.h"

namespace millhopper {
namespace {

// The headers of a member together; names and PAX records are never that long.
constexpr size_t kMostHeaderBytes = size_t{1} << 20;

// Where the values of a header lie.
struct Place {
  size_t offset;
  size_t size;
};
constexpr Place kName = {0, 100};
constexpr Place kSize = {124, 12};
constexpr Place kChecksum = {148, 8};
constexpr size_t kType = 156;
constexpr Place kMagic = {257, 6};
constexpr Place kPrefix = {345, 155};
constexpr std::string_view kAboutTheNext = "xXgLK";  // types of headers that describe others

uint64_t Padded(uint64_t size) {
  return (size + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

std::string_view TextAt(const char* header, const Place& place) {
  const char* const text = header + place.offset;
  return {text, ::strnlen(text, place.size)};
}

// Octal digits, with spaces before them and spaces or a zero byte after. False if it is none.
bool ReadOctal(const char* header, const Place& place, uint64_t* number) {
  std::string_view text = TextAt(header, place);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  *number = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return false;
    *number = *number << 3 | static_cast<uint64_t>(c - '0');
  }
  return true;
}

[[noreturn]] void BadSize(const std::string& text) {
  Throw(ErrorCode::kDataLoss, "the size '", Escaped(text), "' is no number of bytes");
}

// The size of a content: octal, or GNU's form for large ones, whose first bit is set and whose
// other bits are the number, the most significant first.
uint64_t ReadSize(const char* header) {
  const char* const field = header + kSize.offset;
  uint64_t number = 0;
  if ((field[0] & 0x80) == 0) {
    if (!ReadOctal(header, kSize, &number)) BadSize(std::string(field, kSize.size));
    return number;
  }
  for (size_t i = 0; i < kSize.size; ++i) {
    const auto byte = static_cast<unsigned char>(i == 0 ? field[i] & 0x7f : field[i]);
    if (number >> 55 != 0) BadSize(std::string(field, kSize.size));  // more than 63 bits
    number = number << 8 | byte;
  }
  return number;
}

unsigned char Byte(const char* header, size_t i) { return static_cast<unsigned char>(header[i]); }

// The sum of all bytes, those of the checksum taken as spaces. Eight bytes are added at once, in
// four lanes of 16 bits, which a block cannot overflow.
uint64_t SumOf(const char* header) {
  constexpr uint64_t kLanes = 0x00ff00ff00ff00ff;
  static_assert(size_t{2} * 0xff * kTarBlockBytes / sizeof(uint64_t) <= 0xffff);
  uint64_t lanes = 0;
  for (size_t i = 0; i < kTarBlockBytes; i += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, header + i, sizeof(word));
    lanes += (word & kLanes) + (word >> 8 & kLanes);
  }
  uint64_t sum = kChecksum.size * ' ';
  for (; lanes != 0; lanes >>= 16) sum += lanes & 0xffff;
  for (size_t i = 0; i < kChecksum.size; ++i) sum -= Byte(header, kChecksum.offset + i);
  return sum;
}

// How many bytes count 256 less in the sum of signed bytes, which some old archives have.
uint64_t HighBytes(const char* header) {
  uint64_t count = 0;
  for (size_t i = 0; i < kTarBlockBytes; ++i) {
    const bool is_checksum = i - kChecksum.offset < kChecksum.size;
    if (!is_checksum && Byte(header, i) >= 0x80) ++count;
  }
  return count;
}

bool IsSum(const char* header, uint64_t sum) {
  uint64_t said = 0;
  if (!ReadOctal(header, kChecksum, &said)) return false;
  return said == sum || said + 256 * HighBytes(header) == sum;
}

std::string ToOctal(uint64_t number) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof(digits), number, 8).ptr};
}

void CheckChecksum(const char* header) {
  const uint64_t sum = SumOf(header);
  if (IsSum(header, sum)) return;
  Throw(ErrorCode::kDataLoss, "the checksum of its header is ", ToOctal(sum), ", the header says '",
        Escaped(std::string(TextAt(header, kChecksum))), "'");
}

// What PAX records say that matters here.
struct PaxValues {
  std::string_view path;  // empty: not said
  bool has_size = false;
  uint64_t size = 0;
  bool sparse = false;
};

// Records are "LENGTH KEYWORD=VALUE\n", the length that of the whole.
void ReadPaxRecords(std::string_view records, PaxValues* values) {
  while (!records.empty() && records.front() != '\0') {  // some writers count the padding, too
    size_t length = 0;
    const char* const begin = records.data();
    const auto read = std::from_chars(begin, begin + records.size(), length);
    const auto digits = static_cast<size_t>(read.ptr - begin);
    const bool framed = read.ec == std::errc() && length > digits + 1 && length <= records.size() &&
                        *read.ptr == ' ' && records[length - 1] == '\n';
    const std::string_view record =
        framed ? records.substr(digits + 1, length - digits - 2) : std::string_view();
    const size_t equal = record.find('=');
    if (!framed || equal == std::string_view::npos) {
      Throw(ErrorCode::kDataLoss, "its PAX record '", Escaped(std::string(records.substr(0, 60))),
            "' is no \"length keyword=value\"");
    }
    const std::string_view keyword = record.substr(0, equal), value = record.substr(equal + 1);
    if (keyword == "path") {
      values->path = value;
    } else if (keyword == "size") {
      const auto number = std::from_chars(value.data(), value.data() + value.size(), values->size);
      values->has_size = !value.empty();
      if (values->has_size &&
          (number.ec != std::errc() || number.ptr != value.data() + value.size() ||
           values->size >> 63 != 0)) {
        BadSize(std::string(value.substr(0, 60)));
      }
    } else if (keyword.substr(0, 11) == "GNU.sparse.") {
      values->sparse = true;
    }
    records.remove_prefix(length);
  }
}

// What a member is called that cannot be read; null for the others.
const char* RefusedKind(char type, bool sparse) {
  if (sparse) return "a sparse file";
  switch (type) {
    case '1':
      return "a hard link";
    case '2':
      return "a symbolic link";
    case '3':
    case '4':
      return "a device";
    case '6':
      return "a named pipe";
    case 'S':
      return "a sparse file";
    case 'M':
      return "the rest of a file of another archive";
    case '\0':
    case '0':
    case '7':  // contiguous files, which no system has any more
    case '5':
    case 'D':  // a directory with its list of names, of GNU's incremental archives
    case 'V':  // the label of an archive
      return nullptr;
    default:
      return "of an unknown type";
  }
}

bool BeginsAsMeta(std::string_view name) {
  const std::string_view first = name.substr(0, name.find('/'));
  return first.size() >= 4 && first.substr(0, 2) == "__" && first.substr(first.size() - 2) == "__";
}

bool IsHidden(std::string_view name) {
  for (size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/')) {
    if (IsHiddenFolder(name.substr(0, slash))) return true;
    name.remove_prefix(slash + 1);
  }
  return IsLeftByMacOs(name);
}

// webdataset's rule is the regular expression ^((?:.*/|)[^.]+)[.]([^/]*)$ for key and extension.
void SplitName(TarMember* member) {
  const std::string_view name = member->name;
  member->in_record = false;
  if (!member->is_file || BeginsAsMeta(name) || IsHidden(name)) return;
  const size_t base = name.rfind('/') + 1;  // 0 if there is no slash
  const size_t dot = name.find('.', base);
  if (dot == std::string_view::npos || dot == 0) return;
  if (dot == base) {
    // By the expression a hidden file belongs to its folder, unless that has a dot itself.
    const std::string_view folder = name.substr(0, base - 1);
    if (folder.find('.', folder.rfind('/') + 1) != std::string_view::npos) return;
  }
  member->in_record = true;
  member->key_bytes = dot;
  member->extension.assign(name.substr(dot + 1));
  for (char& c : member->extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

void SetName(const char* header, std::string_view long_name, const PaxValues& pax,
             TarMember* member) {
  if (!pax.path.empty()) {
    member->name.assign(pax.path);
  } else if (!long_name.empty()) {
    member->name.assign(long_name);
  } else {
    member->name.clear();
    // GNU's own headers have other things in the place of the prefix, and another magic.
    if (std::memcmp(header + kMagic.offset, "ustar", kMagic.size) == 0) {
      member->name.assign(TextAt(header, kPrefix));
    }
    if (!member->name.empty()) member->name.push_back('/');
    member->name.append(TextAt(header, kName));
  }
}

}  // namespace

bool AreZeros(const char* bytes, size_t size) {
  return size == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

bool IsTarHeader(const char* block) { return IsSum(block, SumOf(block)); }

TarHeaders ReadTarHeaders(const char* bytes, size_t size, TarMember* member) {
  std::string_view long_name;
  PaxValues pax;
  for (size_t at = 0;;) {
    member->looked_at = at;
    member->needed = at + kTarBlockBytes;
    if (size < member->needed) return TarHeaders::kCut;
    const char* const header = bytes + at;
    if (AreZeros(header, kTarBlockBytes)) {
      if (at == 0) return TarHeaders::kEnd;
      Throw(ErrorCode::kDataLoss,
            "a header with a long name or PAX records has no member after it");
    }
    CheckChecksum(header);
    const uint64_t content = ReadSize(header);
    const char type = header[kType];
    at += kTarBlockBytes;
    if (kAboutTheNext.find(type) != std::string_view::npos) {
      if (content > kMostHeaderBytes - std::min(at, kMostHeaderBytes)) {
        Throw(ErrorCode::kResourceLimit, "its name and PAX records have ", content,
              " bytes; the limit is ", kMostHeaderBytes, " for a member");
      }
      member->needed = at + Padded(content);
      if (size < member->needed) return TarHeaders::kCut;
      const std::string_view text(bytes + at, content);
      at = member->needed;
      if (type == 'L') long_name = text.substr(0, text.find('\0'));
      if (type == 'x' || type == 'X') ReadPaxRecords(text, &pax);
      if (type != 'g') continue;
      PaxValues of_all;
      ReadPaxRecords(text, &of_all);
      if (!of_all.path.empty() || of_all.has_size || of_all.sparse) {
        Throw(ErrorCode::kDataLoss,
              "a global PAX header gives all members one path, size or map of a sparse file");
      }
      if (!long_name.empty() || !pax.path.empty() || pax.has_size) {
        Throw(ErrorCode::kDataLoss, "a global PAX header stands between the headers of a member");
      }
      member->name.clear();
      member->is_file = member->in_record = false;
      member->header_bytes = at;
      member->size = 0;
      return TarHeaders::kMember;
    }
    SetName(header, long_name, pax, member);
    const char* const refused = RefusedKind(type, pax.sparse);
    if (refused != nullptr) {
      Throw(ErrorCode::kDataLoss, "'", Escaped(member->name), "' is ", refused,
            "; only files that have their content in the archive are read");
    }
    const bool ends_as_folder = !member->name.empty() && member->name.back() == '/';
    const bool is_directory = type == '5' || (type == '\0' && ends_as_folder);
    member->is_file = type != 'D' && type != 'V' && !is_directory;
    member->header_bytes = at;
    member->size = is_directory ? 0 : pax.has_size ? pax.size : content;
    SplitName(member);
    return TarHeaders::kMember;
  }
}

}  // namespace millhopper

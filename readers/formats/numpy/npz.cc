// SPDX-License-Identifier: Apache-2.0
// The format `npz`: numpy's arrays as the members of a zip file, as savez and savez_compressed
// write them. A slot is a member, and record i is row i of each.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/io/file.h"
#include "framework/reader/file_format.h"
#include "readers/fields/fields.h"
#include "readers/fields/guessed_type.h"
#include "readers/fields/lacked_names.h"
#include "readers/formats/numpy/npy_arrays.h"
#include "readers/formats/numpy/npy_header.h"
#include "readers/formats/numpy/zip_file.h"

namespace millhopper {
namespace {

constexpr char kExtension[] = ".npy";

bool IsArrayName(const std::string& name) {
  const std::string extension = kExtension;
  return name.size() > extension.size() &&
         name.compare(name.size() - extension.size(), extension.size(), extension) == 0;
}

// The members that become slots, by name; none if all do.
struct Members {
  std::vector<std::string> names;
  std::vector<SlotSpec> slots;  // then those of masks
  std::vector<Field> fields;    // of a name alone, none that says what a missing member means
};

// An entry is a name alone, or a whole field, whose slot is then checked.
Members MembersOf(const std::vector<std::string>& entries) {
  Members members;
  for (const std::string& entry : entries) {
    SlotSpec slot;
    slot.known = false;
    Field field;
    field.name = entry;
    if (entry.find_first_of(" \t\"") != std::string::npos) {
      field = ParseFields({entry})[0];
      Require(!field.sequence && !field.names_things() && field.decode == Field::Decode::kNone &&
                  field.base == 10 && field.scale == 1 && field.nulls.empty() &&
                  field.separator == 0,
              "the field '", Escaped(entry),
              "' is of npz: an array has rows of one size and no options but default= and "
              "missing=, which are for files without it, so write it as \"name\" or \"name "
              "dtype[dims]\"");
      slot = field.slot;
    }
    members.names.push_back(field.name);
    members.slots.push_back(slot);
    members.fields.push_back(std::move(field));
  }
  for (const Field& field : members.fields) {
    if (field.mask) members.slots.push_back(kMaskSlot);
  }
  return members;
}

class NpzFormat final : public NpyArrays {
 public:
  NpzFormat(const FormatArguments& arguments, Members members)
      : NpyArrays(AgreeOnSlots(arguments.declared, members.slots, "fields name"), arguments.files,
                  std::move(members.fields)),
        names_(std::move(members.names)),
        others_(OthersOf(arguments.attributes)),
        files_(arguments.files) {}

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    const ZipFile zip(File::Open(file.path, file.buffer_type));
    if (!std::exchange(has_checked_names_, true)) CheckNames(zip, file.path);
    const std::vector<const ZipEntry*> entries = EntriesIn(zip, file.path);
    if (IsLeftOut(entries)) return std::make_unique<NoRecords>();
    std::vector<std::unique_ptr<ByteStream>> streams;
    for (const ZipEntry* const entry : entries) {
      if (entry != nullptr) zip.CheckStored(*entry);
      streams.push_back(entry == nullptr ? nullptr : zip.OpenMember(*entry));
    }
    return OpenArrays(file.path, std::move(streams));
  }

  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override {
    uint64_t records = 0;
    for (const FileEntry& file : files) {
      const ZipFile zip(File::Open(file.path));
      const std::vector<const ZipEntry*> entries = EntriesIn(zip, file.path);
      if (IsLeftOut(entries)) continue;
      const auto there = std::find_if(entries.begin(), entries.end(),
                                      [](const ZipEntry* entry) { return entry != nullptr; });
      records += ReadNpyHeader(zip.OpenMember(**there).get()).records;
    }
    return records;
  }

 private:
  // A file whose records are left out.
  class NoRecords final : public FileSource {
   public:
    bool Claim(Chunk*) override { return false; }
    void Fetch(Chunk*) const override {}
    bool Seek(uint64_t, std::optional<uint64_t>) override { return false; }
  };

  // For the first file: throws if a field that may be missing names a member that no file has.
  void CheckNames(const ZipFile& zip, const std::string& path) const {
    const auto members_of = [](const ZipFile& file) {
      std::set<std::string> names;
      for (const ZipEntry& entry : file.entries()) names.insert(entry.name);
      return [names = std::move(names)](const Field& field) {
        return names.count(field.name) + names.count(field.name + kExtension) > 0;
      };
    };
    const Field* const lacked = FirstLackedByAll(
        fields(), members_of(zip), path, files_,
        [&](const std::string& other) { return members_of(ZipFile(File::Open(other))); });
    if (lacked == nullptr) return;
    try {
      EntryOf(zip, path, lacked->name, true);
    } catch (const Error& error) {
      throw LackedByAll(error);
    }
  }

  // Whether a member is missing whose field says that such records are left out.
  bool IsLeftOut(const std::vector<const ZipEntry*>& entries) const {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (entries[i] == nullptr && fields()[i].missing == Field::Missing::kSkip) return true;
    }
    return false;
  }

  // Those of the slots. Null is one that the file lacks, if its field says what that means.
  std::vector<const ZipEntry*> EntriesIn(const ZipFile& zip, const std::string& path) const {
    std::vector<const ZipEntry*> entries;
    if (names_.empty()) {
      for (const ZipEntry& entry : zip.entries()) {
        if (!IsArrayName(entry.name)) {
          Fail(path, StrCat("member '", Escaped(entry.name),
                            "' is no .npy array; name in fields "
                            "what is to be read"));
        }
        entries.push_back(&entry);
      }
      if (entries.size() != slots().size()) {
        Fail(path, StrCat("it has ", entries.size(), " members, but ", slots().size(),
                          " slots are declared; name in fields what is to be read"));
      }
    }
    if (others_ == Others::kError) CheckOthers(zip, path);
    bool any = names_.empty();
    for (size_t i = 0; i < names_.size(); ++i) {
      const bool must_be = fields()[i].missing == Field::Missing::kError;
      entries.push_back(EntryOf(zip, path, names_[i], must_be));
      any = any || entries.back() != nullptr;
    }
    // Only an array tells how many records there are.
    if (!any && !IsLeftOut(entries)) EntryOf(zip, path, names_[0], true);
    return entries;
  }

  // Throws if there is a member that no field names.
  void CheckOthers(const ZipFile& zip, const std::string& path) const {
    for (const ZipEntry& entry : zip.entries()) {
      const bool named = std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
        return entry.name == name || entry.name == name + kExtension;
      });
      if (named) continue;
      try {
        RefuseOther(StrCat("it has the member '", Escaped(entry.name), "'"), "");
      } catch (const Error& error) {
        throw error.InFile(path, 0);
      }
    }
  }

  // Null if there is none, which may be unless `must_be`.
  static const ZipEntry* EntryOf(const ZipFile& zip, const std::string& path,
                                 const std::string& name, bool must_be) {
    const ZipEntry* found = nullptr;
    for (const ZipEntry& entry : zip.entries()) {
      if (entry.name != name && entry.name != name + kExtension) continue;
      if (found != nullptr) {
        Fail(path, StrCat("more than one member is named '", Escaped(name), "'"));
      }
      found = &entry;
    }
    if (found == nullptr && must_be) {
      std::vector<std::string> names;
      for (const auto& entry : zip.entries()) names.push_back(entry.name);
      Fail(path, StrCat("no member is named '", Escaped(name), "'; there are ", Listed(names),
                        DidYouMean(name, names)));
    }
    return found;
  }

  [[noreturn]] static void Fail(const std::string& path, const std::string& problem) {
    throw Error(ErrorCode::kDataLoss, problem).InFile(path, 0);
  }

  const std::vector<std::string> names_;
  const Others others_;
  const std::vector<FileEntry> files_;  // as far as they are known
  bool has_checked_names_ = false;
};

// An array in a file that is looked at.
struct SeenArray {
  std::string name;
  std::string entry;  // of a field that is all of it
  uint64_t records;
};

// Those that fields can be; `left_out` gets the others.
std::vector<SeenArray> ArraysIn(const std::string& path, std::vector<std::string>* left_out) {
  const ZipFile zip(File::Open(path));
  std::vector<SeenArray> arrays;
  for (const ZipEntry& entry : zip.entries()) {
    const std::string member = StrCat("'", Escaped(entry.name), "': ");
    if (!IsArrayName(entry.name)) {
      left_out->push_back(member + "it is no .npy array");
      continue;
    }
    const std::string name = entry.name.substr(0, entry.name.size() - sizeof(kExtension) + 1);
    if (!CanBeNamed(name)) {
      left_out->push_back(member + "it cannot be the name of a field");
      continue;
    }
    try {
      const NpyHeader header = ReadNpyHeader(zip.OpenMember(entry).get());
      std::string dims;
      for (size_t i = 1; i < header.spec.dims.size(); ++i) {
        const int64_t dim = header.spec.dims[i];
        if (dim == 0) Throw(ErrorCode::kInvalidArgument, "its rows have no values");
        dims += StrCat(i > 1 ? ", " : "", dim);
      }
      arrays.push_back({name, EntryFor(name, StrCat(ToString(header.spec.dtype), "[", dims, "]")),
                        header.records});
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      const std::string place = Escaped(path) + ": ";
      const bool has_place = error.message().compare(0, place.size(), place) == 0;
      left_out->push_back(
          StrCat("'", name, "': ", error.message().substr(has_place ? place.size() : 0)));
    }
  }
  return arrays;
}

std::vector<std::string> EntriesIn(const AttributeMap& attributes) {
  if (!attributes.Has("fields")) return {};
  return attributes.Get<std::vector<std::string>>("fields");
}

// Whether entries are given that are names of members and nothing more, which opening a file finds
// and checks by itself.
bool AreNamesOfMembers(const std::vector<std::string>& entries) {
  return !entries.empty() && std::none_of(entries.begin(), entries.end(), [](const auto& entry) {
    return entry.find_first_of(" \t\"*-") != std::string::npos;
  });
}

// The first array that an entry names, or null.
const SeenArray* FirstNamed(const std::vector<SeenArray>& arrays,
                            const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) {
    const std::string name = HeadOf(entry).name;
    const auto found = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const SeenArray& array) { return array.name == name; });
    if (found != arrays.end()) return &*found;
  }
  return nullptr;
}

// The arrays that have as many rows as the first that is named, or else as most have; of two such
// numbers, the one that comes first.
FittingFields Guess(const std::string& path, const AttributeMap& attributes) {
  const std::vector<std::string> entries = EntriesIn(attributes);
  FittingFields fields;
  fields.holds_masks = true;
  if (AreNamesOfMembers(entries)) return fields;
  const std::vector<SeenArray> arrays = ArraysIn(path, &fields.left_out);
  const auto as_long = [&](const SeenArray& array) {
    return std::count_if(arrays.begin(), arrays.end(),
                         [&](const SeenArray& other) { return other.records == array.records; });
  };
  const SeenArray* chosen = FirstNamed(arrays, entries);
  if (chosen == nullptr && !arrays.empty()) {
    chosen = &*std::max_element(
        arrays.begin(), arrays.end(),
        [&](const SeenArray& a, const SeenArray& b) { return as_long(a) < as_long(b); });
  }
  for (const SeenArray& array : arrays) {
    if (array.records == chosen->records) {
      fields.entries.push_back(array.entry);
    } else {
      fields.left_out.push_back(StrCat("'", Escaped(array.name), "': it has ", array.records,
                                       array.records == 1 ? " row, '" : " rows, '",
                                       Escaped(chosen->name), "' has ", chosen->records, "; ",
                                       QuotedEntry(array.entry), " reads it by itself"));
    }
  }
  return fields;
}

bool Matches(const char* head, size_t size) {
  return size >= 4 && (std::string(head, 4) == "PK\3\4" || std::string(head, 4) == "PK\5\6");
}

FormatSchema Schema() {
  FormatSchema schema("numpy arrays in a zip file, stored or deflated: a slot a member");
  return std::move(
      schema.Extension(".npz")
          .Magic(Matches)
          .InferFields(Guess)
          .Attr(OthersAttribute())
          .Attr(FieldsAttribute(
              "members, with or without .npy; a name alone is enough, and of the options only "
              "default= and missing= are for arrays, of files that lack them. With slots in place "
              "of fields they are the members in the order of the file")));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  Members members = MembersOf(arguments.attributes.Get<std::vector<std::string>>("fields"));
  if (members.names.empty() && arguments.declared.empty()) {
    throw MissingSlots::ErrorOf(
        "an npz reader needs to know its slots before it opens a file: name its members in "
        "fields, such as [\"images\", \"labels\"], or declare its slots",
        {"images", "labels"});
  }
  return std::make_unique<NpzFormat>(arguments, std::move(members));
}

REGISTER_FILE_FORMAT(npz, Schema, Make);

}  // namespace
}  // namespace millhopper

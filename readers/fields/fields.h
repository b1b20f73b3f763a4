// SPDX-License-Identifier: Apache-2.0
// The slots that structured formats (Example, CSV, JSON ...) cut from their records, in one
// notation for all of them:
//
//   name dtype[dims] option=value ...
//   slot = name dtype[dims] option=value ...
//
//   label int64[]                     a scalar; a batch of n has dims [n]
//   image float32[28, 28] scale=1/255 a tensor; a batch has dims [n, 28, 28]
//   tokens int64[-1]                  a sequence, with one level of detail
//   "user id" int64[] hash=1000003    a name with spaces stands in quotes
//   "the ""best""" int64[]            quotes in it are doubled
//   title bytes                       the bytes as they are: uint8 with one level of detail
//   words bytes[-1]                   any number of such: uint8 with two levels of detail
//   title str, words str[-1]          the same for text, which must be UTF-8; Python has str of it
//   turns int64[-1, -1]               lists of lists: a level of detail for each -1
//   lines bytes[-1, -1]               lists of lists of bytes: one level more than that
//   seen int64[] decode=timestamp     a date or a time as text: seconds since 1970, UTC
//   day int64[] decode=timestamp format="%d %b %Y"  the same in a form of strptime
//   age int64[] null=NA,NULL default=-1  these texts are no value
//   age int64[] missing=mask          0 where there is no value, and one more slot says where
//   tags str decode=json              any value of JSON, as the text that it is
//   won bool[] format=yes/no          these words alone, in small or capital letters: t/f, y/n
//   id int64[] numbers=exact          refuses 007, which it would not give back as it is
#ifndef MILLHOPPER_READERS_FIELDS_FIELDS_H_
#define MILLHOPPER_READERS_FIELDS_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/tensor/rows.h"
#include "readers/fields/timestamp.h"

namespace millhopper {

class Vocabulary;

// One entry of the list. Immutable once parsed; any thread.
struct Field {
  // What to do about a record in which the field has no value, and about all records of a file that
  // does not have the field.
  enum class Missing {
    kError,    // an error, unless a default is given
    kDefault,  // the value of `default=`; without it 0, and nothing for sequences and bytes
    kSkip,     // the record is left out
  };
  // How bytes become values: by the format itself, or read as text.
  enum class Decode { kNone, kText, kTimestamp, kJson };

  std::string name;  // as written, without quotes; the format says what it names
  SlotSpec slot;
  bool sequence = false;    // has levels of detail; bytes have, too
  bool bytes = false;       // takes bytes as they are; slot.text says whether they must be UTF-8
  bool bytes_list = false;  // any number of them; then `bytes` is set, too
  size_t values = 1;        // in the tensor; of a sequence, in one step
  Missing missing = Missing::kError;
  // Whether one more slot tells for each record if the field has a value in it: missing=mask. Then
  // `missing` is kDefault.
  bool mask = false;
  bool has_default = false;
  int base = 10;         // of integers in text
  uint64_t buckets = 0;  // text becomes XXH64(text, seed 0) modulo this; 0: it does not
  std::shared_ptr<const Vocabulary> vocabulary;  // text becomes its line number; null: it does not
  double scale = 1;                              // floats are multiplied by it
  // Whether a value that its type would not give back as it is (007, digits that a float64 rounds,
  // a list's only value without the list) is none: numbers=, or the attribute of this name.
  bool exact = false;
  bool has_numbers = false;  // whether numbers= is given
  // The words that a bool is read from; of an exact field without format= those of kTrueFalse.
  enum class Words { kAny, kTrueFalse, kYesNo, kTF, kYN };
  Words words = Words::kAny;
  Decode decode = Decode::kNone;
  int64_t ticks_per_day = kSecondsPerDay;  // of decode=timestamp
  std::string time_format;                 // of decode=timestamp; "": one of its own forms
  std::vector<std::string> nulls;  // texts that are no value; bytes and words are compared as they
                                   // are, numbers without the spaces around them
  char separator = 0;              // between several values in a cell; 0: the one of the format

  // Whether text becomes a number by a hash or a vocabulary, not by the number that it spells.
  bool names_things() const { return buckets > 0 || vocabulary != nullptr; }
  // Whether the number is made from text, in a format that tells numbers from text.
  bool from_text() const {
    return names_things() || decode == Decode::kText || decode == Decode::kTimestamp;
  }
  // Whether the values lie in lists of lists or, if they are bytes, in lists.
  bool nested() const { return slot.lod_level > 1; }
  // Whether a null among several values, or a word that a vocabulary does not have, becomes the
  // default. A mask cannot tell of them: it has one bool for a whole record.
  bool fills_gaps() const { return missing == Missing::kDefault && (!mask || has_default); }
  size_t value_bytes() const { return value_bytes_; }
  // What is declared, for an error: "str[-1]", "int64 [1, 3]".
  std::string Declared() const;

  // Reads one value of text from `begin` on and writes it to `place`. Returns the end of what was
  // read; null if there is no value of this type, or it is out of range. A field that names things
  // reads up to `end`. Throws kDataLoss for a word that a vocabulary without a default does not
  // have.
  const char* Read(const char* begin, const char* end, char* place) const {
    return read_(*this, begin, end, place);
  }
  // Reads up to n values from *begin on, one after the other: a value ends at a delimiter or at
  // `end`, and is the default, if there is one, where nothing stands. Returns how many it has
  // written to `place`. *begin is then after the delimiter of the last one, null if that ended at
  // `end`. It stops at what is no value, and for a field with a mask where nothing stands. Only if
  // can_read_cells().
  size_t ReadCells(const char** begin, const char* end, char delimiter, size_t n,
                   char* place) const {
    return read_cells_(*this, begin, end, delimiter, n, place);
  }
  // False if a value depends on the whole text.
  bool can_read_cells() const { return read_cells_ != nullptr; }
  // The same as Read for text that is one value, with spaces around it or not; the default for a
  // null. Throws kDataLoss "'abc' is no int64", and what ThrowMissing throws for a null unless
  // fills_gaps().
  void ReadAll(std::string_view text, char* place) const;
  // Writes a number as a value. Throws kDataLoss if the type cannot hold it.
  void Write(int64_t number, char* place) const;
  void Write(uint64_t number, char* place) const;
  void Write(double number, char* place) const;
  // Writes `n` values of the default.
  void WriteDefault(size_t n, char* place) const;
  // The bytes that are the value of text: none for a null. Throws what ThrowMissing throws for a
  // null unless fills_gaps().
  std::string_view BytesOf(std::string_view text) const;
  // Whether text is one of the nulls.
  bool IsNull(std::string_view text) const;
  // Whether text is no value for this field, so that `missing` says what to do.
  bool IsMissing(std::string_view text) const;
  // Throws kDataLoss: the problem, which is that there is no value, the options that allow it, and
  // what else does.
  [[noreturn]] void ThrowMissing(const std::string& problem, const char* more = "") const;
  // The same for text that is a null.
  [[noreturn]] void ThrowNull(std::string_view text, const char* more = "") const;

  // Chooses the functions of Read and ReadCells. Called when the members above are set.
  void SetReaders();

  using Reader = const char* (*)(const Field&, const char* begin, const char* end, char* place);
  using CellsReader = size_t (*)(const Field&, const char** begin, const char* end, char delimiter,
                                 size_t n, char* place);
  Reader read_ = nullptr;
  CellsReader read_cells_ = nullptr;
  size_t value_bytes_ = 0;
  char default_value_[8] = {};
};

// What an entry says before its options.
struct EntryHead {
  std::string
      slot;  // the name of the slot: that of the field, unless the entry begins with "slot ="
  std::string name;  // of the field, as Field::name has it
  std::string type;  // "int64[]"; empty if there is none
};
// Throws kInvalidArgument for an entry with a quote or a bracket that is not closed.
EntryHead HeadOf(const std::string& entry);
// The name as an entry has it: in quotes if it needs them.
std::string NameInEntry(const std::string& name);

// Whether a format has lists of lists, so that int64[-1, -1] can be.
enum class Lists { kPlain, kOfLists };

// Reads the entries. Throws kInvalidArgument "fields[1], 'x int65[]': ..." for one that is wrong,
// and what reading the file of a vocabulary throws.
std::vector<Field> ParseFields(const std::vector<std::string>& entries,
                               Lists lists = Lists::kPlain);
// The end of the name of a mask: that of "age" is "age.valid".
inline constexpr std::string_view kMaskEnd = ".valid";
// How a field is given another name than that of a mask, for an error about it.
std::string AdviceToRename(const std::string& name);
// The names of the slots of the entries: those of the fields, and after them "age.valid" for each
// field with missing=mask. Throws kInvalidArgument if another field is called so, and what HeadOf
// throws.
std::vector<std::string> NamesOf(const std::vector<std::string>& entries);
// ParseFields for the attribute `fields` of a format that needs it: throws kInvalidArgument if it
// is empty, too.
std::vector<Field> RequiredFields(const AttributeMap& attributes, Lists lists = Lists::kPlain);
// Throws kInvalidArgument if the field has null= or separator=. For formats whose values are no
// cells of text.
void RefuseCellOptions(const Field& field);
// The slot of a mask.
extern const SlotSpec kMaskSlot;
// One slot a field, and after them, in the order of the fields, that of each mask.
// Masks stand there so that slot i is that of field i.
std::vector<SlotSpec> SlotsOf(const std::vector<Field>& fields);
// The entry in quotes, to be pasted into a program and into Python.
std::string QuotedEntry(const std::string& entry);
// The names that there are, for an error about another one: "'a', 'b' and more".
std::string Listed(const std::vector<std::string>& names);
// Spaces around a number mean nothing.
std::string_view WithoutSpaces(std::string_view text);
// Whether a record can be left out, so that formats must look into records before they list them.
bool AnySkips(const std::vector<Field>& fields);

// What a format does about something in a record, or in a file, that no field names.
enum class Others { kIgnore, kError };

// The attribute `others` of formats that see it. Where fields are inferred, and all of them are
// read, it is "error" unless it is given: what the sample does not show must not be left out in
// silence.
AttributeSchema OthersAttribute();
Others OthersOf(const AttributeMap& attributes);
// Throws kDataLoss for something that no field names, such as "the record has the feature 'x'": a
// field of this entry reads it, or none if it is "". `more` is kInferAll where that can be.
[[noreturn]] void RefuseOther(const std::string& what, const std::string& entry,
                              const char* more = "");
// What such an error says about `others`.
extern const char kOthersIgnored[];
// What errors about values that a field does not read say last, in formats that look at all records
// for their fields: how fields are inferred that do.
extern const char kInferAll[];

// The attribute `numbers` of formats whose types of numbers may be inferred. RequiredFields reads
// it for entries without numbers=.
AttributeSchema NumbersAttribute();
// The entry of a field that is declared beside others that are inferred, which kExactNumbers is
// for: with numbers=nearest, unless it has numbers= or is plain text or bytes.
std::string WithNearestNumbers(const std::string& entry);
extern const char kNumbers[];
extern const char kExactNumbers[];  // its value where the type of a number is inferred

// The attribute `fields` of a format in which names are `names`, such as "the features of a
// record". An empty list is its default.
AttributeSchema FieldsAttribute(const std::string& names);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FIELDS_FIELDS_H_

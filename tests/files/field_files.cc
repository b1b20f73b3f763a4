// SPDX-License-Identifier: Apache-2.0
#include "tests/files/field_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "framework/plugin.h"
#include "tests/files/mds_shards.h"
#include "tests/files/npy_files.h"
#include "tests/files/parquet_files.h"
#include "tests/files/tars.h"
#include "tests/files/tfrecords.h"
#include "tests/framework/program/program_bytes.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// ---- What the columns of all formats are for the number n. ----

int64_t Same(int64_t n) { return n; }
float Half(int64_t n) { return static_cast<float>(n) + 0.5f; }
float Negative(int64_t n) { return static_cast<float>(-n); }
int16_t Small(int64_t n) { return static_cast<int16_t>(n + 1); }
std::vector<float> Pair(int64_t n) { return {static_cast<float>(n), static_cast<float>(-n)}; }
std::vector<int64_t> ListOf(int64_t n) {
  return std::vector<int64_t>(static_cast<size_t>(1 + n % 3), n);
}
std::string TextOf(int64_t n) { return std::to_string(n); }
bool IsMissing(int64_t n) { return n % 4 == 1; }

// The same as values of slots.

template <auto kValue, typename T>
SlotValue One(int64_t n) {
  return SlotOf<T>({1}, {static_cast<T>(kValue(n))});
}
template <typename T>
SlotValue PairAs(int64_t n) {
  const std::vector<float> pair = Pair(n);
  return SlotOf<T>({1, 2}, {static_cast<T>(pair[0]), static_cast<T>(pair[1])});
}
template <typename T>
SlotValue ListAs(int64_t n) {
  const std::vector<int64_t> list = ListOf(n);
  const auto size = static_cast<int64_t>(list.size());
  return SlotOf<T>({size}, {list.begin(), list.end()}, {{0, list.size()}});
}
SlotValue BytesOfText(int64_t n) {
  const std::string text = TextOf(n);
  const auto size = static_cast<int64_t>(text.size());
  return SlotOf<uint8_t>({size}, {text.begin(), text.end()}, {{0, text.size()}});
}
SlotValue MaybeOr(int64_t n) { return SlotOf<int64_t>({1}, {IsMissing(n) ? -3 : n}); }

constexpr auto kNumber = One<Same, int64_t>;
constexpr auto kNumberAsFloat = One<Same, float>;
constexpr auto kHalf = One<Half, float>;
constexpr auto kNegative = One<Negative, float>;
constexpr auto kNegativeAsInteger = One<Negative, int64_t>;
constexpr auto kSmall = One<Small, int16_t>;
constexpr auto kSmallAsInteger = One<Small, int64_t>;

template <typename T>
std::string Joined(const std::vector<T>& values, const std::string& separator) {
  std::string text;
  for (const T value : values) {
    text += StrCat(text.empty() ? "" : separator, static_cast<int64_t>(value));
  }
  return text;
}

// A number of which twice is whole.
std::string HalfText(int64_t n) { return StrCat(n, ".5"); }

// The parts in this order, or the other way round.
std::string InTurn(std::vector<std::string> parts, int64_t n, const std::string& between) {
  if (n % 2 == 1) std::reverse(parts.begin(), parts.end());
  std::string text;
  for (const std::string& part : parts) {
    if (!part.empty()) text += (text.empty() ? "" : between) + part;
  }
  return text;
}

// ---- Lines. ----

std::string Csv(int64_t n) {
  return StrCat(n, ",", HalfText(n), ",", n, ",", -n, ",\"", TextOf(n), "\",",
                Joined(ListOf(n), "|"), ",", Small(n), ",", IsMissing(n) ? "" : TextOf(n), "\n");
}
std::string Tsv(int64_t n) {
  return StrCat(TextOf(n), "\t", -n, "\t", Joined(ListOf(n), ";"), "\t", n, "\t", HalfText(n),
                "\n");
}
std::string Jsonl(int64_t n) {
  return StrCat(
      "{",
      InTurn({StrCat("\"num\": ", n),
              StrCat("\"in\": {\"half\": ", HalfText(n), ", \"neg\": ", -n, "}"),
              StrCat("\"pair\": [", n, ", ", -n, "]"), StrCat("\"text\": \"", n, "\""),
              StrCat("\"list\": [", Joined(ListOf(n), ", "), "]"), StrCat("\"small\": ", Small(n)),
              IsMissing(n) ? "" : StrCat("\"maybe\": ", n)},
             n, ", "),
      "}\n");
}
std::string Libsvm(int64_t n) {
  return StrCat(n, " qid:", n + 1, " ", n + 2, ":", -n, " ", n + 3, ":", HalfText(n), "\n");
}
std::string MultiSlot(int64_t n) {
  return StrCat("1 ", n, " 2 ", n, " ", -n, " ", ListOf(n).size(), " ", Joined(ListOf(n), " "),
                " 1 ", HalfText(n), " 1 ", -n, "\n");
}
std::string CtrSvm(int64_t n) { return StrCat("1 ", n, ":7 ", n + 1, ":3 ", n, ":2\n"); }

template <std::string (*kLine)(int64_t)>
std::string Lines(int64_t first, int64_t records, int64_t /*chunk_records*/) {
  std::string lines;
  for (int64_t i = 0; i < records; ++i) lines += kLine(first + i);
  return lines;
}

std::string TsvFile(int64_t first, int64_t records, int64_t chunk_records) {
  return "text\tneg\tlist\tnum\thalf\n" + Lines<Tsv>(first, records, chunk_records);
}

// ---- Records and arrays. ----

std::string Example(int64_t n) {
  const auto feature = [](const std::string& name, const std::string& values) {
    return Bytes(1, Bytes(1, name) + Bytes(2, values));
  };
  const auto integers = [](const std::vector<int64_t>& values) {
    std::string packed;
    for (const int64_t value : values) packed += Varint(static_cast<uint64_t>(value));
    return Bytes(3, Bytes(1, packed));
  };
  const auto floats = [](const std::vector<float>& values) {
    std::string packed;
    for (const float value : values) packed += LittleEndian(value);
    return Bytes(2, Bytes(1, packed));
  };
  return Bytes(1, InTurn({feature("num", integers({n})), feature("half", floats({Half(n)})),
                          feature("neg", integers({-n})), feature("pair", floats(Pair(n))),
                          feature("text", Bytes(1, Bytes(1, TextOf(n)))),
                          feature("list", integers(ListOf(n))),
                          IsMissing(n) ? "" : feature("maybe", integers({n}))},
                         n, ""));
}
std::string TFRecordFile(int64_t first, int64_t records, int64_t /*chunk_records*/) {
  Strings examples;
  for (int64_t i = 0; i < records; ++i) examples.push_back(Example(first + i));
  return TFRecords(examples);
}

std::string MxnetFile(int64_t first, int64_t records, int64_t /*chunk_records*/) {
  std::string file;
  for (int64_t n = first; n < first + records; ++n) {
    file += MxnetRecord(LittleEndian(uint32_t{0}) + LittleEndian(static_cast<float>(n)) +
                        LittleEndian(static_cast<uint64_t>(n)) +
                        LittleEndian(static_cast<uint64_t>(Small(n))) + TextOf(n));
  }
  return file;
}

std::string TarFile(int64_t first, int64_t records, int64_t /*chunk_records*/) {
  std::string archive;
  for (int64_t n = first; n < first + records; ++n) {
    const auto member = [n](const std::string& extension, const std::string& content) {
      return TarMemberBytes(StrCat(n, ".", extension), content);
    };
    archive += InTurn(
        {member("num", TextOf(n)), member("half", HalfText(n)), member("neg", StrCat(-n)),
         member("pair", Joined(Pair(n), ",")), member("text", TextOf(n)),
         member("list", Joined(ListOf(n), " ")), IsMissing(n) ? "" : member("maybe", TextOf(n))},
        n, "");
  }
  return archive + TarEnd();
}

std::string NpzFile(int64_t first, int64_t records, int64_t /*chunk_records*/) {
  std::string numbers, negative, halves, pairs, small;
  for (int64_t n = first; n < first + records; ++n) {
    numbers += LittleEndian(n);
    negative += LittleEndian(-n);
    halves += LittleEndian(Half(n));
    for (const float value : Pair(n)) pairs += LittleEndian(value);
    small += LittleEndian(Small(n));
  }
  return Zip({{"num.npy", Npy("<i8", StrCat("(", records, ",)"), numbers), true},
              {"half.npy", Npy("<f4", StrCat("(", records, ",)"), halves)},
              {"pair.npy", Npy("<f4", StrCat("(", records, ", 2)"), pairs), true},
              {"neg.npy", Npy("<i8", StrCat("(", records, ",)"), negative)},
              {"small.npy", Npy("<i2", StrCat("(", records, ",)"), small)}});
}

const MdsTestColumns kMdsColumns = {{"half", "float32", 4}, {"text", "str", 0},
                                    {"num", "int", 8},      {"list", "ndarray:int64", 0},
                                    {"small", "int16", 2},  {"pair", "ndarray:float32:2", 8}};

std::string MdsShard(int64_t first, int64_t records, int64_t /*chunk_records*/) {
  Strings samples;
  for (int64_t n = first; n < first + records; ++n) {
    const std::vector<int64_t> list = ListOf(n);
    std::string array = LittleEndian(uint8_t{4}) + LittleEndian(static_cast<uint8_t>(list.size()));
    for (const int64_t value : list) array += LittleEndian(value);
    std::string pair;
    for (const float value : Pair(n)) pair += LittleEndian(value);
    samples.push_back(MdsSample(kMdsColumns, {LittleEndian(Half(n)), TextOf(n), LittleEndian(n),
                                              array, LittleEndian(Small(n)), pair}));
  }
  return MdsShardOf(samples);
}

// ---- Columns. ----

// A file of the format `columns` (column_format.cc).
std::string ColumnFile(int64_t first, int64_t records, int64_t chunk_records) {
  std::string file = LittleEndian(chunk_records);
  for (int64_t i = 0; i < records; ++i) file += LittleEndian(first + i);
  return file;
}

std::string ParquetFile(int64_t first, int64_t records, int64_t chunk_records) {
  ParquetWriter file;
  for (int64_t begin = 0; begin == 0 || begin < records; begin += chunk_records) {
    std::vector<int64_t> numbers, items, negative, maybe;
    std::vector<float> halves, pairs;
    std::vector<int32_t> small;
    std::vector<int> list_sizes, pair_sizes, there;
    Strings texts;
    const int64_t end = std::min(records, begin + chunk_records);
    for (int64_t n = first + begin; n < first + end; ++n) {
      numbers.push_back(n);
      negative.push_back(-n);
      halves.push_back(Half(n));
      for (const float value : Pair(n)) pairs.push_back(value);
      pair_sizes.push_back(2);
      small.push_back(Small(n));
      for (const int64_t value : ListOf(n)) items.push_back(value);
      list_sizes.push_back(static_cast<int>(ListOf(n).size()));
      there.push_back(IsMissing(n) ? 0 : 1);
      if (!IsMissing(n)) maybe.push_back(n);
      texts.push_back(TextOf(n));
    }
    file.BeginRowGroup(end - begin);
    file.Add("half", halves);
    file.AddTexts("text", texts);
    file.BeginStruct("in", 3);
    file.Add("neg", negative);
    file.AddTexts("text", texts);
    file.Add("small", small);
    file.AddLists("list", items, list_sizes);
    file.Add("num", numbers);
    file.AddOptional("maybe", maybe, there);
    file.AddLists("pair", pairs, pair_sizes);
    file.Add("num", negative);
  }
  return file.Finish();
}

std::vector<ListedField> FieldsOfColumns() {
  return {{"#4 int64[]", kNumber},
          {"#4 float32[]", kNumberAsFloat},
          {"half float32[]", kHalf},
          {"text bytes", BytesOfText},
          {"in.neg float32[]", kNegative},
          {"in.neg int64[]", kNegativeAsInteger},
          {"in.text bytes", BytesOfText},
          {"in.#2 int16[]", kSmall},
          {"list int64[-1]", ListAs<int64_t>},
          {"list float32[-1]", ListAs<float>},
          {"maybe int64[] default=-3", MaybeOr},
          {"maybe int64[] missing=skip", kNumber, IsMissing},
          {"pair float32[2]", PairAs<float>},
          {"pair int64[2]", PairAs<int64_t>}};
}

std::vector<FieldFormat> MakeFormats() {
  std::vector<FieldFormat> formats(1);
  FieldFormat* format = &formats.back();
  format->tag = "csv";
  format->fields = {{"#0 int64[]", kNumber},
                    {"#0 float32[]", kNumberAsFloat},
                    {"#1 float32[]", kHalf},
                    {"#2-#3 float32[2]", PairAs<float>},
                    {"#3 int64[]", kNegativeAsInteger},
                    {"#3 float32[]", kNegative},
                    {"#4 bytes", BytesOfText},
                    {"#5 int64[-1] separator=|", ListAs<int64_t>},
                    {"#6 int16[]", kSmall},
                    {"#7 int64[] default=-3", MaybeOr},
                    {"#7 int64[] missing=skip", kNumber, IsMissing}};
  format->content = Lines<Csv>;
  format->is_stream = format->compresses = true;

  formats.emplace_back();
  format = &formats.back();
  format->tag = "tsv";
  format->fields = {{"num int64[]", kNumber},
                    {"num float32[]", kNumberAsFloat},
                    {"half float32[]", kHalf},
                    {"neg float32[]", kNegative},
                    {"text bytes", BytesOfText},
                    {"text int64[]", kNumber},
                    {"neg int64[]", kNegativeAsInteger},
                    {"list int64[-1] separator=;", ListAs<int64_t>}};
  format->content = TsvFile;
  format->compresses = format->has_header = true;

  formats.emplace_back();
  format = &formats.back();
  format->tag = "jsonl";
  format->fields = {{"num int64[]", kNumber},
                    {"num float32[]", kNumberAsFloat},
                    {"/in/half float32[]", kHalf},
                    {"/in/neg int64[]", kNegativeAsInteger},
                    {"/in/neg float32[]", kNegative},
                    {"pair float32[2]", PairAs<float>},
                    {"text bytes", BytesOfText},
                    {"list int64[-1]", ListAs<int64_t>},
                    {"list float32[-1]", ListAs<float>},
                    {"small int16[]", kSmall},
                    {"small int64[]", kSmallAsInteger},
                    {"maybe int64[] default=-3", MaybeOr},
                    {"maybe int64[] missing=skip", kNumber, IsMissing}};
  format->content = Lines<Jsonl>;
  format->compresses = true;

  formats.emplace_back();
  format = &formats.back();
  format->tag = "libsvm";
  format->fields = {{"label float32[]", kNumberAsFloat},
                    {"label int64[]", kNumber},
                    {"qid int64[]", kSmallAsInteger},
                    {"qid float32[]", One<Small, float>},
                    {"index int64[-1]",
                     [](int64_t n) {
                       return SlotOf<int64_t>({2}, {n + 2, n + 3}, {{0, 2}});
                     }},
                    {"value float32[-1]", [](int64_t n) {
                       return SlotOf<float>({2}, {Negative(n), Half(n)}, {{0, 2}});
                     }}};
  format->content = Lines<Libsvm>;
  format->compresses = true;

  formats.emplace_back();
  format = &formats.back();
  format->tag = "multislot";
  format->fields = {{"#0 int64[]", kNumber},
                    {"#1 float32[2]", PairAs<float>},
                    {"#2 int64[-1]", ListAs<int64_t>},
                    {"#3 float32[]", kHalf},
                    {"#4 int64[]", kNegativeAsInteger}};
  format->content = Lines<MultiSlot>;
  format->compresses = true;
  format->repeats = false;

  formats.emplace_back();
  format = &formats.back();
  format->tag = "ctr_svm";
  format->fields = {{"label int64[]", [](int64_t) { return SlotOf<int64_t>({1}, {1}); }},
                    {"7 int64[-1]",
                     [](int64_t n) {
                       return SlotOf<int64_t>({1}, {n}, {{0, 1}});
                     }},
                    {"3 int64[-1]",
                     [](int64_t n) {
                       return SlotOf<int64_t>({1}, {n + 1}, {{0, 1}});
                     }},
                    {"9 int64[-1] missing=default", [](int64_t) {
                       return SlotOf<int64_t>({0}, {}, {{0, 0}});
                     }}};
  format->content = Lines<CtrSvm>;
  format->compresses = true;
  format->repeats = false;

  formats.emplace_back();
  format = &formats.back();
  format->tag = "tfrecord";
  format->fields = {{"num int64[]", kNumber},
                    {"num float32[]", kNumberAsFloat},
                    {"half float32[]", kHalf},
                    {"neg int64[]", kNegativeAsInteger},
                    {"neg float32[]", kNegative},
                    {"pair float32[2]", PairAs<float>},
                    {"text bytes", BytesOfText},
                    {"text int64[] decode=text", kNumber},
                    {"list int64[-1]", ListAs<int64_t>},
                    {"list float32[-1]", ListAs<float>},
                    {"maybe int64[] default=-3", MaybeOr},
                    {"maybe int64[] missing=skip", kNumber, IsMissing}};
  format->content = TFRecordFile;
  format->is_stream = format->compresses = true;
  format->repeats = false;

  formats.emplace_back();
  format = &formats.back();
  format->tag = "mxnet";
  format->fields = {{"label float32[]", kNumberAsFloat},
                    {"label int64[]", kNumber},
                    {"id int64[]", kNumber},
                    {"id2 int64[]", kSmallAsInteger},
                    {"image bytes", BytesOfText}};
  format->content = MxnetFile;
  format->is_stream = format->compresses = true;

  formats.emplace_back();
  format = &formats.back();
  format->tag = "tar";
  format->fields = {{"num int64[] decode=text", kNumber},
                    {"num float32[] decode=text", kNumberAsFloat},
                    {"num bytes", BytesOfText},
                    {"half float32[] decode=text", kHalf},
                    {"neg float32[] decode=text", kNegative},
                    {"pair float32[2] decode=text", PairAs<float>},
                    {"text bytes", BytesOfText},
                    {"list int64[-1] decode=text", ListAs<int64_t>},
                    {"maybe int64[] decode=text default=-3", MaybeOr},
                    {"maybe int64[] decode=text missing=skip", kNumber, IsMissing}};
  format->content = TarFile;
  format->compresses = true;

  formats.emplace_back();
  format = &formats.back();
  format->tag = "npz";
  format->fields = {{"num", kNumber},
                    {"num.npy int64[]", kNumber},
                    {"half float32[]", kHalf},
                    {"pair float32[2]", PairAs<float>},
                    {"neg", kNegativeAsInteger},
                    {"small", kSmall}};
  format->content = NpzFile;
  format->is_stream = true;  // some arrays are deflated

  formats.emplace_back();
  format = &formats.back();
  format->tag = "mds";
  format->tells_records = true;
  format->fields = {{"num int64[]", kNumber},           {"num float32[]", kNumberAsFloat},
                    {"half float32[]", kHalf},          {"pair float32[2]", PairAs<float>},
                    {"small int16[]", kSmall},          {"small int64[]", kSmallAsInteger},
                    {"text bytes", BytesOfText},        {"text int64[] decode=text", kNumber},
                    {"list int64[-1]", ListAs<int64_t>}};
  format->content = MdsShard;
  format->has_shards = true;

  formats.emplace_back();
  format = &formats.back();
  format->tag = "columns";
  format->tells_records = true;
  format->fields = FieldsOfColumns();
  format->fields.push_back({"word bytes", BytesOfText});
  format->fields.push_back({"#8 int64[]", kNegativeAsInteger});
  format->content = ColumnFile;
  format->has_chunks = true;

  const char* const plugin = std::getenv("MILLHOPPER_PARQUET_PLUGIN");
  if (plugin == nullptr) return formats;
  LoadPlugin(plugin);
  formats.emplace_back();
  format = &formats.back();
  format->tag = "parquet";
  format->tells_records = true;
  format->fields = FieldsOfColumns();
  format->fields.push_back({"#7 int64[]", kNegativeAsInteger});
  format->content = ParquetFile;
  format->has_chunks = true;
  return formats;
}

}  // namespace

const std::vector<FieldFormat>& FieldFormats() {
  static const auto* const formats = new std::vector<FieldFormat>(MakeFormats());
  return *formats;
}

ColumnPtr ColumnsAbout(const std::vector<int64_t>& about) {
  const auto records = static_cast<int64_t>(about.size());
  std::vector<int64_t> items, negative;
  std::vector<float> halves, pairs;
  std::vector<int16_t> small, places;
  std::vector<int32_t> offsets = {0};
  std::vector<int> there;
  Strings texts;
  for (const int64_t n : about) {
    places.push_back(static_cast<int16_t>(places.size()));
    negative.push_back(-n);
    halves.push_back(Half(n));
    for (const float value : Pair(n)) pairs.push_back(value);
    small.push_back(Small(n));
    for (const int64_t value : ListOf(n)) items.push_back(value);
    offsets.push_back(static_cast<int32_t>(items.size()));
    there.push_back(IsMissing(n) ? 0 : 1);
    texts.push_back(TextOf(n));
  }
  const ColumnPtr word = Numbers<int16_t>("word", "s", places);
  return Make(
      "", "+s", records, {""},
      {Numbers<float>("half", "f", halves), Texts("text", texts),
       Make("in", "+s", records, {""},
            {Numbers<int64_t>("neg", "l", negative), Texts("text", texts),
             Numbers<int16_t>("small", "s", small)}),
       List("list", offsets, Numbers<int64_t>("item", "l", items)),
       Numbers<int64_t>("num", "l", about), Numbers<int64_t>("maybe", "l", about, Bits(there)),
       Make("pair", "+w:2", records, {""}, {Numbers<float>("item", "f", pairs)}),
       word->SetDictionary(word, Texts("", texts)),
       Numbers<int64_t>("num", "l", negative)});  // a second column of this name
}

const FieldFormat& FieldFormatOf(const std::string& tag) {
  for (const FieldFormat& format : FieldFormats()) {
    if (format.tag == tag) return format;
  }
  Throw(ErrorCode::kInvalidArgument, "no files with fields of the format ", tag);
}

void WriteFieldFile(const FieldFormat& format, const std::string& path, int64_t first,
                    int64_t records, int64_t chunk_records) {
  const std::string content = format.content(first, records, chunk_records);
  if (!format.has_shards) return WriteFile(path, content);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::filesystem::create_directories(folder);
  WriteFile((folder / "shard").string(), content);
  WriteFile(
      path,
      MdsIndexOf({MdsEntry(kMdsColumns, "shard", content.size(), static_cast<uint64_t>(records))}));
}

bool RecordWithFields(const FieldFormat& format, const std::vector<std::string>& entries, int64_t n,
                      ElementValue* record) {
  record->clear();
  for (const std::string& entry : entries) {
    const auto field = std::find_if(format.fields.begin(), format.fields.end(),
                                    [&](const ListedField& one) { return one.entry == entry; });
    Require(field != format.fields.end(), format.tag, " has no field ", entry);
    if (field->leaves_out != nullptr && field->leaves_out(n)) return false;
    record->push_back(field->value(n));
  }
  return true;
}

}  // namespace millhopper

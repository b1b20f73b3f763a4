// SPDX-License-Identifier: Apache-2.0
// The format `libsvm`: a line "label index:value index:value ... # comment" for each record, with
// "qid:7" after the label in data for ranking (www.csie.ntu.edu.tw/~cjlin/libsvm, README, and
// www.cs.cornell.edu/people/tj/svm_light); and `libffm`, "label field:index:value ...", for
// field-aware factorization machines (www.csie.ntu.edu.tw/~cjlin/libffm).
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "readers/fields/guessed_type.h"
#include "readers/formats/sparse_text/sparse_text.h"

namespace millhopper {
namespace {

// Which of the two formats.
struct Notation {
  const char* format;
  const char* names;  // what fields may be called
  bool has_field;     // whether a feature begins with the number of its field
};
constexpr Notation kLibsvm = {"libsvm", "label, qid, index, value, dense", false};
constexpr Notation kLibffm = {"libffm", "label, field, index, value", true};

class LibsvmFormat final : public SparseTextFormat {
 public:
  LibsvmFormat(const Notation& notation, const FormatArguments& arguments,
               std::vector<Field> fields, Others others)
      : SparseTextFormat(arguments, std::move(fields)), notation_(notation), others_(others) {
    if (arguments.attributes.Has("first_index")) {
      first_index_ = arguments.attributes.Get<int32_t>("first_index");
    }
    for (const Field& field : this->fields()) {
      Check(field);
      has_qid_ = has_qid_ || field.name == "qid";
    }
  }

 private:
  // What a line says.
  struct Line {
    std::string_view label, qid, features;
    size_t feature_count = 0;
  };

  void Check(const Field& field) const {
    const std::string& name = field.name;
    const std::string where = StrCat("field '", Escaped(name), "': ");
    const bool of_features = name == "index" || name == "value" || name == "field";
    const bool of_one = notation_.has_field ? name == "field" : name == "qid" || name == "dense";
    Require(name == "label" || name == "index" || name == "value" || of_one, where, "a line of ",
            notation_.format, " has only ", notation_.names);
    Require(!field.bytes && !field.names_things() && field.decode == Field::Decode::kNone, where,
            "bytes, hash=, vocab= and decode= are for text, and a line of ", notation_.format,
            " has numbers");
    Require(!of_features || (field.sequence && field.values == 1), where,
            "a record has any number of them, so its dims are [-1]");
    Require(name != "dense" || !field.sequence, where,
            "its dims say how many features there are, such as float32[13]");
    Require(name != "qid" || (!field.sequence && field.values == 1), where, "it is one number");
  }

  Line Parse(std::string_view text) const {
    text = text.substr(0, text.find('#'));
    Line line;
    Tokens tokens(text);
    std::string_view token;
    if (!tokens.Next(&line.label)) Throw(ErrorCode::kDataLoss, "the line has no label");
    line.features = tokens.rest();
    while (tokens.Next(&token)) {
      if (!notation_.has_field && token.substr(0, 4) == "qid:" && line.qid.empty() &&
          line.feature_count == 0) {
        line.qid = token.substr(4);
        line.features = tokens.rest();
      } else {
        ++line.feature_count;
      }
    }
    return line;
  }

  // What a feature says, as text.
  struct Feature {
    std::string_view field, index, value;
  };

  template <typename F>
  void ForEachFeature(const Line& line, const F& function) const {
    Tokens tokens(line.features);
    for (std::string_view token; tokens.Next(&token);) {
      Feature feature;
      std::string_view rest = token;
      size_t colon = rest.find(':');
      if (notation_.has_field && colon != std::string_view::npos) {
        feature.field = rest.substr(0, colon);
        rest.remove_prefix(colon + 1);
        colon = rest.find(':');
      }
      if (colon == std::string_view::npos) {
        Throw(ErrorCode::kDataLoss, "'", Escaped(std::string(token.substr(0, 60))), "' is no ",
              notation_.has_field ? "field:" : "", "index:value");
      }
      feature.index = rest.substr(0, colon);
      feature.value = rest.substr(colon + 1);
      function(feature);
    }
  }

  void LoadLine(std::string_view text, FieldRows* rows) const override {
    const Line line = Parse(text);
    if (others_ == Others::kError && !has_qid_ && !line.qid.empty()) {
      RefuseOther("the line has a qid:", "qid int64[]");
    }
    for (size_t slot = 0; slot < fields().size(); ++slot) {
      ForField(fields()[slot], [&] { LoadSlot(line, slot, rows); });
    }
  }

  void LoadSlot(const Line& line, size_t slot, FieldRows* rows) const {
    const Field& field = fields()[slot];
    if (field.name == "label") {
      size_t count = 0;
      ForEachPart(line.label, ',', [&](std::string_view) { ++count; });
      char* place = rows->Take(slot, count);
      ForEachPart(line.label, ',', [&](std::string_view label) {
        field.ReadAll(label, place);
        place += field.value_bytes();
      });
    } else if (field.name == "qid") {
      if (line.qid.empty()) return rows->AppendDefault(slot, "the line has no qid:");
      field.ReadAll(line.qid, rows->Take(slot, 1));
    } else if (field.name == "dense") {
      LoadDense(line, slot, rows);
    } else {
      const auto part = field.name == "index"   ? &Feature::index
                        : field.name == "value" ? &Feature::value
                                                : &Feature::field;
      char* place = rows->Take(slot, line.feature_count);
      ForEachFeature(line, [&](const Feature& feature) {
        field.ReadAll(feature.*part, place);
        place += field.value_bytes();
      });
    }
  }

  void LoadDense(const Line& line, size_t slot, FieldRows* rows) const {
    static const Field index_field = ParseFields({"index int64[]"}).front();
    const Field& field = fields()[slot];
    char* const place = rows->Take(slot, field.values);
    field.WriteDefault(field.values, place);
    ForEachFeature(line, [&](const Feature& feature) {
      int64_t number;
      index_field.ReadAll(feature.index, reinterpret_cast<char*>(&number));
      if (number < first_index_ || number - first_index_ >= static_cast<int64_t>(field.values)) {
        Throw(ErrorCode::kDataLoss, "the index ", number, " is not in ", first_index_, " to ",
              first_index_ + static_cast<int64_t>(field.values) - 1, ", which ",
              ToString(field.slot), " has room for");
      }
      field.ReadAll(feature.value,
                    place + static_cast<size_t>(number - first_index_) * field.value_bytes());
    });
  }

  bool IsLeftOut(std::string_view text) const override {
    text = text.substr(0, text.find('#'));
    for (const Field& field : fields()) {
      if (field.missing == Field::Missing::kSkip && field.name == "qid" &&
          text.find("qid:") == std::string_view::npos) {
        return true;
      }
    }
    return false;
  }

  const Notation& notation_;
  const Others others_;
  bool has_qid_ = false;  // whether there is a field of it
  int64_t first_index_ = 1;
};

// The fields of a file for which none are given, with floats of this type.
std::vector<std::string> AllFields(const Notation& notation, DataType floats) {
  const char* const type = ToString(floats);
  std::vector<std::string> entries = {StrCat("label ", type, "[]"), "index int64[-1]",
                                      StrCat("value ", type, "[-1]")};
  if (notation.has_field) entries.insert(entries.begin() + 1, "field int64[-1]");
  return entries;
}

bool HasGroup(std::string_view line) {
  Tokens tokens(line);
  std::string_view label, group;
  return tokens.Next(&label) && tokens.Next(&group) && group.substr(0, 4) == "qid:";
}

// The same, and the number of the group where lines of a sample have one.
FittingFields GuessLibsvmFields(const std::string& path, const AttributeMap&) {
  FittingFields found{AllFields(kLibsvm, DataType::kFp64), {}};
  const std::vector<std::string> lines = FirstRecords(path);
  const auto groups = std::count_if(lines.begin(), lines.end(), HasGroup);
  if (groups == 0) return found;
  const std::string type = "int64[]";
  const bool all = static_cast<size_t>(groups) == lines.size();
  found.entries.insert(found.entries.begin() + 1, EntryFor("qid", all ? type : OrMissing(type)));
  return found;
}

constexpr char kFilesDoc[] = "; plain, gzip, zstd, lz4, bzip2, xz";

FormatSchema LibsvmSchema() {
  return std::move(
      FormatSchema(StrCat("lines \"label index:value ...\" of LIBSVM and SVMlight", kFilesDoc))
          .Extension(".svm")
          .Extension(".libsvm")
          .Extension(".svmlight")
          .InferFields(&GuessLibsvmFields)
          .Companion(kIndexAttribute, kIndexListAttribute, kIndexDoc)
          .Attr(FieldsAttribute(StrCat(kLibsvm.names,
                                       " (the values at their indices, and default= "
                                       "elsewhere); without fields they are \"label "
                                       "float64[]\", \"qid int64[]\" if there is one, \"index "
                                       "int64[-1]\", \"value float64[-1]\"; of declared slots, "
                                       "float32 and no qid")))
          .Attr(OthersAttribute())
          .Attr(AttributeSchema("first_index", int32_t{1}, "the index of the first value of dense")
                    .AtLeast(0)));
}

FormatSchema LibffmSchema() {
  return std::move(
      FormatSchema(StrCat("lines \"label field:index:value ...\" of LIBFFM", kFilesDoc))
          .Extension(".ffm")
          .Extension(".libffm")
          .InferFields([](const std::string&, const AttributeMap&) {
            return FittingFields{AllFields(kLibffm, DataType::kFp64), {}};
          })
          .Companion(kIndexAttribute, kIndexListAttribute, kIndexDoc)
          .Attr(FieldsAttribute(
              StrCat(kLibffm.names,
                     "; without fields they are \"label float64[]\", \"field int64[-1]\", \"index "
                     "int64[-1]\", \"value float64[-1]\"; of declared slots, float32"))));
}

std::unique_ptr<FileFormat> Make(const Notation& notation, const FormatArguments& arguments) {
  std::vector<Field> fields =
      ParseFields(arguments.attributes.Get<std::vector<std::string>>("fields"));
  Others others = OthersOf(arguments.attributes);
  if (fields.empty()) {  // the slots are declared, or the file can be read once only
    const bool declared = !arguments.declared.empty();
    fields = ParseFields(AllFields(notation, declared ? DataType::kFp32 : DataType::kFp64));
    const AttributeMap& given = arguments.attributes;
    const bool ignores = given.Has("others") && given.Get<std::string>("others") == "ignore";
    if (!declared && !ignores) others = Others::kError;
  }
  return std::make_unique<LibsvmFormat>(notation, arguments, std::move(fields), others);
}

std::unique_ptr<FileFormat> MakeLibsvm(const FormatArguments& arguments) {
  return Make(kLibsvm, arguments);
}

std::unique_ptr<FileFormat> MakeLibffm(const FormatArguments& arguments) {
  return Make(kLibffm, arguments);
}

REGISTER_FILE_FORMAT(libsvm, LibsvmSchema, MakeLibsvm);
REGISTER_FILE_FORMAT(libffm, LibffmSchema, MakeLibffm);

}  // namespace
}  // namespace millhopper

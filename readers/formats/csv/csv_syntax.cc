// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/csv/csv_syntax.h"

#include <cctype>
#include <cstdint>
#include <cstring>

#include "framework/base/error.h"

namespace millhopper {
namespace {

char OneCharacter(const AttributeMap& attributes, const char* name, bool may_be_empty) {
  const auto& text = attributes.Get<std::string>(name);
  if (text == "\\t") return '\t';
  if (text.empty() && may_be_empty) return 0;
  Require(text.size() == 1 && text[0] != '\n' && text[0] != '\r', name,
          " is one character other than a line end, ", may_be_empty ? "or empty, " : "", "not '",
          Escaped(text), "'",
          text.size() == 2 && text[0] == text[1]
              ? "; one of the two leaves every second column empty: #0, #2, #4 ..."
              : "");
  return text[0];
}

}  // namespace

TableSyntax SyntaxOf(const AttributeMap& attributes) {
  TableSyntax syntax;
  syntax.delimiter = OneCharacter(attributes, kTableDelimiter, true);
  if (syntax.delimiter == 0) syntax.delimiter = ',';
  syntax.quote = OneCharacter(attributes, "quote", true);
  syntax.comment = OneCharacter(attributes, "comment", true);
  syntax.separator = OneCharacter(attributes, "separator", false);
  const char delimiter = syntax.delimiter;
  Require(std::strchr("+-.\"", delimiter) == nullptr &&
              std::isalnum(static_cast<unsigned char>(delimiter)) == 0 &&
              delimiter != syntax.quote && delimiter != syntax.comment,
          "the delimiter '", Escaped(std::string(1, delimiter)),
          "' could be a part of a number, a quote or a comment");
  syntax.escape = OneCharacter(attributes, "escape", true);
  Require(syntax.escape == 0 || (syntax.escape != delimiter && syntax.escape != syntax.quote),
          "escape is the delimiter or the quote; quotes in quotes are doubled without it");
  syntax.decimal = attributes.Get<std::string>("decimal")[0];
  Require(syntax.decimal != delimiter, "decimal and delimiter are both '",
          std::string(1, delimiter), "'");
  syntax.skip_rows = static_cast<size_t>(attributes.Get<int32_t>("skip_rows"));
  const auto& ragged = attributes.Get<std::string>("ragged_rows");
  syntax.ragged_rows = ragged == "fill"  ? TableSyntax::Ragged::kFill
                       : ragged == "cut" ? TableSyntax::Ragged::kCut
                                         : TableSyntax::Ragged::kError;
  syntax.encoding = attributes.Get<std::string>(kTableEncoding);
  return syntax;
}

}  // namespace millhopper

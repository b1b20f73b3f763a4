// SPDX-License-Identifier: Apache-2.0
#include "operators/readers/support/slot_declaration.h"

#include "framework/base/error.h"
#include "proto/framework.pb.h"
#include "readers/fields/named_slots.h"

namespace millhopper {
namespace {

thread_local Declaration declared_as = nullptr;

// A literal of Python.
std::string PythonText(const std::string& text) {
  std::string literal;
  for (const char c : text) {
    if (c == '"' || c == '\\') literal.push_back('\\');
    literal.push_back(c);
  }
  return "\"" + Escaped(literal) + "\"";
}

}  // namespace

void DeclareSlots(const std::vector<SlotSpec>& slots, proto::VarDesc* variable) {
  variable->mutable_type()->set_type(proto::VarType::READER);
  for (const SlotSpec& slot : slots) {
    auto* const tensor = variable->mutable_type()->mutable_reader()->add_lod_tensor();
    tensor->mutable_tensor()->set_data_type(
        static_cast<proto::VarType::Type>(static_cast<int>(slot.dtype)));
    for (const int64_t dim : slot.dims) tensor->mutable_tensor()->add_dims(dim);
    if (slot.lod_level > 0) tensor->set_lod_level(slot.lod_level);
  }
}

std::string ProgramDeclaration(const std::vector<SlotSpec>& slots,
                               const std::vector<std::string>&) {
  proto::VarDesc variable;
  DeclareSlots(slots, &variable);
  return StrCat("type { ", variable.type().ShortDebugString(), " }");
}

std::string PythonDeclaration(const std::vector<SlotSpec>& slots,
                              const std::vector<std::string>& names) {
  return StrCat(ReaderDeclaration(slots, names), ", in layers ", LayersDeclaration(slots, names));
}

std::string ReaderDeclaration(const std::vector<SlotSpec>& slots,
                              const std::vector<std::string>& names) {
  std::string by_name;
  for (size_t i = 0; i < slots.size(); ++i) {
    const SlotSpec& slot = slots[i];
    const std::string name = names.empty() ? StrCat("slot", i) : names[i];
    by_name +=
        StrCat(i == 0 ? "" : ", ", PythonText(name), ": (\"", ToString(slot.dtype), "\", ",
               ToString(slot.dims), slot.lod_level > 0 ? StrCat(", ", slot.lod_level) : "", ")");
  }
  return StrCat("slots={", by_name, "}");
}

std::string LayersDeclaration(const std::vector<SlotSpec>& slots, const std::vector<std::string>&) {
  std::string shapes, dtypes, levels;
  bool any_levels = false;
  for (const SlotSpec& slot : slots) {
    const char* const comma = shapes.empty() ? "" : ", ";
    shapes += comma + ToString(slot.dims);
    dtypes += StrCat(comma, "\"", ToString(slot.dtype), "\"");
    levels += StrCat(comma, slot.lod_level);
    any_levels = any_levels || slot.lod_level > 0;
  }
  return StrCat("shapes=[", shapes, "], dtypes=[", dtypes, "]",
                any_levels ? StrCat(", lod_levels=[", levels, "]") : "");
}

std::string FlagDeclaration(const std::vector<SlotSpec>& slots,
                            const std::vector<std::string>& names) {
  return StrCat("--slots='", ToText({slots, names}), "'");
}

DeclaredAs::DeclaredAs(Declaration declaration) : outer_(declared_as) { declared_as = declaration; }

DeclaredAs::~DeclaredAs() { declared_as = outer_; }

Declaration DeclarationIn(const Program& program) {
  if (declared_as != nullptr) return declared_as;
  const bool is_text = program.OperatorPlace(0, 0).line > 0;
  return is_text ? &ProgramDeclaration : &ReaderDeclaration;
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Slots as programs and Python declare them, ready to be pasted.
#ifndef MILLHOPPER_OPERATORS_READERS_SUPPORT_SLOT_DECLARATION_H_
#define MILLHOPPER_OPERATORS_READERS_SUPPORT_SLOT_DECLARATION_H_

#include <string>
#include <vector>

#include "framework/program/declarations.h"
#include "framework/program/program.h"
#include "framework/tensor/rows.h"

namespace millhopper {

// Makes a variable a reader with these slots.
void DeclareSlots(const std::vector<SlotSpec>& slots, proto::VarDesc* variable);

// For a program in text: "type { type: READER reader { lod_tensor { ... } } }". It has no names.
std::string ProgramDeclaration(const std::vector<SlotSpec>& slots,
                               const std::vector<std::string>& names);

// For Python, as Reader and as layers take them:
// 'slots={"x": ("uint8", [-1, 4], 1)}, in layers shapes=[[-1, 4]], dtypes=["uint8"],
// lod_levels=[1]'. Where there are no names, they are slot0, slot1 ...
std::string PythonDeclaration(const std::vector<SlotSpec>& slots,
                              const std::vector<std::string>& names);

// For Reader alone: 'slots={"x": ("uint8", [-1, 4], 1)}'.
std::string ReaderDeclaration(const std::vector<SlotSpec>& slots,
                              const std::vector<std::string>& names);

// For layers alone: 'shapes=[[-1, 4]], dtypes=["uint8"], lod_levels=[1]'.
std::string LayersDeclaration(const std::vector<SlotSpec>& slots,
                              const std::vector<std::string>& names);

// For the commands that read files: "--slots='x uint8[-1,4]:1'".
std::string FlagDeclaration(const std::vector<SlotSpec>& slots,
                            const std::vector<std::string>& names);

using Declaration = decltype(&ProgramDeclaration);

// While one exists, errors of programs that this thread runs show slots in this notation. Programs
// do not tell it themselves: those of layers are turned into text, so that errors can name lines,
// and those of a command look like those of Reader.
class DeclaredAs {
 public:
  explicit DeclaredAs(Declaration declaration);
  ~DeclaredAs();
  DeclaredAs(const DeclaredAs&) = delete;
  DeclaredAs& operator=(const DeclaredAs&) = delete;

 private:
  const Declaration outer_;
};

// The notation for a program that this thread runs: that of DeclaredAs, or else that of programs in
// text, or of Reader.
Declaration DeclarationIn(const Program& program);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_READERS_SUPPORT_SLOT_DECLARATION_H_

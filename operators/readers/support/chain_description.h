// SPDX-License-Identifier: Apache-2.0
// What the elements of a chain of readers depend on, as text: two chains with the same text yield
// the same elements. For what outlives a process, such as a cache on a disk.
#ifndef MILLHOPPER_OPERATORS_READERS_SUPPORT_CHAIN_DESCRIPTION_H_
#define MILLHOPPER_OPERATORS_READERS_SUPPORT_CHAIN_DESCRIPTION_H_

#include <optional>
#include <set>
#include <string>

#include "framework/program/operator.h"
#include "readers/cache/element_cache_file.h"

namespace millhopper {

// The text covers
// - the version of Millhopper and of its random orders, and the run's --seed;
// - each operator that creates a reader of the chain, with its attributes and the declaration of
//   its reader, what else its schema says that they depend on (OpSchema::DependsOn), and each block
//   that it runs for elements, with the bytes of the variables from outside that the block reads,
//   which it reads as they are when the reader is created;
// - each file that an attribute of these operators names, also by a pattern or as a word of a
//   longer text (fields), each in a folder that an attribute names or a format reads
//   (AttributeSchema::NamesFolders, FormatSchema::Folders), and each in the folder of a file that
//   names files beside it (FormatSchema::NamesFilesBeside): its path, its size, and the time of its
//   last change.
//
// Some dependencies are unknown here: elements that come from objects of the process
// (OpSchema::FedByProcess), as those of Python do, code of plugins, and files that other files name
// anywhere (FormatSchema::NamesFilesAnywhere). For a chain with one of these the user gives a text
// that changes with the data: `data_version`.
class ChainDescription {
 public:
  // Describes the reader of the operator's input UnderlyingReader and those below it, and notes the
  // state of the files. Throws kInvalidArgument for unknown dependencies, including readers that
  // another program creates, unless `data_version` is given; and for weights in a variable, which
  // may change with each pass.
  ChainDescription(OpContext& context, const std::string& data_version);

  // Looks at the files. Any thread, also when the program is gone. Throws kIo, and kDataLoss if the
  // files have changed since this object was made, or since an operator of the program loaded them
  // before that: data that readers and operators keep may then be older than the files.
  std::string Text() const;

 private:
  class Walk;

  std::string TextNow() const;

  std::string program_;            // all but the files
  std::set<std::string> names_;    // texts that may name files
  std::set<std::string> folders_;  // names of folders, of which all files count
  // The digest of the text then; none if operators had older files, or it could not be found out.
  std::optional<CacheKey> at_creation_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_READERS_SUPPORT_CHAIN_DESCRIPTION_H_

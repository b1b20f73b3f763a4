// SPDX-License-Identifier: Apache-2.0
// Files of the formats of which there are indexes.
#ifndef MILLHOPPER_TESTS_FILES_INDEXABLE_KINDS_H_
#define MILLHOPPER_TESTS_FILES_INDEXABLE_KINDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "tests/files/mxnet_records.h"
#include "tests/files/record_files.h"
#include "tests/files/tars.h"
#include "tests/files/tfrecords.h"

namespace millhopper {

// A format, and files of it.
struct IndexableKind {
  std::string tag;
  std::vector<std::string> fields;
  // The bytes of a file of these texts, which have no characters with a meaning.
  std::function<std::string(const std::vector<std::string>& texts)> file;
};

inline std::ostream& operator<<(std::ostream& out, const IndexableKind& kind) {
  return out << kind.tag;
}

// Each text between two others.
inline std::string Between(const std::string& before, const std::vector<std::string>& texts,
                           const std::string& behind) {
  std::string file;
  for (const std::string& text : texts) file += before + text + behind;
  return file;
}

// Those in which only reading tells where records begin. A file of chunks that begin at other
// places than lines do.
inline const std::vector<IndexableKind>& SearchedKinds() {
  using Texts = std::vector<std::string>;
  static const auto* const kinds = new std::vector<IndexableKind>{
      {"text", {}, [](const Texts& texts) { return Between("", texts, "\r\n"); }},
      {"csv",
       {"text bytes"},
       [](const Texts& texts) { return "n,text\n" + Between("7,\"two\nlines, ", texts, "\"\n"); }},
      {"tsv",
       {"text bytes"},
       [](const Texts& texts) { return "text\n" + Between("", texts, "\n"); }},
      {"jsonl",
       {"text bytes"},
       [](const Texts& texts) { return Between("{\"text\": \"", texts, "\"}\n\n"); }},
      {"libffm",
       {"label int64[]"},
       [](const Texts& texts) {
         std::string file;
         for (const std::string& text : texts) {
           file += StrCat(std::atoi(text.c_str()), " 0:1:2 # ", text, "\n");
         }
         return file;
       }},
      {"libsvm",
       {"label int64[]"},
       [](const Texts& texts) {
         std::string file;
         for (const std::string& text : texts) {
           file += StrCat(std::atoi(text.c_str()), " 1:2 # ", text, "\n");
         }
         return file;
       }},
      {"tfrecord", {}, [](const Texts& texts) { return TFRecords(texts); }},
      {"mxnet", {}, [](const Texts& texts) { return MxnetRecords(texts); }}};
  return *kinds;
}

// All of them.
inline const std::vector<IndexableKind>& IndexableKinds() {
  using Texts = std::vector<std::string>;
  static const auto* const kinds = [] {
    auto* const all = new std::vector<IndexableKind>(SearchedKinds());
    // A number for each fourth letter, so that the files are about as large as the others.
    all->push_back({"multislot", {"a int64[-1]"}, [](const Texts& texts) {
                      std::string file;
                      for (const std::string& text : texts) {
                        file += std::to_string((text.size() + 3) / 4);
                        for (size_t i = 0; i < text.size(); i += 4) {
                          file += " " + std::to_string(int{text[i]});
                        }
                        file += "\n";
                      }
                      return file;
                    }});
    all->push_back({"ctr_svm", {"label int64[]", "1 int64[-1]"}, [](const Texts& texts) {
                      std::string file;
                      for (const std::string& text : texts) {
                        file += "1";
                        for (size_t i = 0; i < text.size(); i += 4) {
                          file += " " + std::to_string(int{text[i]}) + ":1";
                        }
                        file += "\n";
                      }
                      return file;
                    }});
    all->push_back({"recordio", {}, [](const Texts& texts) {
                      std::string file;
                      for (size_t i = 0; i < texts.size(); i += 100) {
                        const size_t end = std::min(texts.size(), i + 100);
                        file += ChunkOf(Texts(texts.begin() + static_cast<int64_t>(i),
                                              texts.begin() + static_cast<int64_t>(end)));
                      }
                      return file;
                    }});
    all->push_back({"tar", {"txt bytes"}, [](const Texts& texts) {
                      TarFiles files;
                      for (size_t i = 0; i < texts.size(); ++i) {
                        files.emplace_back(StrCat(i, ".txt"), texts[i]);
                      }
                      return TarOf(files);
                    }});
    return all;
  }();
  return *kinds;
}

inline std::string Letters(size_t size, char first) {
  std::string letters(size, ' ');
  for (size_t i = 0; i < size; ++i) letters[i] = static_cast<char>('a' + (first + i) % 26);
  return letters;
}

// Texts that differ, of at least `size` letters each.
inline std::vector<std::string> TextsOf(size_t count, size_t size) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    texts.push_back(std::to_string(i) + Letters(size + i % 97, static_cast<char>(i % 26)));
  }
  return texts;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_INDEXABLE_KINDS_H_

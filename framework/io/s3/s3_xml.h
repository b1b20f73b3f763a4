// SPDX-License-Identifier: Apache-2.0
// The XML with which servers of the S3 protocol answer.
#ifndef MILLHOPPER_FRAMEWORK_IO_S3_S3_XML_H_
#define MILLHOPPER_FRAMEWORK_IO_S3_S3_XML_H_

#include <functional>
#include <string>
#include <string_view>

namespace millhopper {

// Calls take(path, text) at the end of each element, in order. The path is that of names from the
// root, such as "Error/Code"; the text is what stands in the element itself, not in those within.
// Throws kDataLoss if the document is not whole, has a document type, or is nested too deeply; what
// `take` throws is thrown on.
void ReadXml(std::string_view document,
             const std::function<void(const std::string& path, const std::string& text)>& take);

// What an answer that is an error says.
struct S3Error {
  std::string code, message, region;  // "" where it does not say
};

// Of a document that is no whole error, the parts that there are.
S3Error ReadS3Error(std::string_view document);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_S3_S3_XML_H_

// SPDX-License-Identifier: Apache-2.0
// The XML with which servers of the S3 protocol answer.
#ifndef MILLHOPPER_FRAMEWORK_IO_S3_S3_XML_H_
#define MILLHOPPER_FRAMEWORK_IO_S3_S3_XML_H_

#include <string>
#include <string_view>

#include "framework/io/xml/xml.h"

namespace millhopper {

// Reads what a server has sent (ReadXml).
void ReadServersXml(std::string_view document, const TakeXmlElement& take);

// What an answer that is an error says.
struct S3Error {
  std::string code, message, region;  // "" where it does not say
};

// Of a document that is no whole error, the parts that there are.
S3Error ReadS3Error(std::string_view document);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_S3_S3_XML_H_

// SPDX-License-Identifier: Apache-2.0
#include "framework/io/s3/s3_xml.h"

#include "framework/base/error.h"
#include "framework/io/xml/xml.h"

namespace millhopper {

void ReadServersXml(std::string_view document, const TakeXmlElement& take) {
  ReadXml(document, "the server's XML", take);
}

S3Error ReadS3Error(std::string_view document) {
  S3Error error;
  try {
    ReadServersXml(document, [&error](const std::string& path, const std::string& text) {
      if (path == "Error/Code") error.code = text;
      if (path == "Error/Message") error.message = text;
      if (path == "Error/Region") error.region = text;
    });
  } catch (const Error&) {  // proxies answer in HTML, for example
  }
  return error;
}

}  // namespace millhopper

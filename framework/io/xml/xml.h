// SPDX-License-Identifier: Apache-2.0
// Documents of XML, none of which is trusted.
#ifndef MILLHOPPER_FRAMEWORK_IO_XML_XML_H_
#define MILLHOPPER_FRAMEWORK_IO_XML_XML_H_

#include <functional>
#include <string>
#include <string_view>

namespace millhopper {

using TakeXmlElement = std::function<void(const std::string& path, const std::string& text)>;

// Calls take(path, text) at the end of each element, in order. The path is that of names from the
// root, such as "Error/Code"; the text is what stands in the element itself, not in those within.
// Throws kDataLoss with `what` the document is, such as "the server's XML", and the line, if the
// document is not whole, has a document type, or is nested too deeply; what `take` throws is thrown
// on, an Error with the line.
void ReadXml(std::string_view document, const std::string& what, const TakeXmlElement& take);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_XML_XML_H_

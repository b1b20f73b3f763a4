// SPDX-License-Identifier: Apache-2.0
#include "framework/io/xml/xml.h"

#include <expat.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr size_t kMostNesting = 16;
constexpr size_t kFedAtOnce = size_t{1} << 20;

// One document. Exceptions must not pass through expat, which is C, so they are kept meanwhile.
class XmlReader {
 public:
  XmlReader(const std::string& what, const TakeXmlElement& take)
      : what_(what), take_(take), parser_(XML_ParserCreate(nullptr)) {
    if (parser_ == nullptr) Throw(ErrorCode::kResourceLimit, "no memory to read XML");
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), &OnBegin, &OnEnd);
    XML_SetCharacterDataHandler(parser_.get(), &OnText);
    // A document type could define entities that grow without end or name other files.
    XML_SetStartDoctypeDeclHandler(parser_.get(), &OnDocumentType);
  }

  void Read(std::string_view document) {
    for (bool last = false; !last;) {
      const std::string_view part = document.substr(0, kFedAtOnce);
      document.remove_prefix(part.size());
      last = document.empty();
      const XML_Status status =
          XML_Parse(parser_.get(), part.data(), static_cast<int>(part.size()), last ? 1 : 0);
      if (thrown_) std::rethrow_exception(thrown_);
      if (status == XML_STATUS_OK) continue;
      const char* const problem = XML_ErrorString(XML_GetErrorCode(parser_.get()));
      Throw(ErrorCode::kDataLoss, what_,
            " is not whole: ", refused_ != nullptr ? refused_ : problem, " in line ",
            XML_GetCurrentLineNumber(parser_.get()));
    }
  }

 private:
  struct FreeParser {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };
  struct Element {
    size_t path_size;  // of what it lies in
    std::string text;
  };

  template <typename Work>
  static void Guarded(void* reader, const Work& work) {
    auto* const self = static_cast<XmlReader*>(reader);
    // Expat may call a few more handlers after it was stopped.
    if (self->thrown_ || self->refused_ != nullptr) return;
    try {
      work(self);
    } catch (const Error& error) {
      const std::string where =
          StrCat("line ", XML_GetCurrentLineNumber(self->parser_.get()), ": ");
      self->Keep(std::make_exception_ptr(
          error.interrupts() ? error : error.WithMessage(where + error.message())));
    } catch (...) {
      self->Keep(std::current_exception());
    }
  }

  static void OnBegin(void* reader, const XML_Char* name, const XML_Char**) {
    Guarded(reader, [name](XmlReader* self) {
      if (self->elements_.size() == kMostNesting) return self->Refuse("it is nested too deeply");
      self->elements_.push_back({self->path_.size(), ""});
      if (!self->path_.empty()) self->path_ += '/';
      self->path_ += name;
    });
  }

  static void OnEnd(void* reader, const XML_Char*) {
    Guarded(reader, [](XmlReader* self) {
      self->take_(self->path_, self->elements_.back().text);
      self->path_.resize(self->elements_.back().path_size);
      self->elements_.pop_back();
    });
  }

  static void OnText(void* reader, const XML_Char* text, int size) {
    Guarded(reader, [text, size](XmlReader* self) {
      if (!self->elements_.empty()) {
        self->elements_.back().text.append(text, static_cast<size_t>(size));
      }
    });
  }

  static void OnDocumentType(void* reader, const XML_Char*, const XML_Char*, const XML_Char*, int) {
    Guarded(reader, [](XmlReader* self) { self->Refuse("it has a document type"); });
  }

  void Keep(std::exception_ptr thrown) {
    thrown_ = std::move(thrown);
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  void Refuse(const char* why) {
    refused_ = why;
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  const std::string& what_;
  const TakeXmlElement& take_;
  const std::unique_ptr<std::remove_pointer_t<XML_Parser>, FreeParser> parser_;
  std::string path_;
  std::vector<Element> elements_;  // that have begun, and the next one lies in the last
  std::exception_ptr thrown_;
  const char* refused_ = nullptr;
};

}  // namespace

void ReadXml(std::string_view document, const std::string& what, const TakeXmlElement& take) {
  XmlReader(what, take).Read(document);
}

}  // namespace millhopper

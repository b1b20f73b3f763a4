// SPDX-License-Identifier: Apache-2.0
#include "framework/error.h"

#include <cstdio>
#include <new>
#include <utility>

namespace millrace {

const char* ToString(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kDataLoss:
      return "data loss";
    case ErrorCode::kIo:
      return "input/output error";
    case ErrorCode::kResourceLimit:
      return "resource limit";
    case ErrorCode::kPlugin:
      return "plugin error";
    case ErrorCode::kInternal:
      return "internal error";
    case ErrorCode::kCancelled:
      return "cancelled";
  }
  return "unknown error";
}

std::string Escaped(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7f) {
      char hex[5];
      std::snprintf(hex, sizeof(hex), "\\x%02x", byte);
      out += hex;
    } else {
      out += c;
    }
  }
  return out;
}

Error::Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {
  Compose();
}

Error Error::WithContext(const std::string& step) const {
  Error copy = *this;
  copy.context_.push_back(step);
  copy.Compose();
  return copy;
}

Error Error::InFile(const std::string& file, int64_t offset) const {
  Error copy = *this;
  copy.file_ = file;
  copy.offset_ = offset;
  copy.message_ = Escaped(file) + ": " + message_;
  copy.Compose();
  return copy;
}

void Error::Compose() {
  text_ = message_;
  for (const std::string& step : context_) text_ += "\n  " + step;
}

Error CurrentError() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kResourceLimit, "out of memory");
  } catch (const std::exception& error) {
    return Error(ErrorCode::kInternal, error.what());
  } catch (...) {
    return Error(ErrorCode::kInternal, "an exception of unknown type");
  }
}

}  // namespace millrace

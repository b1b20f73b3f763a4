// SPDX-License-Identifier: Apache-2.0
// The texts of errors.
#include "framework/base/error.h"

#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#include "framework/base/secrets.h"

namespace millhopper {
namespace {

// The number of bytes of the character at `i`, or 0 if it must not be shown: a control character, a
// separator of lines, or bytes that are not UTF-8.
size_t PrintableSize(const std::string& text, size_t i) {
  const auto lead = static_cast<unsigned char>(text[i]);
  if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
  const size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() - i < size) return 0;
  uint32_t character = lead & (0xffu >> (size + 1));
  for (size_t k = 1; k < size; ++k) {
    const auto byte = static_cast<unsigned char>(text[i + k]);
    if ((byte & 0xc0u) != 0x80u) return 0;
    character = character << 6 | (byte & 0x3fu);
  }
  const bool overlong = size > 2 && character < (size == 3 ? 0x800u : 0x10000u);
  const bool surrogate = character >= 0xd800 && character <= 0xdfff;
  const bool separator = character < 0xa0 || character == 0x2028 || character == 0x2029;
  return overlong || surrogate || separator || character > 0x10ffff ? 0 : size;
}

// The step that NoteOutOfMemory has noted last.
thread_local char noted[512];
thread_local size_t noted_size = 0;

Error AtNotedStep(const Error& error) {
  if (noted_size == 0 || !error.context().empty()) return error;
  const Error placed = error.WithContext(std::string(noted, noted_size));
  noted_size = 0;
  return placed;
}

// The standard library asks the system for files and for threads; here it was for a thread.
Error FromSystem(const std::system_error& error) {
  if (error.code() == std::errc::resource_unavailable_try_again) {
    return Error(ErrorCode::kResourceLimit,
                 "no thread can be started: this user (ulimit -u) or this container (pids.max) has "
                 "as many processes as it may, or there is no memory for a stack (ulimit -v)");
  }
  return Error(
      error.code() == std::errc::not_enough_memory ? ErrorCode::kResourceLimit : ErrorCode::kIo,
      error.what());
}

}  // namespace

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

std::string Escaped(const std::string& original) {
  const std::string text = WithoutSecrets(original, TextKind::kName);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t size = PrintableSize(text, i);
    if (size > 0) {
      out.append(text, i, size);
      i += size;
      continue;
    }
    const char c = text[i++];
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      char hex[5];
      std::snprintf(hex, sizeof(hex), "\\x%02x", static_cast<unsigned char>(c));
      out += hex;
    }
  }
  return out;
}

Error::Error(ErrorCode code, const std::string& message)
    : Error(Content{code, WithoutSecrets(message, TextKind::kWords), {}, "", -1, nullptr, ""}) {}

Error::Error(Content content) {
  content.text = content.message;
  for (const std::string& step : content.context) content.text += "\n  " + step;
  content_ = std::make_shared<const Content>(std::move(content));
}

Error Error::WithContext(const std::string& step) const {
  Content content = *content_;
  content.context.push_back(WithoutSecrets(step, TextKind::kWords));
  return Error(std::move(content));
}

Error Error::InFile(const std::string& file, int64_t offset) const {
  Content content = *content_;
  content.file = WithoutSecrets(file, TextKind::kName);
  content.offset = offset;
  content.message = Escaped(file) + ": " + content.message;
  return Error(std::move(content));
}

Error Error::WithMessage(const std::string& message) const {
  Content content = *content_;
  content.message = WithoutSecrets(message, TextKind::kWords);
  return Error(std::move(content));
}

Error Error::WithCause(std::shared_ptr<const ErrorCause> cause) const {
  Content content = *content_;
  content.cause = std::move(cause);
  return Error(std::move(content));
}

const OutOfMemory* Error::out_of_memory() const {
  return dynamic_cast<const OutOfMemory*>(cause().get());
}

bool Error::interrupts() const {
  return code() == ErrorCode::kCancelled || out_of_memory() != nullptr;
}

Error CurrentError() {
  try {
    throw;
  } catch (const Error& error) {
    return error.out_of_memory() == nullptr ? error : AtNotedStep(error);
  } catch (const std::bad_alloc&) {
    return AtNotedStep(Error(ErrorCode::kResourceLimit, "out of memory")
                           .WithCause(std::make_shared<OutOfMemory>()));
  } catch (const std::filesystem::filesystem_error& error) {
    const Error io(ErrorCode::kIo, error.code().message());
    return error.path1().empty() ? io : io.InFile(error.path1().string(), -1);
  } catch (const std::system_error& error) {
    return FromSystem(error);
  } catch (const std::exception& error) {
    return Error(ErrorCode::kInternal, error.what());
  } catch (...) {
    return Error(ErrorCode::kInternal, "an exception of unknown type");
  }
}

Error KeptError(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (...) {
    return CurrentError();
  }
}

void NoteOutOfMemory(std::string_view first, std::string_view second) noexcept {
  noted_size = 0;
  for (const std::string_view part : {first, second}) {
    noted_size += part.copy(noted + noted_size, sizeof(noted) - noted_size);
  }
}

}  // namespace millhopper

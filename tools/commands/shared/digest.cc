// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/digest.h"

#include <glog/logging.h>
#include <openssl/evp.h>

#include <charconv>
#include <cmath>
#include <new>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "framework/base/error.h"
#include "tools/commands/shared/tensor_text.h"

namespace millhopper {
namespace {

void AddInteger(uint64_t value, size_t bytes, std::string* out) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

template <typename T>
T Load(const LoDTensor& tensor, int64_t i) {
  T value;
  __builtin_memcpy(&value, static_cast<const char*>(tensor.raw_data()) + i * sizeof(T), sizeof(T));
  return value;
}

// Calls visit(value) with value i in the C++ type of the tensor's values; 16-bit floats as float.
template <typename Visit>
auto VisitValue(const LoDTensor& tensor, int64_t i, const Visit& visit) {
  switch (tensor.dtype()) {
    case DataType::kBool:
      return visit(Load<uint8_t>(tensor, i) != 0);
    case DataType::kInt8:
      return visit(Load<int8_t>(tensor, i));
    case DataType::kUint8:
      return visit(Load<uint8_t>(tensor, i));
    case DataType::kInt16:
      return visit(Load<int16_t>(tensor, i));
    case DataType::kInt32:
      return visit(Load<int32_t>(tensor, i));
    case DataType::kInt64:
      return visit(Load<int64_t>(tensor, i));
    case DataType::kUint16:
      return visit(Load<uint16_t>(tensor, i));
    case DataType::kUint32:
      return visit(Load<uint32_t>(tensor, i));
    case DataType::kUint64:
      return visit(Load<uint64_t>(tensor, i));
    case DataType::kFp16:
      return visit(Fp16ToFloat(Load<uint16_t>(tensor, i)));
    case DataType::kBf16:
      return visit(Bf16ToFloat(Load<uint16_t>(tensor, i)));
    case DataType::kFp32:
      return visit(Load<float>(tensor, i));
    case DataType::kFp64:
      return visit(Load<double>(tensor, i));
  }
  LOG(FATAL) << "no data type has the number " << static_cast<int>(tensor.dtype());
  return visit(0.0f);
}

template <typename T>
void AppendFloat(T value, std::string* out) {
  if (std::isnan(value)) {
    *out += "nan";
  } else if (std::isinf(value)) {
    *out += value < 0 ? "-inf" : "inf";
  } else {
    char text[40];
    const std::to_chars_result end = std::to_chars(text, text + sizeof(text), value);
    const size_t begin = out->size();
    out->append(text, end.ptr);
    // Languages that distinguish 1 from 1.0 read a float only with this.
    if (out->find_first_of(".e", begin) == std::string::npos) *out += ".0";
  }
}

void AppendValue(const LoDTensor& tensor, int64_t i, bool quote, std::string* out) {
  VisitValue(tensor, i, [&](auto value) {
    if constexpr (std::is_same_v<decltype(value), bool>) {
      *out += value ? "true" : "false";
    } else if constexpr (std::is_integral_v<decltype(value)>) {
      char text[24];
      out->append(text, std::to_chars(text, text + sizeof(text), value).ptr);
    } else {
      const bool quoted = quote && !std::isfinite(value);
      if (quoted) out->push_back('"');
      AppendFloat(value, out);
      if (quoted) out->push_back('"');
    }
  });
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  State() {
    if (context == nullptr) throw std::bad_alloc();
  }
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (!EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr)) throw std::bad_alloc();
}

Sha256::~Sha256() = default;

void Sha256::Add(const void* bytes, size_t size) {
  CHECK(EVP_DigestUpdate(state_->context, bytes, size));
}

Digest Sha256::Value() const {
  const State copy;
  Digest digest;
  if (!EVP_MD_CTX_copy_ex(copy.context, state_->context)) throw std::bad_alloc();
  CHECK(EVP_DigestFinal_ex(copy.context, digest.data(), nullptr));
  return digest;
}

std::string ToHex(const Digest& digest) {
  std::string hex;
  for (const uint8_t byte : digest) {
    hex.push_back("0123456789abcdef"[byte >> 4]);
    hex.push_back("0123456789abcdef"[byte & 15]);
  }
  return hex;
}

Digest DigestOf(const std::vector<LoDTensor>& element) {
  Sha256 sha;
  std::string head;
  for (const LoDTensor& slot : element) {
    const LoDTensor tensor = slot.OnHost();
    head.clear();
    AddInteger(static_cast<uint32_t>(tensor.dtype()), 4, &head);
    AddInteger(tensor.dims().size(), 4, &head);
    for (const int64_t dim : tensor.dims()) AddInteger(static_cast<uint64_t>(dim), 8, &head);
    AddInteger(tensor.lod().size(), 4, &head);
    for (const LodLevel& level : tensor.lod()) {
      AddInteger(level.size(), 8, &head);
      for (const uint64_t offset : level) AddInteger(offset, 8, &head);
    }
    sha.Add(head.data(), head.size());
    sha.Add(tensor.raw_data(), tensor.bytes());
  }
  return sha.Value();
}

namespace {

// ,"text":"to be" of one text, a list of them of several; "" of what is no text.
std::string TextField(const LoDTensor& tensor) {
  if (!IsText(tensor)) return "";
  const auto* const bytes = static_cast<const char*>(tensor.raw_data());
  const LodLevel& ends = tensor.lod().back();
  std::vector<std::string> texts;
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    texts.emplace_back(bytes + ends[i], ends[i + 1] - ends[i]);
  }
  try {
    const bool is_one = texts.size() == 1 && tensor.lod().size() == 1;
    return ",\"text\":" + (is_one ? nlohmann::json(texts[0]) : nlohmann::json(texts)).dump();
  } catch (const nlohmann::json::type_error&) {  // only its beginning was UTF-8
    return "";
  }
}

}  // namespace

std::string JsonFields(const LoDTensor& tensor) {
  const LoDTensor host = tensor.OnHost();
  const std::vector<int64_t> dims(host.dims().begin(), host.dims().end());
  std::string json =
      StrCat("\"dtype\":\"", ToString(host.dtype()), "\",\"dims\":", nlohmann::json(dims).dump(),
             ",\"lod\":", nlohmann::json(host.lod()).dump(), ",\"data\":[");
  for (int64_t i = 0; i < host.numel(); ++i) {
    if (i > 0) json.push_back(',');
    AppendValue(host, i, /*quote=*/true, &json);
  }
  return json + "]" + TextField(host);
}

std::string ToJson(const std::vector<LoDTensor>& element, const std::vector<std::string>& names) {
  std::string json = "{\"slots\":[";
  for (size_t i = 0; i < element.size(); ++i) {
    json += i == 0 ? "{" : ",{";
    if (i < names.size())
      json += StrCat("\"name\":", nlohmann::json(Escaped(names[i])).dump(), ",");
    json += JsonFields(element[i]) + "}";
  }
  return json + "]}";
}

double ValueAt(const LoDTensor& tensor, int64_t i) {
  return VisitValue(tensor, i, [](auto value) { return static_cast<double>(value); });
}

std::string ValueText(const LoDTensor& tensor, int64_t i) {
  std::string text;
  AppendValue(tensor, i, /*quote=*/false, &text);
  return text;
}

}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
#include "framework/io/s3/s3_list.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/io/http/http_transfers.h"
#include "framework/io/key_pattern.h"
#include "framework/io/s3/s3_xml.h"
#include "framework/memory/memory.h"

namespace millhopper {
namespace {

// A page has 1000 keys of at most 1024 bytes, each of which may be %XX.
constexpr size_t kMostPageBytes = size_t{4} << 20;
constexpr int kMostEmptyPages = 10'000;

int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A key as it is, from what the server has encoded as a part of a URL.
std::string Decoded(const std::string& text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      decoded += ' ';
      continue;
    }
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? DigitOf(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? DigitOf(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      Throw(ErrorCode::kDataLoss, "the server lists a key that is encoded wrongly: '",
            Escaped(text), "'");
    }
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

S3Page FetchPage(const std::string& path, const S3Path& prefix, int most,
                 const std::string& token) {
  // Sorted by names, as the signature wants it.
  std::string query;
  if (!token.empty()) query = StrCat("continuation-token=", S3Encoded(token, false), "&");
  query += "delimiter=%2F&encoding-type=url&list-type=2";
  if (most > 0) query += StrCat("&max-keys=", most);
  query += StrCat("&prefix=", S3Encoded(prefix.key, false));
  HttpRequest request = S3Request(path, {prefix.bucket, ""}, query);
  request.size = kMostPageBytes;
  request.buffer = BufferPool::At(Place()).Take(request.size);
  request.whole = true;
  request.urgent = true;
  const auto transfer = HttpTransfer::Run(std::move(request));
  try {
    return ReadS3Page({transfer->request().buffer->data(), transfer->received()});
  } catch (const Error& error) {
    throw error.InFile(path, -1);
  }
}

}  // namespace

S3Page ReadS3Page(std::string_view document) {
  S3Page page;
  bool is_list = false, is_encoded = false;
  std::string is_truncated;
  ReadServersXml(document, [&](const std::string& element, const std::string& text) {
    if (element == "ListBucketResult") is_list = true;
    if (element == "ListBucketResult/IsTruncated") is_truncated = text;
    if (element == "ListBucketResult/NextContinuationToken") page.next = text;
    if (element == "ListBucketResult/EncodingType") is_encoded = text == "url";
    if (element == "ListBucketResult/Contents/Key") page.folder.keys.push_back(text);
    if (element == "ListBucketResult/CommonPrefixes/Prefix") page.folder.prefixes.push_back(text);
  });
  if (!is_list) Throw(ErrorCode::kDataLoss, "what the server sends is no list of a bucket");
  if (is_truncated == "false") page.next.clear();
  if (is_truncated != "false" && (is_truncated != "true" || page.next.empty())) {
    Throw(ErrorCode::kDataLoss, "the server's list of a bucket does not say how it continues");
  }
  if (is_encoded) {
    for (std::string& key : page.folder.keys) key = Decoded(key);
    for (std::string& prefix : page.folder.prefixes) prefix = Decoded(prefix);
  }
  return page;
}

NamesUnder ListS3(const std::string& path, const S3Path& prefix, int most) {
  NamesUnder folder;
  ListAmount amount;
  int empty_pages = 0;
  std::string token;
  do {
    CheckStop();
    S3Page page = FetchPage(path, prefix, most, token);
    if (!token.empty() && page.next == token) {
      throw Error(ErrorCode::kDataLoss, "the server gives the same page of a list again")
          .InFile(path, -1);
    }
    token = std::move(page.next);
    const bool is_empty = page.folder.keys.empty() && page.folder.prefixes.empty();
    if (is_empty && ++empty_pages > kMostEmptyPages) {
      throw Error(ErrorCode::kDataLoss,
                  StrCat("the server sends ", empty_pages, " pages of a list without a name"))
          .InFile(path, -1);
    }
    for (auto [from, to] : {std::pair(&page.folder.keys, &folder.keys),
                            std::pair(&page.folder.prefixes, &folder.prefixes)}) {
      for (std::string& name : *from) {
        const bool is_folder = to == &folder.prefixes;
        if (name.compare(0, prefix.key.size(), prefix.key) != 0 ||
            (is_folder && (name.size() == prefix.key.size() || name.back() != '/'))) {
          throw Error(ErrorCode::kDataLoss,
                      StrCat("the server lists ", is_folder ? "folder '" : "'", Escaped(name),
                             "', asked for what begins with '", Escaped(prefix.key), "'"))
              .InFile(path, -1);
        }
        amount.Add(path, name.size());
        to->push_back(std::move(name));
      }
    }
  } while (!token.empty() && (most == 0 || (folder.keys.empty() && folder.prefixes.empty())));
  std::sort(folder.keys.begin(), folder.keys.end());
  const auto twice = std::adjacent_find(folder.keys.begin(), folder.keys.end());
  if (twice != folder.keys.end()) {
    throw Error(ErrorCode::kDataLoss,
                StrCat("the server lists '", Escaped(*twice), "' twice, so others may be missing"))
        .InFile(path, -1);
  }
  std::sort(folder.prefixes.begin(), folder.prefixes.end());
  folder.prefixes.erase(std::unique(folder.prefixes.begin(), folder.prefixes.end()),
                        folder.prefixes.end());
  return folder;
}

std::vector<std::string> MatchS3(const std::string& pattern) {
  const S3Path wanted = S3Path::Of(pattern);
  std::vector<std::string> keys =
      MatchNames(pattern, wanted.key, [&](const std::string& prefix, bool) {
        return ListS3(pattern, {wanted.bucket, prefix});
      });
  for (std::string& key : keys) key = StrCat("s3://", wanted.bucket, "/", key);
  return keys;
}

}  // namespace millhopper

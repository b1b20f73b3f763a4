// SPDX-License-Identifier: Apache-2.0
// That all bytes are those of one object: Google's reads name the generation that was opened. Of
// the others the version is asked for again after each read. None comes twice, so if it is still
// that of the opened object, the bytes between were of it.
#include "readers/arrow_plugin/arrow_object.h"

#include <arrow/filesystem/filesystem.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/util/io_util.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/forks.h"
#include "framework/base/stop.h"
#include "framework/io/compression/compression.h"
#include "framework/io/http/blocking_requests.h"
#include "framework/io/output_file.h"
#include "readers/arrow_plugin/arrow_store.h"

namespace millhopper {
namespace {

using arrow::Result;
using arrow::Status;

// A carrier whose calls are Arrow's.
class ArrowCarrier : public BlockingCarrier {
 public:
  explicit ArrowCarrier(StorePath path)
      : path_(std::move(path)), environment_(ArrowStore::Environment()) {}

  std::string Host() const override { return path_.Host(); }

  // The environment may name another server for the same path.
  std::string Name() const override {
    StorePath named = path_;
    const size_t host = named.authority.rfind('@');
    const size_t password = std::min(named.authority.find(':'), host);
    if (host != std::string::npos) named.authority.erase(password, host - password);
    std::string server;
    for (const char* option : {"endpoint_override=", "blob_storage_authority="}) {
      const size_t at = path_.options.find(option);
      if (at == std::string::npos) continue;
      server += path_.options.substr(at, path_.options.find('&', at) - at);
    }
    named.options.clear();
    return StrCat(named.With(named.key), '\n', server, '\n', emulator_);
  }

  Outcome Ask(const HttpRequest& request, char* out) const override {
    try {
      const Result<std::shared_ptr<const ArrowStore>> store = ArrowStore::Make(path_, environment_);
      if (!store.ok()) return NoStore(store.status());
      Result<Answer> answer = Call(**store, request, out);
      if (answer.ok()) return *std::move(answer);
      return Judged(answer.status(), request);
    } catch (const Error&) {
      throw;
    } catch (const std::exception& exception) {  // a library of Arrow's met trouble on the way
      return RefusalOf(Status::IOError(exception.what()));
    }
  }

 protected:
  const StorePath& path() const { return path_; }

  virtual Result<Answer> Call(const ArrowStore& store, const HttpRequest& request,
                              char* out) const = 0;

 private:
  static Refusal Judged(const Status& status, const HttpRequest& request) {
    constexpr long kNotFound = 404;
    Refusal refusal = RefusalOf(status);
    if (request.object && refusal.status == kNotFound) {
      refusal.code = ErrorCode::kDataLoss;
      refusal.problem += ": the object was replaced or removed after it was opened";
    }
    return refusal;
  }

  static std::string EmulatorOf() {
    const char* const emulator = std::getenv("CLOUD_STORAGE_EMULATOR_ENDPOINT");
    return emulator == nullptr ? "" : emulator;
  }

  const StorePath path_;
  const std::string environment_;
  const std::string emulator_ = EmulatorOf();
};

class ArrowObject final : public ArrowCarrier {
 public:
  using ArrowCarrier::ArrowCarrier;

  ~ArrowObject() override {
    // The libraries below know nothing of forks: a child must not touch what their threads held.
    if (!process_.IsThis()) static_cast<void>(new auto(std::move(opened_)));
  }

 private:
  struct Opened {
    std::shared_ptr<arrow::io::RandomAccessFile> file;
    HttpObject object;
    std::mutex mutex;    // guards what is below
    bool begun = false;  // its stream may be anywhere
    bool ready = false;  // several threads may read it
  };

  Result<Answer> Call(const ArrowStore& store, const HttpRequest& request,
                      char* out) const override {
    std::shared_ptr<Opened> opened = request.object ? Known() : nullptr;
    if (opened == nullptr || opened->object.Differs(*request.object)) {
      ARROW_ASSIGN_OR_RAISE(opened, Open(store));
    }
    Answer answer;
    answer.object = opened->object;
    const uint64_t size = *opened->object.size;
    const auto wanted = static_cast<int64_t>(
        std::min<uint64_t>(request.size, size - std::min(size, request.offset)));
    if (wanted > 0 && !(request.object && request.object->Differs(opened->object))) {
      ARROW_ASSIGN_OR_RAISE(const int64_t received,
                            Read(opened.get(), static_cast<int64_t>(request.offset), wanted, out));
      answer.received = static_cast<size_t>(received);
      if (path().scheme != "gs") {
        ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<Opened> now, Open(store));
        if (opened->object.Differs(now->object)) {
          if (!request.object) {
            return Status::IOError(
                "another object, which took the place of the one that was asked");
          }
          answer.object = now->object;
        }
      }
    }
    Keep(std::move(opened));
    return answer;
  }

  // Google's file begins to read all of the object when it is first used, by a stream that it
  // keeps, and several threads must not be the first ones at once. What begins at the first byte
  // comes from this stream; then a stream of the last byte takes its place.
  Result<int64_t> Read(Opened* opened, int64_t offset, int64_t size, char* out) const {
    if (path().scheme != "gs") return opened->file->ReadAt(offset, size, out);
    {
      const std::lock_guard<std::mutex> lock(opened->mutex);
      if (!opened->ready) {
        const bool at_beginning = offset == 0 && !opened->begun;
        opened->begun = true;
        int64_t received = 0;
        if (at_beginning) {
          ARROW_ASSIGN_OR_RAISE(received, opened->file->Read(size, out));
        }
        const auto whole = static_cast<int64_t>(*opened->object.size);
        if (received < whole) ARROW_RETURN_NOT_OK(LetGoOfStream(opened->file.get(), whole - 1));
        opened->ready = true;
        if (at_beginning) return received;
      }
    }
    return opened->file->ReadAt(offset, size, out);
  }

  // Of a stream that cannot be opened only Tell says why.
  static Status LetGoOfStream(arrow::io::RandomAccessFile* file, int64_t last_byte) {
    const Status told = file->Tell().status();
    const Status moved = file->Seek(last_byte);
    return moved.ok() || told.ok() ? moved : told;
  }

  Result<std::shared_ptr<Opened>> Open(const ArrowStore& store) const {
    const std::string name = store.PathOf(path().key);
    auto opened = std::make_shared<Opened>();
    HttpObject& object = opened->object;
    object.has_parts = true;
    ARROW_ASSIGN_OR_RAISE(opened->file, store.system().OpenInputFile(name));
    ARROW_ASSIGN_OR_RAISE(const int64_t size, opened->file->GetSize());
    object.size = static_cast<uint64_t>(size);
    ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<const arrow::KeyValueMetadata> said,
                          opened->file->ReadMetadata());
    if (said != nullptr) {
      const auto value = [&said](const char* name) { return said->Get(name).ValueOr(""); };
      object.etag = value(path().scheme == "gs" ? "generation" : "ETag");
      // Of what Google says, all but the generation may change while the bytes stay.
      if (path().scheme != "gs") object.version = value("Version-Id") + value("Last-Modified");
      object.coding = said->Get("Content-Encoding").ValueOr("");
    }
    // An empty object may be what marks a folder. Hadoop tells a version only by its date.
    const bool is_hadoop = path().scheme == "hdfs";
    if (size == 0 || is_hadoop) {
      ARROW_ASSIGN_OR_RAISE(const arrow::fs::FileInfo info, store.system().GetFileInfo(name));
      if (!info.IsFile()) return NoFile(info.type());
      if (is_hadoop) object.modified = DateOf(info.mtime());
    }
    CheckCoding(object);
    return opened;
  }

  static Status NoFile(arrow::fs::FileType type) {
    return arrow::internal::StatusFromErrno(
        ENOENT, arrow::StatusCode::IOError,
        type == arrow::fs::FileType::Directory ? "it is a folder" : "nothing has this name");
  }

  // Google's servers undo the compression on the way, so that neither sizes nor offsets fit.
  void CheckCoding(const HttpObject& object) const {
    const bool named = path().scheme != "gs" && CompressionByName(path().key) != nullptr;
    if (!object.IsCoded() || named) return;
    throw Error(
        ErrorCode::kIo,
        StrCat("cannot open: it is stored as compressed (Content-Encoding: '",
               Escaped(object.coding), "'); ",
               path().scheme == "gs" ? "store it without this mark" : "its name does not say so"));
  }

  static std::string DateOf(arrow::fs::TimePoint when) {
    constexpr size_t kDateBytes = 40;
    const time_t seconds =
        std::chrono::duration_cast<std::chrono::seconds>(when.time_since_epoch()).count();
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char date[kDateBytes];
    return {date, std::strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S GMT", &parts)};
  }

  std::shared_ptr<Opened> Known() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return process_.IsThis() ? opened_ : nullptr;
  }

  void Keep(std::shared_ptr<Opened> opened) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    opened_.swap(opened);
  }

  const OwnProcess process_;
  mutable std::mutex mutex_;  // guards what is below
  mutable std::shared_ptr<Opened> opened_;
};

// Writes an object, or removes it.
class ArrowWrite final : public ArrowCarrier {
 public:
  using ArrowCarrier::ArrowCarrier;

 private:
  Result<Answer> Call(const ArrowStore& store, const HttpRequest& request, char*) const override {
    const std::string name = store.PathOf(path().key);
    arrow::fs::FileSystem& system = store.system();
    if (request.method == HttpMethod::kDelete) {
      ARROW_RETURN_NOT_OK(system.DeleteFile(name));
    } else if (path().scheme == "hdfs") {
      // Hadoop shows a file while it is being written, and gives none the name of another.
      ARROW_RETURN_NOT_OK(Write(&system, name + kPartialSuffix, *request.body));
      ARROW_ASSIGN_OR_RAISE(const arrow::fs::FileInfo older, system.GetFileInfo(name));
      if (older.IsFile()) ARROW_RETURN_NOT_OK(system.DeleteFile(name));
      ARROW_RETURN_NOT_OK(system.Move(name + kPartialSuffix, name));
    } else {
      ARROW_RETURN_NOT_OK(Write(&system, name, *request.body));
    }
    return Answer();
  }

  static Status Write(arrow::fs::FileSystem* system, const std::string& name,
                      const std::string& bytes) {
    ARROW_ASSIGN_OR_RAISE(const auto out, system->OpenOutputStream(name));
    ARROW_RETURN_NOT_OK(out->Write(bytes.data(), static_cast<int64_t>(bytes.size())));
    return out->Close();
  }
};

// What Arrow says of what lies in a folder, or of one name.
class ArrowList final : public ArrowCarrier {
 public:
  using Infos = std::vector<arrow::fs::FileInfo>;
  using Question = std::function<Result<Infos>(const ArrowStore&)>;

  ArrowList(StorePath path, Question question)
      : ArrowCarrier(std::move(path)), question_(std::move(question)) {}

  // Once a request has ended.
  Infos Take() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::move(infos_);
  }

 private:
  Result<Answer> Call(const ArrowStore& store, const HttpRequest&, char*) const override {
    ARROW_ASSIGN_OR_RAISE(Infos infos, question_(store));
    const std::lock_guard<std::mutex> lock(mutex_);
    infos_ = std::move(infos);
    return Answer();
  }

  const Question question_;
  mutable std::mutex mutex_;  // guards what is below
  mutable Infos infos_;
};

ArrowList::Infos AskFor(const std::string& path, StorePath parts, ArrowList::Question question) {
  const auto list = std::make_shared<const ArrowList>(std::move(parts), std::move(question));
  HttpRequest request;
  request.url = path;
  request.carrier = list;
  request.urgent = true;
  HttpTransfer::Run(std::move(request));
  return list->Take();
}

// Leaves of each path what lies after a folder.
Status MakeRelative(const std::string& folder, ArrowList::Infos* infos) {
  for (arrow::fs::FileInfo& info : *infos) {
    const std::string path = info.path();
    const bool ends = folder.empty() || folder.back() == '/';
    const size_t begin = folder.size() + (ends ? 0 : 1);
    if (path.size() <= begin || path.compare(0, folder.size(), folder) != 0) {
      return Status::Invalid("it lists '", path, "', asked for what lies in '", folder, "'");
    }
    info.set_path(path.substr(begin));
  }
  return Status::OK();
}

template <typename Carrier>
HttpRequest RequestOf(const std::string& path) {
  StorePath parts = StorePath::Of(path);
  if (parts.key.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "the name of a store without that of an object")
        .InFile(path, -1);
  }
  HttpRequest request;
  request.url = path;
  request.carrier = std::make_shared<const Carrier>(std::move(parts));
  return request;
}

}  // namespace

HttpRequest ArrowRequest(const std::string& path) { return RequestOf<ArrowObject>(path); }

HttpRequest ArrowWriteRequest(const std::string& path) {
  HttpRequest request = RequestOf<ArrowWrite>(path);
  // The whole object is sent by one call, which says nothing until it returns.
  HttpLimits limits = HttpLimits::Get();
  limits.silence = limits.in_all;
  request.limits = limits;
  return request;
}

NamesUnder ListArrow(const std::string& path, const std::string& prefix, bool with_folders) {
  const std::string folder = prefix.substr(0, prefix.rfind('/') + 1);
  const StorePath parts = StorePath::Of(path);
  // Google's list of one folder leaves out folders without a marker object.
  const bool recursive = with_folders && parts.scheme == "gs";
  const ArrowList::Infos infos =
      AskFor(path, parts, [folder, recursive](const ArrowStore& store) -> Result<ArrowList::Infos> {
        arrow::fs::FileSelector selector;
        selector.base_dir = store.PathOf(folder);
        selector.allow_not_found = true;
        selector.recursive = recursive;
        ARROW_ASSIGN_OR_RAISE(ArrowList::Infos found, store.system().GetFileInfo(selector));
        ARROW_RETURN_NOT_OK(MakeRelative(selector.base_dir, &found));
        return found;
      });
  NamesUnder names;
  ListAmount amount;
  std::set<std::string> prefixes;
  for (const arrow::fs::FileInfo& info : infos) {
    CheckStop();
    const std::string key = folder + info.path();
    if (key.compare(0, prefix.size(), prefix) != 0) continue;
    if (key.find_first_of("?#") != std::string::npos) {
      throw Error(ErrorCode::kIo, StrCat("the store has an object '", Escaped(key),
                                         "', whose name cannot be written in a URL for its '?' or "
                                         "'#'; a narrower pattern or folder may leave it out"))
          .InFile(path, -1);
    }
    const size_t slash = key.find('/', prefix.size());
    if (slash == std::string::npos && info.type() != arrow::fs::FileType::Directory) {
      amount.Add(path, key.size());
      names.keys.push_back(key);
    } else if (with_folders && prefixes.insert(key.substr(0, slash) + "/").second) {
      amount.Add(path, key.size());
    }
  }
  std::sort(names.keys.begin(), names.keys.end());
  names.prefixes.assign(prefixes.begin(), prefixes.end());
  return names;
}

bool IsArrowFolder(const std::string& path) {
  const StorePath parts = StorePath::Of(path);
  const ArrowList::Infos infos =
      AskFor(path, parts, [parts](const ArrowStore& store) -> Result<ArrowList::Infos> {
        ARROW_ASSIGN_OR_RAISE(arrow::fs::FileInfo info,
                              store.system().GetFileInfo(store.PathOf(parts.key)));
        return ArrowList::Infos{std::move(info)};
      });
  return !infos.empty() && infos[0].type() == arrow::fs::FileType::Directory;
}

}  // namespace millhopper

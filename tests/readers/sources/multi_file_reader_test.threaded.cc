// SPDX-License-Identifier: Apache-2.0
// Many files as one stream: the order against a model of plain lines, errors at their turn, and
// nothing that grows with the number of files.
#include "readers/sources/multi_file_reader.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/fakes/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;
using FileContents = std::vector<Strings>;

// The order as ruling 7 says it, without chunks, threads and look-ahead.
Strings Interleaved(const FileContents& files, const std::vector<uint32_t>& order, size_t cycle) {
  size_t next_file = 0;
  const auto take_file = [&](Strings* place) {
    while (next_file < order.size()) {
      *place = files[order[next_file++]];
      std::reverse(place->begin(), place->end());
      if (!place->empty()) return true;
    }
    return false;
  };
  std::vector<Strings> places;
  for (Strings place; places.size() < cycle && take_file(&place);) places.push_back(place);
  Strings stream;
  for (size_t turn = 0; !places.empty();) {
    Strings& place = places[turn];
    stream.push_back(place.back());
    place.pop_back();
    if (!place.empty() || take_file(&place)) {
      ++turn;
    } else {
      places.erase(places.begin() + static_cast<std::ptrdiff_t>(turn));
    }
    if (turn >= places.size()) turn = 0;
  }
  return stream;
}

std::vector<uint32_t> InOrder(size_t n) {
  std::vector<uint32_t> order(n);
  for (size_t i = 0; i < n; ++i) order[i] = static_cast<uint32_t>(i);
  return order;
}

// How the sources below behave, and what they see.
struct Behaviour {
  size_t records_per_chunk = 3;
  uint64_t jitter = 0;
  std::atomic<int> fetching{0};
  std::atomic<int> most_fetching{0};
  std::atomic<int> opened{0};
};

// Lines of a file, in small chunks that are slow to come. A line "!" is an error of Fetch, a line
// "?" one of Claim.
class LinesSource final : public FileSource {
 public:
  LinesSource(std::string path, Behaviour* behaviour)
      : path_(std::move(path)), content_(ReadFile(path_)), behaviour_(behaviour) {}

  bool Claim(Chunk* chunk) override {
    chunk->offset = next_;
    for (size_t i = 0; i < behaviour_->records_per_chunk && next_ < content_.size(); ++i) {
      if (content_[next_] == '?' && i > 0) break;
      if (content_[next_] == '?') Fail("cannot be claimed");
      next_ = content_.find('\n', next_) + 1;
    }
    chunk->length = next_ - chunk->offset;
    return chunk->length > 0;
  }

  void Fetch(Chunk* chunk) const override {
    const int now = ++behaviour_->fetching;
    for (int most = behaviour_->most_fetching; most < now;) {
      if (behaviour_->most_fetching.compare_exchange_weak(most, now)) break;
    }
    if (behaviour_->jitter > 0) Dawdle(behaviour_->jitter, chunk->offset + path_.size());
    chunk->bytes = BufferPool::At(Place()).Take(chunk->length);
    std::memcpy(chunk->bytes->data(), content_.data() + chunk->offset, chunk->length);
    --behaviour_->fetching;
    for (uint32_t begin = 0; begin < chunk->length;) {
      const size_t place = chunk->offset + begin;
      if (content_[place] == '!') Fail("cannot be fetched");
      const auto size = static_cast<uint32_t>(content_.find('\n', place) - place);
      chunk->pieces.push_back({begin, size});
      begin += size + 1;
    }
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(ErrorCode::kDataLoss, what).InFile(path_, 0);
  }

  const std::string path_;
  const std::string content_;
  Behaviour* const behaviour_;
  size_t next_ = 0;
};

class LinesFormat final : public FileFormat {
 public:
  explicit LinesFormat(Behaviour* behaviour) : FileFormat({MakeSlot()}), behaviour_(behaviour) {}

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    ++behaviour_->opened;
    if (ReadFile(file.path).substr(0, 1) == "#") {
      throw Error(ErrorCode::kDataLoss, "cannot be opened").InFile(file.path, 0);
    }
    return std::make_unique<LinesSource>(file.path, behaviour_);
  }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    for (size_t i = 0; i < n; ++i) {
      const Dims dims{tickets[i].size};
      std::memcpy(rows->Append(0, DataType::kUint8, dims), tickets[i].bytes, tickets[i].size);
    }
  }

 private:
  static SlotSpec MakeSlot() {
    SlotSpec slot;
    slot.dtype = DataType::kUint8;
    slot.dims = Dims{-1};
    return slot;
  }

  Behaviour* const behaviour_;
};

// Files of lines, which are removed at the end.
class Files {
 public:
  explicit Files(const FileContents& contents) {
    for (const Strings& lines : contents) {
      std::string content;
      for (const std::string& line : lines) content += line + "\n";
      files_.push_back(std::make_unique<TempFile>("lines", content));
    }
  }
  const std::string& path(size_t i) const { return files_[i]->path(); }
  std::unique_ptr<MultiFileReader> Open(const MultiFileOptions& options,
                                        Behaviour* behaviour) const {
    std::vector<FileEntry> entries;
    for (const auto& file : files_) entries.push_back({file->path(), ""});
    return std::make_unique<MultiFileReader>(std::make_unique<LinesFormat>(behaviour), entries,
                                             options);
  }

 private:
  std::vector<std::unique_ptr<TempFile>> files_;
};

// File f has the records "f:0", "f:1", ...
FileContents Numbered(const std::vector<size_t>& sizes) {
  FileContents files;
  for (size_t f = 0; f < sizes.size(); ++f) {
    files.emplace_back();
    for (size_t i = 0; i < sizes[f]; ++i) files.back().push_back(StrCat(f, ":", i));
  }
  return files;
}

// The rest of the pass, planned `next()` elements at a time, and what ended it.
struct Stream {
  Strings records;
  std::optional<Error> error;
};

Stream ReadStream(ReaderBase* reader, const std::function<size_t()>& next) {
  Stream stream;
  TicketRun run;
  try {
    while (reader->Plan(next(), &run) > 0) {
      for (const Ticket& ticket : run.tickets) {
        EXPECT_EQ(ticket.id.sample, stream.records.size());
        Rows rows(reader->row_slots());
        reader->Load(&ticket, 1, &rows);
        std::vector<LoDTensor> element;
        rows.MoveTo(&element);
        const std::vector<uint8_t> bytes = ValuesOf<uint8_t>(element[0]);
        stream.records.emplace_back(bytes.begin(), bytes.end());
      }
      run.Clear();
    }
  } catch (const Error& error) {
    stream.error = error;
  }
  return stream;
}

Strings ReadRecords(ReaderBase* reader, size_t step = 7) {
  const Stream stream = ReadStream(reader, [=] { return step; });
  EXPECT_FALSE(stream.error.has_value()) << stream.error->what();
  return stream.records;
}

TEST(MultiFileReader, TakesOneRecordOfEachFileInTurn) {
  const Files files({{"a1", "a2", "a3"}, {"b1"}, {}, {"c1", "c2"}, {"d1"}});
  Behaviour behaviour;
  MultiFileOptions options;
  options.cycle_length = 2;
  EXPECT_EQ(ReadRecords(files.Open(options, &behaviour).get()),
            (Strings{"a1", "b1", "a2", "c1", "a3", "c2", "d1"}));
  options.cycle_length = 1;
  EXPECT_EQ(ReadRecords(files.Open(options, &behaviour).get()),
            (Strings{"a1", "a2", "a3", "b1", "c1", "c2", "d1"}));
  options.cycle_length = 16;
  EXPECT_EQ(ReadRecords(files.Open(options, &behaviour).get()),
            (Strings{"a1", "b1", "c1", "d1", "a2", "c2", "a3"}));
}

TEST(MultiFileReader, AnEmptyFileIsFinishedFromTheBeginning) {
  const Files files({{}, {"a1", "a2"}, {}, {}, {"b1", "b2"}, {}});
  Behaviour behaviour;
  MultiFileOptions options;
  options.cycle_length = 2;
  EXPECT_EQ(ReadRecords(files.Open(options, &behaviour).get()), (Strings{"a1", "b1", "a2", "b2"}));
  const Files none({{}, {}});
  options.pass_num = UINT64_MAX;
  EXPECT_EQ(ReadRecords(none.Open(options, &behaviour).get()), Strings{});
}

TEST(MultiFileReader, RandomCasesFollowTheModel) {
  std::mt19937 random(20180227);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (const int workers : {0, 1, 2, 7, 16}) {
    const PoolSize pool(workers);
    for (int number = 0; number < 60; ++number) {
      std::vector<size_t> sizes(1 + below(12));
      for (size_t& size : sizes) size = below(4) == 0 ? 0 : below(25);
      const FileContents contents = Numbered(sizes);
      const Files files(contents);
      Behaviour behaviour;
      behaviour.records_per_chunk = 1 + below(8);
      behaviour.jitter = below(2) * random();
      MultiFileOptions options;
      options.thread_num = below(4);
      options.buffer_size = 1 + below(40);
      options.cycle_length = 1 + below(5) * below(5);
      options.pass_num = 1 + below(3);
      options.shuffle_files = below(2) == 0;
      options.key = RandomKey(number, workers, "files");
      const size_t longest_step = 1 + below(60);
      const auto reader = files.Open(options, &behaviour);
      for (uint64_t pass = 0; pass < 2; ++pass) {
        Strings model;
        for (uint64_t k = 0; k < options.pass_num; ++k) {
          const std::vector<uint32_t> order =
              options.shuffle_files
                  ? ShuffledFiles(sizes.size(), options.key, pass * options.pass_num + k)
                  : InOrder(sizes.size());
          for (std::string& record : Interleaved(contents, order, options.cycle_length)) {
            model.push_back(std::move(record));
          }
        }
        const Stream stream = ReadStream(reader.get(), [&] { return 1 + below(longest_step); });
        ASSERT_FALSE(stream.error.has_value());
        ASSERT_EQ(stream.records, model) << workers << " " << number << " " << pass;
        reader->Restart(pass + 1);
      }
    }
  }
}

TEST(MultiFileReader, WithoutDeterminismEachRecordStillComesOnce) {
  const FileContents contents = Numbered({30, 0, 7, 100, 1, 1, 55, 20});
  const Files files(contents);
  Strings all;
  for (const Strings& lines : contents) all.insert(all.end(), lines.begin(), lines.end());
  std::sort(all.begin(), all.end());
  for (const int workers : {0, 1, 2, 7}) {
    const PoolSize pool(workers);
    for (const size_t cycle : {1, 3, 16}) {
      Behaviour behaviour;
      behaviour.jitter = 5;
      MultiFileOptions options;
      options.cycle_length = cycle;
      options.deterministic = false;
      const auto reader = files.Open(options, &behaviour);
      for (int pass = 0; pass < 3; ++pass) {
        Strings read = ReadRecords(reader.get(), 1 + pass * 10);
        // Within a file the order is that of the file.
        std::vector<int> last(contents.size(), -1);
        for (const std::string& record : read) {
          const size_t colon = record.find(':');
          const int file = std::stoi(record.substr(0, colon));
          const int index = std::stoi(record.substr(colon + 1));
          EXPECT_EQ(index, last[file] + 1) << record;
          last[file] = index;
        }
        std::sort(read.begin(), read.end());
        EXPECT_EQ(read, all) << workers << " " << cycle;
        reader->ReInit();
      }
    }
  }
}

// Where a record takes time for each of the files, this takes many minutes.
TEST(MultiFileReader, ReadsManyFilesInTurn) {
  constexpr uint32_t kFiles = 15000;
  const TempFile file("lines", "a\nb\n");
  MultiFileOptions options;
  options.cycle_length = kFiles;
  for (const int workers : {0, 7}) {
    const PoolSize pool(workers);
    for (const bool deterministic : {true, false}) {
      options.deterministic = deterministic;
      for (const size_t step : {size_t{1}, 3 * size_t{kFiles}}) {
        Behaviour behaviour;
        const std::vector<FileEntry> entries(kFiles, {file.path(), ""});
        MultiFileReader reader(std::make_unique<LinesFormat>(&behaviour), entries, options);
        std::vector<uint32_t> taken(kFiles);
        uint32_t records = 0;
        for (TicketRun run; reader.Plan(step, &run) > 0; run.Clear()) {
          for (const Ticket& ticket : run.tickets) {
            if (deterministic) {
              ASSERT_EQ(ticket.id.file, records % kFiles);
            }
            ++taken[ticket.id.file];
            ++records;
          }
        }
        EXPECT_EQ(records, 2 * kFiles);
        EXPECT_EQ(taken, std::vector<uint32_t>(kFiles, 2));
      }
    }
  }
}

TEST(MultiFileReader, AnErrorComesWhereItsRecordWouldHaveCome) {
  const std::vector<std::pair<std::string, std::string>> errors{
      {"!", "cannot be fetched"}, {"?", "cannot be claimed"}, {"#", "cannot be opened"}};
  for (const auto& [sign, text] : errors) {
    for (const size_t before : {0, 1, 3, 4}) {
      if (sign == "#" && before > 0) continue;
      FileContents contents = Numbered({9, 2, 5, 9, 9});
      Strings& damaged = contents[3];
      damaged.resize(before);
      damaged.push_back(sign);
      damaged.push_back("never seen");
      const Files files(contents);
      for (const size_t cycle : {1, 2, 4, 5}) {
        MultiFileOptions options;
        options.cycle_length = cycle;
        Strings model = Interleaved(contents, InOrder(5), cycle);
        model.resize(std::find(model.begin(), model.end(), sign) - model.begin());
        for (const int workers : {0, 2, 7}) {
          const PoolSize pool(workers);
          Behaviour behaviour;
          behaviour.jitter = 3;
          const auto reader = files.Open(options, &behaviour);
          reader->set_origin("reader 'files'");
          for (const size_t step : {1, 100}) {
            const Stream stream = ReadStream(reader.get(), [=] { return step; });
            EXPECT_EQ(stream.records, model) << sign << before << " " << cycle << " " << workers;
            ASSERT_TRUE(stream.error.has_value());
            EXPECT_EQ(stream.error->file(), files.path(3));
            EXPECT_EQ(stream.error->what(),
                      StrCat(files.path(3), ": ", text, "\n  while reading record ", model.size(),
                             " of reader 'files'"));
            ExpectError(ErrorCode::kDataLoss, text, [&] { reader->HasNext(); });
            reader->ReInit();
          }
        }
      }
    }
  }
}

// F05
TEST(MultiFileReader, AFileThatIsGoneWhenItsTurnComesIsAnErrorThere) {
  const FileContents contents{{"a b"}, {"c d"}, {"e f"}};
  std::vector<std::unique_ptr<TempFile>> files;
  Strings names;
  for (const Strings& lines : contents) {
    files.push_back(std::make_unique<TempFile>("gone.txt", lines[0] + "\n"));
    names.push_back(files.back()->path());
  }
  MultiFileOptions options;
  options.cycle_length = 1;
  const auto reader = OpenFiles(names, {}, {}, options);
  files[1].reset();
  EXPECT_EQ(ReadSome(reader.get(), 1)[0][0].bytes, "a b");
  ExpectError(ErrorCode::kIo,
              names[1] +
                  ": cannot open: No such file or directory\n"
                  "  while reading record 1 of",
              [&] { reader->HasNext(); });
}

// F05
TEST(MultiFileReader, EveryMissingFileIsNamed) {
  const TempFile there("there.txt", "");
  const auto thrown = ErrorOf([&] {
    OpenFiles({"text:no1", there.path(), "text:no2", ::testing::TempDir() + "/../no3.txt"}, {}, {},
              {});
  });
  ASSERT_TRUE(thrown.has_value());
  EXPECT_EQ(thrown->code, ErrorCode::kIo);
  for (const char* name : {"no1: No such file", "no2: No such file", "no3.txt: No such file"}) {
    EXPECT_NE(thrown->text.find(name), std::string::npos) << thrown->text;
  }
  EXPECT_EQ(thrown->text.find("there.txt"), std::string::npos) << thrown->text;
}

TEST(MultiFileReader, TheErrorIsAboutTheFirstFileThatIsMissing) {
  const TempFile there("there.txt", "");
  const std::vector<Strings> lists = {{"text:no1"},
                                      {"text:" + there.path(), "text:no1", "text:no2"}};
  for (const Strings& names : lists) {
    try {
      OpenFiles(names, {}, {}, {});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.file(), "no1");
      EXPECT_EQ(error.message().rfind("no1: No such file or directory", 0), 0u) << error.message();
    }
  }
}

TEST(MultiFileReader, OptionsAreChecked) {
  const Files files({{"a"}});
  Behaviour behaviour;
  const auto expect = [&](const std::string& words,
                          const std::function<void(MultiFileOptions*)>& set) {
    MultiFileOptions options;
    set(&options);
    ExpectError(ErrorCode::kInvalidArgument, words, [&] { files.Open(options, &behaviour); });
  };
  expect("buffer_size is 0", [](MultiFileOptions* options) { options->buffer_size = 0; });
  expect("cycle_length is 0", [](MultiFileOptions* options) { options->cycle_length = 0; });
  expect("pass_num is 0", [](MultiFileOptions* options) { options->pass_num = 0; });
  ExpectError(ErrorCode::kInvalidArgument, "there is no file to read",
              [&] { Files({}).Open({}, &behaviour); });
}

TEST(MultiFileReader, NothingIsReadAndNoThreadStartedBeforeTheFirstPlan) {
  const Files files(Numbered({3, 3}));
  const PoolSize pool(3);
  Behaviour behaviour;
  const auto reader = files.Open({}, &behaviour);
  reader->ReInit();
  EXPECT_EQ(behaviour.opened, 0);
  EXPECT_EQ(ThreadPool::Get().started(), 0);
  EXPECT_TRUE(reader->HasNext());
  EXPECT_EQ(behaviour.opened, 2);
  EXPECT_EQ(ThreadPool::Get().started(), 3);
}

TEST(MultiFileReader, ThreadNumCapsHowManyChunksAreFetchedAtOnce) {
  const Files files(Numbered({40, 40, 40, 40, 40, 40}));
  const PoolSize pool(8);
  for (const size_t thread_num : {1, 2, 3}) {
    Behaviour behaviour;
    behaviour.jitter = 11;
    MultiFileOptions options;
    options.thread_num = thread_num;
    EXPECT_EQ(ReadRecords(files.Open(options, &behaviour).get()).size(), 240u);
    EXPECT_LE(behaviour.most_fetching, static_cast<int>(thread_num) + 1);  // and the caller
  }
}

TEST(MultiFileReader, PassesWithinAPassAreCountedOn) {
  const FileContents contents = Numbered({1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  const Files files(contents);
  Behaviour behaviour;
  MultiFileOptions options;
  options.shuffle_files = true;
  options.key = RandomKey(1, 2, "files");
  const auto single = files.Open(options, &behaviour);
  Strings six;
  for (uint64_t pass = 0; pass < 6; ++pass) {
    single->Restart(pass);
    for (const std::string& record : ReadRecords(single.get())) six.push_back(record);
  }
  options.pass_num = 3;
  const auto triple = files.Open(options, &behaviour);
  Strings twice = ReadRecords(triple.get());
  triple->ReInit();
  for (const std::string& record : ReadRecords(triple.get())) twice.push_back(record);
  EXPECT_EQ(twice, six);
}

// A change of this order must raise kOrderVersion.
TEST(MultiFileReader, TheShuffledOrderOfFilesIsFrozen) {
  ASSERT_EQ(kOrderVersion, 2);
  const RandomKey key(0, 0, "files");
  EXPECT_EQ(ShuffledFiles(8, key, 0), (std::vector<uint32_t>{3, 0, 2, 5, 7, 4, 6, 1}));
  EXPECT_EQ(ShuffledFiles(8, key, 1), (std::vector<uint32_t>{6, 2, 1, 0, 3, 7, 5, 4}));
  EXPECT_EQ(ShuffledFiles(8, RandomKey(0, 1, "files"), 0),
            (std::vector<uint32_t>{2, 7, 1, 0, 3, 5, 4, 6}));
  EXPECT_EQ(ShuffledFiles(1, key, 0), (std::vector<uint32_t>{0}));
  std::set<std::vector<uint32_t>> orders;
  for (uint64_t pass = 0; pass < 1000; ++pass) {
    std::vector<uint32_t> order = ShuffledFiles(4, key, pass);
    orders.insert(order);
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order, InOrder(4));
  }
  EXPECT_EQ(orders.size(), 24u);
}

// The limit on open files while one of these lives.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit lower{limit, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &lower);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_;
};

// F33, F46
TEST(MultiFileReader, DescriptorsAndChunksDoNotGrowWithTheNumberOfFiles) {
  const FileContents contents = Numbered(std::vector<size_t>(300, 5));
  std::vector<std::unique_ptr<TempFile>> files;
  Strings names;
  for (const Strings& lines : contents) {
    std::string content;
    for (const std::string& line : lines) content += line + "\n";
    files.push_back(std::make_unique<TempFile>("many.txt", content));
    names.push_back(files.back()->path());
  }
  const PoolSize pool(7);
  const DescriptorLimit limit(64);
  for (const bool deterministic : {true, false}) {
    MultiFileOptions options;
    options.deterministic = deterministic;
    options.pass_num = 2;
    const auto reader = OpenFiles(names, {}, {}, options);
    const Holdings before = CurrentHoldings();
    Strings read;
    while (reader->HasNext()) {
      read.push_back(ReadSome(reader.get(), 1)[0][0].bytes);
      const Holdings now = CurrentHoldings();
      // The places, a few files ahead, and files that a worker is about to close.
      EXPECT_LE(now.descriptors, before.descriptors + 16 + 4 + 7);
      EXPECT_LE(now.chunks, before.chunks + 64);
    }
    const Strings once = Interleaved(contents, InOrder(300), 16);
    Strings model = once;
    model.insert(model.end(), once.begin(), once.end());
    if (!deterministic) {
      std::sort(read.begin(), read.end());
      std::sort(model.begin(), model.end());
    }
    EXPECT_EQ(read, model);
  }
}

TEST(MultiFileReader, MayBeginAnewOrEndAtAnyMoment) {
  const FileContents contents = Numbered({30, 2, 0, 50, 17, 17});
  const Files files(contents);
  const Strings model = Interleaved(contents, InOrder(6), 3);
  MultiFileOptions options;
  options.cycle_length = 3;
  for (const int workers : {0, 1, 7}) {
    const PoolSize pool(workers);
    Behaviour behaviour;
    behaviour.jitter = 17;
    StartPoolThreads();
    const Holdings before = CurrentHoldings();
    {
      const auto reader = files.Open(options, &behaviour);
      for (const size_t read : {size_t{0}, size_t{1}, size_t{40}, model.size(), size_t{3}}) {
        EXPECT_EQ(ReadSome(reader.get(), read).size(), read);
        reader->ReInit();
      }
      EXPECT_EQ(ReadRecords(reader.get()), model);
      for (size_t read = 0; read < model.size(); ++read) {
        ReadSome(files.Open(options, &behaviour).get(), read);
      }
    }
    EXPECT_TRUE(HoldingsReturnTo(before));
  }
}

TEST(MultiFileReader, TicketsOfThePassBeforeStayLoadable) {
  const FileContents contents = Numbered({30, 30});
  const Files files(contents);
  const PoolSize pool(2);
  Behaviour behaviour;
  const auto reader = files.Open({}, &behaviour);
  TicketRun run;
  while (run.tickets.size() < 50) ASSERT_GT(reader->Plan(50 - run.tickets.size(), &run), 0u);
  reader->Restart(1);
  EXPECT_TRUE(reader->HasNext());
  Rows rows(reader->row_slots());
  std::string bytes;
  for (const std::string& record : Interleaved(contents, InOrder(2), 16)) bytes += record;
  reader->Load(run.tickets.data(), run.tickets.size(), &rows);
  std::vector<LoDTensor> out;
  rows.MoveTo(&out);
  const std::vector<uint8_t> values = ValuesOf<uint8_t>(out[0]);
  EXPECT_EQ(std::string(values.begin(), values.end()), bytes.substr(0, values.size()));
  EXPECT_GT(values.size(), 150u);
}

}  // namespace
}  // namespace millhopper

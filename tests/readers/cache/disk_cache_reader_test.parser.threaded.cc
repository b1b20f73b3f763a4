// SPDX-License-Identifier: Apache-2.0
#include "readers/cache/disk_cache_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/file.h"
#include "readers/decorate/shuffle_reader.h"
#include "tests/bytes.h"
#include "tests/fakes/sources.h"
#include "tests/files/record_files.h"
#include "tests/outcome.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPlenty = int64_t{1} << 40;

// What a function writes to standard error. It goes through a pipe, which has room for it, because
// a limit on the size of files would hold for a file, too.
template <typename F>
std::string ToldBy(const F& function) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const int before = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  close(ends[1]);
  function();
  dup2(before, STDERR_FILENO);
  close(before);
  std::string told(1 << 16, '\0');
  told.resize(static_cast<size_t>(std::max<ssize_t>(0, read(ends[0], told.data(), told.size()))));
  close(ends[0]);
  return told;
}

class DiskCache : public ::testing::Test {
 protected:
  DiskCache() {
    spec_.records = 300;
    spec_.ragged = true;
  }

  std::unique_ptr<ReaderBase> Cached(std::unique_ptr<ReaderBase> below) {
    DiskCacheOptions options;
    options.directory = folder_;
    options.directory_bytes = most_bytes_;
    options.describe = [this] { return description_; };
    auto reader = std::make_unique<DiskCacheReader>(std::move(below), std::move(options));
    reader->set_origin("reader 'cached'");
    return reader;
  }
  std::unique_ptr<ReaderBase> Cached() { return Cached(MakePlannedSource(spec_)); }
  // A cache above a source whose loads count.
  std::unique_ptr<ReaderBase> Counted() {
    spec_.ledger = std::make_shared<Ledger>(spec_.records);
    return Cached();
  }
  std::vector<ElementValue> Expected() const {
    SourceSpec plain = spec_;
    plain.ledger = nullptr;
    return ReadAll(MakePlannedSource(plain).get());
  }
  // How often the records were loaded in all.
  int64_t Loads() const {
    int64_t sum = 0;
    for (int64_t i = 0; i < spec_.records; ++i) sum += spec_.ledger->loads(i);
    return sum;
  }

  // The names of what lies in the folder, but for locks.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    if (!fs::exists(folder_)) return names;
    for (const auto& file : fs::directory_iterator(folder_)) {
      if (file.path().extension() != ".lock") names.push_back(file.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string FilePath() const {
    const std::vector<std::string> names = Names();
    return names.size() == 1 ? folder_ + "/" + names[0] : "";
  }

  const std::string folder_ = NewFolder("disk_cache") + "/made/when/needed";
  SourceSpec spec_;
  std::string description_ = "numbers";
  int64_t most_bytes_ = kPlenty;
};

TEST_F(DiskCache, IsWrittenInTheFirstPassAndReadInAllOthers) {
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize size(threads);
    fs::remove_all(folder_);
    const auto reader = Counted();
    for (int pass = 0; pass < 3; ++pass) {
      EXPECT_EQ(ReadAll(reader.get()), Expected()) << "in pass " << pass;
      EXPECT_EQ(Loads(), spec_.records) << "in pass " << pass;
      reader->ReInit();
    }
    const auto later = Counted();
    EXPECT_EQ(ReadAll(later.get()), Expected());
    EXPECT_EQ(Loads(), 0);
  }
}

// Names decide random numbers of readers above, so they are kept, too.
TEST_F(DiskCache, KeepsTheNamesOfElements) {
  const auto ids = [](ReaderBase* reader) {
    TicketRun run;
    while (reader->Plan(7, &run) > 0) continue;
    std::vector<std::string> names;
    for (const Ticket& ticket : run.tickets) {
      const RecordId& id = ticket.id;
      names.push_back(StrCat(id.pass, " ", id.sample, " ", id.part, " ", id.chunk, " ", id.file,
                             " ", id.record));
    }
    return names;
  };
  const auto source = [this] {
    return std::make_unique<ShuffleReader>(MakePlannedSource(spec_), 50, RandomKey(1, 2, "x"));
  };
  const std::vector<std::string> wanted = ids(source().get());
  ASSERT_EQ(wanted.size(), 300u);
  EXPECT_EQ(ids(Cached(source()).get()), wanted);
  EXPECT_EQ(ids(Cached(source()).get()), wanted);
}

TEST_F(DiskCache, HoldsElementsOfAnySize) {
  const auto source = [] {
    SlotSpec slot;
    slot.dtype = DataType::kInt64;
    slot.dims = {-1, -1};
    class Sizes final : public SequentialReader {
     public:
      explicit Sizes(const SlotSpec& slot) : SequentialReader({slot}) {}
      bool ReadNextImpl(std::vector<LoDTensor>* out) override {
        const int64_t sizes[] = {3, 0, 200000, 1, 131072, 5, 400000};
        if (next_ == 7) return false;
        const int64_t rows = sizes[next_++];
        std::vector<int64_t> values(static_cast<size_t>(2 * rows));
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i) * rows;
        *out = {MakeTensor<int64_t>({rows, 2}, values)};
        return true;
      }
      void ReInitImpl() override { next_ = 0; }

     private:
      size_t next_ = 0;
    };
    return std::make_unique<Sizes>(slot);
  };
  const std::vector<ElementValue> wanted = ReadAll(source().get());
  ASSERT_EQ(wanted.size(), 7u);
  EXPECT_EQ(ReadAll(Cached(source()).get()), wanted);
  ASSERT_NE(FilePath(), "");
  EXPECT_EQ(ReadAll(Cached(source()).get()), wanted);
}

TEST_F(DiskCache, OfNothingIsEmpty) {
  spec_.records = 0;
  for (int time = 0; time < 2; ++time) EXPECT_TRUE(ReadAll(Cached().get()).empty());
  EXPECT_NE(FilePath(), "");
}

TEST_F(DiskCache, OfOtherDataIsNotUsed) {
  ReadAll(Cached().get());
  const std::string numbers = FilePath();
  fs::rename(numbers, numbers + ".away");
  description_ = "other numbers";
  spec_.records = 200;
  const auto reader = Counted();
  EXPECT_EQ(ReadAll(reader.get()), Expected());
  EXPECT_EQ(Loads(), 200);
  // Nor is it used under the name of what is wanted.
  std::string others;
  for (const std::string& name : Names()) {
    if (name.find(".away") == std::string::npos) others = folder_ + "/" + name;
  }
  ASSERT_NE(others, numbers);
  fs::copy_file(others, numbers);
  description_ = "numbers";
  spec_.records = 300;
  const auto again = Counted();
  EXPECT_EQ(ReadAll(again.get()), Expected());
  EXPECT_EQ(Loads(), 300);
}

TEST_F(DiskCache, OfFilesThatChangeMeanwhileIsNotKept) {
  const auto reader = Cached();
  std::vector<LoDTensor> element;
  reader->ReadNext(&element);
  description_ = "changed";
  const std::string told = ToldBy([&] { EXPECT_EQ(ReadAll(reader.get()).size(), 299u); });
  EXPECT_NE(told.find("have changed meanwhile"), std::string::npos) << told;
  EXPECT_EQ(Names(), std::vector<std::string>());
}

TEST_F(DiskCache, IsNotKeptUnlessThePassIsWhole) {
  const auto reader = Cached();
  EXPECT_EQ(ReadSome(reader.get(), 100).size(), 100u);
  reader->ReInit();
  EXPECT_EQ(Names(), std::vector<std::string>());
  EXPECT_EQ(ReadSome(reader.get(), 300).size(), 300u);  // the end was not asked for
  EXPECT_NE(FilePath().find(".partial"), std::string::npos);
  EXPECT_FALSE(reader->HasNext());
  EXPECT_NE(FilePath(), "");
  EXPECT_EQ(FilePath().find(".partial"), std::string::npos);
}

TEST_F(DiskCache, LeavesErrorsWhereTheyAre) {
  for (const bool plan : {false, true}) {
    (plan ? spec_.plan_error : spec_.load_error) = 100;
    const auto reader = Cached();
    for (int pass = 0; pass < 3; ++pass) {
      const Outcome outcome = OutcomeOf(reader.get());
      EXPECT_EQ(outcome.elements.size(), 100u);
      ASSERT_TRUE(outcome.error);
      EXPECT_NE(outcome.error->message().find("record 100 cannot be"), std::string::npos);
      reader->ReInit();
    }
    EXPECT_EQ(Names(), std::vector<std::string>());
  }
}

// Every bit flip and every end of a small file: it is noticed, the stream is right, and the file is
// written again.
TEST_F(DiskCache, DamageIsNoticedAndReadAgain) {
  const PoolSize size(0);
  spec_.records = 4;
  spec_.ragged = false;
  ReadAll(Cached().get());
  const std::string path = FilePath();
  ASSERT_NE(path, "");
  const std::string whole = ReadFile(path);
  const std::vector<ElementValue> wanted = Expected();
  const auto check = [&](const std::string& damaged, const std::string& how) {
    WriteFile(path, damaged);
    const auto reader = Counted();
    ASSERT_EQ(ReadAll(reader.get()), wanted) << how;
    ASSERT_TRUE(!fs::exists(path) || ReadFile(path) == whole) << how;  // it was noticed
    reader->ReInit();
    ASSERT_EQ(ReadAll(reader.get()), wanted) << how;
    ASSERT_TRUE(ReadFile(path) == whole) << how;
  };
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    ASSERT_NO_FATAL_FAILURE(check(FlipBit(whole, bit), StrCat("bit ", bit, " flipped")));
  }
  for (size_t length = 0; length < whole.size(); ++length) {
    ASSERT_NO_FATAL_FAILURE(check(whole.substr(0, length), StrCat("cut to ", length, " bytes")));
  }
  ASSERT_NO_FATAL_FAILURE(check(whole + "x", "one byte more"));
}

// Where a later block is damaged, the first ones have been yielded already.
TEST_F(DiskCache, GoesOnBehindWhatADamagedFileHasYielded) {
  spec_.records = 30000;  // between two and three blocks
  const std::vector<ElementValue> wanted = Expected();
  ReadAll(Cached().get());
  const std::string path = FilePath();
  const std::string whole = ReadFile(path);
  ASSERT_GT(whole.size(), size_t{3} << 19);
  for (const int threads : {0, 7}) {
    const PoolSize size(threads);
    for (const size_t byte : {whole.size() / 2, whole.size() - 30, whole.size() - 1}) {
      WriteFile(path, FlipBit(whole, 8 * byte));
      const auto reader = Counted();
      EXPECT_TRUE(ReadAll(reader.get()) == wanted);
      EXPECT_LT(Loads(), spec_.records);
      reader->ReInit();
      EXPECT_TRUE(ReadAll(reader.get()) == wanted);
      EXPECT_TRUE(ReadFile(path) == whole);
    }
  }
}

// Elements wait in a window above the cache when it is saved: 40 of them, unless the pass is over.
class SavedDiskCache : public DiskCache {
 protected:
  static std::unique_ptr<ReaderBase> Shuffled(std::unique_ptr<ReaderBase> reader) {
    return std::make_unique<ShuffleReader>(std::move(reader), 40, RandomKey(1, 2, "x"));
  }
  // Reads some elements of a pass, saves and reads the rest.
  void Read(size_t some, int pass = 0) {
    const auto reader = Shuffled(Cached());
    reader->ExpectSave();
    for (int i = 0; i < pass; ++i) reader->ReInit();
    ReadSome(reader.get(), some);
    position_ = reader->Save().Serialize();
    rest_ = ReadAll(reader.get());
    reader->ReInit();
    next_pass_ = ReadAll(reader.get());
  }
  // Expects that a new reader resumes from there. Its loads count.
  void ExpectRest(const std::string& how) {
    const auto reader = Shuffled(Counted());
    reader->Restore(Position::Parse(position_));
    ASSERT_EQ(ReadAll(reader.get()), rest_) << how;
    reader->ReInit();
    ASSERT_EQ(ReadAll(reader.get()), next_pass_) << how;
  }

  std::string position_;
  std::vector<ElementValue> rest_, next_pass_;
};

TEST_F(SavedDiskCache, GoesOnInTheFile) {
  for (const int threads : {0, 2, 7}) {
    const PoolSize size(threads);
    ReadAll(Cached().get());
    for (const size_t some : {0, 1, 137, 299, 300}) {
      for (const int pass : {0, 1}) {
        Read(some, pass);
        ExpectRest(StrCat("after ", some, " in pass ", pass));
        EXPECT_EQ(Loads(), 0);
      }
    }
  }
}

TEST_F(SavedDiskCache, GoesOnWithoutTheFile) {
  for (const size_t some : {0, 1, 137, 299, 300}) {
    ReadAll(Cached().get());
    Read(some, 1);
    fs::remove_all(folder_);
    ExpectRest(StrCat("after ", some));
    EXPECT_GT(Loads(), 0);
    EXPECT_NE(FilePath(), "") << "the next pass is written";
  }
}

// The file gets its name after the reader was saved, or never.
TEST_F(SavedDiskCache, GoesOnFromAPassThatWasWritten) {
  for (const bool published : {true, false}) {
    for (const size_t some : {1, 137, 299, 300}) {
      fs::remove_all(folder_);
      Read(some);
      ASSERT_NE(FilePath(), "");
      if (!published) fs::remove(FilePath());
      ExpectRest(StrCat("after ", some, published ? ", written" : ""));
      EXPECT_NE(FilePath(), "");
    }
  }
}

// Also where the damage lies in what is passed over.
TEST_F(SavedDiskCache, GoesOnBesideADamagedFile) {
  spec_.records = 30000;  // between two and three blocks
  ReadAll(Cached().get());
  Read(29000);
  const std::string path = FilePath();
  const std::string whole = ReadFile(path);
  constexpr size_t kFirstBlock = 68;  // after the head of a file with one slot of two axes
  // The count of elements in the head of a block, what is in it, the last block, the end.
  for (const size_t byte : {kFirstBlock, whole.size() / 2, whole.size() - 100, whole.size() - 1}) {
    WriteFile(path, FlipBit(whole, 8 * byte));
    ExpectRest(StrCat("byte ", byte));
  }
  for (const size_t length : {size_t{0}, size_t{10}, whole.size() / 2, whole.size() - 1}) {
    WriteFile(path, whole.substr(0, length));
    ExpectRest(StrCat(length, " bytes"));
  }
}

// Some of the elements in the window are from the file, and some from the reader below.
TEST_F(SavedDiskCache, GoesOnWhereItHasLeftADamagedFile) {
  spec_.records = 30000;
  ReadAll(Cached().get());
  const std::string whole = ReadFile(FilePath());
  const size_t last_block =
      29999 - ElementCacheFormat::Read(File::Open(FilePath()), CacheKeyOf(description_))
                  ->PlacesOf({29999})[0]
                  .record;
  ASSERT_GT(last_block, 10000u);
  WriteFile(FilePath(), FlipBit(whole, 8 * (whole.size() - 100)));
  Read(last_block - 20);
  ASSERT_TRUE(ReadFile(FilePath()) == whole) << "the next pass has written it";
  ExpectRest("with a new file");
  fs::remove_all(folder_);
  ExpectRest("without a file");
}

// A description that does not say all leads to it.
TEST_F(SavedDiskCache, GoesOnBesideAFileWithFewerElements) {
  ReadAll(Cached().get());
  Read(137, 1);
  fs::remove_all(folder_);
  spec_.records = 60;
  ReadAll(Cached().get());
  spec_.records = 300;
  const auto reader = Shuffled(Cached());
  reader->Restore(Position::Parse(position_));
  EXPECT_EQ(ReadAll(reader.get()), rest_);
}

// What cannot be read now, because the process has no descriptors left, may be whole.
TEST_F(DiskCache, AFileThatCannotBeReadStays) {
  const PoolSize size(0);
  spec_.records = 60000;
  const std::vector<ElementValue> wanted = Expected();
  ReadAll(Cached().get());
  const std::string path = FilePath();
  ASSERT_NE(path, "");
  const auto reader = Counted();
  std::vector<LoDTensor> element;
  reader->ReadNext(&element);
  EXPECT_EQ(Loads(), 0);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int first_free = open("/dev/null", O_RDONLY);
  close(first_free);
  const rlimit none_left = {static_cast<rlim_t>(first_free), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  File::Open(path);  // takes the descriptor of the file that is being read
  const int taken = open("/dev/null", O_RDONLY);
  EXPECT_GE(taken, 0);
  EXPECT_EQ(ReadAll(reader.get()).size(), wanted.size() - 1);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  close(taken);
  EXPECT_GT(Loads(), 0);
  EXPECT_EQ(FilePath(), path);
  const auto later = Counted();
  EXPECT_TRUE(ReadAll(later.get()) == wanted);
  EXPECT_EQ(Loads(), 0);
}

// While a reader reads a damaged file, another process may have put a whole one in its place.
TEST_F(DiskCache, OnlyTheDamagedFileIsRemoved) {
  const PoolSize size(0);
  spec_.records = 60000;
  const std::vector<ElementValue> wanted = Expected();
  ReadAll(Cached().get());
  const std::string path = FilePath();
  const std::string whole = ReadFile(path);
  WriteFile(path, FlipBit(whole, 8 * (whole.size() - 30)));
  const auto reader = Cached();
  std::vector<LoDTensor> element;
  reader->ReadNext(&element);
  WriteFile(path + ".new", whole);
  fs::rename(path + ".new", path);
  EXPECT_EQ(ReadAll(reader.get()).size(), wanted.size() - 1);
  EXPECT_TRUE(fs::exists(path) && ReadFile(path) == whole);
}

TEST_F(DiskCache, FullDisksAreReadPastAndToldOfOnce) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (const rlim_t room : {0, 10, 1000, 5000}) {
    const auto reader = Cached();
    std::vector<std::vector<ElementValue>> passes;
    const std::string told = ToldBy([&] {
      const rlimit small = {room, before.rlim_max};
      setrlimit(RLIMIT_FSIZE, &small);
      for (int pass = 0; pass < 3; ++pass) {
        passes.push_back(ReadAll(reader.get()));
        reader->ReInit();
      }
      setrlimit(RLIMIT_FSIZE, &before);
    });
    for (const auto& pass : passes) EXPECT_EQ(pass, Expected()) << room;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
    EXPECT_NE(told.find("warning: reader 'cached' keeps no elements in '" + folder_ +
                        "' and reads on without: "),
              std::string::npos)
        << told;
    EXPECT_NE(told.find("File too large"), std::string::npos) << told;
    EXPECT_EQ(Names(), std::vector<std::string>()) << room;
  }
}

TEST_F(DiskCache, FoldersThatCannotBeWrittenToAreReadPast) {
  fs::create_directories(fs::path(folder_).parent_path());
  WriteFile(folder_, "a file where the folder should be");
  const std::string told = ToldBy([&] { EXPECT_EQ(ReadAll(Cached().get()), Expected()); });
  EXPECT_NE(told.find("Not a directory"), std::string::npos) << told;
}

TEST_F(DiskCache, TakesNoMoreThanItMay) {
  ReadAll(Cached().get());
  const auto one = static_cast<int64_t>(fs::file_size(FilePath()));
  description_ = "second";
  for (const int64_t most : {int64_t{0}, one - 1, 2 * one - 1}) {
    most_bytes_ = most;
    const auto reader = Cached();
    const std::string told = ToldBy([&] {
      for (int pass = 0; pass < 2; ++pass) {
        EXPECT_EQ(ReadAll(reader.get()), Expected());
        reader->ReInit();
      }
    });
    EXPECT_NE(told.find(StrCat("they take more than the disk_bytes of ", most,
                               ", of which other caches in it take ", one)),
              std::string::npos)
        << told;
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
    EXPECT_EQ(Names().size(), 1u);
  }
  most_bytes_ = 2 * one;
  ReadAll(Cached().get());
  EXPECT_EQ(Names().size(), 2u);
}

TEST_F(DiskCache, CountsWhatOthersWriteMeanwhile) {
  ReadAll(Cached().get());
  const auto one = static_cast<int64_t>(fs::file_size(FilePath()));
  most_bytes_ = 2 * one;
  description_ = "second";
  const auto reader = Cached();
  std::vector<LoDTensor> element;
  reader->ReadNext(&element);
  WriteFile(folder_ + "/third.mhcache", "x");
  const std::string told = ToldBy([&] { ReadAll(reader.get()); });
  EXPECT_NE(told.find(StrCat("of which other caches in it take ", one + 1)), std::string::npos)
      << told;
  EXPECT_EQ(Names().size(), 2u);
}

TEST_F(DiskCache, WrongOptionsAreErrors) {
  most_bytes_ = -1;
  ExpectError(ErrorCode::kInvalidArgument, "disk_bytes is -1", [&] { Cached(); });
  DiskCacheOptions options;
  options.directory = "memory://cache";
  options.directory_bytes = 1;
  ExpectError(ErrorCode::kInvalidArgument, "'memory://cache' is on no local disk",
              [&] { DiskCacheReader(MakePlannedSource(spec_), options); });
  options.directory = "";
  ExpectError(ErrorCode::kInvalidArgument, "directory is empty",
              [&] { DiskCacheReader(MakePlannedSource(spec_), options); });
}

// Two readers of one process: one writes, the other reads past it, and both are right.
TEST_F(DiskCache, HasOneWriter) {
  const auto first = Cached();
  const auto second = Cached();
  std::vector<LoDTensor> element;
  first->ReadNext(&element);
  EXPECT_EQ(ReadAll(second.get()), Expected());
  EXPECT_EQ(ReadAll(first.get()).size(), 299u);
  EXPECT_EQ(FilePath().find(".partial"), std::string::npos);
  second->ReInit();
  EXPECT_EQ(ReadAll(second.get()), Expected());
}

// Runs a function in a child process, which has no worker threads.
template <typename F>
pid_t Start(const F& function) {
  const pid_t child = fork();
  if (child == 0) _exit(function() ? 0 : 1);
  return child;
}

// A process that is forked while a file is written has its descriptors, and so its lock.
TEST_F(DiskCache, AForkedProcessNeitherKeepsNorFreesTheLock) {
  const PoolSize size(0);
  auto reader = Cached();
  std::vector<LoDTensor> element;
  reader->ReadNext(&element);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    reader.reset();
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const auto other = Cached();
  EXPECT_EQ(ReadAll(other.get()), Expected());
  EXPECT_EQ(Names().size(), 1u);  // the other one has found the lock taken, and has written nothing
  EXPECT_NE(FilePath().find(".partial"), std::string::npos);
  // One that lives on with its copy.
  const pid_t living = fork();
  if (living == 0) {
    char byte;
    close(ends[1]);
    _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
  }
  EXPECT_EQ(ReadAll(reader.get()).size(), 299u);
  fs::remove(FilePath());
  EXPECT_EQ(ReadAll(Cached().get()), Expected());
  EXPECT_NE(FilePath(), "");  // the lock was free
  close(ends[0]);
  close(ends[1]);
  ASSERT_EQ(waitpid(living, nullptr, 0), living);
}

TEST_F(DiskCache, ProcessesDoNotHarmOneAnother) {
  const PoolSize size(0);
  spec_.records = 20000;
  const std::string wanted = DigestOf(Expected());
  std::vector<pid_t> children;
  children.reserve(4);
  for (int i = 0; i < 4; ++i) {
    children.push_back(Start([&] {
      for (int time = 0; time < 3; ++time) {
        // One of them keeps on removing the file that the others may be reading.
        if (i == 3 && fs::path(FilePath()).extension() == ".mhcache") fs::remove(FilePath());
        if (DigestOf(ReadAll(Cached().get())) != wanted) return false;
      }
      return true;
    }));
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(DigestOf(ReadAll(Cached().get())), wanted);
  EXPECT_NE(FilePath(), "");
}

// A process that is killed at any moment leaves nothing that is taken for whole, and nothing that
// stays for ever.
TEST_F(DiskCache, ProcessesMayBeKilledAtAnyMoment) {
  const PoolSize size(0);
  spec_.records = 20000;
  const std::vector<ElementValue> wanted = Expected();
  uint64_t bits = 1;
  int begun = 0, whole = 0;
  for (int time = 0; time < 40; ++time) {
    const pid_t child = Start([&] { return ReadAll(Cached().get()).size() == 20000; });
    bits = bits * 6364136223846793005 + 1442695040888963407;
    std::this_thread::sleep_for(std::chrono::microseconds((bits >> 33) % 40000));
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const std::vector<std::string> names = Names();
    ASSERT_LE(names.size(), 1u);  // what one left is not there beside what the next left
    if (names.empty()) continue;
    if (names[0].find(".partial") != std::string::npos) {
      ++begun;
      if (time % 8 != 0) continue;  // the next child finds it
    } else {
      ++whole;
    }
    const auto reader = Counted();
    ASSERT_TRUE(ReadAll(reader.get()) == wanted);
    ASSERT_EQ(Loads() == 0, names[0].find(".partial") == std::string::npos);
    ASSERT_EQ(Names().size(), 1u);
    fs::remove(FilePath());
  }
  // Says what this machine has tried; either number may be 0 on another one.
  RecordProperty("killed_while_writing", begun);
  RecordProperty("killed_behind", whole);
}

}  // namespace
}  // namespace millhopper

// SPDX-License-Identifier: Apache-2.0
// Mapped files: what happens when they change, and to a SIGBUS that no mapped file has caused.
#include "framework/io/mapping.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/io/file.h"
#include "framework/io/guarded_pages.h"
#include "framework/io/mapping_cache.h"
#include "tests/bytes.h"
#include "tests/fakes/memory_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

const size_t kPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));

// No byte is 0, so that zeros can be told from content.
std::string Content(size_t size) {
  std::string content(size, '\0');
  for (size_t i = 0; i < size; ++i) content[i] = static_cast<char>(1 + i % 251);
  return content;
}

std::string ReadAll(const Ref<Buffer>& view) { return {view->data(), view->capacity()}; }

// ---- A SIGBUS that no mapped file has caused. These tests run in child processes and come first,
// before this process installs a handler. ----

// The address of a page that is lost.
const volatile char* LostPage() {
  const TempFile file("lost", Content(kPage));
  const int descriptor = ::open(file.path().c_str(), O_RDWR);
  void* const page = ::mmap(nullptr, kPage, PROT_READ, MAP_SHARED, descriptor, 0);
  EXPECT_EQ(::ftruncate(descriptor, 0), 0);
  return static_cast<const char*>(page);
}

// Calls a function while a file is mapped, with a handler that was installed before.
void WhileMapped(void (*handler)(int), const std::function<void()>& function) {
  ::signal(SIGBUS, handler);
  const TempFile file("mapped", Content(kPage));
  const auto opened = File::Open(file.path(), BufferType::kMmap);
  EXPECT_TRUE(opened->mapping());
  function();
  std::_Exit(7);
}

TEST(MappingDeathTest, ASigbusOfSomebodyElseEndsTheProcess) {
  EXPECT_EXIT(WhileMapped(SIG_DFL, [] { (void)*LostPage(); }), ::testing::KilledBySignal(SIGBUS),
              "");
  EXPECT_EXIT(WhileMapped(SIG_DFL, [] { ::raise(SIGBUS); }), ::testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(WhileMapped(SIG_IGN, [] { (void)*LostPage(); }), ::testing::KilledBySignal(SIGBUS),
              "");
}

TEST(MappingDeathTest, ASigbusThatIsIgnoredStaysSo) {
  EXPECT_EXIT(WhileMapped(SIG_IGN, [] { ::raise(SIGBUS); }), ::testing::ExitedWithCode(7), "");
}

TEST(MappingDeathTest, ASigbusGoesToTheHandlerThatWasThere) {
  const auto handler = [](int) { std::_Exit(3); };
  EXPECT_EXIT(WhileMapped(handler, [] { (void)*LostPage(); }), ::testing::ExitedWithCode(3), "");
  EXPECT_EXIT(WhileMapped(handler, [] { ::raise(SIGBUS); }), ::testing::ExitedWithCode(3), "");
}

TEST(MappingDeathTest, AHandlerForOneTimeIsCalledOnce) {
  const auto once = [] {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(SIGBUS, &action, nullptr);
    const TempFile file("mapped", Content(kPage));
    const auto opened = File::Open(file.path(), BufferType::kMmap);
    ::raise(SIGBUS);
    ::raise(SIGBUS);
    std::_Exit(7);
  };
  EXPECT_EXIT(once(), ::testing::KilledBySignal(SIGBUS), "");
}

// ---- Mapped files. ----

TEST(Mapping, ShowsTheBytesOfTheFile) {
  const std::string content = Content(3 * kPage + 17);
  const TempFile temp("file", content);
  Ref<Buffer> end;
  {
    const auto file = File::Open(temp.path(), BufferType::kMmap);
    ASSERT_TRUE(file->mapping());
    EXPECT_EQ(ReadAll(file->mapping()->View(0, content.size())), content);
    file->mapping()->CheckUnchanged(0);
    end = file->mapping()->View(content.size() - 5, 5);
    EXPECT_TRUE(file->mapping()->Has(end->data()));
    EXPECT_FALSE(file->mapping()->Has(content.data()));
    std::string read(20, '.');
    file->Read(kPage - 10, read.data(), read.size());
    EXPECT_EQ(read, content.substr(kPage - 10, 20));
    for (const uint64_t from : {content.size(), content.size() - 4, size_t{1} << 60}) {
      ExpectError(ErrorCode::kInternal, "of a mapping of", [&] { file->mapping()->View(from, 5); });
    }
  }
  EXPECT_EQ(ReadAll(end), content.substr(content.size() - 5));  // which the view keeps there
}

TEST(Mapping, IsOnlyWhereItWasAskedForAndThereIsSomething) {
  const TempFile some("some", "x"), none("none", "");
  EXPECT_FALSE(File::Open(some.path())->mapping());
  const auto empty = File::Open(none.path(), BufferType::kMmap);
  EXPECT_EQ(empty->size(), 0u);
  EXPECT_FALSE(empty->mapping());
  const auto made_up = File::Open("/proc/sys/kernel/ostype", BufferType::kMmap);
  char bytes[5];
  made_up->Read(0, bytes, 5);
  EXPECT_EQ(std::string(bytes, 5), "Linux");
}

TEST(Mapping, IsRefusedOfCompressedFilesAndOtherFileSystems) {
  const TempFile gzip("text.gz", Gzipped("text"));
  ExpectError(ErrorCode::kInvalidArgument, gzip.path() + ": the file is compressed with gzip",
              [&] { ByteStream(gzip.path(), BufferType::kMmap); });
  MemoryFiles::Get().Write("memory://x", "bytes");
  ExpectError(ErrorCode::kInvalidArgument, "memory://x: buffer_type \"mmap\" is for files on local",
              [&] { File::Open("memory://x", BufferType::kMmap); });
  MemoryFiles::Get().Remove("memory://x");
}

// The file is cut off at and near every page. Bytes before the cut are right, zeros follow, and the
// check names the byte.
TEST(Mapping, TellsThatTheFileIsShorter) {
  const std::string content = Content(5 * kPage + 100);
  for (size_t page = 0; page <= 5; ++page) {
    for (const size_t beyond : {size_t{0}, size_t{1}, kPage / 2, kPage - 1}) {
      const size_t cut = page * kPage + beyond;
      if (cut >= content.size()) continue;
      SCOPED_TRACE(StrCat("cut off at ", cut));
      const TempFile temp("file", content);
      const auto file = File::Open(temp.path(), BufferType::kMmap);
      const Ref<Buffer> view = file->mapping()->View(0, content.size());
      ASSERT_EQ(::truncate(temp.path().c_str(), static_cast<off_t>(cut)), 0);
      const std::string read = ReadAll(view);
      EXPECT_EQ(read.substr(0, cut), content.substr(0, cut));
      EXPECT_EQ(read.substr(cut), std::string(content.size() - cut, '\0'));
      for (int again = 0; again < 2; ++again) {
        ExpectError(
            ErrorCode::kDataLoss,
            StrCat(temp.path(), ": file is shorter than when it was opened: it ends before byte ",
                   cut, " and had ", content.size(), " bytes"),
            [&] { file->mapping()->CheckUnchanged(3); });
      }
    }
  }
}

TEST(Mapping, TellsThatTheFileWasWrittenTo) {
  const std::string content = Content(2 * kPage);
  const auto changes = {
      +[](const std::string& path) {  // in place
        const int descriptor = ::open(path.c_str(), O_WRONLY);
        EXPECT_EQ(::pwrite(descriptor, "new", 3, 5), 3);
        ::close(descriptor);
      },
      +[](const std::string& path) { std::ofstream(path, std::ios::app) << "more"; },
      +[](const std::string& path) {
        WriteFile(path, Content(3 * kPage));
      },  // shorter for a moment
  };
  for (const auto change : changes) {
    const TempFile temp("file", content);
    const auto file = File::Open(temp.path(), BufferType::kMmap);
    file->mapping()->CheckUnchanged(0);
    // Older file systems keep times in steps of some milliseconds: repeats until the time differs.
    struct stat before, after;
    ASSERT_EQ(::stat(temp.path().c_str(), &before), 0);
    do {
      change(temp.path());
      ASSERT_EQ(::stat(temp.path().c_str(), &after), 0);
    } while (after.st_mtim.tv_nsec == before.st_mtim.tv_nsec &&
             after.st_mtim.tv_sec == before.st_mtim.tv_sec);
    ExpectError(ErrorCode::kDataLoss,
                temp.path() +
                    ": file was changed while it was mapped into memory, so that what is "
                    "read at byte 77 may",
                [&] { file->mapping()->CheckUnchanged(77); });
  }
}

TEST(Mapping, StaysTheFileThatWasOpenedWhateverItsName) {
  const std::string content = Content(2 * kPage);
  const TempFile temp("file", content);
  const auto file = File::Open(temp.path(), BufferType::kMmap);
  const TempFile other("other", "other");
  ASSERT_EQ(::rename(other.path().c_str(), temp.path().c_str()), 0);
  EXPECT_EQ(ReadAll(file->mapping()->View(0, content.size())), content);
  file->mapping()->CheckUnchanged(0);
  std::string read(content.size(), '.');
  file->Read(0, read.data(), read.size());
  EXPECT_EQ(read, content);
}

// The disk fails to give a page of an unchanged file.
// ---- Mappings that are kept. ----

// Waits until a mapping of a file that was just written can be kept.
void LetSettle() { std::this_thread::sleep_for(std::chrono::milliseconds(2100)); }

Ref<Mapping> Map(const std::string& path) {
  return Ref<Mapping>(File::Open(path, BufferType::kMmap)->mapping().get());
}

TEST(MappingCache, GiveTheSameAgainWithinTheirScope) {
  const TempFile temp("file", Content(kPage)), other("other", Content(kPage));
  LetSettle();
  MappingCache kept;
  const void* first = nullptr;
  {
    const MappingCacheScope scope(&kept);
    const Ref<Mapping> mapping = Map(temp.path());
    first = mapping.get();
    mapping->SetChecked(7);
  }
  const MappingCacheScope scope(&kept);
  const auto again = File::Open(temp.path(), BufferType::kMmap);
  EXPECT_EQ(again->mapping().get(), first);
  EXPECT_TRUE(again->mapping()->IsChecked(7));
  EXPECT_FALSE(again->mapping()->IsChecked(8));
  char bytes[5];
  again->Read(100, bytes, sizeof(bytes));
  EXPECT_EQ(std::string(bytes, sizeof(bytes)), Content(kPage).substr(100, 5));
  EXPECT_NE(Map(other.path()).get(), first);
  {
    MappingCache others;
    const MappingCacheScope inner(&others);
    EXPECT_NE(Map(temp.path()).get(), first);
  }
  EXPECT_EQ(Map(temp.path()).get(), first);
}

TEST(MappingCache, AreOfNoFileThatHasChanged) {
  const auto changes = {
      +[](const std::string& path) { std::ofstream(path, std::ios::app) << "more"; },
      +[](const std::string& path) {  // with the same size, and the time of the last writing
        struct stat before;
        ASSERT_EQ(::stat(path.c_str(), &before), 0);
        WriteFile(path, std::string(kPage, 'x'));
        const struct timespec times[] = {before.st_atim, before.st_mtim};
        ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
      },
      +[](const std::string& path) {  // another one of this name
        WriteFile(path + ".new", Content(kPage));
        ASSERT_EQ(::rename((path + ".new").c_str(), path.c_str()), 0);
      },
  };
  for (const auto change : changes) {
    const TempFile temp("file", Content(kPage));
    LetSettle();
    MappingCache kept;
    const MappingCacheScope scope(&kept);
    const Ref<Mapping> before = Map(temp.path());
    change(temp.path());
    const Ref<Mapping> after = Map(temp.path());
    EXPECT_NE(after.get(), before.get());
    EXPECT_EQ(ReadAll(after->View(0, after->size())), ReadFile(temp.path()));
  }
}

TEST(MappingCache, AreNotOfAFileThatHasJustChanged) {
  using Clock = std::chrono::steady_clock;
  // Repeats where the machine has taken so long that the file has settled.
  for (bool in_time = false; !in_time;) {
    const Clock::time_point begin = Clock::now();
    const TempFile temp("file", Content(kPage));
    MappingCache kept;
    const MappingCacheScope scope(&kept);
    const Ref<Mapping> before = Map(temp.path());
    in_time = Clock::now() - begin < std::chrono::seconds(1);
    if (!in_time) continue;
    EXPECT_NE(Map(temp.path()).get(), before.get());
  }
}

TEST(MappingCache, AreNotMoreThanDescriptorsAllow) {
  std::vector<std::unique_ptr<TempFile>> files;
  for (size_t i = 0; i <= MappingCache::kMost; ++i) {
    files.push_back(std::make_unique<TempFile>(StrCat("file", i), Content(kPage)));
  }
  LetSettle();
  MappingCache kept;
  const MappingCacheScope scope(&kept);
  std::vector<Ref<Mapping>> first;
  for (const auto& file : files) first.push_back(Map(file->path()));
  for (size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(Map(files[i]->path()).get() == first[i].get(), i < MappingCache::kMost) << i;
  }
}

// Those of all readers together.
TEST(MappingCache, LeaveTheirRoomToOthers) {
  const TempFile temp("file", Content(kPage));
  std::vector<std::unique_ptr<TempFile>> files;
  for (size_t i = 0; i < MappingCache::kMost; ++i) {
    files.push_back(std::make_unique<TempFile>(StrCat("file", i), Content(kPage)));
  }
  LetSettle();
  MappingCache others;
  const auto is_kept = [&] {
    const MappingCacheScope scope(&others);
    const Ref<Mapping> mapping = Map(temp.path());
    return Map(temp.path()).get() == mapping.get();
  };
  {
    MappingCache kept;
    const MappingCacheScope scope(&kept);
    for (const auto& file : files) Map(file->path());
    EXPECT_FALSE(is_kept());
  }
  EXPECT_TRUE(is_kept());
}

TEST(GuardedPages, NotesTheFirstLostPageAndGoesOn) {
  const TempFile temp("file", Content(4 * kPage));
  const int descriptor = ::open(temp.path().c_str(), O_RDWR);
  void* const pages = ::mmap(nullptr, 4 * kPage, PROT_READ, MAP_SHARED, descriptor, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const volatile char* const bytes = static_cast<const char*>(pages);
  {
    const GuardedPages guard(static_cast<char*>(pages), 3 * kPage + 1);  // in whole pages
    EXPECT_EQ(guard.lost(), std::nullopt);
    ASSERT_EQ(::ftruncate(descriptor, static_cast<off_t>(kPage)), 0);
    EXPECT_EQ(bytes[3 * kPage + 7], 0);
    EXPECT_EQ(guard.lost(), 3 * kPage);
    EXPECT_EQ(bytes[kPage + 7], 0);
    EXPECT_EQ(guard.lost(), kPage);
    EXPECT_EQ(bytes[2 * kPage], 0);
    EXPECT_EQ(bytes[0], 1);
    EXPECT_EQ(guard.lost(), kPage);
  }
  ::munmap(pages, 4 * kPage);
  ::close(descriptor);
}

// Guards are made and destroyed while other threads touch lost pages.
TEST(GuardedPages, ServeManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 16;
  const std::string content = Content(8 * kPage);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < kRounds; ++round) {
        const TempFile temp(StrCat("of_", thread), content);
        const auto file = File::Open(temp.path(), BufferType::kMmap);
        const Ref<Buffer> view = file->mapping()->View(0, content.size());
        const size_t cut = static_cast<size_t>(round % 8) * kPage;
        if (::truncate(temp.path().c_str(), static_cast<off_t>(cut)) != 0) ++wrong;
        std::thread other([&] {
          if (ReadAll(view).substr(0, cut) != content.substr(0, cut)) ++wrong;
        });
        if (ReadAll(view).substr(cut) != std::string(content.size() - cut, '\0')) ++wrong;
        other.join();
        try {
          file->mapping()->CheckUnchanged(0);
          ++wrong;
        } catch (const Error& error) {
          if (error.offset() != static_cast<int64_t>(cut)) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace millhopper

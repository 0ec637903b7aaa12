#include "host/loader/elf.h"

#include <elf.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "host/core/file.h"
#include "tests/fakes/built_files.h"

namespace cardcage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string module_file(const std::string& name) {
  auto content = read_file(test_modules() / name, 64 << 20);
  EXPECT_TRUE(content);
  return content.value_or("");
}
Result<ElfFacts> inspect(const std::string& file) { return inspect_elf(std::as_bytes(std::span(file))); }

// Returns `file` with one member of its ELF header changed.
template <class Member, class Value>
std::string with(std::string file, Member member, Value value) {
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  header.*member = static_cast<Elf64_Half>(value);
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

TEST(ElfTest, ReadsEntriesAndNeededLibraries) {
  const auto facts = inspect(module_file("missing_library.so"));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_THAT(facts->entries, ElementsAre("cage_module_v1"));
  EXPECT_THAT(facts->needed, Contains("libcardcage-absent.so"));
}

TEST(ElfTest, NamesWhatIsExportedBesidesTheEntry) {
  EXPECT_THAT(inspect(module_file("good.so"))->others, ElementsAre());
  EXPECT_THAT(inspect(module_file("shared_table_one.so"))->others, ElementsAre("shared_table"));
}

TEST(ElfTest, NamesTheMachineOfAForeignBuild) {
  const auto refused = inspect(with(module_file("good.so"), &Elf64_Ehdr::e_machine, EM_S390));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("it is built for s390 and this host runs on"));
}

TEST(ElfTest, RefusesOtherKindsOfElfFiles) {
  const std::string good = module_file("good.so");
  std::string narrow = good;
  narrow[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(inspect(narrow).error().message, HasSubstr("it is not a 64-bit little-endian ELF file"));
  EXPECT_EQ(inspect(with(good, &Elf64_Ehdr::e_type, ET_REL)).error().message,
            "it is an object file, not a shared object: link it with -shared");
  EXPECT_EQ(inspect(with(good, &Elf64_Ehdr::e_type, ET_EXEC)).error().message,
            "it is not a shared object: link it with -shared");
  EXPECT_EQ(inspect(with(good, &Elf64_Ehdr::e_phnum, 0)).error().message,
            "it has no dynamic section: link it with -shared");
}

TEST(ElfTest, RefusesAProgram) {
  const auto self = read_file("/proc/self/exe", 1u << 30);
  ASSERT_TRUE(self);
  EXPECT_EQ(inspect(*self).error().message, "it is a program, not a shared object: link it with -shared");
}

TEST(ElfTest, SurvivesTruncationAnywhere) {
  const std::string good = module_file("good.so");
  const auto whole = inspect(good);
  for (std::size_t size = 0; size < good.size(); size += 7) {
    const auto part = inspect(good.substr(0, size));
    EXPECT_TRUE(!part || *part == *whole) << size;
  }
  EXPECT_FALSE(inspect(good.substr(0, 600)));
}

// An access beyond the end of the file would kill the process, long after the checks.
TEST(ElfTest, RefusesAFileWithoutTheEndOfItsLastSegment) {
  const std::string good = module_file("good.so");
  Elf64_Ehdr header;
  std::memcpy(&header, good.data(), sizeof header);
  std::size_t end = 0;
  for (Elf64_Half index = 0; index < header.e_phnum; ++index) {
    Elf64_Phdr segment;
    std::memcpy(&segment, good.data() + header.e_phoff + index * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD) end = std::max<std::size_t>(end, segment.p_offset + segment.p_filesz);
  }
  ASSERT_GT(end, 0U);
  EXPECT_TRUE(inspect(good.substr(0, end)));
  const auto refused = inspect(good.substr(0, end - 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "its segments point outside the file: copy it again, it is damaged or truncated");
}

TEST(ElfTest, SurvivesDamageAnywhere) {
  const std::string good = module_file("good.so");
  std::minstd_rand random(1);
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random); };
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = good;
    // The headers and tables come first; most of the damage is done there.
    for (int change = 0; change < 8; ++change)
      damaged[below(change < 6 ? std::min<std::size_t>(good.size(), 2048) : good.size())] =
          static_cast<char>(below(256));
    std::memcpy(damaged.data(), good.data(), 20);  // past the first checks
    const auto facts = inspect(damaged);
    EXPECT_TRUE(facts || !facts.error().message.empty());
  }
}

}  // namespace
}  // namespace cardcage

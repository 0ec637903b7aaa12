#include "host/core/memory.h"

#include <gtest/gtest.h>
#include <link.h>

#include <fstream>
#include <sstream>
#include <string>

#include "host/core/digest.h"

namespace cardcage {
namespace {

// The resident code of the program and its libraries. RssFile of /proc/self/status includes parts of a sanitizer's
// memory.
std::size_t resident_code_kib() {
  std::ifstream mappings("/proc/self/smaps");
  std::size_t sum = 0;
  bool is_code = false;
  for (std::string line; std::getline(mappings, line);) {
    std::istringstream words(line);
    std::string first, second;
    std::size_t kib = 0;
    words >> first >> second;
    if (!first.ends_with(':')) is_code = second == "r-xp";
    if (is_code && first == "Rss:" && std::istringstream(second) >> kib) sum += kib;
  }
  return sum;
}

// Reads one byte in each page of loaded code.
int touch(dl_phdr_info* object, std::size_t, void* sum) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || segment.p_flags != (PF_R | PF_X)) continue;
    const auto* code = reinterpret_cast<const volatile unsigned char*>(object->dlpi_addr + segment.p_vaddr);
    for (std::size_t at = 0; at < segment.p_filesz; at += 4096) *static_cast<unsigned*>(sum) += code[at];
  }
  return 0;
}

TEST(MemoryTest, GivesCodeBackThatComesAgainWhenItRuns) {
  const std::string before = sha256_hex("x");
  unsigned sum = 0, again = 0;
  release_startup_memory();
  const std::size_t least = resident_code_kib();
  ::dl_iterate_phdr(touch, &sum);
  const std::size_t half = (least + resident_code_kib()) / 2;
  EXPECT_GT(half, least + 1024) << "a program has megabytes of code";
  release_startup_memory();
  EXPECT_LT(resident_code_kib(), half);
  EXPECT_EQ(sha256_hex("x"), before);
  ::dl_iterate_phdr(touch, &again);
  EXPECT_EQ(again, sum);
  EXPECT_GT(resident_code_kib(), half);
}

}  // namespace
}  // namespace cardcage

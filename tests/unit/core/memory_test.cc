#include "host/core/memory.h"

#include <gtest/gtest.h>
#include <link.h>

#include <fstream>
#include <string>

#include "host/core/digest.h"

namespace cardcage {
namespace {

std::size_t resident_file_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::size_t kib = 0; word == "RssFile:" && status >> kib) return kib;
  return 0;
}

// Reads a byte of each page of the code that is loaded.
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
  const std::size_t least = resident_file_kib();
  ::dl_iterate_phdr(touch, &sum);
  const std::size_t half = (least + resident_file_kib()) / 2;
  EXPECT_GT(half, least + 1024) << "a program has megabytes of code";
  release_startup_memory();
  EXPECT_LT(resident_file_kib(), half);
  EXPECT_EQ(sha256_hex("x"), before);
  ::dl_iterate_phdr(touch, &again);
  EXPECT_EQ(again, sum);
  EXPECT_GT(resident_file_kib(), half);
}

}  // namespace
}  // namespace cardcage

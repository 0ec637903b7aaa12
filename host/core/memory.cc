#include "host/core/memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace cardcage {
namespace {

// Segments that were never writable equal their file. Relocated ones are writable until they are sealed, and their
// headers still say so.
int release_segments(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_filesz;
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void share_heaps() { ::mallopt(M_ARENA_MAX, 2); }

void release_free_memory() { ::malloc_trim(0); }

void release_startup_memory() {
  ::dl_iterate_phdr(release_segments, nullptr);
  release_free_memory();
}

}  // namespace cardcage

// No /etc/ld.so.cache of an image crashes the hook, and the hook can read its own output again.
//   build/fuzz/bin/library_cache_fuzz -max_len=65536 CORPUS
#include <cstdint>
#include <cstdlib>

#include "host/hook/library_cache.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  auto cache = cardcage::LibraryCache::read({reinterpret_cast<const char*>(bytes), size});
  if (!cache) return 0;
  cache->put({{"libcuda.so.1", "/usr/lib64/libcuda.so.1"}});
  const auto again = cardcage::LibraryCache::read(cache->bytes());
  if (!again || again->size() != cache->size() || again->find("libcuda.so.1") != "/usr/lib64/libcuda.so.1")
    std::abort();
  return 0;
}

#include "fleet/deflated.h"

#include <zlib.h>

namespace cardcage {

Deflated::Deflated(std::string_view text) : size_(text.size()) {
  uLongf size = ::compressBound(static_cast<uLong>(text.size()));
  std::string bytes(size, '\0');
  // The fastest level finds most of the repetition. It fails only if memory runs out.
  if (::compress2(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                  static_cast<uLong>(text.size()), Z_BEST_SPEED) != Z_OK)
    std::abort();
  bytes_.assign(bytes, 0, size);  // allocates no more than that
}

std::string Deflated::text() const {
  std::string text(size_, '\0');
  uLongf size = size_;
  if (size_ > 0 &&
      ::uncompress(reinterpret_cast<Bytef*>(text.data()), &size, reinterpret_cast<const Bytef*>(bytes_.data()),
                   static_cast<uLong>(bytes_.size())) != Z_OK)
    std::abort();
  return text;
}

}  // namespace cardcage

// Text that is kept compressed, because it is rarely read.
#pragma once

#include <string>
#include <string_view>

namespace cardcage {

// Attributes of devices shrink to a tenth: the devices of a slice resemble each other.
class Deflated {
 public:
  Deflated() = default;
  explicit Deflated(std::string_view text);

  std::string text() const;
  friend bool operator==(const Deflated&, const Deflated&) = default;

 private:
  std::string bytes_;
  std::size_t size_ = 0;  // size of the text
};

}  // namespace cardcage

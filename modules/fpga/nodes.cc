#include "modules/fpga/nodes.h"

#include <charconv>

namespace cardcage::fpga {

cage::DeviceNode node_of(std::string path, std::string_view numbers) {
  cage::DeviceNode node{.path = std::move(path), .permissions = "rw"};
  const std::size_t colon = numbers.find(':');
  if (colon == std::string_view::npos) return node;
  const auto number = [](std::string_view digits) {
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() ? value : -1;
  };
  const std::int64_t major = number(numbers.substr(0, colon)), minor = number(numbers.substr(colon + 1));
  if (major < 0 || minor < 0) return node;
  node.type.assign(1, 'c');  // GCC 12 warns wrongly of an assignment
  node.major = major;
  node.minor = minor;
  return node;
}

}  // namespace cardcage::fpga

#include "modules/fpga/nodes.h"

#include <cstdint>

#include "modules/common/text.h"

namespace cardcage::fpga {

cage::DeviceNode node_of(std::string path, std::string_view numbers) {
  cage::DeviceNode node{.path = std::move(path), .permissions = "rw"};
  const std::size_t colon = numbers.find(':');
  if (colon == std::string_view::npos) return node;
  const auto major = hardware::number_of<std::uint32_t>(numbers.substr(0, colon)),
             minor = hardware::number_of<std::uint32_t>(numbers.substr(colon + 1));
  if (!major || !minor) return node;
  node.type.assign(1, 'c');  // GCC 12 warns wrongly of an assignment
  node.major = *major;
  node.minor = *minor;
  return node;
}

}  // namespace cardcage::fpga

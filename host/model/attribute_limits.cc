#include "host/model/attribute_limits.h"

#include "host/model/naming.h"

namespace cardcage {

std::size_t size_of(const Attributes& attributes) {
  std::size_t size = 0;
  for (const auto& [name, value] : attributes) {
    size += name.size() + sizeof value;
    if (const auto* text = std::get_if<std::string>(&value)) size += text->size();
    if (const auto* list = std::get_if<std::vector<std::string>>(&value)) size += list->size() * kMaxAttributeText;
  }
  return size;
}

}  // namespace cardcage

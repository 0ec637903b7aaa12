#include "host/apiserver/binding_label.h"

#include "host/core/digest.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxLabelValue = 63, kHashLength = 40;

}  // namespace

std::string binding_label_of(std::string_view node) {
  return node.size() <= kMaxLabelValue ? std::string(node) : sha256_hex(node).substr(0, kHashLength);
}

}  // namespace cardcage

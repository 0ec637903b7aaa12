#include "modules/nic/mark.h"

#include <algorithm>
#include <utility>

#include "modules/nic/nic.h"

namespace cardcage::nic {
namespace {

constexpr std::string_view kClaim = "cardcage claim ";
// Stands between the mark and the name that the interface had when it was moved, if that was not the kept name.
constexpr std::string_view kNamed = " name ";

// FNV-1a.
std::uint32_t index_of(std::string_view text) {
  std::uint32_t hash = 2'166'136'261;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619;
  return kFirstIndexInPods | (hash & (kFirstIndexInPods - 1));
}

bool is_marked(const Link& link) { return link.index >= kFirstIndexInPods || link.alias.starts_with(kClaim); }

}  // namespace

Mark::Mark(const KeptInterface& kept, std::string_view claim_uid)
    : text_(std::string(kClaim) + std::string(claim_uid) + " device " + kept.device),
      name_(kept.netdev.name),
      alias_before_(kept.netdev.alias),
      mac_before_(kept.netdev.mac),
      function_(bus_id_of(kept.device)),
      has_sole_interface_(!function_.empty() && function_ == kept.device),
      index_(index_of(text_)) {}

std::string Mark::alias(const std::string& name) const {
  return name == name_ ? text_ : text_ + std::string(kNamed) + name;
}

bool Mark::is_alias(const std::string& alias) const {
  return alias == text_ || alias.starts_with(text_ + std::string(kNamed));
}

std::optional<Link> Mark::find_in_pod(NetlinkSocket& pod) const {
  const std::vector<Link> links = read_links(pod);
  if (auto marked = find_marked(links)) return marked;
  // The kernel may not take an index, so the pod may have removed the mark.
  if (!has_sole_interface_) return std::nullopt;
  const auto found =
      std::ranges::find_if(links, [&](const Link& link) { return link.pci_function == function_ && !is_marked(link); });
  return found == links.end() ? std::nullopt : std::optional(*found);
}

// An interface that is as before needs no restore, even if it still has its index of the pod because its namespace has
// ended.
std::optional<Link> Mark::find_on_node(NetlinkSocket& node) const {
  const std::vector<Link> links = read_links(node);
  if (auto marked = find_marked(links)) {
    const bool is_as_before = marked->alias == alias_before_ && marked->name == name_ && marked->mac == mac_before_;
    return is_as_before ? std::nullopt : marked;
  }
  if (!has_sole_interface_) return std::nullopt;
  const auto found = std::ranges::find_if(links, [&](const Link& link) {
    return link.pci_function == function_ && link.alias != alias_before_ && !is_marked(link);
  });
  return found == links.end() ? std::nullopt : std::optional(*found);
}

std::string Mark::name_before(const Link& link) const {
  const std::string named = text_ + std::string(kNamed);
  return link.alias.starts_with(named) ? link.alias.substr(named.size()) : name_;
}

// An alias alone does not identify an interface of another function.
std::optional<Link> Mark::find_marked(const std::vector<Link>& links) const {
  const auto may_be = [&](const Link& link) {
    return function_.empty() || link.pci_function.empty() || link.pci_function == function_;
  };
  for (const Link& link : links)
    if (link.index == index_ && may_be(link)) return link;
  for (const Link& link : links)
    if (is_alias(link.alias) && may_be(link)) return link;
  return std::nullopt;
}

}  // namespace cardcage::nic

// The candidates form a tree: NUMA nodes, PCIe roots in them, parents, devices, replicas. Each group has a price that
// depends on how many of its candidates the container gets. The cheapest way to take n candidates of a group follows
// from the cheapest ways to take at most n from each of its parts: a knapsack on a tree.
#include "host/serving/preferred.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace cardcage {
namespace {

enum Level : std::size_t { kNumaNodes, kPcieRoot, kParent, kDevice, kLevels };

struct Leaf {
  std::vector<std::int32_t> numa_nodes;  // sorted
  std::string_view root, parent, device, id;
  std::int64_t in_use = 0;
  bool required = false, chosen = false;

  // Sorts by place, so that the leaves of a group are neighbours.
  bool operator<(const Leaf& other) const {
    return std::tie(numa_nodes, root, parent, device, id) <
           std::tie(other.numa_nodes, other.root, other.parent, other.device, other.id);
  }
};

// Returns whether two leaves that share the groups of the levels above also share the group of this level.
bool are_together(const Leaf& a, const Leaf& b, std::size_t level) {
  switch (level) {
    case kNumaNodes: return a.numa_nodes == b.numa_nodes;
    case kPcieRoot: return a.root == b.root;
    case kParent: return a.parent == b.parent;
    default: return a.device == b.device;
  }
}

// Compared element by element: an earlier element outweighs all later ones.
using Price = std::array<std::int64_t, 9>;

Price operator+(const Price& a, const Price& b) {
  Price sum;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = a[i] + b[i];
  return sum;
}

// The container's share of a group.
struct Share {
  std::size_t level;
  std::int64_t taken, size;  // both count the required leaves
  std::int64_t in_use;       // replicas of the device in use, on the level kDevice
};

Price packed_price(const Share& share) {
  Price price{};
  price[share.level] = 1;
  if (share.level == kDevice) price[4] = -share.in_use;
  price[5 + share.level] = share.size;
  return price;
}

Price spread_price(const Share& share) {
  static constexpr std::size_t kPlaces[kLevels] = {0, 2, 3, 1};
  const std::int64_t before = share.level == kDevice ? share.in_use : 0, after = before + share.taken;
  Price price{};
  price[kPlaces[share.level]] = after * after - before * before;  // the sum of squares is least for equal shares
  price[5 + share.level] = -share.size;
  return price;
}

struct Group {
  std::span<Leaf> leaves;
  std::vector<Group> parts;                      // empty for a device
  std::vector<std::vector<std::uint32_t>> last;  // [i][n]: the share of part i where parts 0 to i give n together
  std::vector<Price> prices;                     // [n]: the cheapest way to take n beside the required ones
};

// Chooses the first `left` leaves that are not required.
void take_in_order(std::span<Leaf> leaves, std::size_t left) {
  for (Leaf& leaf : leaves) {
    if (left == 0) return;
    if (leaf.required) continue;
    leaf.chosen = true;
    --left;
  }
}

class ExactChoice {
 public:
  // Chooses `most` candidates beside the required ones.
  ExactChoice(Placement placement, std::size_t most) : placement_(placement), most_(most) {}

  // Marks the leaves of the best choice. `leaves` must be enough.
  void choose(std::span<Leaf> leaves) const {
    Group all{leaves, {}, {}, {Price{}}};
    split(all, kNumaNodes);
    take(all, most_);
  }

 private:
  // Splits `whole` into the groups of `level`, those with required leaves first.
  void split(Group& whole, std::size_t level) const {
    std::vector<std::span<Leaf>> runs;
    for (std::span<Leaf> rest = whole.leaves; !rest.empty(); rest = rest.subspan(runs.back().size())) {
      const auto end =
          std::ranges::find_if_not(rest, [&](const Leaf& leaf) { return are_together(rest.front(), leaf, level); });
      runs.push_back(rest.first(static_cast<std::size_t>(end - rest.begin())));
    }
    for (const bool required : {true, false}) {
      for (const std::span<Leaf> run : runs) {
        if (std::ranges::any_of(run, &Leaf::required) != required) continue;
        whole.parts.push_back(group(run, level));
        join(whole, whole.parts.back());
      }
    }
  }

  Group group(std::span<Leaf> leaves, std::size_t level) const {
    const auto required = static_cast<std::size_t>(std::ranges::count(leaves, true, &Leaf::required));
    Group made{leaves, {}, {}, {Price{}}};
    if (level == kDevice)
      made.prices.resize(std::min(leaves.size() - required, most_) + 1);
    else
      split(made, level + 1);
    for (std::size_t n = 0; n < made.prices.size(); ++n) {
      if (n + required == 0) continue;
      const Share share{level, static_cast<std::int64_t>(n + required), static_cast<std::int64_t>(leaves.size()),
                        leaves.front().in_use};
      made.prices[n] = made.prices[n] + (placement_ == Placement::kPacked ? packed_price(share) : spread_price(share));
    }
    return made;
  }

  // Among choices of the same price, the one with more from earlier parts wins: neighbours of required leaves.
  void join(Group& whole, const Group& part) const {
    const std::size_t before = whole.prices.size() - 1, more = part.prices.size() - 1;
    const std::size_t most = std::min(before + more, most_);
    std::vector<Price> prices(most + 1);
    std::vector<std::uint32_t> last(most + 1);
    for (std::size_t n = 0; n <= most; ++n) {
      const std::size_t least = n > before ? n - before : 0;
      for (std::size_t of_part = least; of_part <= std::min(n, more); ++of_part) {
        const Price price = whole.prices[n - of_part] + part.prices[of_part];
        if (of_part != least && price >= prices[n]) continue;
        prices[n] = price;
        last[n] = static_cast<std::uint32_t>(of_part);
      }
    }
    whole.prices = std::move(prices);
    whole.last.push_back(std::move(last));
  }

  static void take(const Group& group, std::size_t n) {
    if (group.parts.empty()) take_in_order(group.leaves, n);
    for (std::size_t i = group.parts.size(); i-- > 0;) {
      const std::uint32_t of_part = group.last[i][n];
      take(group.parts[i], of_part);
      n -= of_part;
    }
  }

  const Placement placement_;
  const std::size_t most_;
};

Leaf leaf_of(const Candidate& candidate) {
  Leaf leaf{candidate.numa_nodes, candidate.pcie_root,
            candidate.parent,     candidate.device,
            candidate.id,         std::min(candidate.in_use, 1u << 20)};  // so that its square fits
  std::ranges::sort(leaf.numa_nodes);
  if (leaf.device.empty()) leaf.device = leaf.id;
  if (leaf.parent.empty()) leaf.parent = leaf.device;  // a whole device is near its partitions
  return leaf;
}

// Returns the leaves sorted by place, without repeated ids.
std::vector<Leaf> leaves_of(const std::vector<Candidate>& available) {
  std::vector<Leaf> leaves;
  std::unordered_set<std::string_view> seen;
  for (const Candidate& candidate : available)
    if (seen.insert(candidate.id).second) leaves.push_back(leaf_of(candidate));
  std::ranges::sort(leaves, std::less());
  return leaves;
}

}  // namespace

std::vector<std::string> preferred_ids(const std::vector<Candidate>& available,
                                       const std::vector<std::string>& required, std::size_t wanted,
                                       Placement placement) {
  std::vector<Leaf> leaves = leaves_of(available);
  std::unordered_map<std::string_view, Leaf*> by_id;
  for (Leaf& leaf : leaves) by_id.emplace(leaf.id, &leaf);
  std::vector<std::string> ids;
  for (const std::string& id : required) {
    const auto known = by_id.find(id);
    if (ids.size() == wanted || known == by_id.end() || known->second->required) continue;
    known->second->required = true;
    ids.push_back(id);
  }
  const std::size_t most = std::min(wanted, leaves.size()) - ids.size();
  if (most * leaves.size() <= kMaxExactCost)
    ExactChoice(placement, most).choose(leaves);
  else
    take_in_order(leaves, most);
  for (const Leaf& leaf : leaves)
    if (leaf.chosen) ids.emplace_back(leaf.id);
  return ids;
}

}  // namespace cardcage

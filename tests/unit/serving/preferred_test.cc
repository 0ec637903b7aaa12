#include "host/serving/preferred.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>
#include <span>

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Ids = std::vector<std::string>;

constexpr auto kPacked = Placement::kPacked, kSpread = Placement::kSpread;

Candidate whole(const std::string& id, std::int32_t numa, const std::string& root = "") {
  return {.id = id, .device = {}, .numa_nodes = {numa}, .pcie_root = root, .parent = {}};
}
Candidate partition(const std::string& id, const std::string& parent, std::int32_t numa = 0) {
  return {.id = id, .device = {}, .numa_nodes = {numa}, .pcie_root = {}, .parent = parent};
}
// Adds the replicas `from` to 3 of a device that is offered four times.
void replicas(std::vector<Candidate>& to, const std::string& device, std::int32_t numa, std::uint32_t from) {
  for (std::uint32_t i = from; i < 4; ++i)
    to.push_back({.id = fmt::format("{}::{}", device, i),
                  .device = device,
                  .numa_nodes = {numa},
                  .pcie_root = {},
                  .parent = {},
                  .in_use = from});
}

// Two sockets with two roots each: a0 a1 | a2 a3 and b0 b1 | b2 b3.
std::vector<Candidate> server() {
  std::vector<Candidate> all;
  for (const std::string socket : {"a", "b"})
    for (int i = 0; i < 4; ++i)
      all.push_back(
          whole(fmt::format("{}{}", socket, i), socket == "a" ? 0 : 1, fmt::format("pci-{}{}", socket, i / 2)));
  return all;
}
std::vector<Candidate> without(std::vector<Candidate> all, const std::set<std::string>& gone) {
  std::erase_if(all, [&](const Candidate& candidate) { return gone.contains(candidate.id); });
  return all;
}

TEST(PackedTest, KeepsToOneRootAndOneSocket) {
  EXPECT_THAT(preferred_ids(server(), {}, 2, kPacked), ElementsAre("a0", "a1"));
  EXPECT_THAT(preferred_ids(server(), {}, 4, kPacked), ElementsAre("a0", "a1", "a2", "a3"));
  EXPECT_THAT(preferred_ids(without(server(), {"a0"}), {}, 4, kPacked), ElementsAre("b0", "b1", "b2", "b3"));
  EXPECT_THAT(preferred_ids(without(server(), {"a0", "b3"}), {}, 2, kPacked), ElementsAre("a2", "a3"));
}

TEST(PackedTest, BreaksTheSmallestGroupThatIsLargeEnough) {
  EXPECT_THAT(preferred_ids(without(server(), {"b3"}), {}, 1, kPacked), ElementsAre("b2"));
  EXPECT_THAT(preferred_ids(without(server(), {"b3"}), {}, 3, kPacked), ElementsAre("b0", "b1", "b2"));
  EXPECT_THAT(preferred_ids(without(server(), {"a1", "b0", "b1"}), {}, 2, kPacked), ElementsAre("b2", "b3"));
}

TEST(PackedTest, TakesTheSecondSocketThatFitsBest) {
  auto all = server();
  all.push_back(whole("c0", 2, "pci-c0"));
  EXPECT_THAT(preferred_ids(all, {}, 5, kPacked), ElementsAre("a0", "a1", "a2", "a3", "c0"));
}

TEST(PackedTest, RequiredDevicesPullTheirNeighbours) {
  EXPECT_THAT(preferred_ids(server(), {"b2"}, 2, kPacked), ElementsAre("b2", "b3"));
  EXPECT_THAT(preferred_ids(server(), {"b2"}, 3, kPacked), ElementsAre("b2", "b0", "b3"));
  EXPECT_THAT(preferred_ids(without(server(), {"b0", "b1"}), {"b2"}, 3, kPacked), ElementsAre("b2", "a0", "b3"));
  EXPECT_THAT(preferred_ids(server(), {"b2", "a0"}, 4, kPacked), ElementsAre("b2", "a0", "a1", "b3"));
}

TEST(PackedTest, PartitionsStayWithTheirDevice) {
  const std::vector<Candidate> all = {partition("g0-0", "g0"), partition("g0-1", "g0"), partition("g1-1", "g1"),
                                      partition("g2-0", "g2"), partition("g2-1", "g2"), partition("g2-2", "g2")};
  EXPECT_THAT(preferred_ids(all, {}, 1, kPacked), ElementsAre("g1-1"));
  EXPECT_THAT(preferred_ids(all, {}, 2, kPacked), ElementsAre("g0-0", "g0-1"));
  EXPECT_THAT(preferred_ids(all, {"g2-1"}, 2, kPacked), ElementsAre("g2-1", "g2-0"));
}

TEST(PackedTest, ReplicasAreTakenFromTheDeviceThatIsUsedMost) {
  std::vector<Candidate> all;
  replicas(all, "g0", 0, 0);
  replicas(all, "g1", 0, 2);
  replicas(all, "g2", 0, 1);
  EXPECT_THAT(preferred_ids(all, {}, 1, kPacked), ElementsAre("g1::2"));
  EXPECT_THAT(preferred_ids(all, {}, 2, kPacked), ElementsAre("g1::2", "g1::3"));
  EXPECT_THAT(preferred_ids(all, {}, 3, kPacked), ElementsAre("g2::1", "g2::2", "g2::3"));
  EXPECT_THAT(preferred_ids(all, {"g0::3"}, 2, kPacked), ElementsAre("g0::3", "g0::0"));
}

TEST(SpreadTest, GoesOverSocketsAndRoots) {
  EXPECT_THAT(preferred_ids(server(), {}, 2, kSpread), ElementsAre("a0", "b0"));
  EXPECT_THAT(preferred_ids(server(), {}, 4, kSpread), ElementsAre("a0", "a2", "b0", "b2"));
  EXPECT_THAT(preferred_ids(server(), {"b1"}, 2, kSpread), ElementsAre("b1", "a0"));
  EXPECT_THAT(preferred_ids(server(), {"b1", "b2"}, 4, kSpread), ElementsAre("b1", "b2", "a0", "a2"));
}

TEST(SpreadTest, OneDeviceIsTakenWhereMostAreLeft) {
  EXPECT_THAT(preferred_ids(without(server(), {"a0"}), {}, 1, kSpread), ElementsAre("b0"));
  EXPECT_THAT(preferred_ids(without(server(), {"a0", "b0"}), {}, 1, kSpread), ElementsAre("a2"));
}

TEST(SpreadTest, ReplicasAreTakenFromTheDevicesThatAreUsedLeast) {
  std::vector<Candidate> all;
  replicas(all, "g0", 0, 2);
  replicas(all, "g1", 0, 0);
  replicas(all, "g2", 0, 1);
  EXPECT_THAT(preferred_ids(all, {}, 1, kSpread), ElementsAre("g1::0"));
  EXPECT_THAT(preferred_ids(all, {}, 3, kSpread), ElementsAre("g1::0", "g1::1", "g2::1"));
  replicas(all, "h0", 1, 3);
  EXPECT_THAT(preferred_ids(all, {}, 2, kSpread), ElementsAre("g1::0", "h0::3"));
}

TEST(PreferredTest, AWholeDeviceIsNearItsPartitions) {
  const std::vector<Candidate> all = {whole("g0", 0), whole("g1", 0), partition("g1-0", "g1")};
  EXPECT_THAT(preferred_ids(all, {}, 2, kPacked), ElementsAre("g1", "g1-0"));
}

TEST(PreferredTest, NumaNodesAreASet) {
  std::vector<Candidate> all = {whole("x", 0), whole("y", 1), whole("z", 0)};
  all[0].numa_nodes = {1, 0};
  all[2].numa_nodes = {0, 1};
  EXPECT_THAT(preferred_ids(all, {}, 2, kPacked), ElementsAre("x", "z"));
}

TEST(PreferredTest, AcceptsEmptyUnknownAndRepeatedIds) {
  for (const Placement placement : {kPacked, kSpread}) {
    EXPECT_THAT(preferred_ids({}, {}, 3, placement), IsEmpty());
    EXPECT_THAT(preferred_ids({}, {"a0"}, 1, placement), IsEmpty());
    EXPECT_THAT(preferred_ids(server(), {}, 0, placement), IsEmpty());
    EXPECT_THAT(preferred_ids(server(), {"a0"}, 0, placement), IsEmpty());
    EXPECT_THAT(preferred_ids(server(), {"b0", "a0"}, 1, placement), ElementsAre("b0"));
    EXPECT_THAT(preferred_ids(server(), {}, 99, placement), SizeIs(8));
    EXPECT_THAT(preferred_ids(server(), {"no-such", "a1", "a1"}, 2, placement), SizeIs(2));
    const Ids twice = preferred_ids({whole("a", 0), whole("a", 0), whole("b", 0)}, {}, 3, placement);
    EXPECT_THAT(twice, ElementsAre("a", "b"));
  }
}

TEST(PreferredTest, AHugeUseCountDoesNotOverflow) {
  std::vector<Candidate> all = {whole("a", 0), whole("b", 0)};
  all[0].in_use = ~0u;
  EXPECT_THAT(preferred_ids(all, {}, 1, kPacked), ElementsAre("a"));
  EXPECT_THAT(preferred_ids(all, {}, 1, kSpread), ElementsAre("b"));
}

TEST(PreferredTest, HugeRequestsAreTakenInOrder) {
  std::vector<Candidate> all;
  for (int i = 0; i < 10'000; ++i) all.push_back(whole(fmt::format("d{:05}", i), i % 2));
  const Ids chosen = preferred_ids(all, {"d00001"}, 5'001, kPacked);
  ASSERT_THAT(chosen, SizeIs(5'001));
  EXPECT_EQ(std::set<std::string>(chosen.begin(), chosen.end()).size(), 5'001u);
  EXPECT_EQ(chosen[1], "d00000");
  EXPECT_EQ(chosen[5'000], "d09998");
}

// -- against brute force ---------------------------------------------------------------------------------------------

// The badness of a choice by the rules of preferred.h, compared element by element; less is better.
std::vector<std::int64_t> badness(const std::vector<Candidate>& all, const std::set<std::string>& chosen,
                                  Placement placement) {
  using Place = std::vector<std::string>;
  std::map<Place, std::pair<std::int64_t, std::int64_t>> groups;  // taken and offered devices
  std::map<Place, std::int64_t> in_use;
  for (const Candidate& candidate : all) {
    const std::string parent = candidate.parent.empty() ? candidate.device : candidate.parent;
    const Place device = {std::to_string(candidate.numa_nodes.at(0)), candidate.pcie_root, parent, candidate.device};
    in_use[device] = candidate.in_use;
    for (std::size_t depth = 1; depth <= device.size(); ++depth) {
      auto& [taken, offered] = groups[Place(device.begin(), device.begin() + static_cast<std::ptrdiff_t>(depth))];
      taken += chosen.contains(candidate.id);
      ++offered;
    }
  }
  std::int64_t touched[5] = {}, squares[5] = {}, offered_there[5] = {}, used = 0, load = 0;
  for (const auto& [place, group] : groups) {
    const auto [taken, offered] = group;
    if (taken == 0) continue;
    ++touched[place.size()];
    squares[place.size()] += taken * taken;
    offered_there[place.size()] += offered;
    if (place.size() < 4) continue;
    const std::int64_t before = in_use[place];
    used += before;
    load += (before + taken) * (before + taken) - before * before;
  }
  if (placement == kPacked)
    return {touched[1],       touched[2],       touched[3],       touched[4],      -used,
            offered_there[1], offered_there[2], offered_there[3], offered_there[4]};
  return {squares[1],       load, squares[2], squares[3], -offered_there[1], -offered_there[2], -offered_there[3],
          -offered_there[4]};
}

std::vector<Candidate> random_machine(std::mt19937& random) {
  std::vector<Candidate> all;
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random() % limit); };
  for (std::uint32_t device = 0; all.size() < 9 && device < 2 + below(8); ++device) {
    const std::uint32_t numa = below(3), used = below(3), count = 1 + below(2);
    const std::string id = fmt::format("d{}", device), root = fmt::format("{}-{}", numa, below(2));
    const std::string parent = below(2) == 0 ? "" : fmt::format("p{}", below(2));
    for (std::uint32_t replica = 0; replica < count; ++replica)
      all.push_back({.id = fmt::format("{}::{}", id, replica),
                     .device = id,
                     .numa_nodes = {static_cast<std::int32_t>(numa)},
                     .pcie_root = root,
                     .parent = parent,
                     .in_use = used});
  }
  return all;
}

TEST(PreferredPropertyTest, NoOtherChoiceIsBetter) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 600; ++round) {
    auto all = random_machine(random);
    const std::size_t wanted = random() % (all.size() + 1);
    Ids required;
    for (std::size_t i = random() % (wanted + 1); i > 0; --i)
      if (const auto& id = all[random() % all.size()].id; std::ranges::find(required, id) == required.end())
        required.push_back(id);
    const Placement placement = round % 2 == 0 ? kPacked : kSpread;
    const Ids chosen = preferred_ids(all, required, wanted, placement);
    const std::set<std::string> mine(chosen.begin(), chosen.end());
    ASSERT_EQ(chosen.size(), wanted);
    ASSERT_EQ(mine.size(), wanted);
    ASSERT_TRUE(std::ranges::equal(required, std::span(chosen).first(required.size())));
    const auto badness_of_mine = badness(all, mine, placement);
    for (std::uint32_t subset = 0; subset < 1u << all.size(); ++subset) {
      if (static_cast<std::size_t>(std::popcount(subset)) != wanted) continue;
      std::set<std::string> other;
      for (std::size_t i = 0; i < all.size(); ++i)
        if (subset >> i & 1) other.insert(all[i].id);
      if (!std::ranges::all_of(required, [&](const std::string& id) { return other.contains(id); })) continue;
      ASSERT_GE(badness(all, other, placement), badness_of_mine)
          << "round " << round << ": " << ::testing::PrintToString(other) << " is better than "
          << ::testing::PrintToString(mine);
    }
    std::ranges::shuffle(all, random);
    ASSERT_EQ(preferred_ids(all, required, wanted, placement), chosen) << "the order of the candidates must not matter";
  }
}

// For any request of a kubelet, the result has only offered ids, each once, and not too many.
TEST(PreferredPropertyTest, AnyInputGivesAValidSubset) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    auto all = random_machine(random);
    if (round % 3 == 0) all.push_back(all.front());
    for (Candidate& candidate : all)
      if (random() % 8 == 0) candidate.numa_nodes.clear();
    Ids required;
    for (std::size_t i = random() % 6; i > 0; --i)
      required.push_back(fmt::format("d{}::{}", random() % 12, random() % 3));
    const std::size_t wanted = random() % 15;
    const Ids chosen = preferred_ids(all, required, wanted, round % 2 == 0 ? kPacked : kSpread);
    std::set<std::string> offered, mine(chosen.begin(), chosen.end());
    for (const Candidate& candidate : all) offered.insert(candidate.id);
    ASSERT_EQ(mine.size(), chosen.size());
    ASSERT_EQ(chosen.size(), std::min(wanted, offered.size()));
    ASSERT_TRUE(std::ranges::includes(offered, mine));
    std::set<std::string> needed(required.begin(), required.end());
    std::erase_if(needed, [&](const std::string& id) { return !offered.contains(id); });
    if (needed.size() <= wanted) {
      ASSERT_TRUE(std::ranges::includes(mine, needed));
    }
  }
}

}  // namespace
}  // namespace cardcage

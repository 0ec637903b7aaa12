#include "modules/nvidia/links.h"

#include <algorithm>
#include <numeric>

namespace cardcage::nvidia {
namespace {

// A link counts more than any place in the PCIe tree. Links to a switch reach every GPU and so make no difference.
constexpr int kNvLink = 100, kSameGpu = 1000;
constexpr unsigned kMostLinks = 36;  // per GPU; NVML refuses numbers that the GPU does not have

int score_of(unsigned level) {
  switch (level) {
    case nvml::kSameBoard: return 60;
    case nvml::kSingleSwitch: return 50;
    case nvml::kMultipleSwitches: return 40;
    case nvml::kHostBridge: return 30;
    case nvml::kNumaNode: return 20;
    default: return 10;
  }
}

// The bus ids of the GPUs at the other ends, one per link.
std::vector<std::string> linked_gpus(const nvml::Library& nvml, nvml::Device device) {
  std::vector<std::string> found;
  for (const unsigned link : active_nvlinks(nvml, device)) {
    const auto type = nvml::get<unsigned>(nvml->nvmlDeviceGetNvLinkRemoteDeviceType, device, link);
    const auto remote = nvml::get<nvml::PciInfo>(nvml->nvmlDeviceGetNvLinkRemotePciInfo_v2, device, link);
    const bool to_gpu = !type || *type == nvml::kRemoteGpu;
    if (to_gpu && remote) found.push_back(normal_bus_id(nvml::text_in(remote->busId)));
  }
  return found;
}

}  // namespace

std::vector<unsigned> active_nvlinks(const nvml::Library& nvml, nvml::Device device) {
  std::vector<unsigned> links;
  if (nvml->nvmlDeviceGetNvLinkState == nullptr) return links;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned state = nvml::kDisabled;
    // A link may be unsupported although later ones work.
    const nvml::Return code = nvml->nvmlDeviceGetNvLinkState(device, link, &state);
    if (code == nvml::kGpuIsLost || code == nvml::kGpuNotFound) nvml.must(code, "reading the NVLinks of a GPU");
    if (code == nvml::kSuccess && state == nvml::kEnabled) links.push_back(link);
  }
  return links;
}

Closeness Closeness::read(Driver& driver) {
  std::vector<const SeenGpu*> gpus;
  std::vector<std::string> uuids;
  for (const SeenGpu& seen : driver.inventory().gpus) {
    if (!seen.responds()) continue;
    gpus.push_back(&seen);
    uuids.push_back(seen.gpu.uuid);
  }
  Closeness found(std::move(uuids));
  try {
    const nvml::Library& nvml = driver.nvml();
    for (std::size_t one = 0; one < gpus.size(); ++one) {
      const nvml::Device device = driver.handle(gpus[one]->gpu);
      const auto linked = linked_gpus(nvml, device);
      for (std::size_t other = 0; other < one; ++other) {
        const auto level =
            nvml::get<unsigned>(nvml->nvmlDeviceGetTopologyCommonAncestor, device, driver.handle(gpus[other]->gpu));
        const auto links = std::ranges::count(linked, gpus[other]->gpu.bus_id);
        found.add(one, other, (level ? score_of(*level) : 0) + static_cast<int>(links) * kNvLink);
      }
    }
  } catch (const cage::Error&) {  // a GPU was lost meanwhile; a choice by the known links beats none
  }
  return found;
}

void Closeness::add(std::size_t one, std::size_t other, int score) {
  scores_[one * uuids_.size() + other] += score;
  scores_[other * uuids_.size() + one] += score;
}

std::size_t Closeness::index_of(const std::string& uuid) const {
  return static_cast<std::size_t>(std::ranges::find(uuids_, uuid) - uuids_.begin());
}

int Closeness::score(const std::string& one, const std::string& other) const {
  if (one == other && !one.empty()) return kSameGpu;  // partitions of one GPU
  const std::size_t row = index_of(one), column = index_of(other);
  return row < uuids_.size() && column < uuids_.size() ? scores_[row * uuids_.size() + column] : 0;
}

// Starts once with each device and then takes the device that adds most, so the time grows with the third power of the
// number of devices. The best set would take time that grows exponentially, and differs from this one only in rare
// topologies.
std::vector<std::string> Closeness::choose(const std::vector<std::string_view>& available,
                                           const std::vector<std::string>& gpu_of,
                                           const std::vector<std::string_view>& required, std::size_t count) const {
  const std::size_t total = available.size();
  std::vector<int> pairs(total * total);
  for (std::size_t one = 0; one < total; ++one)
    for (std::size_t other = 0; other < total; ++other)
      if (one != other) pairs[one * total + other] = score(gpu_of[one], gpu_of[other]);

  std::vector<bool> must(total);
  for (std::size_t i = 0; i < total; ++i) must[i] = std::ranges::find(required, available[i]) != required.end();
  const auto grow = [&](std::size_t seed) {
    std::vector<bool> taken = must;
    taken[seed] = true;
    std::vector<int> gain(total);
    int sum = 0;
    std::size_t size = 0;
    const auto take = [&](std::size_t device) {
      taken[device] = true;
      sum += gain[device];
      ++size;
      for (std::size_t i = 0; i < total; ++i) gain[i] += pairs[device * total + i];
    };
    for (std::size_t i = 0; i < total; ++i)
      if (taken[i]) take(i);
    while (size < count) {
      std::size_t best = total;
      for (std::size_t i = 0; i < total; ++i)
        if (!taken[i] && (best == total || gain[i] > gain[best])) best = i;
      if (best == total) break;
      take(best);
    }
    return std::pair(sum, taken);
  };

  const auto needed = static_cast<std::size_t>(std::ranges::count(must, true));
  std::optional<std::pair<int, std::vector<bool>>> best;
  for (std::size_t seed = 0; seed < total; ++seed) {
    if (needed >= count && !must[seed]) continue;  // no device is left to choose
    auto grown = grow(seed);
    if (!best || grown.first > best->first) best = std::move(grown);
  }
  std::vector<std::string> chosen;
  for (std::size_t i = 0; best && i < total; ++i)
    if (best->second[i]) chosen.emplace_back(available[i]);
  return chosen;
}

}  // namespace cardcage::nvidia

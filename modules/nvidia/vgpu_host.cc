#include "modules/nvidia/vgpu_host.h"

#include <array>
#include <fstream>

#include "modules/common/pci_function.h"

namespace cardcage::nvidia {
namespace {

// Offsets and bits of the configuration space: PCI Local Bus Specification 3.0, chapter 6.
constexpr std::size_t kSpace = 256, kStatus = 0x06, kFirstCapability = 0x34;
constexpr unsigned kHasCapabilities = 0x10, kVendorSpecific = 0x09;
constexpr std::size_t kMostCapabilities = 48;  // no more fit, so a longer chain is a loop
// Offsets and sizes of the capability and its records.
constexpr std::size_t kRecords = 5, kRecordHead = 2, kText = 10;
constexpr std::string_view kSignature = "VF";

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
}

// Empty if there is none.
std::string_view vendor_capability(std::string_view space) {
  if ((byte_at(space, kStatus) & kHasCapabilities) == 0) return {};
  std::size_t at = byte_at(space, kFirstCapability);
  for (std::size_t seen = 0; at != 0 && seen < kMostCapabilities; ++seen) {
    if (byte_at(space, at) == kVendorSpecific) return space.substr(at, byte_at(space, at + 2));
    at = byte_at(space, at + 1);
  }
  return {};
}

std::string text_at(std::string_view bytes, std::size_t at) {
  const std::string_view text = bytes.substr(at, kText);
  return std::string(text.substr(0, text.find('\0')));
}

}  // namespace

std::optional<VgpuHost> parse_vgpu_host(std::string_view space) {
  if (space.size() < kSpace) return std::nullopt;
  const std::string_view capability = vendor_capability(space.substr(0, kSpace));
  if (capability.size() <= kRecords || capability.substr(3, kSignature.size()) != kSignature) return std::nullopt;
  for (std::size_t at = kRecords; at + kRecordHead <= capability.size();) {
    const std::size_t length = byte_at(capability, at + 1);
    if (byte_at(capability, at) == 0) {
      if (at + kRecordHead + 2 * kText > capability.size()) return std::nullopt;
      return VgpuHost{.version = text_at(capability, at + kRecordHead),
                      .branch = text_at(capability, at + kRecordHead + kText)};
    }
    if (length < kRecordHead) return std::nullopt;
    at += length;
  }
  return std::nullopt;
}

std::optional<VgpuHost> read_vgpu_host(const std::filesystem::path& sysfs, const std::string& bus_id) {
  std::array<char, kSpace> space{};
  std::ifstream file(hardware::path_of(sysfs, bus_id) / "config", std::ios::binary);
  file.read(space.data(), space.size());
  return parse_vgpu_host({space.data(), static_cast<std::size_t>(file.gcount())});
}

}  // namespace cardcage::nvidia

#include "modules/fpga/health/error_bits.h"

#include <array>
#include <charconv>

namespace cardcage::fpga {
namespace {

constexpr std::array kPort{
    ErrorBit{0, 0, "channel 0 overflow"},
    ErrorBit{1, 1, "channel 0 invalid request"},
    ErrorBit{2, 2, "channel 0 request of 3 lines"},
    ErrorBit{3, 3, "channel 0 request of 2 lines not aligned"},
    ErrorBit{4, 4, "channel 0 request of 4 lines not aligned"},
    ErrorBit{9, 9, "MMIO read during reset"},
    ErrorBit{10, 10, "MMIO write during reset"},
    ErrorBit{16, 16, "channel 1 overflow"},
    ErrorBit{17, 17, "channel 1 invalid request"},
    ErrorBit{18, 18, "channel 1 request of 3 lines"},
    ErrorBit{19, 19, "channel 1 request of 2 lines not aligned"},
    ErrorBit{20, 20, "channel 1 request of 4 lines not aligned"},
    ErrorBit{21, 21, "channel 1 insufficient data"},
    ErrorBit{22, 22, "channel 1 data overrun"},
    ErrorBit{23, 23, "channel 1 incorrect address"},
    ErrorBit{24, 24, "channel 1 start of packet not zero"},
    ErrorBit{25, 25, "channel 1 illegal virtual channel"},
    ErrorBit{32, 32, "MMIO read timed out"},
    ErrorBit{33, 33, "channel 2 FIFO overflow"},
    ErrorBit{34, 34, "unexpected MMIO response"},
    ErrorBit{40, 40, "counter of requests overflow"},
    ErrorBit{41, 41, "address in the SMM range"},
    ErrorBit{42, 42, "address in the second SMM range"},
    ErrorBit{43, 43, "address in stolen memory of the ME"},
    ErrorBit{44, 44, "address in the generic protected range"},
    ErrorBit{45, 45, "address in the low legacy range"},
    ErrorBit{46, 46, "address in the high legacy range"},
    ErrorBit{47, 47, "address in VGA memory"},
    ErrorBit{48, 48, "page fault"},
    ErrorBit{49, 49, "PMR error"},
    ErrorBit{50, 50, "AP6"},
    ErrorBit{51, 51, "reset of a virtual function whose port the physical function has"},
};

constexpr std::array kCatfatal{
    ErrorBit{0, 0, "KTI link"},
    ErrorBit{1, 1, "tag and cache"},
    ErrorBit{2, 2, "CCI"},
    ErrorBit{3, 3, "KTI protocol"},
    ErrorBit{4, 4, "DRAM"},
    ErrorBit{5, 5, "IOMMU"},
    ErrorBit{6, 6, "fabric"},
    ErrorBit{7, 7, "poisoned PCIe data"},
    ErrorBit{8, 8, "injected fatal error"},
    ErrorBit{9, 9, "CRC"},
    ErrorBit{10, 10, "catastrophic temperature"},
    ErrorBit{11, 11, "injected catastrophic error"},
    ErrorBit{12, 12, "bit upset in the board's controller"},
};

constexpr std::array kNonfatal{
    ErrorBit{0, 0, "temperature threshold AP1"},
    ErrorBit{1, 1, "temperature threshold AP2"},
    ErrorBit{2, 2, "PCIe"},
    ErrorBit{3, 3, "fatal port error"},
    ErrorBit{4, 4, "processor hot"},
    ErrorBit{5, 5, "access by the wrong kind of function"},
    ErrorBit{6, 6, "injected warning"},
    ErrorBit{9, 9, "temperature threshold AP6"},
    ErrorBit{10, 10, "power threshold AP1"},
    ErrorBit{11, 11, "power threshold AP2"},
    ErrorBit{12, 12, "MBP"},
};

constexpr std::array kFme{
    ErrorBit{0, 0, "fabric"},
    ErrorBit{1, 1, "fabric FIFO overflow"},
    ErrorBit{5, 5, "access by the wrong kind of function"},
    ErrorBit{6, 6, "MBP"},
    ErrorBit{7, 11, "PCIe 0 clock-crossing parity"},
    ErrorBit{12, 16, "PCIe 1 clock-crossing parity"},
    ErrorBit{17, 19, "CVL clock-crossing parity"},
    ErrorBit{20, 20, "bit upset in the FPGA"},
};

constexpr std::array kPcie{
    ErrorBit{0, 0, "format or type"},    ErrorBit{1, 1, "write address"},        ErrorBit{2, 2, "write length"},
    ErrorBit{3, 3, "read address"},      ErrorBit{4, 4, "read length"},          ErrorBit{5, 5, "completion tag"},
    ErrorBit{6, 6, "completion status"}, ErrorBit{7, 7, "completion timed out"}, ErrorBit{8, 8, "parity"},
    ErrorBit{9, 9, "poisoned data"},
};

std::uint64_t mask_of(const ErrorBit& bit) {
  constexpr unsigned kBits = 64;
  return (~0ULL << bit.first) & (~0ULL >> (kBits - 1 - bit.last));
}

std::string hexadecimal(std::uint64_t value) {
  constexpr int kBase = 16;
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, kBase).ptr;
  return "0x" + std::string(digits.data(), end);
}

}  // namespace

std::span<const ErrorBit> error_bits::port() { return kPort; }
std::span<const ErrorBit> error_bits::catfatal() { return kCatfatal; }
std::span<const ErrorBit> error_bits::nonfatal() { return kNonfatal; }
std::span<const ErrorBit> error_bits::fme() { return kFme; }
std::span<const ErrorBit> error_bits::pcie() { return kPcie; }

std::string decode_errors(std::uint64_t value, std::span<const ErrorBit> bits) {
  if (value == ~0ULL) return "all ones (the registers of the card do not respond)";
  std::string names;
  for (const ErrorBit& bit : bits)
    if ((value & mask_of(bit)) != 0) names += (names.empty() ? "" : ", ") + std::string(bit.name);
  return hexadecimal(value) + (names.empty() ? "" : " (" + names + ")");
}

}  // namespace cardcage::fpga

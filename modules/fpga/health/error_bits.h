// The names of the bits in the error registers of DFL cards.
//
// Source: errtable.c and the plugins of the OPAE SDK's fpgad, and ifpga_defines.h of DPDK, which agree. The names hold
// for cards whose functions are on ports; on OFS cards the shells define the bits differently.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace cardcage::fpga {

struct ErrorBit {
  unsigned first, last;
  const char* name;
};

namespace error_bits {
std::span<const ErrorBit> port();
std::span<const ErrorBit> catfatal();
std::span<const ErrorBit> nonfatal();
std::span<const ErrorBit> fme();
std::span<const ErrorBit> pcie();

// Upsets of single bits by radiation: in the FPGA (fme_errors), and in the card's controller (catfatal_errors).
inline constexpr std::uint64_t kFpgaUpset = 1ULL << 20, kControllerUpset = 1ULL << 12;
}  // namespace error_bits

// Returns "0x4000000000000 (AP6)", or the value alone if no set bit has a name. All ones mean that the registers do not
// respond.
std::string decode_errors(std::uint64_t value, std::span<const ErrorBit> bits);

}  // namespace cardcage::fpga

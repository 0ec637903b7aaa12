// The names of the bits in the error registers of DFL cards.
//
// Source: errtable.c and the plugins of the OPAE SDK's fpgad, and ifpga_defines.h of DPDK, which agree. They hold for
// cards whose functions are on ports; the shells of OFS cards give other bits their own meaning.
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

// Upsets of single bits by radiation: of the FPGA, in fme_errors, and of the card's controller, in catfatal_errors.
inline constexpr std::uint64_t kFpgaUpset = 1ULL << 20, kControllerUpset = 1ULL << 12;
}  // namespace error_bits

// "0x4000000000000 (AP6)"; without names where there are none. All ones say that the registers do not respond.
std::string decode_errors(std::uint64_t value, std::span<const ErrorBit> bits);

}  // namespace cardcage::fpga

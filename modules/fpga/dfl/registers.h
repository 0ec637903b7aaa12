// Registers of a card that the kernel offers to programs: a feature of its list with the driver uio_dfl.
//
// Source: drivers/uio/uio_dfl.c and Documentation/driver-api/uio-howto.rst of the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

namespace cardcage::fpga {

class Registers {
 public:
  virtual ~Registers() = default;
  // `offset` is the offset of a 64-bit word.
  virtual std::uint64_t read(std::size_t offset) const = 0;
  virtual void write(std::size_t offset, std::uint64_t value) = 0;
};

// Returns whether the feature, a folder of sysfs, has that driver.
bool has_registers(const std::filesystem::path& feature);
// Maps the registers. Throws FAILED_PRECONDITION if this process may not map them.
std::unique_ptr<Registers> map_registers(const std::filesystem::path& devfs, const std::filesystem::path& feature);

}  // namespace cardcage::fpga

#include "modules/fpga/dfl/registers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cardcage/sdk.hpp>
#include <cerrno>
#include <cstring>
#include <string>

#include "modules/common/kernel_files.h"

namespace cardcage::fpga {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostRegisterBytes = 1u << 20;

class Mapping final : public Registers {
 public:
  Mapping(void* start, std::size_t size, std::size_t offset)
      : start_(start), size_(size), registers_(static_cast<char*>(start) + offset) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() override { ::munmap(start_, size_); }

  std::uint64_t read(std::size_t offset) const override { return *word(offset); }
  void write(std::size_t offset, std::uint64_t value) override { *word(offset) = value; }

 private:
  volatile std::uint64_t* word(std::size_t offset) const {
    return reinterpret_cast<volatile std::uint64_t*>(registers_ + offset);
  }

  void* const start_;
  const std::size_t size_;
  char* const registers_;
};

fs::path uio_of(const fs::path& feature) { return hardware::entry_in(feature / "uio", "uio"); }

}  // namespace

bool has_registers(const fs::path& feature) { return !uio_of(feature).empty(); }

std::unique_ptr<Registers> map_registers(const fs::path& devfs, const fs::path& feature) {
  const fs::path uio = uio_of(feature), node = devfs / uio.filename();
  const auto refuse = [&](const std::string& why) {
    throw cage::Error(CAGE_FAILED_PRECONDITION, "'" + node.native() + "' cannot be mapped: " + why);
  };
  const auto size = hardware::number_in(uio / "maps/map0/size").value_or(0);
  const auto offset = hardware::number_in(uio / "maps/map0/offset").value_or(0);
  constexpr std::size_t kLastWord = 0x20 + sizeof(std::uint64_t);
  if (size < kLastWord || size > kMostRegisterBytes || offset > size - kLastWord)
    refuse("the kernel does not tell its size");
  const int descriptor = ::open(node.c_str(), O_RDWR | O_SYNC | O_CLOEXEC);
  if (descriptor < 0) refuse(std::string(std::strerror(errno)) + "; add /dev/uio* to device_nodes of the module");
  void* const start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  const int error = errno;
  ::close(descriptor);
  if (start == MAP_FAILED) refuse(std::strerror(error));
  return std::make_unique<Mapping>(start, size, offset);
}

}  // namespace cardcage::fpga

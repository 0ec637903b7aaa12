// The ioctls of /dev/dfl-fme.N and /dev/dfl-port.M. The kernel passes an _IO() number's argument only as a word, so
// structs are copied from and to the caller's memory.
#include <fmt/format.h>
#include <linux/fpga-dfl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "sim/fpga/fake_fpgas.h"

namespace cardcage {
namespace {

constexpr std::uint64_t kPage = 4096, kRegionSize = 0x40000, kSignalTapSize = 0x2000, kFirstBusAddress = 0x100000;

const char* name_of(unsigned command) {
  switch (command) {
    case DFL_FPGA_GET_API_VERSION: return "GET_API_VERSION";
    case DFL_FPGA_CHECK_EXTENSION: return "CHECK_EXTENSION";
    case DFL_FPGA_PORT_RESET: return "PORT_RESET";
    case DFL_FPGA_PORT_GET_INFO: return "PORT_GET_INFO";
    case DFL_FPGA_PORT_GET_REGION_INFO: return "PORT_GET_REGION_INFO";
    case DFL_FPGA_PORT_DMA_MAP: return "PORT_DMA_MAP";
    case DFL_FPGA_PORT_DMA_UNMAP: return "PORT_DMA_UNMAP";
    case DFL_FPGA_PORT_ERR_GET_IRQ_NUM: return "PORT_ERR_GET_IRQ_NUM";
    case DFL_FPGA_PORT_ERR_SET_IRQ: return "PORT_ERR_SET_IRQ";
    case DFL_FPGA_FME_PORT_PR: return "FME_PORT_PR";
    case DFL_FPGA_FME_PORT_RELEASE: return "FME_PORT_RELEASE";
    case DFL_FPGA_FME_PORT_ASSIGN: return "FME_PORT_ASSIGN";
    case DFL_FPGA_FME_ERR_GET_IRQ_NUM: return "FME_ERR_GET_IRQ_NUM";
    case DFL_FPGA_FME_ERR_SET_IRQ: return "FME_ERR_SET_IRQ";
    default: return nullptr;
  }
}

template <class T>
T value_of(std::string_view bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

FuseServer::Reply number(std::uint32_t value) {
  return {0, std::string(reinterpret_cast<const char*>(&value), sizeof value)};
}

// Copies a descriptor of another process, which has this thread.
UniqueFd descriptor_of(pid_t thread, int fd) {
  std::ifstream status(fmt::format("/proc/{}/status", thread));
  pid_t process = 0;
  for (std::string word; status >> word && word != "Tgid:";) {
  }
  status >> process;
  const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, handle.get(), fd, 0)));
}

FuseServer::Reply port_info(pid_t caller, const fake_fpga::Port& port, std::uint64_t address) {
  dfl_fpga_port_info info{};
  if (!read_memory(caller, address, &info, sizeof info)) return {EFAULT, ""};
  if (info.argsz < sizeof info) return {EINVAL, ""};
  info.flags = info.num_umsgs = 0;
  info.num_regions = port.afu_id ? port.regions : 0;
  return {write_memory(caller, address, &info, sizeof info) ? 0 : EFAULT, ""};
}

FuseServer::Reply region_info(pid_t caller, const fake_fpga::Port& port, std::uint64_t address) {
  dfl_fpga_port_region_info info{};
  if (!read_memory(caller, address, &info, sizeof info)) return {EFAULT, ""};
  if (info.argsz < sizeof info || info.padding != 0) return {EINVAL, ""};
  if (!port.afu_id || info.index >= port.regions) return {EINVAL, ""};
  info.flags = DFL_PORT_REGION_READ | DFL_PORT_REGION_WRITE | DFL_PORT_REGION_MMAP;
  info.size = info.index == DFL_PORT_REGION_INDEX_AFU ? kRegionSize : kSignalTapSize;
  info.offset = info.index == DFL_PORT_REGION_INDEX_AFU ? 0 : kRegionSize;
  return {write_memory(caller, address, &info, sizeof info) ? 0 : EFAULT, ""};
}

FuseServer::Reply map_memory(pid_t caller, fake_fpga::NodeUse& use, std::uint64_t address) {
  dfl_fpga_port_dma_map map{};
  if (!read_memory(caller, address, &map, sizeof map)) return {EFAULT, ""};
  if (map.argsz < sizeof map || map.flags != 0) return {EINVAL, ""};
  if (map.length == 0 || map.length % kPage != 0 || map.user_addr % kPage != 0) return {EINVAL, ""};
  for (std::uint64_t page = 0; page < map.length; page += kPage) {
    char byte = 0;
    if (!read_memory(caller, map.user_addr + page, &byte, sizeof byte)) return {EFAULT, ""};
  }
  map.iova = use.mappings.empty() ? kFirstBusAddress : use.mappings.rbegin()->first + use.mappings.rbegin()->second;
  use.mappings[map.iova] = map.length;
  return {write_memory(caller, address, &map, sizeof map) ? 0 : EFAULT, ""};
}

FuseServer::Reply unmap_memory(pid_t caller, fake_fpga::NodeUse& use, std::uint64_t address) {
  dfl_fpga_port_dma_unmap unmap{};
  if (!read_memory(caller, address, &unmap, sizeof unmap)) return {EFAULT, ""};
  if (unmap.argsz < sizeof unmap || unmap.flags != 0) return {EINVAL, ""};
  return {use.mappings.erase(unmap.iova) == 0 ? EINVAL : 0, ""};
}

}  // namespace

FakeFpgas::Answer FakeFpgas::ioctl(const Request& request, const std::string& path, const FuseServer::Ioctl& call) {
  const std::lock_guard lock(mutex_);
  const auto open = open_.handles.find(request.handle);
  const std::string node = std::filesystem::path(path).filename();
  const char* name = name_of(call.command);
  record(request.caller,
         name == nullptr ? fmt::format("ioctl {} {:#x}", node, call.command) : fmt::format("ioctl {} {}", node, name));
  if (open == open_.handles.end()) return Reply{ENOTTY, ""};
  const NodeKey key = open->second;
  if (machine_.card(key.address) == nullptr) return Reply{ENODEV, ""};
  if (call.command == DFL_FPGA_GET_API_VERSION || call.command == DFL_FPGA_CHECK_EXTENSION) return Reply{};
  return key.port ? port_ioctl(request, key, call) : fme_ioctl(request, key, call);
}

FakeFpgas::Answer FakeFpgas::fme_ioctl(const Request& request, const NodeKey& key, const FuseServer::Ioctl& call) {
  switch (call.command) {
    case DFL_FPGA_FME_PORT_PR: return program(request, key.address, call.argument);
    case DFL_FPGA_FME_PORT_RELEASE: return Reply{set_released(key.address, value_of<int>(call.input), true), ""};
    case DFL_FPGA_FME_PORT_ASSIGN: return Reply{set_released(key.address, value_of<int>(call.input), false), ""};
    case DFL_FPGA_FME_ERR_GET_IRQ_NUM: return number(card_at(key.address).dfl->error_interrupts);
    case DFL_FPGA_FME_ERR_SET_IRQ: return set_interrupt(request, key, call);
    default: return Reply{EINVAL, ""};
  }
}

FakeFpgas::Answer FakeFpgas::port_ioctl(const Request& request, const NodeKey& key, const FuseServer::Ioctl& call) {
  Port& port = port_at(key.address, *key.port);
  switch (call.command) {
    case DFL_FPGA_PORT_RESET: {
      if (call.argument != 0) return Reply{EINVAL, ""};
      ++port.resets;  // does not enable a port that is disabled for another reason
      return Reply{};
    }
    case DFL_FPGA_PORT_GET_INFO: return port_info(request.caller, port, call.argument);
    case DFL_FPGA_PORT_GET_REGION_INFO: return region_info(request.caller, port, call.argument);
    case DFL_FPGA_PORT_DMA_MAP: return map_memory(request.caller, open_.uses[key], call.argument);
    case DFL_FPGA_PORT_DMA_UNMAP: return unmap_memory(request.caller, open_.uses[key], call.argument);
    case DFL_FPGA_PORT_ERR_GET_IRQ_NUM: return number(card_at(key.address).dfl->error_interrupts);
    case DFL_FPGA_PORT_ERR_SET_IRQ: return set_interrupt(request, key, call);
    default: return Reply{EINVAL, ""};
  }
}

FakeFpgas::Reply FakeFpgas::set_interrupt(const Request& request, const NodeKey& key, const FuseServer::Ioctl& call) {
  const unsigned interrupts = card_at(key.address).dfl->error_interrupts;
  if (interrupts == 0) return {ENOENT, ""};
  const auto set = value_of<dfl_fpga_irq_set>(call.input);
  if (set.count == 0 || set.start + std::uint64_t{set.count} > interrupts) return {EINVAL, ""};
  std::int32_t fd = -1;
  if (!read_memory(request.caller, call.argument + sizeof set, &fd, sizeof fd)) return {EFAULT, ""};
  NodeUse& use = open_.uses[key];
  use.error_event = fd < 0 ? UniqueFd() : descriptor_of(request.caller, fd);
  return {fd >= 0 && !use.error_event ? EBADF : 0, ""};
}

int FakeFpgas::set_released(const std::string& address, int id, bool released) {
  Port* port = card_at(address).port(static_cast<unsigned>(id));
  if (port == nullptr) return EINVAL;
  if (port->released == released || (released && open_.uses[{address, port->id}].count > 0)) return EBUSY;
  port->released = released;
  if (!released) port->lacks_driver = true;
  tree_.reset();
  return 0;
}

}  // namespace cardcage

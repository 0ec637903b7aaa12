#include "host/access/write_rules.h"

#include <fnmatch.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "cardcage/module.h"
#include "host/core/ascii.h"
#include "host/model/naming.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

constexpr std::size_t kQuotedText = 80, kAddress = 8, kMaxDriver = 64, kSha256Digits = 64;

Status check_device(const std::string& id) {
  if (is_device_id(id)) return {};
  return fail(Code::kInvalidArgument, "device_id '{}' is not that of a device: 1 to 253 printable ASCII characters",
              printable(id, kQuotedText));
}

Status check_path(const std::string& path) {
  if (is_clean_path(path)) return {};
  return fail(Code::kInvalidArgument, "'{}' is not an absolute path without '.', '..' and '//'",
              printable(path, kQuotedText));
}

Status check_size(std::string_view what, std::size_t size) {
  if (size <= kMaxWrite) return {};
  return fail(Code::kInvalidArgument, "{} has {} bytes, at most {} are allowed", what, size, kMaxWrite);
}

Status check_data(const IoctlAsk& ask) {
  if (ask.data_path.empty() && ask.data_sha256.empty() && ask.data_start == 0) return {};
  if (ask.data_path.empty())
    return fail(Code::kInvalidArgument, "data_sha256 and data_start are about a file, and data_path is empty");
  if (auto path = check_path(ask.data_path); !path) return path;
  if (ask.argument.size() < kAddress || ask.data_offset > ask.argument.size() - kAddress)
    return fail(Code::kInvalidArgument, "an address at data_offset {} does not fit into an argument of {} bytes",
                ask.data_offset, ask.argument.size());
  if (ask.data_sha256.empty() ||
      (ask.data_sha256.size() == kSha256Digits && std::ranges::all_of(ask.data_sha256, is_lower_hex)))
    return {};
  return fail(Code::kInvalidArgument, "data_sha256 '{}' is not a SHA-256 as sha256sum prints it",
              printable(ask.data_sha256, kQuotedText));
}

}  // namespace

Status check(const FileWriteAsk& ask) {
  if (auto device = check_device(ask.device_id); !device) return device;
  if (auto path = check_path(ask.path); !path) return path;
  return check_size("the data", ask.data.size());
}

Status check(const IoctlAsk& ask) {
  if (auto device = check_device(ask.device_id); !device) return device;
  if (auto path = check_path(ask.path); !path) return path;
  if (auto size = check_size("the argument", ask.argument.size()); !size) return size;
  const auto coded = static_cast<unsigned long>(ask.request);
  if (_IOC_DIR(coded) != _IOC_NONE && _IOC_SIZE(coded) > ask.argument.size())
    return fail(Code::kInvalidArgument, "request {:#x} has an argument of {} bytes, and {} are given", ask.request,
                _IOC_SIZE(coded), ask.argument.size());
  if (const auto unknown = ask.flags & ~std::uint32_t{CAGE_IOCTL_EXCLUSIVE}; unknown != 0)
    return fail(Code::kInvalidArgument, "flags {:#x} are unknown [R16]", unknown);
  return check_data(ask);
}

Status check(const DriverAsk& ask) {
  if (auto device = check_device(ask.device_id); !device) return device;
  if (!is_pci_bus_id(ask.pci_bus_id))
    return fail(Code::kInvalidArgument, "'{}' is not a PCI address such as 0000:3b:00.0",
                printable(ask.pci_bus_id, kQuotedText));
  if (ask.driver.empty() || (ask.driver.size() <= kMaxDriver && is_plain_file_name(ask.driver))) return {};
  return fail(Code::kInvalidArgument, "'{}' is not the name of a driver", printable(ask.driver, kQuotedText));
}

bool matches_path(const std::string& pattern, const std::string& path) {
  return is_clean_path(path) && ::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0;
}

}  // namespace cardcage

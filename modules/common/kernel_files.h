// Small files of sysfs and procfs, which hold a value each.
//
// Source: Documentation/filesystems/sysfs.rst of the kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cardcage::hardware {

struct Reading {
  std::string text;  // without the newline at its end
  int error = 0;     // errno of open(2) or read(2)
};

// Opens the file and reads once, at most 4096 bytes: the kernel makes the whole value at the first read. A driver
// reports why there is no value as the error of the read, such as EBUSY or ENODATA.
Reading read_attribute(const std::filesystem::path& file);
// Empty if the file cannot be read.
std::string text_in(const std::filesystem::path& file);
// A decimal number, or a hexadecimal one after "0x". Nothing if the file has anything else.
std::optional<std::uint64_t> number_in(const std::filesystem::path& file);

// A folder of such files. It is opened once, because the kernel walks a long path for each file of sysfs otherwise.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& path);
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  // As text_in and number_in.
  std::string text(const char* file) const;
  std::optional<std::uint64_t> number(const char* file) const;

 private:
  const int descriptor_;
};

// Sorted; none if the folder cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& folder);
// The first entry of the folder whose name starts so, such as "hwmon"; empty if there is none.
std::filesystem::path entry_in(const std::filesystem::path& folder, std::string_view start);
// "nvidia" of a link to ../../bus/pci/drivers/nvidia; empty if there is no such link.
std::string target_name(const std::filesystem::path& link);

}  // namespace cardcage::hardware

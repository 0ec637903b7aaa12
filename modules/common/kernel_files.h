// Reads small files of sysfs and procfs, each with one value.
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
  std::string text;  // without the trailing newline
  int error = 0;     // errno of open(2) or read(2)
};

// Opens the file and reads once, at most 4096 bytes: the kernel makes the whole value at the first read. A driver
// reports a missing value as an error of the read, such as EBUSY or ENODATA.
Reading read_attribute(const std::filesystem::path& file);
// Returns an empty text if the file cannot be read.
std::string text_in(const std::filesystem::path& file);
// Returns a decimal number, or a hexadecimal one after "0x". Nothing if the file has any other text.
std::optional<std::uint64_t> number_in(const std::filesystem::path& file);

// A folder of such files, opened once, because the kernel would walk a long path for each file of sysfs otherwise.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& path);
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  // Do the same as text_in and number_in.
  std::string text(const char* file) const;
  std::optional<std::uint64_t> number(const char* file) const;

 private:
  const int descriptor_;
};

// Returns the sorted names; none if the folder cannot be read.
std::vector<std::string> names_in(const std::filesystem::path& folder);
// Returns the first entry of the folder whose name has this prefix, such as "hwmon"; empty if there is none.
std::filesystem::path entry_in(const std::filesystem::path& folder, std::string_view start);
// Returns "nvidia" for a link to ../../bus/pci/drivers/nvidia; empty without such a link.
std::string target_name(const std::filesystem::path& link);

}  // namespace cardcage::hardware

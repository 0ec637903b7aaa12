// Files that only an administrator could write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

namespace cardcage::fpga {

// An open file or folder. Its descriptor was checked: it is not a link, belongs to root or to this process's user, and
// neither its group nor others may write it.
class OwnedFile {
 public:
  static OwnedFile folder(const std::filesystem::path& path);
  // A regular file in the folder. Throw cage::Error with the cause and the remedy, NOT_FOUND if there is none.
  static OwnedFile in(const OwnedFile& folder, const std::string& name);

  OwnedFile(OwnedFile&& other) noexcept;
  OwnedFile& operator=(OwnedFile&& other) noexcept;
  ~OwnedFile();

  int fd() const { return fd_; }
  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  // Returns the number of bytes read: fewer than `into` takes only at the end of the file.
  std::size_t read(std::uint64_t offset, std::span<char> into) const;

 private:
  OwnedFile(int fd, std::filesystem::path path) : fd_(fd), path_(std::move(path)) {}
  static OwnedFile open(int folder, const std::string& name, bool is_folder, std::filesystem::path path);
  void check(bool is_folder);

  int fd_;
  std::filesystem::path path_;
  std::uint64_t size_ = 0;
};

}  // namespace cardcage::fpga

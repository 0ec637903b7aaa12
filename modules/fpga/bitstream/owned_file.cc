#include "modules/fpga/bitstream/owned_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cardcage/sdk/text.hpp>

#include <cerrno>
#include <system_error>
#include <utility>

#include "modules/fpga/bitstream/bitstream.h"

namespace cardcage::fpga {
namespace {

// O_NONBLOCK: opening a FIFO or a device must not block.
constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

std::string error_text(int error) { return std::generic_category().message(error); }

std::string octal(unsigned mode) {
  std::string digits;
  for (const int shift : {9, 6, 3, 0}) digits += static_cast<char>('0' + (mode >> shift & 7));
  return digits;
}

}  // namespace

OwnedFile OwnedFile::open(int folder, const std::string& name, bool is_folder, std::filesystem::path path) {
  OwnedFile opened(::openat(folder, name.c_str(), kFlags), std::move(path));
  if (const int error = errno; opened.fd_ < 0) {
    if (error == ENOENT) throw cage::Error(CAGE_NOT_FOUND, "it does not exist");
    if (error == ELOOP) refuse("it is a symbolic link, which may lead anywhere; put what it leads to in its place");
    refuse("it cannot be opened: " + error_text(error));
  }
  opened.check(is_folder);
  return opened;
}

OwnedFile OwnedFile::folder(const std::filesystem::path& path) { return open(AT_FDCWD, path.native(), true, path); }

OwnedFile OwnedFile::in(const OwnedFile& folder, const std::string& name) {
  return open(folder.fd(), name, false, folder.path() / name);
}

OwnedFile::OwnedFile(OwnedFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)), size_(other.size_) {}

OwnedFile& OwnedFile::operator=(OwnedFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  return *this;
}

OwnedFile::~OwnedFile() {
  if (fd_ >= 0) ::close(fd_);
}

void OwnedFile::check(bool is_folder) {
  struct stat status{};
  if (::fstat(fd_, &status) != 0) refuse("it cannot be looked at: " + error_text(errno));
  if ((status.st_mode & S_IFMT) != (is_folder ? S_IFDIR : S_IFREG))
    refuse(std::string("it is not a ") + (is_folder ? "folder" : "regular file") + "; put one in its place");
  if (status.st_uid != 0 && status.st_uid != ::geteuid())
    refuse("it belongs to user " + std::to_string(status.st_uid) +
           ", and only root may change bitstreams; run: chown root " + path_.native());
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    refuse("its mode is " + octal(status.st_mode) +
           ", and only its owner may be allowed to write it; run: chmod go-w " + path_.native());
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::size_t OwnedFile::read(std::uint64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t count = ::pread(fd_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse("it cannot be read: " + error_text(errno));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace cardcage::fpga

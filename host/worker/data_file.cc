#include "host/worker/data_file.h"

// The digests of OpenSSL 3 come from providers, which read a configuration and may be shared libraries: neither belongs
// in a program that is linked statically and makes one digest.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <fmt/ranges.h>
#include <openssl/sha.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace cardcage {
namespace {

// A piece is hashed while the processor's cache still holds it.
constexpr std::size_t kPiece = 256u << 10;
constexpr off_t kMaxChecked = off_t{1} << 30;

Result<struct stat> look_at(const UniqueFd& file, const std::string& path) {
  struct stat about{};
  if (::fstat(file.get(), &about) != 0) return fail_errno(errno, fmt::format("cannot look at '{}'", path));
  if (!S_ISREG(about.st_mode) || about.st_size == 0)
    return fail(Code::kInvalidArgument, "'{}' is empty or not a regular file", path);
  return about;
}

Status check_writers(const struct stat& about, const std::string& path) {
  if (about.st_uid != 0 && about.st_uid != ::geteuid())
    return fail(Code::kPermissionDenied,
                "'{}' belongs to user {}: only root or the user of cardcage may own it; chown root", path,
                about.st_uid);
  if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(Code::kPermissionDenied, "'{}' has mode {:04o}: only its owner may write it: chmod go-w", path,
                about.st_mode & 07777);
  return {};
}

// Returns the SHA-256 of the copied bytes.
Result<std::string> copy_and_hash(const UniqueFd& file, const std::string& path, std::span<char> copy) {
  SHA256_CTX sum;
  ::SHA256_Init(&sum);
  std::size_t done = 0;
  for (ssize_t got = 1; got > 0 && done < copy.size(); done += static_cast<std::size_t>(got)) {
    got = ::read(file.get(), copy.data() + done, std::min(kPiece, copy.size() - done));
    if (got < 0) return fail_errno(errno, fmt::format("cannot read '{}'", path));
    ::SHA256_Update(&sum, copy.data() + done, static_cast<std::size_t>(got));
  }
  char more = 0;
  if (done < copy.size() || ::read(file.get(), &more, sizeof more) != 0)
    return fail(Code::kDataLoss, "'{}' changed while it was read: try again when no process writes it", path);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  ::SHA256_Final(digest.data(), &sum);
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace

Result<std::span<const char>> map_file(const UniqueFd& file, const std::string& path) {
  const auto about = look_at(file, path);
  if (!about) return std::unexpected(about.error());
  const auto size = static_cast<std::size_t>(about->st_size);
  const void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (bytes == MAP_FAILED) return fail_errno(errno, fmt::format("cannot map '{}'", path));
  return std::span(static_cast<const char*>(bytes), size);
}

Result<std::span<const char>> copy_checked(const UniqueFd& file, const std::string& path, std::string_view sha256) {
  const auto about = look_at(file, path);
  if (!about) return std::unexpected(about.error());
  if (auto good = check_writers(*about, path); !good) return std::unexpected(good.error());
  if (about->st_size > kMaxChecked)
    return fail(Code::kInvalidArgument, "'{}' has {} bytes, at most 1 GiB is checked", path, about->st_size);
  const auto size = static_cast<std::size_t>(about->st_size);
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail_errno(errno, fmt::format("cannot get {} bytes for '{}'", size, path));
  ::madvise(memory, size, MADV_HUGEPAGE);  // fewer page faults, if the kernel has it
  const std::span copy(static_cast<char*>(memory), size);
  const auto found = copy_and_hash(file, path, copy);
  if (!found) return std::unexpected(found.error());
  if (*found != sha256)
    return fail(Code::kDataLoss,
                "'{}' has the SHA-256 {} and not {}: it is damaged or another file; install the right one, or correct "
                "the SHA-256",
                path, *found, sha256);
  return copy;
}

}  // namespace cardcage

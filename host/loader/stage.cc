#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include "host/core/ascii.h"
#include "host/core/file.h"
#include "host/core/nearest.h"
#include "host/loader/descent.h"
#include "host/loader/loader.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U  // Linux 6.3
#endif

namespace cardcage {
namespace {

namespace fs = std::filesystem;

Error too_large() {
  return {Code::kOutOfRange, fmt::format("it is larger than {} MiB: name the module, not an archive or an image of it",
                                         kMaxModuleBytes >> 20)};
}

Status check_file(int fd, const fs::path& path, Trust trust) {
  struct stat about{};
  if (::fstat(fd, &about) != 0) return fail_errno(errno, fmt::format("cannot stat module file '{}'", path.native()));
  if (!S_ISREG(about.st_mode))
    return fail(Code::kInvalidArgument, "module file '{}' is not a regular file: name the shared object (.so) itself",
                path.native());
  if (static_cast<std::uint64_t>(about.st_size) > kMaxModuleBytes)
    return within(too_large(), "module file '{}' is refused", path.native());
  return trust == Trust::kAnybody ? Status{} : check_owner(about, "module file", path);
}

// " (did you mean 'libacme.so'?)", if a folder has a file of nearly this name.
std::string nearest_file(const std::vector<fs::path>& folders, const fs::path& file) {
  std::vector<std::string> names;
  for (const fs::path& folder : folders) {
    std::error_code error;
    fs::directory_iterator entry((folder / file).parent_path(), error);
    for (const fs::directory_iterator end; !error && entry != end; entry.increment(error))
      names.push_back(entry->path().filename().native());
  }
  return nearest_hint(file.filename().native(), names);
}

// "'/a', '/b'"
std::string quoted(const std::vector<fs::path>& folders) {
  std::string text;
  for (const fs::path& folder : folders) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", folder.native());
  return text;
}

Result<UniqueFd> make_image(const fs::path& path) {
  const std::string name = "cardcage:" + path.filename().native().substr(0, 200);
  int fd = ::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  if (fd < 0 && errno == EINVAL) fd = ::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd >= 0) return UniqueFd(fd);
  if (errno == EACCES)
    return fail(Code::kPermissionDenied,
                "cannot load module file '{}': this system forbids executable memfds; sysctl -w vm.memfd_noexec=1",
                path.native());
  return fail_errno(errno, fmt::format("cannot make an image of module file '{}'", path.native()));
}

struct Copied {
  std::uint64_t size = 0;
  std::string sha256;
};

// Hashes the very bytes that will be mapped, even if the file changes meanwhile.
Result<Copied> copy_and_hash(int from, int to) {
  // A thread that is stuck in a module may outlive main: OpenSSL must not be torn down under it at exit.
  ::OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  const std::unique_ptr<EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> digest(::EVP_MD_CTX_new(), &::EVP_MD_CTX_free);
  if (!digest || ::EVP_DigestInit_ex(digest.get(), ::EVP_sha256(), nullptr) != 1)
    return fail(Code::kInternal, "this system's OpenSSL offers no SHA-256");
  std::vector<char> buffer(1 << 18);
  Copied copied;
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read");
    if (got == 0) break;
    copied.size += static_cast<std::uint64_t>(got);
    if (copied.size > kMaxModuleBytes) return std::unexpected(too_large());  // it grew since it was opened
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(got));
    if (::EVP_DigestUpdate(digest.get(), piece.data(), piece.size()) != 1)
      return fail(Code::kInternal, "SHA-256 failed");
    if (!write_all(to, piece)) return fail_errno(errno, "write");
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  if (::EVP_DigestFinal_ex(digest.get(), bytes.data(), &size) != 1) return fail(Code::kInternal, "SHA-256 failed");
  for (unsigned int index = 0; index < size; ++index) copied.sha256 += fmt::format("{:02x}", bytes.at(index));
  return copied;
}

Status check_digest(std::string_view pinned, const std::string& actual) {
  if (pinned.empty()) return {};
  if (pinned.size() != actual.size() || pinned.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
    return fail(Code::kInvalidArgument, "the pinned sha256 '{}' is not a digest of 64 hex digits", pinned);
  if (std::ranges::equal(pinned, actual, {}, to_lower)) return {};
  return fail(Code::kFailedPrecondition,
              "its sha256 is {} and the configuration pins {}: "
              "install the pinned build, or, if the new one is wanted, pin its digest",
              actual, pinned);
}

Result<ElfFacts> inspect_image(int image, std::uint64_t size) {
  if (size == 0) return fail(Code::kInvalidArgument, "it is empty: copy it again");
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, image, 0);
  if (bytes == MAP_FAILED) return fail_errno(errno, "mmap");
  auto facts = inspect_elf({static_cast<const std::byte*>(bytes), size});
  ::munmap(bytes, size);
  if (!facts) return facts;
  if (auto checked = check_entry(*facts); !checked) return std::unexpected(checked.error());
  return facts;
}

Result<StagedModule> stage_below(const fs::path& folder, const fs::path& file, std::string_view pinned_sha256,
                                 Trust trust) {
  StagedModule staged;
  staged.path = folder / file;
  // The owner does not matter if the configuration pins the content: the checked bytes are those that will run.
  if (!pinned_sha256.empty()) trust = Trust::kAnybody;
  auto source = open_below(folder, file, trust);
  if (!source) return std::unexpected(source.error());
  if (auto checked = check_file(source->get(), staged.path, trust); !checked) return std::unexpected(checked.error());

  auto image = make_image(staged.path);
  if (!image) return std::unexpected(image.error());
  const auto refused = [&](const Error& error) {
    return within(error, "module file '{}' is refused", staged.path.native());
  };
  auto copied = copy_and_hash(source->get(), image->get());
  if (!copied) return refused(copied.error());
  if (::fcntl(image->get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
    return fail_errno(errno, fmt::format("cannot seal the image of module file '{}'", staged.path.native()));
  if (auto checked = check_digest(pinned_sha256, copied->sha256); !checked) return refused(checked.error());
  auto elf = inspect_image(image->get(), copied->size);
  if (!elf) return refused(elf.error());

  staged.sha256 = std::move(copied->sha256);
  staged.elf = std::move(*elf);
  staged.image = std::move(*image);
  return staged;
}

}  // namespace

Result<StagedModule> stage(const std::vector<fs::path>& folders, const fs::path& file, std::string_view pinned_sha256,
                           Trust trust) {
  if (file.empty() || file.is_absolute())
    return fail(Code::kInvalidArgument, "module path '{}' must be relative to modules_dir", file.native());
  Error missing;
  for (const fs::path& folder : folders) {
    auto staged = stage_below(folder, file, pinned_sha256, trust);
    if (staged || staged.error().code != Code::kNotFound) return staged;
    missing = std::move(staged.error());
  }
  if (folders.size() > 1)
    missing.message = fmt::format("module file '{}' is in none of {}", file.native(), quoted(folders));
  missing.message += nearest_file(folders, file);
  return std::unexpected(std::move(missing));
}

}  // namespace cardcage

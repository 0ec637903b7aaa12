// A shared object mapped from a sealed memfd. Nothing else calls dlopen.
#pragma once

#include <boost/dll/shared_library.hpp>
#include <filesystem>
#include <string>
#include <string_view>

#include "host/core/result.h"
#include "host/core/unique_fd.h"
#include "host/loader/elf.h"

namespace cardcage {

class Library {
 public:
  // RTLD_NOW | RTLD_LOCAL; runs the constructors of the object. `path` and `elf` are for messages.
  static Result<Library> open(UniqueFd image, const std::filesystem::path& path, const ElfFacts& elf);

  Library(Library&&) noexcept = default;
  Library& operator=(Library&&) = delete;
  // Leaves the object mapped, since its constructors may have started threads, unless allow_unmap() was called.
  ~Library();

  // Null if the symbol does not exist.
  void* symbol(const char* name) const;
  // True if the address lies in this object and not in another one.
  bool contains(const void* address) const;
  void allow_unmap() { may_unmap_ = true; }

 private:
  Library(UniqueFd image, boost::dll::shared_library handle) : image_(std::move(image)), handle_(std::move(handle)) {}

  UniqueFd image_;
  boost::dll::shared_library handle_;
  bool may_unmap_ = false;
};

// A remedy in parentheses to append to a text of dlerror(); empty if the text is not a known one.
std::string advice_for(std::string_view dlerror_text, const ElfFacts& elf);

}  // namespace cardcage

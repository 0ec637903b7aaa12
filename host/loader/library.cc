#include "host/loader/library.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <unistd.h>

#include <exception>
#include <utility>

namespace cardcage {
namespace {

// A debugger opens the object by this name. /proc/self would be the debugger's own descriptor there, perhaps a pipe
// that it then waits for without end.
std::string name_of(const UniqueFd& image) {
  const std::string name = fmt::format("/proc/{}/fd/{}", ::getpid(), image.get());
  const bool own_proc = ::access(name.c_str(), F_OK) == 0;  // not if /proc shows another PID namespace
  return own_proc ? name : fmt::format("/proc/self/fd/{}", image.get());
}

// Boost's error code is always "bad file descriptor"; dlerror() knows the cause.
std::string last_error() {
  const char* text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it per thread
  return text == nullptr ? "the dynamic loader gave no reason" : text;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string between(std::string_view text, std::string_view before, std::string_view ends) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + before.size());
  return std::string(text.substr(0, text.find_first_of(ends)));
}

std::string missing_library(std::string_view text, const ElfFacts& elf) {
  const std::string library(text.substr(0, text.find(':')));
  if (library.starts_with("libc.musl"))
    return " (the module was built for musl, as on Alpine, and this host has glibc: build it on Debian 12)";
  if (elf.run_path.find("$ORIGIN") != std::string::npos)
    return fmt::format(
        " (install {} where ldconfig finds it: "
        "the run path '{}' of the module has no effect, since the host loads a copy of the file)",
        library, elf.run_path);
  return fmt::format(
      " (install the package that brings {} and run ldconfig, "
      "or let the module dlopen it in create, so that it can report a missing driver itself)",
      library);
}

}  // namespace

std::string advice_for(std::string_view text, const ElfFacts& elf) {
  const auto says = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (says("cannot open shared object file")) return missing_library(text, elf);
  if (says("undefined symbol: "))
    return fmt::format(
        " (no library that the module is linked with has {}: "
        "link the one that does, and link with -Wl,-z,defs to see it at build time)",
        between(text, "undefined symbol: ", ", \n("));
  if (says("wrong ELF class")) return " (a library of the module is 32-bit: install its 64-bit build)";
  if (says("static TLS"))
    return " (the module or a library of it was built for start-up loading: "
           "rebuild it with -ftls-model=global-dynamic, or set isolation = \"process\")";
  if (says("version `GLIBCXX") || says("version `CXXABI"))
    return fmt::format(
        " (the module was built with a newer libstdc++, whose {} this system lacks: build it on the oldest system that "
        "must run it, such as Debian 12, or link it with -static-libstdc++)",
        between(text, "version `", "'"));
  if (says("version `GLIBC_"))
    return fmt::format(
        " (the module needs {} and this system has glibc {}: build it on the oldest system that must run it, such as "
        "Debian 12)",
        between(text, "version `", "'"), ::gnu_get_libc_version());
  if (says("version `"))
    return fmt::format(
        " (the module was built with a newer library than that of this system, which lacks {}: install "
        "that library, or build the module with this one)",
        between(text, "version `", "'"));
  if (says("executable stack"))
    return " (rebuild the module with -Wl,-z,noexecstack; one of its assembler files lacks a .note.GNU-stack section)";
  if (says("failed to map segment") || says("cannot apply additional memory protection"))
    return " (a security policy forbids executable memory, see the audit log, or memory is short)";
  return {};
}

Result<Library> Library::open(UniqueFd image, const std::filesystem::path& path, const ElfFacts& elf) {
  const std::string name = name_of(image);
  try {
    boost::dll::shared_library handle;
    boost::dll::fs::error_code error;
    handle.load(name, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, error);
    if (handle.is_loaded()) return Library(std::move(image), std::move(handle));
    const std::string text = replace_all(last_error(), name, path.filename().native());
    return fail(Code::kFailedPrecondition, "cannot load module file '{}': {}{}", path.native(), text,
                advice_for(text, elf));
  } catch (const std::exception& error) {  // out of memory inside Boost.DLL; constructors cannot throw through dlopen
    return fail(Code::kInternal, "cannot load module file '{}': {}", path.native(), error.what());
  }
}

void* Library::symbol(const char* name) const { return ::dlsym(handle_.native(), name); }

bool Library::contains(const void* address) const {
  Dl_info ignored{};
  void *own = nullptr, *holder = nullptr;
  return ::dlinfo(handle_.native(), RTLD_DI_LINKMAP, static_cast<void*>(&own)) == 0 &&
         ::dladdr1(address, &ignored, &holder, RTLD_DL_LINKMAP) != 0 && holder == own;
}

Library::~Library() {
  if (!image_) return;  // moved from
  const std::string name = name_of(image_);
  if (!may_unmap_) ::dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  handle_.unload();
  // glibc matches libraries by name, so another module must not get this descriptor number while the object is
  // mapped: by our choice, or because it is linked with -z nodelete or has unique symbols.
  if (::dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr) image_.release();
}

}  // namespace cardcage

// Files that an operator may install as modules, each with one fault, and the text with which every program refuses it.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "host/core/file.h"
#include "tests/fakes/built_files.h"

namespace cardcage {

struct BadModule {
  std::string name;  // the file is NAME.so
  std::string text;  // the cause and the remedy
};

namespace bad_modules {

inline const std::vector<BadModule> kBuilt = {
    {"other-major",
     "it is built for module ABI major 7 and this host has major 1: install a build of the module for major 1, or a "
     "Cardcage that has its major"},
    {"future-host", "upgrade Cardcage, or install an older build of the module"},
    {"future-needs",
     "it needs the family cage.future/1, which this host with module ABI 1.0 lacks: upgrade Cardcage, or install an "
     "older build of the module [R5]"},
    {"short-table", "expected 216, as in module ABI 1.0, to 4096: set .struct_size = sizeof(cage_module) [R2]"},
    {"short-option", "struct_size of cage_option is 32, expected at least "},
    {"newer-libstdcxx",
     "the module was built with a newer libstdc++, whose GLIBCXX_9.9.9 this system lacks: build it on the oldest "
     "system "
     "that must run it, such as Debian 12, or link it with -static-libstdc++"},
    {"newer-glibc", "the module needs GLIBC_9.9 and this system has glibc "},
    {"newer-zlib", "which lacks ZLIB_9.9: install that library, or build the module with this one"},
    {"musl", "the module was built for musl, as on Alpine, and this host has glibc: build it on Debian 12"},
    {"missing-library", "install the package that brings libcardcage-absent.so and run ldconfig"},
    {"undefined-symbol", "link the one that does, and link with -Wl,-z,defs to see it at build time"},
    {"no-entry",
     "it does not export cage_module_v1: either it is not a Cardcage module, or its build hides the symbol"},
    {"null-table",
     "which means that it does not work with this host (module ABI 1.0): install a build for this version"},
};

inline std::string content_of(const std::filesystem::path& file) {
  auto content = read_file(file, 64 << 20);
  EXPECT_TRUE(content) << content.error().message;
  return content.value_or("");
}

inline std::string for_another_machine(std::string content) {
  const auto machine = static_cast<Elf64_Half>(EM_S390);
  if (content.size() > sizeof(Elf64_Ehdr))
    std::memcpy(content.data() + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof machine);
  return content;
}

}  // namespace bad_modules

inline std::vector<BadModule> make_bad_modules(const std::filesystem::path& folder) {
  std::vector<BadModule> made = bad_modules::kBuilt;
  const auto write = [&](const std::string& name, const std::string& content) {
    EXPECT_TRUE(write_file_atomically(folder / (name + ".so"), content, 0644, false)) << name;
  };
  const auto add = [&](const std::string& name, const std::string& content, const std::string& text) {
    write(name, content);
    made.push_back({name, text});
  };
  for (const BadModule& built : bad_modules::kBuilt) {
    std::string file = built.name;
    std::ranges::replace(file, '-', '_');
    write(built.name, bad_modules::content_of(test_modules() / (file + ".so")));
  }
  const std::string good = bad_modules::content_of(test_modules() / "good.so");
  add("other-machine", bad_modules::for_another_machine(good), "it is built for s390 and this host runs on ");
  add("truncated", good.substr(0, 2000), "copy it again, it is damaged or truncated");
  add("text", "#!/bin/sh\n", "it is not an ELF file: name the shared object (.so) itself");
  add("empty", "", "it is empty: copy it again");
  add("program", bad_modules::content_of("/bin/true"), "it is a program, not a shared object: link it with -shared");
#ifdef __x86_64__
  add("draft", bad_modules::content_of(built("tests/unit/module/kept/0.2/card_c.so")),
      "it is built for module ABI 0.2, which was a draft, and this host has 1.0: rebuild it with the headers of 1.0");
#endif
  EXPECT_TRUE(std::filesystem::create_directory(folder / "folder.so"));
  made.push_back({"folder", "is not a regular file: name the shared object (.so) itself"});
  return made;
}

}  // namespace cardcage

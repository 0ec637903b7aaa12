// Runs commands of the shell for what they print.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace cardcage {

// Returns the standard output of a command.
inline std::string output_of(const std::string& command) {
  std::string text;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::array<char, 4096> buffer{};
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    text.append(buffer.data(), size);
  return text;
}

}  // namespace cardcage

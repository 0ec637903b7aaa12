#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace cardcage::fake_fpga {

inline std::string text_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace cardcage::fake_fpga

// The commands of XRT's `xbutil` that the module uses, for fake cards: fake-xbutil ROOT WORDS-OF-XBUTIL...
//
// Source: src/runtime_src/core/tools/xbutil2 and src/runtime_src/core/include/xclbin.h of XRT.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/fpga/control.h"

namespace fake_fpga = cardcage::fake_fpga;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kUuid = 16, kInterfaceAt = 336, kVbnvAt = 352, kVbnvSize = 64, kDesignAt = 416, kHeader = 456;

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error(fmt::format("cannot open {}", file.native()));
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string with_dashes(const std::string& uuid) {
  const std::string_view text = uuid;
  return fmt::format("{}-{}-{}-{}-{}", text.substr(0, 8), text.substr(8, 4), text.substr(12, 4), text.substr(16, 4),
                     text.substr(20));
}

// The driver compares the design with the shell, by interface or by name.
void check_fit(const fs::path& device, std::string_view design) {
  const std::string interface = hex_of(design.substr(kInterfaceAt, kUuid));
  const std::string_view name = design.substr(kVbnvAt, kVbnvSize);
  std::string vbnv;
  for (const auto& entry : fs::directory_iterator(device)) {
    if (entry.path().filename().native().starts_with("rom.u.")) vbnv = text_of(entry.path() / "VBNV");
  }
  if (!vbnv.empty()) vbnv.pop_back();
  if (name.substr(0, name.find('\0')) == vbnv && !vbnv.empty()) return;
  if (text_of(device / "interface_uuids").find(interface) == std::string::npos)
    throw std::runtime_error("xclbin does not match shell on card: Invalid argument");
}

// Sends the command to the server of the cards, or writes into a plain tree.
void act(const fs::path& root, const std::vector<std::string>& words, const fs::path& file, const std::string& text) {
  if (!fs::exists(fake_fpga::socket_of(root))) {
    std::ofstream(file) << text;
    return;
  }
  const auto [ok, error] = fake_fpga::ask(root, words);
  if (!ok) throw std::runtime_error(error);
}

struct Words {
  std::string command;
  std::optional<std::string> device, user;
};

int run(const fs::path& root, const Words& words) {
  if (words.command == "--version") {
    std::printf(
        "Version              : 2.16.204\nBranch               : 2023.2\nHash                 : "
        "fa4c0045003e87ae4c0dd8f7d2b1d6a0d4d1fd1d\nXOCL                 : 2.16.204\nXCLMGMT              : "
        "2.16.204\n");
    return 0;
  }
  if (!words.device) throw std::runtime_error("a device must be given with -d");
  const fs::path device = root / "sys/bus/pci/devices" / *words.device;
  if (!fs::exists(device / "user_pf"))
    throw std::runtime_error(fmt::format("Specified device BDF '{}' not found", *words.device));
  if (words.command == "program" && words.user) {
    const std::string design = text_of(*words.user);
    constexpr std::string_view kMagic{"xclbin2\0", 8};
    if (design.size() < kHeader || !design.starts_with(kMagic)) throw std::runtime_error("Invalid xclbin");
    check_fit(device, design);
    const std::string uuid = with_dashes(hex_of(std::string_view(design).substr(kDesignAt, kUuid)));
    act(root, {"xclbin", *words.device, uuid}, device / "xclbinuuid", uuid + "\n");
    std::printf("INFO: Successfully programmed device\n");
    return 0;
  }
  if (words.command == "reset") {
    act(root, {"reset-card", *words.device}, device / "xclbinuuid", "00000000-0000-0000-0000-000000000000\n");
    std::printf("INFO: Successfully reset Device[%s]\n", words.device->c_str());
    return 0;
  }
  throw std::runtime_error("Unknown command: " + words.command);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  Words words{.command = argv[2]};
  const std::vector<std::string> given(argv + 3, argv + argc);
  for (std::size_t i = 0; i + 1 < given.size(); ++i) {
    if (given[i] == "-d" || given[i] == "--device") words.device = given[i + 1];
    if (given[i] == "-u" || given[i] == "--user") words.user = given[i + 1];
  }
  try {
    return run(argv[1], words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ERROR: %s\n", error.what());
    return 1;
  }
}

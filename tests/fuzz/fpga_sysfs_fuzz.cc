// The module reads any content of the sysfs files of FPGA cards without a crash, and its report stays bounded.
//   build/fuzz/bin/fpga_sysfs_fuzz -max_len=4096 CORPUS
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "modules/fpga/bitstream/bitstream.h"
#include "modules/fpga/dfl/card.h"
#include "modules/fpga/health/causes.h"
#include "modules/fpga/health/readings.h"
#include "sim/fpga/tree.h"

namespace {

namespace fs = std::filesystem;
using namespace cardcage;

void must(bool holds) {
  if (!holds) std::abort();
}

// Described cards as plain files, in memory.
struct Cards {
  Cards() {
    fs::remove_all(folder);
    fake_fpga::write_tree(folder, {fake_fpga::n3000(), fake_fpga::u250()});
    for (const auto& entry : fs::recursive_directory_iterator(folder / "sys/devices"))
      if (entry.is_regular_file() && !entry.is_symlink()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  }
  const fs::path folder = "/dev/shm/fpga-sysfs-fuzz-" + std::to_string(::getpid());
  std::vector<fs::path> files;
};

void expect_bounded_findings(const fpga::Readings& now) {
  for (const fpga::Cause& cause : fpga::health_causes())
    if (const auto finding = cause.judge(now)) must(finding->message.size() < 1u << 20);
}

}  // namespace

// Reads pairs of a file, chosen by two bytes, and its content, up to the next zero byte.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Cards cards;
  std::vector<std::pair<fs::path, std::string>> before;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (rest.size() > 2) {
    const auto number = fpga::little_endian<std::uint16_t>(rest, 0);
    const fs::path& file = cards.files[number % cards.files.size()];
    const std::string_view text = rest.substr(2, rest.find('\0', 2) - 2);
    rest.remove_prefix(std::min(rest.size(), text.size() + 3));
    std::ifstream old(file);
    before.emplace_back(file, std::string(std::istreambuf_iterator<char>(old), {}));
    std::ofstream(file) << text;
  }
  const fpga::Node node{.sysfs = cards.folder / "sys", .procfs = "/proc", .devfs = cards.folder / "dev"};
  for (const fpga::DflCard& card : fpga::read_dfl_cards(node)) {
    if (!card.engine) continue;
    must(card.engine->interface_id.empty() || card.engine->interface_id.size() == 32);
    fpga::read_shell(*card.engine);
    expect_bounded_findings(fpga::read_health(node, {.id = card.bus_id + "/port-0",
                                                     .name = "a",
                                                     .kind = "port",
                                                     .card = card.bus_id,
                                                     .bus_id = card.bus_id,
                                                     .model = card.model}));
  }
  const std::string alveo = "0000:65:00.1";
  expect_bounded_findings(fpga::read_health(
      node, {.id = alveo, .name = "b", .kind = "alveo", .card = alveo, .bus_id = alveo, .model = "U250"}));
  for (auto file = before.rbegin(); file != before.rend(); ++file) std::ofstream(file->first) << file->second;
  return 0;
}

// The files that nvidia-imex-ctl of the fake driver prints.
#include <fmt/format.h>

#include <fstream>

#include "sim/nvml/built_files.h"
#include "sim/nvml/fake_gpus.h"
#include "sim/nvml/tree.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

// Two nodes, this one first.
std::string domain_json(std::string_view status) {
  const bool is_up = status == "UP";
  const char *peer = is_up ? "READY" : "UNAVAILABLE", *link = is_up ? "CONNECTED" : "INVALID";
  const auto connections = [&](const char* own) {
    return fmt::format(R"({{"0":{{"host":"10.0.0.1","status":"{}","changed":false}},)"
                       R"("1":{{"host":"10.0.0.2","status":"{}","changed":false}}}})",
                       own, link);
  };
  return fmt::format(R"({{"nodes":{{"0":{{"status":"{}","host":"10.0.0.1","hostName":"n1","connections":{}}},)"
                     R"("1":{{"status":"{}","host":"10.0.0.2","hostName":"{}","connections":{}}}}},)"
                     R"("timestamp":"9/4/2026 00:00:00.000","status":"{}"}})",
                     status == "DOWN" ? "UNAVAILABLE" : "READY", connections(status == "DOWN" ? link : "CONNECTED"),
                     peer, is_up ? "n2" : "N/A", connections(link), status);
}

// Replaces the file at once: a program may be reading it.
void replace_file(const fs::path& file, const std::string& text) {
  const fs::path draft = file.native() + ".new";
  fake_nvml::write_file(draft, text);
  fs::rename(draft, file);
}

}  // namespace

void FakeGpus::run_imex(std::string_view daemon, std::string_view domain) {
  const fs::path program = driver_root() / "usr/bin/nvidia-imex-ctl", folder = root_ / "imex";
  replace_file(folder / "domain", domain_json(domain) + "\n");
  replace_file(folder / "daemon", std::string(daemon) + "\n");
  if (!fs::exists(program)) fs::copy_file(fake_nvml::built_imex_ctl(), program);
}

void FakeGpus::end_imex() { fs::remove(root_ / "imex/daemon"); }

std::string FakeGpus::imex_log() const {
  std::ifstream file(root_ / "imex/asked");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace cardcage

// Loads and calls the FPGA module with a catalogue of bitstreams, like the daemon.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "host/core/digest.h"
#include "sim/fpga/bitstream_files.h"
#include "sim/fpga/fake_fpgas.h"
#include "tests/common/hardware_fixture.h"
#include "tests/fakes/built_files.h"

namespace cardcage {

class FpgaModuleFixture : public HardwareFixture {
 protected:
  FpgaModuleFixture() : HardwareFixture("fpga.cardcage.dev/v1alpha1") {
    modules_dir = built_modules();
    use_catalogue(folder / "bitstreams");
  }

  void use_catalogue(const std::filesystem::path& place) {
    catalogue_ = place;
    std::filesystem::create_directories(place);
    std::filesystem::permissions(place, std::filesystem::perms(0755));
  }
  std::filesystem::path catalogue() const { return catalogue_; }
  std::filesystem::path fences() const { return folder / "fences"; }

  // Starts a new instance, which knows nothing of an earlier one, with these files to write to.
  Status start_fpga_module(const std::vector<std::string>& may_write,
                           const std::vector<std::filesystem::path>& programs) {
    let_go();
    ModuleConfig wanted = config(
        "libcardcage_fpga.so",
        {{"catalogue", catalogue().native()}, {"fences", fences().native()}, {"health_interval", std::string("20ms")}});
    wanted.programs = programs;
    wanted.writes = may_write;
    return start_module(wanted);
  }

  ModuleClaim claim_of(const std::string& uid, const std::vector<std::string>& wanted, const std::string& params = {},
                       ConfigSource source = ConfigSource::kClaim) {
    return HardwareFixture::claim_of(uid, wanted, params, "FpgaConfig", source);
  }

  // Adds a bitstream to the catalogue whose function is `function`, for the interface of the N3000 unless another is
  // given. Returns its file.
  std::filesystem::path add_bitstream(const std::string& name, const std::string& function,
                                      const std::string& interface = fake_fpga::kN3000Interface,
                                      const std::string& more = {}) {
    GbsFile gbs;
    gbs.interface_uuid = interface;
    gbs.function_uuid = function;
    return add_gbs(name, gbs, more);
  }
  // Does the same; `more` has further lines of the manifest.
  std::filesystem::path add_gbs(const std::string& name, GbsFile gbs, const std::string& more = {}) {
    gbs.data = fake_payload(gbs.function_uuid, 5000);
    return add_file(name, name + ".gbs", make_gbs(gbs), more);
  }
  // Adds a file of any format, with its manifest.
  std::filesystem::path add_file(const std::string& name, const std::string& file_name, const std::string& bytes,
                                 const std::string& more = {}) {
    const std::filesystem::path file = catalogue() / file_name;
    write(file, bytes);
    write(catalogue() / (name + ".toml"),
          fmt::format("file = \"{}\"\nsha256 = \"{}\"\n{}", file_name, sha256_hex(bytes), more));
    return file;
  }
  static void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text << std::flush;
    std::filesystem::permissions(file, std::filesystem::perms(0644));
  }

 private:
  std::filesystem::path catalogue_;
};

}  // namespace cardcage

#include "modules/common/vfio_driver.h"

#include <gmock/gmock.h>

#include <fstream>

#include "sim/scratch_folder.h"

namespace cardcage::hardware {
namespace {

const std::string kGrace = "0009:01:00.0", kHopper = "0000:3b:00.0";

class VfioDriver : public ::testing::Test {
 protected:
  VfioDriver() {
    function(kGrace, "pci:v000010DEd00002342sv000010DEsd000016EBbc03sc02i00");
    function(kHopper, "pci:v000010DEd00002330sv000010DEsd000016C1bc03sc02i00");
  }
  void function(const std::string& bus_id, const std::string& modalias) const {
    std::filesystem::create_directories(folder / "sys/bus/pci/devices" / bus_id);
    std::ofstream(folder / "sys/bus/pci/devices" / bus_id / "modalias") << modalias << "\n";
  }
  std::string driver(const std::string& bus_id) const {
    return best_vfio_driver(folder / "sys", {folder / "none", folder.path()}, bus_id);
  }
  // Aliases as depmod writes them for Linux 6.12, in the order of the modules.
  void write_aliases() const {
    std::ofstream(folder / "modules.alias") << "# Aliases extracted from modules themselves.\n"
                                               "alias pci:v000010DEd*sv*sd*bc03sc02i00* nvidia\n"
                                               "alias vfio_pci:v*d*sv*sd*bc*sc*i* vfio_pci\n"
                                               "alias vfio_pci:v000010DEd00002342sv*sd*bc*sc*i* nvgrace_gpu_vfio_pci\n"
                                               "alias vfio_pci:v000015B3d0000101Esv*sd*bc*sc*i* mlx5_vfio_pci\n"
                                               "alias broken\n";
  }

  ScratchFolder folder;
};

TEST_F(VfioDriver, IsTheOneThatNamesTheDevice) {
  write_aliases();
  EXPECT_EQ(driver(kGrace), "nvgrace_gpu_vfio_pci");
  EXPECT_EQ(driver(kHopper), "vfio-pci");
}

TEST_F(VfioDriver, WithoutAliasesOrFunctionIsTheGeneralOne) {
  EXPECT_EQ(driver(kGrace), "vfio-pci") << "no modules.alias";
  write_aliases();
  EXPECT_EQ(driver("0000:99:00.0"), "vfio-pci");
}

}  // namespace
}  // namespace cardcage::hardware

// Checks the served cards against linux/fpga-dfl.h and the drivers' sources: numbers, sizes, and features that
// kernel_rules.h cannot check, because the cards of tests/qemu lack them.
#include <sys/eventfd.h>

#include <cstddef>
#include <fstream>
#include <future>

#include "tests/sim/fpga/kernel_fixture.h"

namespace cardcage {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FakeFpgaNumbering, IsThatOfTheKernel) {
  EXPECT_EQ(DFL_FPGA_GET_API_VERSION, 0xb600u);
  EXPECT_EQ(DFL_FPGA_CHECK_EXTENSION, 0xb601u);
  EXPECT_EQ(DFL_FPGA_PORT_RESET, 0xb640u);
  EXPECT_EQ(DFL_FPGA_PORT_GET_INFO, 0xb641u);
  EXPECT_EQ(DFL_FPGA_PORT_GET_REGION_INFO, 0xb642u);
  EXPECT_EQ(DFL_FPGA_PORT_DMA_MAP, 0xb643u);
  EXPECT_EQ(DFL_FPGA_PORT_DMA_UNMAP, 0xb644u);
  EXPECT_EQ(DFL_FPGA_PORT_ERR_GET_IRQ_NUM, 0x8004b645u);
  EXPECT_EQ(DFL_FPGA_PORT_ERR_SET_IRQ, 0x4008b646u);
  EXPECT_EQ(DFL_FPGA_FME_PORT_PR, 0xb680u);
  EXPECT_EQ(DFL_FPGA_FME_PORT_RELEASE, 0x4004b681u);
  EXPECT_EQ(DFL_FPGA_FME_PORT_ASSIGN, 0x4004b682u);
  EXPECT_EQ(DFL_FPGA_FME_ERR_GET_IRQ_NUM, 0x8004b683u);
  EXPECT_EQ(DFL_FPGA_FME_ERR_SET_IRQ, 0x4008b684u);
  EXPECT_EQ(sizeof(dfl_fpga_port_info), 16u);
  EXPECT_EQ(sizeof(dfl_fpga_port_region_info), 32u);
  EXPECT_EQ(sizeof(dfl_fpga_port_dma_map), 32u);
  EXPECT_EQ(sizeof(dfl_fpga_port_dma_unmap), 16u);
  EXPECT_EQ(sizeof(dfl_fpga_fme_port_pr), 24u);
  EXPECT_EQ(offsetof(dfl_fpga_fme_port_pr, port_id), 8u);
  EXPECT_EQ(offsetof(dfl_fpga_fme_port_pr, buffer_size), 12u);
  EXPECT_EQ(offsetof(dfl_fpga_fme_port_pr, buffer_address), 16u);
}

TEST_F(FakeFpgaKernel, FilesRefuseAtReadWhatTheKernelRefuses) {
  const fs::path base = fs::canonical(fpgas.sysfs() / "class/fpga_region/region0");
  EXPECT_EQ(read_file(base / "compat_id"), (Text{"", ENOENT}));
  EXPECT_TRUE(fs::exists(base / "compat_id"));
  EXPECT_EQ(read_file(port("afu_id")), (Text{"d8424dc4a4a3c413f89e433683f9040b\n", 0}));
  fpgas.change(kCard, [](auto& card) { card.dfl->ports[0].disabled = 1; });
  EXPECT_EQ(read_file(port("afu_id")), (Text{"", EBUSY}));
  EXPECT_EQ(write_file(port("afu_id"), "x"), EACCES) << "sysfs lets not even root open it to write";
  EXPECT_EQ(read_file(fpgas.function("0000:b1:00.0") / "missing"), (Text{"", ENOENT}));
}

TEST_F(FakeFpgaKernel, FoldersAndLinksAreAsInSysfs) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fpgas.devfs())) names.push_back(entry.path().filename());
  EXPECT_THAT(names, Contains("dfl-port.3"));
  EXPECT_EQ(fs::canonical(fpgas.sysfs() / "bus/platform/devices/dfl-port.1/../device"),
            fs::canonical(fpgas.function(kCard)));
  EXPECT_EQ(read_file(fpgas.function(kCard) / "config").text.size(), 256u);
}

TEST_F(FakeFpgaKernel, PortErrorsStayInAp6) {
  fpgas.change(kCard, [](auto& card) { card.dfl->ports[0].power_state = 6; });
  fpgas.set_port_errors(kCard, 0, 1);
  EXPECT_EQ(write_file(port("errors/errors"), "0x1"), EBUSY);
  EXPECT_EQ(read_file(port("errors/errors")).text, "0x1\n");
}

TEST_F(FakeFpgaKernel, FmeErrorsAreClearedByTheirOwnValueOnly) {
  fpgas.change(kCard, [](auto& card) { card.dfl->errors.pcie0 = 4; });
  EXPECT_EQ(write_file(fme("errors/pcie0_errors"), "0x5"), EINVAL);
  EXPECT_EQ(write_file(fme("errors/pcie0_errors"), "4"), 0);
  EXPECT_EQ(read_file(fme("errors/pcie0_errors")).text, "0x0\n");
}

TEST_F(FakeFpgaKernel, EventsAreClearedByOne) {
  fpgas.change(kCard, [](auto& card) { card.dfl->ports[0].ap1_event = true; });
  EXPECT_EQ(read_file(port("ap1_event")).text, "1\n");
  EXPECT_EQ(write_file(port("ap1_event"), "0"), EINVAL);
  EXPECT_EQ(write_file(port("ap1_event"), "1"), 0);
  EXPECT_EQ(read_file(port("ap1_event")).text, "0\n");
}

TEST_F(FakeFpgaKernel, OpenDescriptorsAreCounted) {
  const fs::path node = fpgas.port_node(kCard);
  UniqueFd first = open_node(node), second = open_node(node);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(fpgas.open_count(node), 2u);
  first = UniqueFd();
  second = UniqueFd();
  EXPECT_TRUE(eventually([&] { return fpgas.open_count(node) == 0; }));
}

TEST_F(FakeFpgaKernel, AClosedNodeIsFreeAtOnce) {
  const fs::path node = fpgas.port_node(kCard);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(open_node(node, O_EXCL)) << i;
}

TEST(FakeFpgaOldKernel, PortsAreOpenedOnce) {
  FakeFpgas fpgas({fake_fpga::n3000(kOther)}, {.single_open = true});
  if (!fpgas.mounted()) GTEST_SKIP() << "no file system can be mounted here";
  const UniqueFd first = open_node(fpgas.port_node(kOther));
  ASSERT_TRUE(first);
  EXPECT_FALSE(open_node(fpgas.port_node(kOther)));
  EXPECT_EQ(errno, EBUSY);
}

TEST_F(FakeFpgaKernel, TheLastCloseResetsThePort) {
  const auto resets = [&] { return fpgas.look(kCard).dfl->ports[2].resets; };
  UniqueFd first = open_node(fpgas.port_node(kCard, 2)), second = open_node(fpgas.port_node(kCard, 2));
  first = UniqueFd();
  EXPECT_TRUE(eventually([&] { return fpgas.open_count(fpgas.port_node(kCard, 2)) == 1; }));
  EXPECT_EQ(resets(), 0u);
  second = UniqueFd();
  EXPECT_TRUE(eventually([&] { return resets() == 1; }));
}

TEST_F(FakeFpgaKernel, ResetsAreCounted) {
  const UniqueFd port = open_node(fpgas.port_node(kCard));
  EXPECT_EQ(call(port, DFL_FPGA_PORT_RESET), 0);
  EXPECT_EQ(fpgas.look(kCard).dfl->ports[0].resets, 1u);
}

TEST_F(FakeFpgaKernel, ErrorsSignalAnEvent) {
  const UniqueFd fme = open_node(fpgas.fme_node(kCard)), event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::uint32_t count = 0;
  EXPECT_EQ(call_with(fme, DFL_FPGA_FME_ERR_GET_IRQ_NUM, count), 0);
  EXPECT_EQ(count, 1u);
  struct {
    std::uint32_t start, count;
    std::int32_t fd;
  } argument{0, 1, event.get()};
  static_assert(offsetof(dfl_fpga_irq_set, evtfds) == 8);
  ASSERT_EQ(call_with(fme, DFL_FPGA_FME_ERR_SET_IRQ, argument), 0);
  fpgas.set_fatal_errors(kCard, 1);
  eventfd_t value = 0;
  EXPECT_EQ(::eventfd_read(event.get(), &value), 0);
  argument.count = 2;
  EXPECT_EQ(call_with(fme, DFL_FPGA_FME_ERR_SET_IRQ, argument), EINVAL);
  argument.count = 1;
  argument.fd = 1000;
  EXPECT_EQ(call_with(fme, DFL_FPGA_FME_ERR_SET_IRQ, argument), EBADF);
  fpgas.change(kCard, [](auto& card) { card.dfl->error_interrupts = 0; });
  EXPECT_EQ(call_with(fme, DFL_FPGA_FME_ERR_GET_IRQ_NUM, count), 0);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(call_with(fme, DFL_FPGA_FME_ERR_SET_IRQ, argument), ENOENT);
}

TEST_F(FakeFpgaKernel, VirtualFunctionsGoFromDriverToDriver) {
  const std::string address = "0000:b1:00.5";
  const fs::path drivers = fpgas.sysfs() / "bus/pci/drivers", function = fpgas.function(address);
  EXPECT_EQ(read_file(function / "driver_override").text, "vfio-pci\n");
  EXPECT_EQ(write_file(drivers / "dfl-pci/unbind", address), ENODEV);
  EXPECT_EQ(write_file(drivers / "vfio-pci/unbind", address), 0);
  EXPECT_FALSE(fs::exists(function / "driver"));
  EXPECT_EQ(write_file(drivers / "dfl-pci/bind", address), ENODEV) << "the override names another";
  EXPECT_EQ(write_file(drivers / "vfio-pci/bind", address), 0);
  EXPECT_EQ(write_file(drivers / "vfio-pci/bind", address), EBUSY);
  EXPECT_EQ(write_file(drivers / "vfio-pci/bind", "0000:00:00.9"), ENODEV);
  ASSERT_EQ(write_file(drivers / "vfio-pci/unbind", address), 0);
  ASSERT_EQ(write_file(function / "driver_override", "\n"), 0);
  EXPECT_EQ(read_file(function / "driver_override").text, "(null)\n");
  ASSERT_EQ(write_file(fpgas.function("0000:b1:00.0") / "sriov_drivers_autoprobe", "0"), 0);
  EXPECT_EQ(write_file(fpgas.sysfs() / "bus/pci/drivers_probe", address), 0);
  EXPECT_FALSE(fs::exists(function / "driver")) << "no probing, and no error either";
  ASSERT_EQ(write_file(function / "driver_override", "vfio-pci"), 0);
  EXPECT_EQ(write_file(fpgas.sysfs() / "bus/pci/drivers_probe", address), 0);
  EXPECT_EQ(fs::canonical(function / "driver").filename(), "vfio-pci");
  const fs::path count = fpgas.function("0000:b1:00.0") / "sriov_numvfs";
  EXPECT_EQ(write_file(count, "2"), EBUSY) << "3 are there";
  EXPECT_EQ(write_file(count, "4"), ERANGE);
  EXPECT_EQ(write_file(count, "0"), 0);
  EXPECT_FALSE(fs::exists(function));
}

TEST_F(FakeFpgaKernel, VfioKeepsAFunctionThatIsOpen) {
  const std::string address = "0000:b1:00.6";
  const fs::path function = fpgas.function(address);
  const fs::path node = fpgas.devfs() / "vfio" / fs::canonical(function / "iommu_group").filename();
  UniqueFd group = open_node(node);
  ASSERT_TRUE(group);
  EXPECT_FALSE(open_node(node));
  EXPECT_EQ(errno, EBUSY);
  auto unbound = std::async(std::launch::async,
                            [&] { return write_file(fpgas.sysfs() / "bus/pci/drivers/vfio-pci/unbind", address); });
  EXPECT_EQ(unbound.wait_for(100ms), std::future_status::timeout);
  EXPECT_TRUE(fs::exists(function / "driver"));
  group = UniqueFd();
  EXPECT_EQ(unbound.get(), 0);
  EXPECT_FALSE(fs::exists(function / "driver"));
}

TEST_F(FakeFpgaKernel, EveryAccessWithAnEffectIsRecorded) {
  fpgas.clear_log();
  read_file(port("afu_id"));
  EXPECT_THAT(fpgas.log(), IsEmpty());
  EXPECT_EQ(program(0, payload), 0);
  write_file(fpgas.function(kCard) / "driver_override", "x\n");
  ASSERT_TRUE(eventually([&] { return fpgas.log().size() == 4; }));
  EXPECT_THAT(fpgas.log(), ElementsAre("open dfl-fme.0", "ioctl dfl-fme.0 FME_PORT_PR", "close dfl-fme.0",
                                       "write sys/devices/pci0000:5d/0000:5d:00.0/0000:5e:00.0/driver_override: x"));
  EXPECT_EQ(fpgas.accesses()[0].caller, ::gettid());
}

TEST_F(FakeFpgaKernel, CardsComeAndGo) {
  fpgas.hold();
  auto running = std::async(std::launch::async, [&] { return program(0, payload); });
  ASSERT_TRUE(eventually([&] { return fpgas.programming() == 1; }));
  fpgas.remove_card(kCard);
  EXPECT_EQ(running.get(), ENODEV);
  EXPECT_FALSE(fs::exists(fpgas.function(kCard)));
  EXPECT_THROW(fpgas.look(kCard), std::out_of_range);
  fpgas.add_card(fake_fpga::four_ports(kCard));
  EXPECT_EQ(read_file(port("id", 3)).text, "3\n");
  const fs::path before = fpgas.port_node(kOther);
  fpgas.renumber();
  EXPECT_NE(fpgas.port_node(kOther), before);
  EXPECT_EQ(read_file(fpgas.port_folder(kOther) / "id").text, "0\n");
}

}  // namespace
}  // namespace cardcage

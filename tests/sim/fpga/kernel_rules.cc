#include "tests/sim/fpga/kernel_rules.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <future>
#include <stdexcept>
#include <thread>
#include <utility>

#include "sim/fpga/fake_fpgas.h"

namespace cardcage::kernel_rules {
namespace {

constexpr unsigned kPage = 4096;
constexpr unsigned long kNowhere = 16;  // an address without memory in any process

std::string line_of(const fs::path& file) {
  const std::string text = read_file(file).text;
  return text.substr(0, text.find('\n'));
}

// Returns the entry of the folder whose name begins with the prefix. Throws if there is none.
fs::path entry(const fs::path& folder, const std::string& prefix) {
  for (const auto& each : fs::directory_iterator(folder))
    if (each.path().filename().native().starts_with(prefix)) return each.path();
  throw std::runtime_error("nothing called " + prefix + "* in " + folder.native());
}

void must(int error) { ASSERT_EQ(error, 0) << "in an earlier call"; }

UniqueFd port(const Card& card, unsigned number = 0) { return open_node(card.port_node(number)); }
UniqueFd engine(const Card& card) { return open_node(card.engine_node()); }
int release(const Card& card, int number) { return call_with(engine(card), DFL_FPGA_FME_PORT_RELEASE, number); }
int assign(const Card& card, int number) { return call_with(engine(card), DFL_FPGA_FME_PORT_ASSIGN, number); }

int make_functions(const Card& card, const char* number) {
  return write_file(card.attribute("function/sriov_numvfs"), number);
}

std::string nlb3() { return fake_payload(fake_fpga::kNlb3); }
int program(const Card& card, unsigned number = 0) { return program_at(card.engine_node(), number, nlb3()); }
void fail_programming(Card& card) {
  card.fail_next();
  ASSERT_EQ(program(card), EIO);
}
// Programs the card with a changed argument.
int program_with(const Card& card, void (*change)(dfl_fpga_fme_port_pr&)) {
  const std::string payload = nlb3();
  dfl_fpga_fme_port_pr pr{.argsz = sizeof pr};
  pr.buffer_size = static_cast<std::uint32_t>(payload.size());
  pr.buffer_address = reinterpret_cast<std::uint64_t>(payload.data());
  change(pr);
  return call_with(engine(card), DFL_FPGA_FME_PORT_PR, pr);
}
int region_info(const Card& card, void (*change)(dfl_fpga_port_region_info&)) {
  dfl_fpga_port_region_info info{.argsz = sizeof info};
  change(info);
  return call_with(port(card), DFL_FPGA_PORT_GET_REGION_INFO, info);
}

// A page of this process.
class Page {
 public:
  Page() : start_(::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)) {}
  Page(const Page&) = delete;
  ~Page() { ::munmap(start_, kPage); }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(start_); }

 private:
  void* const start_;
};
// Maps a page for DMA with a changed argument.
int map_with(const Card& card, void (*change)(dfl_fpga_port_dma_map&)) {
  const Page page;
  dfl_fpga_port_dma_map map{.argsz = sizeof map, .user_addr = page.address(), .length = kPage};
  change(map);
  return call_with(port(card), DFL_FPGA_PORT_DMA_MAP, map);
}
int unmap(const UniqueFd& port, std::uint64_t address) {
  dfl_fpga_port_dma_unmap argument{.argsz = sizeof argument, .iova = address};
  return call_with(port, DFL_FPGA_PORT_DMA_UNMAP, argument);
}
int set_interrupt(const UniqueFd& node, unsigned long command) {
  struct {
    std::uint32_t start, count;
    std::int32_t fd;
  } argument{0, 1, -1};
  return call_with(node, command, argument);
}

}  // namespace

Card::Card(fs::path sysfs, fs::path devfs, std::string address)
    : sysfs_(std::move(sysfs)), devfs_(std::move(devfs)), address_(std::move(address)) {}

fs::path Card::function() const { return sysfs_ / "bus/pci/devices" / address_; }

fs::path Card::below_region(const std::string& prefix) const {
  return entry(entry(function() / "fpga_region", "region"), prefix);
}

fs::path Card::engine() const { return below_region("dfl-fme."); }

fs::path Card::port(unsigned number) const {
  for (const auto& each : fs::directory_iterator(entry(function() / "fpga_region", "region")))
    if (line_of(each.path() / "id") == std::to_string(number)) return each.path();
  throw std::runtime_error("the card has no port " + std::to_string(number));
}

fs::path Card::engine_node() const { return devfs_ / engine().filename(); }
fs::path Card::port_node(unsigned number) const { return devfs_ / port(number).filename(); }

int Card::rebind() const {
  const fs::path driver = sysfs_ / "bus/pci/drivers/dfl-pci";
  const int error = write_file(driver / "unbind", address_);
  return error != 0 ? error : write_file(driver / "bind", address_);
}

fs::path Card::attribute(const std::string& path) const {
  const std::size_t end = path.find('/');
  const std::string what = path.substr(0, end), name = path.substr(end + 1);
  if (what == "function") return function() / name;
  if (what == "engine") return engine() / name;
  if (what == "port") return port(static_cast<unsigned>(std::stoul(name))) / name.substr(name.find('/') + 1);
  if (what == "base") return entry(function() / "fpga_region", "region") / name;
  if (what == "manager") return entry(entry(engine(), "dfl-fme-mgr.") / "fpga_manager", "fpga") / name;
  if (what == "bridge") return entry(entry(engine(), "dfl-fme-bridge.") / "fpga_bridge", "br") / name;
  if (what == "region") return entry(entry(engine(), "dfl-fme-region.") / "fpga_region", "region") / name;
  const std::size_t middle = name.find('/');
  for (const auto& hwmon : fs::directory_iterator(engine() / "hwmon"))
    if (line_of(hwmon.path() / "name") == name.substr(0, middle)) return hwmon.path() / name.substr(middle + 1);
  throw std::runtime_error("no attribute " + path);
}

std::vector<Call> calls_of_ports() {
  return {
      {"OpenAPortTwice",
       [](Card& card) {
         const UniqueFd first = port(card);
         return port(card) ? 0 : errno;
       },
       0},
      {"OpenAPortExclusivelyThatIsOpen",
       [](Card& card) {
         const UniqueFd first = port(card);
         return open_node(card.port_node(0), O_EXCL) ? 0 : errno;
       },
       EBUSY},
      {"OpenAPortThatIsOpenExclusively",
       [](Card& card) {
         const UniqueFd first = open_node(card.port_node(0), O_EXCL);
         return port(card) ? 0 : errno;
       },
       EBUSY},
      {"OpenAnotherPortMeanwhile",
       [](Card& card) {
         const UniqueFd first = open_node(card.port_node(0), O_EXCL);
         return open_node(card.port_node(1), O_EXCL) ? 0 : errno;
       },
       0},
      {"PortApiVersion", [](Card& card) { return call(port(card), DFL_FPGA_GET_API_VERSION); }, 0},
      {"PortExtension", [](Card& card) { return call(port(card), DFL_FPGA_CHECK_EXTENSION, 7); }, 0},
      {"PortReset", [](Card& card) { return call(port(card), DFL_FPGA_PORT_RESET); }, 0},
      {"PortResetWithAnArgument", [](Card& card) { return call(port(card), DFL_FPGA_PORT_RESET, 1); }, EINVAL},
      {"PortInfo",
       [](Card& card) {
         dfl_fpga_port_info info{.argsz = sizeof info};
         const int error = call_with(port(card), DFL_FPGA_PORT_GET_INFO, info);
         EXPECT_EQ(info.num_regions, 1u);
         return error;
       },
       0},
      {"PortInfoThatIsShort",
       [](Card& card) {
         dfl_fpga_port_info info{.argsz = sizeof info - 1};
         return call_with(port(card), DFL_FPGA_PORT_GET_INFO, info);
       },
       EINVAL},
      {"PortInfoNowhere", [](Card& card) { return call(port(card), DFL_FPGA_PORT_GET_INFO, kNowhere); }, EFAULT},
      {"RegionInfo", [](Card& card) { return region_info(card, [](auto&) {}); }, 0},
      {"RegionInfoOfNoRegion", [](Card& card) { return region_info(card, [](auto& info) { info.index = 1; }); },
       EINVAL},
      {"RegionInfoWithPadding", [](Card& card) { return region_info(card, [](auto& info) { info.padding = 1; }); },
       EINVAL},
      {"DmaMap", [](Card& card) { return map_with(card, [](auto&) {}); }, 0},
      {"DmaMapOfHalfAPage", [](Card& card) { return map_with(card, [](auto& map) { map.length = kPage / 2; }); },
       EINVAL},
      {"DmaMapOfNothing", [](Card& card) { return map_with(card, [](auto& map) { map.length = 0; }); }, EINVAL},
      {"DmaMapWithFlags", [](Card& card) { return map_with(card, [](auto& map) { map.flags = 1; }); }, EINVAL},
      {"DmaMapOfMemoryThatIsNotThere",
       [](Card& card) { return map_with(card, [](auto& map) { map.user_addr = kPage; }); }, EFAULT},
      {"DmaUnmapTwice",
       [](Card& card) {
         const Page page;
         const UniqueFd open = port(card);
         dfl_fpga_port_dma_map map{.argsz = sizeof map, .user_addr = page.address(), .length = kPage};
         must(call_with(open, DFL_FPGA_PORT_DMA_MAP, map));
         must(unmap(open, map.iova));
         return unmap(open, map.iova);
       },
       EINVAL},
      {"PortInterruptsOfACardWithout", [](Card& card) { return set_interrupt(port(card), DFL_FPGA_PORT_ERR_SET_IRQ); },
       ENOENT},
      {"ProgramThroughAPort", [](Card& card) { return call(port(card), DFL_FPGA_FME_PORT_PR); }, EINVAL},
      {"UnknownCallOfAPort", [](Card& card) { return call(port(card), 0xb67f); }, EINVAL},
  };
}

static std::vector<Call> calls_of_the_engine() {
  return {
      {"OpenTheEngineExclusivelyThatIsOpen",
       [](Card& card) {
         const UniqueFd first = engine(card);
         return open_node(card.engine_node(), O_EXCL) ? 0 : errno;
       },
       EBUSY},
      {"EngineApiVersion", [](Card& card) { return call(engine(card), DFL_FPGA_GET_API_VERSION); }, 0},
      {"EngineExtension", [](Card& card) { return call(engine(card), DFL_FPGA_CHECK_EXTENSION, 7); }, 0},
      {"EngineInterruptsOfACardWithout",
       [](Card& card) { return set_interrupt(engine(card), DFL_FPGA_FME_ERR_SET_IRQ); }, ENOENT},
      {"ResetThroughTheEngine", [](Card& card) { return call(engine(card), DFL_FPGA_PORT_RESET); }, EINVAL},
      {"UnknownCallOfTheEngine", [](Card& card) { return call(engine(card), 0xb6ff); }, EINVAL},
      {"Program", [](Card& card) { return program(card); }, 0},
      {"ProgramWithAShortArgument", [](Card& card) { return program_with(card, [](auto& pr) { pr.argsz = 23; }); },
       EINVAL},
      {"ProgramWithFlags", [](Card& card) { return program_with(card, [](auto& pr) { pr.flags = 1; }); }, EINVAL},
      {"ProgramNoPort", [](Card& card) { return program_with(card, [](auto& pr) { pr.port_id = 4; }); }, EINVAL},
      {"ProgramWithNothing", [](Card& card) { return program_with(card, [](auto& pr) { pr.buffer_size = 0; }); },
       ENOMEM},
      {"ProgramFromNowhere",
       [](Card& card) { return program_with(card, [](auto& pr) { pr.buffer_address = kNowhere; }); }, EFAULT},
      {"ProgramWithoutAnArgument", [](Card& card) { return call(engine(card), DFL_FPGA_FME_PORT_PR, kNowhere); },
       EFAULT},
      {"ProgramAndFail",
       [](Card& card) {
         card.fail_next();
         return program(card);
       },
       EIO},
      {"ProgramAfterAFailure",
       [](Card& card) {
         fail_programming(card);
         return program(card);
       },
       0},
      {"ProgramAPortThatIsOpen",
       [](Card& card) {
         const UniqueFd open = port(card);
         return program(card);
       },
       0},
  };
}

static std::vector<Call> calls_for_virtual_functions() {
  return {
      {"ReleaseAPort", [](Card& card) { return release(card, 0); }, 0},
      {"ReleaseAPortThatIsOpen",
       [](Card& card) {
         const UniqueFd open = port(card);
         return release(card, 0);
       },
       EBUSY},
      {"ReleaseAPortTwice",
       [](Card& card) {
         must(release(card, 0));
         return release(card, 0);
       },
       EBUSY},
      {"ReleaseNoPort", [](Card& card) { return release(card, 9); }, EINVAL},
      {"ReleaseNowhere", [](Card& card) { return call(engine(card), DFL_FPGA_FME_PORT_RELEASE, kNowhere); }, EFAULT},
      {"AssignAPortThatIsNotReleased", [](Card& card) { return assign(card, 0); }, EBUSY},
      {"AssignNoPort", [](Card& card) { return assign(card, 9); }, EINVAL},
      {"AssignAReleasedPort",
       [](Card& card) {
         must(release(card, 0));
         return assign(card, 0);
       },
       0},
      {"OpenAReleasedPort",
       [](Card& card) {
         const fs::path node = card.port_node(0);
         must(release(card, 0));
         return open_node(node) ? 0 : errno;
       },
       ENOENT},
      {"OpenAnAssignedPort",
       [](Card& card) {
         const fs::path node = card.port_node(0);
         must(release(card, 0));
         must(assign(card, 0));
         return open_node(node) ? 0 : errno;
       },
       ENXIO},
      {"ReadAnAssignedPort",
       [](Card& card) {
         const fs::path id = card.attribute("port/0/id");
         must(release(card, 0));
         must(assign(card, 0));
         return read_file(id).error;
       },
       ENOENT},
      {"OpenAnAssignedPortWithTheDriverBoundAnew",
       [](Card& card) {
         must(release(card, 0));
         must(assign(card, 0));
         must(card.rebind());
         return port(card) ? 0 : errno;
       },
       0},
      {"OpenAReleasedPortWithTheDriverBoundAnew",
       [](Card& card) {
         must(release(card, 0));
         must(card.rebind());
         return port(card) ? 0 : errno;
       },
       0},
      {"MakeFunctionsOfNoReleasedPort", [](Card& card) { return make_functions(card, "1"); }, EINVAL},
      {"MakeMoreFunctionsThanReleasedPorts",
       [](Card& card) {
         must(release(card, 0));
         return make_functions(card, "2");
       },
       EINVAL},
      {"MakeTooManyFunctions", [](Card& card) { return make_functions(card, "5"); }, ERANGE},
      {"MakeFunctionsOfTheReleasedPorts",
       [](Card& card) {
         must(release(card, 1));
         must(release(card, 3));
         return make_functions(card, "2");
       },
       0},
      {"MakeOtherFunctions",
       [](Card& card) {
         must(release(card, 0));
         must(make_functions(card, "1"));
         return make_functions(card, "2");
       },
       EBUSY},
      {"AssignAPortWithAFunction",
       [](Card& card) {
         must(release(card, 0));
         must(make_functions(card, "1"));
         return assign(card, 0);
       },
       0},
      {"RemoveTheFunctionsAndAssign",
       [](Card& card) {
         must(release(card, 0));
         must(make_functions(card, "1"));
         must(make_functions(card, "0"));
         return assign(card, 0);
       },
       0},
      {"ProgramAReleasedPort",
       [](Card& card) {
         must(release(card, 0));
         return program(card);
       },
       0},
  };
}

static std::vector<Call> calls_that_write_attributes() {
  return {
      {"WriteAFunctionId", [](Card& card) { return write_file(card.attribute("port/0/afu_id"), "x"); }, EACCES},
      {"ClearOtherPortErrors",
       [](Card& card) {
         card.set_port_errors(0, 0x21);
         return write_file(card.attribute("port/0/errors/errors"), "0x20");
       },
       EINVAL},
      {"ClearPortErrors",
       [](Card& card) {
         card.set_port_errors(0, 0x21);
         return write_file(card.attribute("port/0/errors/errors"), "0x21\n");
       },
       0},
      {"ClearNoPortErrors", [](Card& card) { return write_file(card.attribute("port/0/errors/errors"), "0x0"); }, 0},
      {"ClearPortErrorsByAWord", [](Card& card) { return write_file(card.attribute("port/0/errors/errors"), "all"); },
       EINVAL},
      {"ClearAnEventByZero", [](Card& card) { return write_file(card.attribute("port/0/ap1_event"), "0"); }, EINVAL},
      {"ClearAnEvent", [](Card& card) { return write_file(card.attribute("port/0/ap1_event"), "1"); }, 0},
      {"ClearOtherEngineErrors", [](Card& card) { return write_file(card.attribute("engine/errors/fme_errors"), "5"); },
       EINVAL},
      {"InjectAnUnknownError",
       [](Card& card) { return write_file(card.attribute("engine/errors/inject_errors"), "8"); }, EINVAL},
      {"InjectAnError", [](Card& card) { return write_file(card.attribute("engine/errors/inject_errors"), "2"); }, 0},
      {"WriteFatalErrors", [](Card& card) { return write_file(card.attribute("engine/errors/catfatal_errors"), "0"); },
       EACCES},
      {"SetTheClock", [](Card& card) { return write_file(card.attribute("port/0/userclk_freqcmd"), "0x1"); }, 0},
      {"ReadTheClockCommand", [](Card& card) { return read_file(card.attribute("port/0/userclk_freqcmd")).error; },
       EACCES},
      {"UnbindTheDriver", [](Card& card) { return card.rebind(); }, 0},
  };
}

std::vector<Call> calls() {
  std::vector<Call> all;
  for (std::vector<Call> (*list)() :
       {calls_of_ports, calls_of_the_engine, calls_for_virtual_functions, calls_that_write_attributes})
    for (const Call& call : list()) all.push_back(call);
  return all;
}

std::vector<Attribute> attributes() {
  const auto programmed = [](Card& card) { must(program(card)); };
  return {
      {"PortId", "port/3/id", "3\n"},
      {"FunctionId", "port/0/afu_id", "d8424dc4a4a3c413f89e433683f9040b\n"},
      {"PowerState", "port/0/power_state", "0x0\n"},
      {"Event", "port/0/ap1_event", "0\n"},
      {"Tolerance", "port/0/ltr", "0\n"},
      {"PortErrors", "port/1/errors/errors", "0x0\n"},
      {"FirstPortError", "port/1/errors/first_error", "0x0\n"},
      {"MalformedRequest", "port/1/errors/first_malformed_req", "0x00000000000000000000000000000000\n"},
      {"PortErrorsThatStand", "port/1/errors/errors", "0x24\n", 0, [](Card& card) { card.set_port_errors(1, 0x24); }},
      {"Ports", "engine/ports_num", "4\n"},
      {"Shell", "engine/bitstream_id", "0x122000200000185\n"},
      {"DateOfTheShell", "engine/bitstream_metadata", "0x18061410\n"},
      {"Cache", "engine/cache_size", "0\n"},
      {"Fabric", "engine/fabric_version", "0\n"},
      {"Socket", "engine/socket_id", "0\n"},
      {"EngineErrors", "engine/errors/fme_errors", "0x0\n"},
      {"FatalErrors", "engine/errors/catfatal_errors", "0x0\n"},
      {"InjectedErrors", "engine/errors/inject_errors", "0x0\n"},
      {"Temperature", "hwmon/dfl_fme_thermal/temp1_input", "47000\n"},
      {"CriticalTemperature", "hwmon/dfl_fme_thermal/temp1_crit", "93000\n"},
      {"TemperatureAlarm", "hwmon/dfl_fme_thermal/temp1_crit_alarm", "0\n"},
      {"Power", "hwmon/dfl_fme_power/power1_input", "33000000\n"},
      {"MostPower", "hwmon/dfl_fme_power/power1_max", "60000000\n"},
      {"Manager", "manager/name", "DFL FME FPGA Manager\n"},
      {"ManagerState", "manager/state", "unknown\n"},
      {"ManagerStatus", "manager/status", ""},
      {"Bridge", "bridge/name", "DFL FPGA FME Bridge\n"},
      {"BridgeState", "bridge/state", "enabled\n"},
      {"Interface", "region/compat_id", "69528db6eb31577a8c3668f9faa081f6\n"},
      {"InterfaceOfTheBase", "base/compat_id", "", ENOENT},
      {"DriverOverride", "function/driver_override", "(null)\n"},
      {"FunctionIdThatWasLoaded", "port/0/afu_id", "f7df405cbd7acf7222f144b0b93acd18\n", 0, programmed},
      {"FunctionIdOfAnotherPort", "port/2/afu_id", "d8424dc4a4a3c413f89e433683f9040b\n", 0, programmed},
      {"ManagerStateThen", "manager/state", "operating\n", 0, programmed},
      {"FunctionIdAfterAFailure", "port/0/afu_id", "", EBUSY, fail_programming},
      {"ManagerStateAfterAFailure", "manager/state", "write complete error\n", 0, fail_programming},
      {"ManagerStatusAfterAFailure", "manager/status", "reconfig CRC error\n", 0, fail_programming},
      {"FunctionIdAfterAReset", "port/0/afu_id", "", EBUSY,
       [](Card& card) {
         fail_programming(card);
         must(call(port(card), DFL_FPGA_PORT_RESET));
       }},
      {"FunctionIdAfterAnotherProgramming", "port/0/afu_id", "", EBUSY,
       [](Card& card) {
         fail_programming(card);
         must(program(card));
       }},
      {"FunctionIdWithTheDriverBoundAnew", "port/0/afu_id", "f7df405cbd7acf7222f144b0b93acd18\n", 0,
       [](Card& card) {
         fail_programming(card);
         must(program(card));
         must(card.rebind());
       }},
  };
}

std::vector<Wait> waits() {
  return {
      {"EngineErrors", "engine/errors/fme_errors", true},
      {"BusErrors", "engine/errors/pcie0_errors", true},
      {"InjectedErrors", "engine/errors/inject_errors", true},
      {"FirstError", "engine/errors/first_error", true},
      {"FatalErrors", "engine/errors/catfatal_errors", false},
      {"OtherErrors", "engine/errors/nonfatal_errors", false},
      {"Shell", "engine/bitstream_id", false},
      {"Temperature", "hwmon/dfl_fme_thermal/temp1_input", false},
      {"ManagerState", "manager/state", false},
      {"FunctionId", "port/0/afu_id", false, EBUSY},
      {"FunctionIdOfAnotherPort", "port/1/afu_id", false},
      {"PortErrors", "port/0/errors/errors", false},
  };
}

void expect_wait(Card& card, const Wait& wait) {
  using namespace std::chrono_literals;
  const fs::path attribute = card.attribute(wait.path), state = card.attribute("manager/state");
  card.hold(true);
  auto programming = std::async(std::launch::async, [&card] { return program(card); });
  while (!line_of(state).starts_with("write")) std::this_thread::sleep_for(1ms);
  auto reading = std::async(std::launch::async, [&attribute] { return read_file(attribute).error; });
  EXPECT_EQ(reading.wait_for(wait.waits ? 100ms : 5s) == std::future_status::timeout, wait.waits);
  card.hold(false);
  EXPECT_EQ(reading.get(), wait.error);
  EXPECT_EQ(programming.get(), 0);
}

}  // namespace cardcage::kernel_rules

// The edits that a container may get from a module that is confined, or whose configuration lists them.
#include "host/access/edit_rules.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>

#include "sim/scratch_folder.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

class EditRulesTest : public ::testing::Test {
 protected:
  EditRulesTest() { config.process.seccomp = true; }

  std::string here(const std::string& name) const { return (folder / name).native(); }
  std::string outcome(const Edits& edits) const {
    PreparedEdits prepared;
    prepared.allocations = {{}, edits};
    const Status checked = EditRules(config, roots).check(prepared);
    if (!checked) return checked.error().message;
    prepared = {};
    prepared.claim = edits;
    EXPECT_TRUE(EditRules(config, roots).check(prepared)) << "the same for the whole claim";
    return "allowed";
  }
  std::string node(const std::string& path, const std::string& host_path = "", const std::string& type = "",
                   std::optional<std::int64_t> major = {}, std::optional<std::int64_t> minor = {}) const {
    Edits edits;
    edits.device_nodes.push_back({.path = path,
                                  .host_path = host_path,
                                  .type = type,
                                  .permissions = {},
                                  .major = major,
                                  .minor = minor,
                                  .file_mode = {},
                                  .uid = {},
                                  .gid = {}});
    return outcome(edits);
  }
  std::string mount(const std::string& host_path, Texts options = {"ro"}, const std::string& type = "",
                    const std::string& container_path = "/opt/acme") const {
    Edits edits;
    edits.mounts.push_back({host_path, container_path, type, std::move(options)});
    return outcome(edits);
  }
  std::string hook(const std::string& path, Texts env = {}) const {
    Edits edits;
    edits.hooks.push_back({"createRuntime", path, {path}, std::move(env), {}});
    return outcome(edits);
  }
  std::string variable(const std::string& name) const {
    Edits edits;
    edits.env.push_back({name, "x"});
    return outcome(edits);
  }
  void write(const std::string& name) const { std::ofstream(folder / name) << "x" << std::flush; }

  ScratchFolder folder;
  ModuleConfig config;
  NodeRoots roots;
};

TEST_F(EditRulesTest, AModuleThatIsNotConfinedMayGiveEverything) {
  config.process = {};
  EXPECT_EQ(node("/dev/mem"), "allowed");
  EXPECT_EQ(mount("/etc", {"rshared"}), "allowed");
  EXPECT_EQ(hook("/bin/sh", {"LD_PRELOAD=/tmp/x"}), "allowed");
  EXPECT_EQ(variable("LD_PRELOAD"), "allowed");
}

TEST_F(EditRulesTest, UserCapabilitiesAndSeccompConfine) {
  config.process = {.environment = {"A"}, .limits = {{"core", 0}}, .user = {}, .capabilities = {}, .seccomp = false};
  EXPECT_EQ(node("/dev/null"), "allowed") << "limits and variables do not restrict edits";
  config.process.capabilities.emplace();
  EXPECT_THAT(node("/dev/null"), HasSubstr("may not give"));
  config.process = {};
  config.process.user = "nobody";
  EXPECT_THAT(node("/dev/null"), HasSubstr("may not give"));
}

TEST_F(EditRulesTest, AConfinedModuleMayGiveNothingThatIsNotListed) {
  EXPECT_EQ(
      node("/dev/null"),
      "the module may not give containers the device node '/dev/null': add \"/dev/null\", or a pattern, to the key "
      "device_nodes of its [[module]]");
  EXPECT_EQ(mount("/etc"),
            "the module may not mount '/etc': add \"/etc\", or a pattern, to the key mounts of its [[module]]");
  EXPECT_EQ(
      hook("/bin/sh"),
      "the module may not have the container runtime run '/bin/sh': add \"/bin/sh\", or a pattern, to the key hooks "
      "of its [[module]]");
  Edits edits;
  edits.net_devices.push_back({"eth0", "net1"});
  EXPECT_THAT(outcome(edits), HasSubstr("may not move the interface 'eth0': add \"eth0\", or a pattern, to the key "
                                        "net_devices"));
  edits = {};
  edits.additional_gids = {6};
  EXPECT_EQ(outcome(edits),
            "the module may not give containers the group 6: add it to the key groups of its [[module]]");
}

TEST_F(EditRulesTest, ListsCountForAModuleThatIsNotConfinedAsWell) {
  config.process = {};
  config.allows.mounts = Texts{};
  EXPECT_THAT(mount("/etc"), HasSubstr("may not mount"));
  EXPECT_EQ(node("/dev/mem"), "allowed");
}

TEST_F(EditRulesTest, ListedInterfacesAndGroupsAreAllowed) {
  config.allows.net_devices = Texts{"ens1f0v*"};
  config.allows.groups = {44};
  Edits edits;
  edits.net_devices.push_back({"ens1f0v3", "net1"});
  edits.additional_gids = {44};
  EXPECT_EQ(outcome(edits), "allowed");
}

TEST_F(EditRulesTest, ANodeIsWhatLiesAtItsPath) {
  config.allows.device_nodes = Texts{"/dev/null", "/dev/zer?"};
  EXPECT_EQ(node("/dev/null"), "allowed");
  EXPECT_EQ(node("/dev/acme/0", "/dev/zero", "c", 1, 5), "allowed");
  EXPECT_EQ(
      node("/dev/null", "", "c", 8, 0),
      "device node '/dev/null' has the numbers 1:3, and the module says 8:0: it must give those of the path, or none");
  EXPECT_EQ(node("/dev/null", "", "b"), "device node '/dev/null' has the type 'c', and the module says 'b'");
  EXPECT_THAT(node("/dev/null", "/dev/mem"), HasSubstr("may not give containers the device node '/dev/mem'"));
}

TEST_F(EditRulesTest, ANodeThatCannotBeSeenIsRefused) {
  config.allows.device_nodes = Texts{"/dev/acme*"};
  EXPECT_THAT(node("/dev/acme0", "", "c", 1, 3),
              AllOf(HasSubstr("device node '/dev/acme0' cannot be seen from here"), HasSubstr("node.devfs_root")));
  roots.devfs = folder.path();
  write("acme0");
  EXPECT_EQ(node("/dev/acme0"), "'/dev/acme0' is not a device node");
  fs::remove(folder / "acme0");
  if (::mknod(here("acme0").c_str(), S_IFCHR | 0600, ::makedev(1, 3)) != 0) GTEST_SKIP() << "nodes cannot be made here";
  EXPECT_EQ(node("/dev/acme0", "", "c", 1, 3), "allowed");
}

TEST_F(EditRulesTest, LinksCountAsWhatTheyLeadTo) {
  fs::create_symlink("/dev/zero", folder / "acme");
  config.allows.device_nodes = Texts{here("acme")};
  EXPECT_EQ(node("/dev/acme", here("acme")),
            "the module may not give containers the device node '/dev/zero', to which '" + here("acme") +
                "' leads: add \"/dev/zero\", or a pattern, to the key device_nodes of its [[module]]");
  fs::create_symlink("/etc", folder / "data");
  config.allows.mounts = Texts{here("*")};
  EXPECT_THAT(mount(here("data")), HasSubstr("may not mount '/etc', to which '" + here("data") + "' leads"));
  fs::create_symlink("/usr/bin/env", folder / "hook");
  config.allows.hooks = Texts{here("hook")};
  EXPECT_THAT(hook(here("hook")), HasSubstr("'/usr/bin/env', to which"));
}

TEST_F(EditRulesTest, PathsWithDotsMatchNothing) {
  config.allows = {.device_nodes = Texts{"/dev/*", "/dev/*/*", "/dev/*/*/*"},
                   .hooks = {},
                   .mounts = Texts{"/*/*/*"},
                   .net_devices = {},
                   .env = {},
                   .groups = {}};
  for (const char* path : {"/dev/../etc", "/dev/./null", "/dev//null", "dev/null", ""}) {
    EXPECT_NE(node("/dev/null", path[0] == '\0' ? "x" : path), "allowed") << path;
    EXPECT_NE(node(path, "/dev/null"), "allowed") << path;
    EXPECT_NE(mount(path), "allowed") << path;
    EXPECT_NE(mount("/usr/lib/acme", {"ro"}, "", path), "allowed") << path;
  }
  EXPECT_THAT(mount("/proc/self/root"), HasSubstr("may not mount '/'")) << "as the kernel understands it";
}

TEST_F(EditRulesTest, AMountIsReadOnlyUnlessTheListSaysMore) {
  write("lib.so");
  config.allows.mounts = Texts{here("lib*")};
  EXPECT_EQ(mount(here("lib.so")), "allowed");
  EXPECT_EQ(mount(here("lib.so"), {"ro", "nosuid", "nodev", "rbind", "rprivate"}, "bind"), "allowed");
  for (const Texts& options : {Texts{}, Texts{"rw"}, Texts{"ro", "rw"}})
    EXPECT_EQ(mount(here("lib.so"), options), "the module may not let containers write to '" + here("lib.so") +
                                                  "': add \"" + here("lib.so") +
                                                  ":rw\", or a pattern, to the key mounts of its [[module]]");
  config.allows.mounts = Texts{here("lib*") + ":rw"};
  for (const Texts& options : {Texts{}, Texts{"rw"}, Texts{"ro"}}) EXPECT_EQ(mount(here("lib.so"), options), "allowed");
}

TEST_F(EditRulesTest, AMountTakesNoProtectionAway) {
  config.allows.mounts = Texts{"/usr/lib/acme:rw"};
  for (const char* option : {"dev", "suid", "shared", "rshared", "lowerdir=/", "upperdir=/etc", "idmap", "remount"})
    EXPECT_THAT(mount("/usr/lib/acme", {option}), HasSubstr(std::string("has the option '") + option)) << option;
  for (const char* type : {"overlay", "tmpfs", "ext4", "proc"})
    EXPECT_THAT(mount("/usr/lib/acme", {"ro"}, type), HasSubstr(std::string("has the type '") + type)) << type;
}

TEST_F(EditRulesTest, AFolderThatTheModuleMayWriteToHoldsNothingThatItMayName) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  fs::create_directory(folder / "its");
  fs::permissions(folder.path(), fs::perms(0755));
  write("its/socket");
  config.process.user = "nobody";
  config.allows.mounts = Texts{here("its"), here("its/*")};
  EXPECT_EQ(mount(here("its/socket")), "allowed");
  ASSERT_EQ(::chown(here("its").c_str(), 65534, 65534), 0);
  EXPECT_THAT(mount(here("its/socket")), HasSubstr("the user of the module may write to the folder '" + here("its")));
  EXPECT_THAT(mount(here("its/absent")), HasSubstr("the user of the module may write to the folder '" + here("its")));
  EXPECT_EQ(mount(here("its")), "allowed") << "a link in it leads to the container's own files";
  ASSERT_EQ(::chown(here("its").c_str(), 12345, 12345), 0);
  EXPECT_EQ(mount(here("its/socket")), "allowed") << "of another user of the node";
  fs::permissions(folder / "its", fs::perms(0777));
  EXPECT_THAT(mount(here("its/socket")), HasSubstr("the user of the module may write"));
}

TEST_F(EditRulesTest, AHookIsAProgramOfRoot) {
  write("hook");
  fs::permissions(folder / "hook", fs::perms(0755));
  config.allows.hooks = Texts{here("hook"), "/opt/absent/hook"};
  EXPECT_EQ(hook(here("hook")), "allowed");
  EXPECT_EQ(hook("/opt/absent/hook"), "allowed") << "the runtime sees the node, a daemon in a container may not";
  fs::permissions(folder / "hook", fs::perms(0777));
  EXPECT_THAT(hook(here("hook")), HasSubstr("is writable by others than its owner"));
}

TEST_F(EditRulesTest, AHookGetsListedVariablesThatRunNoOtherCode) {
  config.allows.hooks = Texts{"/opt/absent/hook"};
  EXPECT_THAT(hook("/opt/absent/hook", {"LEVEL=1"}), HasSubstr("may not set 'LEVEL' for the hook"));
  config.allows.env = Texts{"LEVEL", "LD_PRELOAD", "PATH"};
  EXPECT_EQ(hook("/opt/absent/hook", {"LEVEL=1"}), "allowed");
  for (const char* variable : {"LD_PRELOAD=/tmp/x", "PATH=/tmp"})
    EXPECT_THAT(hook("/opt/absent/hook", {variable}), HasSubstr("it could run any code"));
}

TEST_F(EditRulesTest, AContainerGetsVariablesThatRunNoOtherCodeUnlessListed) {
  EXPECT_EQ(variable("ACME_VISIBLE_DEVICES"), "allowed");
  for (const char* name : {"LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "PYTHONSTARTUP", "NODE_OPTIONS"})
    EXPECT_THAT(variable(name), HasSubstr("makes programs run other code: add it to the key env")) << name;
  EXPECT_THAT(variable("PATH=/tmp#"), HasSubstr("is not the name of an environment variable"));
  config.allows.env = Texts{"LD_LIBRARY_PATH"};
  EXPECT_EQ(variable("LD_LIBRARY_PATH"), "allowed");
}

}  // namespace
}  // namespace cardcage

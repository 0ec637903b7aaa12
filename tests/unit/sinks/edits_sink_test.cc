#include "host/sinks/edits_sink.h"

#include <gmock/gmock.h>

#include "host/sinks/edits_copy.h"
#include "tests/unit/sinks/abi_text.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

template <class Given>
Given sized() {
  Given made{};
  made.struct_size = sizeof made;
  return made;
}
cage_device_node node(std::string_view path) {
  auto made = sized<cage_device_node>();
  made.path = text(path);
  made.major = made.minor = made.uid = made.gid = -1;
  return made;
}
cage_mount mount(std::string_view from, std::string_view to) {
  auto made = sized<cage_mount>();
  made.host_path = text(from);
  made.container_path = text(to);
  return made;
}

class EditsSinkTest : public ::testing::Test {
 protected:
  EditsSinkTest() { table = sink.open(5, 2); }
  cage_status env(std::int32_t alloc, std::string_view key, std::string_view value) {
    return table->env(table, alloc, text(key), text(value));
  }
  cage_status add(const cage_device_node& given) { return table->device_node(table, 0, &given); }
  cage_status add(const cage_mount& given) { return table->mount(table, 0, &given); }
  cage_status add(const cage_hook& given) { return table->hook(table, 0, &given); }
  cage_status add(const cage_net_device& given) { return table->net_device(table, 0, &given); }
  // The error of finish() after `given` was refused.
  template <class... Given>
  std::string refusal(const Given&... given) {
    table = sink.open(5, 2);
    const bool all_taken = ((add(given) == CAGE_OK) && ...);
    const auto edits = sink.finish();
    EXPECT_EQ(all_taken, edits.has_value());
    return edits ? "was taken" : edits.error().message;
  }

  // The journal as the host keeps it, unless it refuses.
  std::vector<std::pair<std::uint64_t, std::string>> journal;
  Result<AskReply> journal_kept;
  Asks asks{{.send =
                 [this](std::uint64_t number, std::uint64_t call, const ModuleAsk& ask) {
                   journal.emplace_back(call, std::get<JournalAsk>(ask).bytes);
                   asks.answer(number, journal_kept);
                 },
             .attend = {}}};
  EditsSink sink{"m", asks};
  cage_edits* table = nullptr;
};

TEST_F(EditsSinkTest, WritesTheJournalAtOnce) {
  const auto* const family = static_cast<const cage_edits_journal*>(table->extension(table, CAGE_EDITS_JOURNAL));
  ASSERT_NE(family, nullptr);
  EXPECT_EQ(table->extension(table, "cage.edits.journal/9"), nullptr);
  EXPECT_EQ(family->write(table, {"a\0b", 3}), CAGE_OK);
  EXPECT_EQ(family->write(table, {nullptr, 0}), CAGE_OK);
  EXPECT_THAT(journal, ElementsAre(Pair(5, std::string("a\0b", 3)), Pair(5, "")));
  EXPECT_TRUE(sink.finish());
}

TEST_F(EditsSinkTest, AJournalThatIsNotKeptFailsThePrepare) {
  const auto* const family = static_cast<const cage_edits_journal*>(table->extension(table, CAGE_EDITS_JOURNAL));
  journal_kept = fail(Code::kResourceExhausted, "no space is left on run_dir");
  EXPECT_EQ(family->write(table, {"x", 1}), CAGE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(sink.finish().error().message, "its journal is not kept: no space is left on run_dir");
}

TEST_F(EditsSinkTest, RefusesAJournalThatIsTooLarge) {
  const auto* const family = static_cast<const cage_edits_journal*>(table->extension(table, CAGE_EDITS_JOURNAL));
  const std::string large(kMaxState + 1, 'x');
  EXPECT_EQ(family->write(table, {large.data(), large.size()}), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(family->write(table, {nullptr, 1}), CAGE_INVALID_ARGUMENT);
  EXPECT_THAT(journal, IsEmpty());
  EXPECT_EQ(sink.finish().error().message, "journal [R7] has 65537 bytes, at most 65536 are allowed");
}

TEST_F(EditsSinkTest, CollectsEditsOfTheClaimAndOfEachDevice) {
  auto given_node = node("/dev/gpu0");
  given_node.host_path = text("/dev/nvidia0");
  given_node.type = text("c");
  given_node.permissions = text("rw");
  given_node.major = 195;
  given_node.minor = 0;
  given_node.mode = 0660;
  given_node.gid = 44;
  const cage_str options[] = {text("ro"), text("bind")};
  auto given_mount = mount("/usr/lib/x.so", "/usr/lib/x.so");
  given_mount.options = options;
  given_mount.option_count = 2;
  const cage_str arguments[] = {text("hook"), text("--fast")}, environment[] = {text("A=b")};
  auto given_hook = sized<cage_hook>();
  given_hook.name = text("createContainer");
  given_hook.path = text("/usr/bin/hook");
  given_hook.args = arguments;
  given_hook.arg_count = 2;
  given_hook.env = environment;
  given_hook.env_count = 1;
  given_hook.timeout_s = 5;
  auto given_device = sized<cage_net_device>();
  given_device.host_interface = text("ens1f0v3");
  given_device.name = text("net1");

  EXPECT_EQ(env(-1, "ALL", "1"), CAGE_OK);
  EXPECT_EQ(env(1, "SECOND", "2"), CAGE_OK);
  EXPECT_EQ(add(given_node), CAGE_OK);
  EXPECT_EQ(add(given_mount), CAGE_OK);
  EXPECT_EQ(add(given_hook), CAGE_OK);
  EXPECT_EQ(add(given_device), CAGE_OK);
  EXPECT_EQ(table->group(table, 0, 44), CAGE_OK);
  for (const std::uint64_t bytes : {4096, 65536, 8192}) EXPECT_EQ(table->locked_memory(table, 0, bytes), CAGE_OK);
  EXPECT_EQ(table->ld_path(table, 0, text("/usr/lib64"), text("")), CAGE_OK);
  EXPECT_EQ(table->ld_path(table, 0, text("/usr/lib64"), text("")), CAGE_OK) << "again";
  EXPECT_EQ(table->ld_path(table, 0, text("/compat"), text("libcuda.so.580")), CAGE_OK);
  EXPECT_EQ(table->proc_text(table, 0, text("/proc/driver/x"), text("a: 1\n")), CAGE_OK);
  EXPECT_EQ(table->state(table, {"old", 3}), CAGE_OK);
  EXPECT_EQ(table->state(table, {"a\0b", 3}), CAGE_OK);

  const auto edits = sink.finish();
  ASSERT_TRUE(edits) << edits.error().message;
  EXPECT_EQ(edits->claim.env, (std::vector<EnvVar>{{"ALL", "1"}}));
  EXPECT_EQ(edits->allocations[1].env, (std::vector<EnvVar>{{"SECOND", "2"}}));
  const Edits& first = edits->allocations[0];
  EXPECT_EQ(first.device_nodes,
            (std::vector<DeviceNode>{{"/dev/gpu0", "/dev/nvidia0", "c", "rw", 195, 0, 0660, std::nullopt, 44}}));
  EXPECT_EQ(first.mounts, (std::vector<Mount>{{"/usr/lib/x.so", "/usr/lib/x.so", "", {"ro", "bind"}}}));
  EXPECT_EQ(first.hooks, (std::vector<Hook>{{"createContainer", "/usr/bin/hook", {"hook", "--fast"}, {"A=b"}, 5}}));
  EXPECT_EQ(first.net_devices, (std::vector<NetDevice>{{"ens1f0v3", "net1"}}));
  EXPECT_EQ(first.additional_gids, (std::vector<std::uint32_t>{44}));
  EXPECT_EQ(first.locked_memory, (std::vector<std::uint64_t>{65536})) << "the largest";
  EXPECT_EQ(first.ld_paths, (std::vector<LdPath>{{"/usr/lib64", ""}, {"/compat", "libcuda.so.580"}}));
  EXPECT_EQ(first.proc_texts, (std::vector<ProcText>{{"/proc/driver/x", "a: 1\n"}}));
  EXPECT_EQ(edits->state, std::string("a\0b", 3));
}

TEST_F(EditsSinkTest, RefusesChangesOfARootThatNoHookCouldMake) {
  const auto refused = [&](auto add) {
    table = sink.open(5, 1);
    EXPECT_NE(add(), CAGE_OK);
    return sink.finish().error().message;
  };
  EXPECT_THAT(refused([&] { return table->ld_path(table, 0, text("lib"), text("")); }),
              HasSubstr("folder of libraries 'lib' is not an absolute path"));
  for (const char* const name : {"libcuda.so", "libcuda.so.", "libcuda.so.x", "libcuda.580", "../libcuda.so.580"})
    EXPECT_THAT(refused([&] { return table->ld_path(table, 0, text("/compat"), text(name)); }),
                HasSubstr("is not the name of a library with the first number of its version"))
        << name;
  for (const char* const path : {"/etc/passwd", "/proc/../etc/passwd", "/proc"})
    EXPECT_THAT(refused([&] { return table->proc_text(table, 0, text(path), text("x")); }),
                HasSubstr("is not a clean path below /proc"))
        << path;
  EXPECT_THAT(refused([&] { return table->proc_text(table, 0, text("/proc/x"), text(std::string(16385, 'x'))); }),
              HasSubstr("16385 bytes, at most 16384 are allowed"));
  EXPECT_THAT(refused([&] {
                table->proc_text(table, 0, text("/proc/x"), text("1"));
                return table->proc_text(table, 0, text("/proc/x"), text("2"));
              }),
              HasSubstr("'/proc/x' is the target of two different texts"));
}

TEST_F(EditsSinkTest, RefusesPathsThatAreNotClean) {
  for (const char* path : {"dev/x", "/dev/../etc", "/dev//x", "/dev/./x", "/dev/x/", "/", "", "/dev/\n"}) {
    EXPECT_THAT(refusal(node(path)), HasSubstr("is not an absolute path without '.', '..', '//' or an end in '/'"))
        << path;
    EXPECT_THAT(refusal(mount("/x", path)), HasSubstr("mount container_path '")) << path;
  }
  EXPECT_THAT(refusal(mount("../x", "/x")), HasSubstr("mount '/x': host_path '../x' is not an absolute path"));
  EXPECT_EQ(refusal(node("/dev/" + std::string(4096, 'x'))),
            "device node path has 4101 bytes, at most 4096 are allowed");
}

TEST_F(EditsSinkTest, RefusesBadDeviceNodes) {
  auto given = node("/dev/x");
  given.permissions = text("rwx");
  EXPECT_EQ(refusal(given), "device node '/dev/x': permissions 'rwx' is not of 'r', 'w', 'm'");
  given.permissions = text("rr");
  EXPECT_THAT(refusal(given), HasSubstr("permissions 'rr'"));
  given = node("/dev/x");
  given.type = text("char");
  EXPECT_EQ(refusal(given), "device node '/dev/x': type 'char' is not 'c', 'b', 'p', 'u' or empty");
  given = node("/dev/x");
  given.major = 4096;
  EXPECT_EQ(refusal(given), "device node '/dev/x': major 4096 is not in 0 to 4095, or -1 for none");
  given.major = 195;
  EXPECT_EQ(refusal(given), "device node '/dev/x': set both of major and minor, or none");
  given = node("/dev/x");
  given.mode = 0100660;
  EXPECT_EQ(refusal(given), "device node '/dev/x': mode 0100660 has more than permission bits");
}

TEST_F(EditsSinkTest, RefusesBadVariables) {
  EXPECT_EQ(copy_env(text("A+B"), text("x")).error().message,
            "environment variable 'A+B' is not a name of letters, digits and \"_-.\"");
  EXPECT_EQ(copy_env(text("A"), text(std::string_view("x\0y", 3))).error().message,
            "environment variable 'A': its value is not UTF-8 without NUL");
  EXPECT_EQ(copy_env(text("A"), text(std::string(32769, 'x'))).error().message,
            "environment variable 'A': value has 32769 bytes, at most 32768 are allowed");
  EXPECT_EQ(env(0, "A", "1"), CAGE_OK);
  EXPECT_EQ(env(0, "A", "1"), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(sink.finish().error().message, "environment variable 'A' is set twice");
}

TEST_F(EditsSinkTest, RefusesBadHooksAndNetworkDevices) {
  auto hook = sized<cage_hook>();
  hook.name = text("createcontainer");
  hook.path = text("/h");
  EXPECT_EQ(refusal(hook), "hook 'createcontainer' is not a hook of the OCI runtime specification");
  hook.name = text("prestart");
  hook.timeout_s = -1;
  EXPECT_EQ(refusal(hook), "hook 'prestart': timeout_s is negative");
  const cage_str assignment = text("NO_VALUE");
  hook.timeout_s = 0;
  hook.env = &assignment;
  hook.env_count = 1;
  EXPECT_EQ(refusal(hook), "hook 'prestart': env 'NO_VALUE' is not NAME=value");
  auto device = sized<cage_net_device>();
  device.host_interface = text("eth0");
  device.name = text("sixteen-letters-");
  EXPECT_EQ(refusal(device),
            "network device: name 'sixteen-letters-' is not a network interface name of 1 to 15 characters");
}

TEST_F(EditsSinkTest, RefusesDifferentEditsOfTheSameTargetAndMergesEqualOnes) {
  EXPECT_EQ(refusal(mount("/a", "/x"), mount("/a", "/x")), "was taken");
  EXPECT_EQ(refusal(mount("/a", "/x"), mount("/b", "/x")), "'/x' is the target of two different cage_mount");
}

TEST_F(EditsSinkTest, RefusesAnUnknownAllocation) {
  EXPECT_EQ(env(2, "A", "1"), CAGE_OUT_OF_RANGE);
  EXPECT_EQ(sink.finish().error().message, "allocation 2 is not in 0 to 1, or -1 for the whole claim");
  table = sink.open(5, 0);
  EXPECT_EQ(env(-2, "A", "1"), CAGE_OUT_OF_RANGE);
}

TEST_F(EditsSinkTest, BoundsTheStateAndTheSumOfAllEdits) {
  const std::string blob(kMaxState + 1, 'x');
  EXPECT_EQ(table->state(table, {blob.data(), kMaxState}), CAGE_OK);
  EXPECT_EQ(table->state(table, {blob.data(), kMaxState + 1}), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(sink.finish().error().message, "state [R7] has 65537 bytes, at most 65536 are allowed");
  table = sink.open(5, 1);
  const std::string value(32000, 'v');
  cage_status last = CAGE_OK;
  for (int i = 0; i < 40 && last == CAGE_OK; ++i) last = env(0, fmt::format("V{}", i), value);
  EXPECT_EQ(last, CAGE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(sink.finish().error().message, "a claim may have at most 4096 edits and 1024 KiB of text");
}

TEST_F(EditsSinkTest, KeepsTheFirstRefusal) {
  EXPECT_EQ(env(0, "1", "x"), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(table->locked_memory(table, 0, 0), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(table->locked_memory(table, 9, 1), CAGE_OUT_OF_RANGE);
  EXPECT_EQ(table->group(table, 0, 0), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(env(0, "GOOD", "x"), CAGE_OK);
  EXPECT_THAT(sink.finish().error().message, HasSubstr("environment variable '1'"));
  table = sink.open(5, 1);
  EXPECT_TRUE(sink.finish());
}

TEST_F(EditsSinkTest, RefusesUseAfterTheCall) {
  EXPECT_TRUE(sink.finish());
  EXPECT_EQ(env(0, "A", "1"), CAGE_FAILED_PRECONDITION);
  EXPECT_EQ(table->state(table, {"x", 1}), CAGE_FAILED_PRECONDITION);
}

TEST_F(EditsSinkTest, RefusesNullStructs) {
  EXPECT_EQ(table->mount(table, 0, nullptr), CAGE_INVALID_ARGUMENT);
  EXPECT_EQ(sink.finish().error().message, "cage_mount is NULL");
}

}  // namespace
}  // namespace cardcage

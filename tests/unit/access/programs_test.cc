#include "host/access/programs.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Texts = std::vector<std::string>;

constexpr std::string_view kPath = "PATH=/usr/sbin:/usr/bin:/sbin:/bin\n";

class ProgramsTest : public CoreFixture {
 protected:
  ProgramsTest() {
    config.programs = {"/usr/bin/env", folder / "tool", folder / "link"};
    write_tool("#!/bin/sh\necho $0 $1 $PATH\n");
  }
  void write_tool(const std::string& text) {
    std::ofstream(folder / "tool") << text << std::flush;
    fs::permissions(folder / "tool", fs::perms(0755));
  }
  Result<ExecResult> run_program(const std::string& name, Texts arguments = {}, Texts environment = {},
                                 std::string input = {}) {
    Programs programs("m", ProgramRules(config, driver_root), [] { return nullptr; });
    ExecAsk ask{.program = name,
                .arguments = std::move(arguments),
                .environment = std::move(environment),
                .input = std::move(input)};
    return run(programs.run(core, clock, std::move(ask), clock.now() + std::chrono::seconds(10)));
  }
  std::string output(const std::string& name, Texts arguments = {}, Texts environment = {}) {
    const auto result = run_program(name, std::move(arguments), std::move(environment));
    return result ? result->out + result->err : result.error().message;
  }
  void confine(std::optional<Texts> env = {}) {
    config.process.seccomp = true;
    config.allows.env = std::move(env);
  }
  SystemClock clock;
  ScratchFolder folder;
  ModuleConfig config;
  fs::path driver_root = "/";
};

TEST_F(ProgramsTest, AProgramGetsTheVariablesThatItIsGivenAndThePathOfTheDaemon) {
  EXPECT_EQ(output("env", {}, {"CUDA_VISIBLE_DEVICES=0"}), "CUDA_VISIBLE_DEVICES=0\n" + std::string(kPath));
  EXPECT_EQ(output("env", {}, {"PATH=/tmp/evil", "PATH"}), kPath);
}

TEST_F(ProgramsTest, AProgramReadsItsInputToTheEnd) {
  write_tool("#!/bin/sh\ntr a-z A-Z\necho end\n");
  const auto read = run_program("tool", {}, {}, "ipam" + std::string(1 << 17, '.') + "x");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->out, "IPAM" + std::string(1 << 17, '.') + "Xend\n");
  const auto none = run_program("tool");
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(none->out, "end\n") << "a program without input does not wait for any";
}

TEST_F(ProgramsTest, AScriptRunsUnderItsOwnPathWithThePathOfTheDaemon) {
  EXPECT_EQ(output("tool", {"one"}, {"PATH=/tmp/evil"}),
            (folder / "tool").native() + " one /usr/sbin:/usr/bin:/sbin:/bin\n");
}

TEST_F(ProgramsTest, AProgramKeepsTheNameByWhichItIsAllowed) {
  fs::create_symlink("/usr/bin/env", folder / "link");
  EXPECT_THAT(output("link", {"--no-such-option"}), StartsWith("link: ")) << "argv[0]";
  EXPECT_EQ(output("link", {"cat", "/proc/self/comm"}), "cat\n");
}

TEST_F(ProgramsTest, AModuleCannotRunItsOwnCodeThroughVariables) {
  confine(Texts{"LD_PRELOAD"});
  for (const char* variable : {"LD_PRELOAD=/tmp/x.so", "LD_AUDIT=/tmp/x.so", "BASH_ENV=/tmp/x", "ENV=/tmp/x",
                               "PYTHONPATH=/tmp", "PERL5LIB=/tmp", "GCONV_PATH=/tmp", "GLIBC_TUNABLES=a",
                               "NODE_PATH=/tmp", "OPENSSL_CONF=/tmp/x", "JAVA_TOOL_OPTIONS=-javaagent:/tmp/x"}) {
    const auto result = run_program("env", {}, {variable});
    ASSERT_FALSE(result) << variable;
    EXPECT_EQ(result.error().code, Code::kPermissionDenied);
    EXPECT_THAT(result.error().message, HasSubstr("it could run any code"));
  }
}

// nvidia-smi in a driver container, where the loader of this root does not find its libraries.
TEST_F(ProgramsTest, AProgramOfADriverMayGetALibraryOfThisDriver) {
  confine();
  driver_root = folder / "driver";
  fs::create_directories(driver_root / "usr/lib64");
  fs::copy_file("/usr/bin/env", driver_root / "tool");
  config.programs = {driver_root / "tool", "/usr/bin/env"};
  const std::string library = driver_root / "usr/lib64/libml.so.1";
  std::ofstream(library) << "not loaded, and not fatal";
  EXPECT_THAT(output("tool", {}, {"LD_PRELOAD=" + library}), HasSubstr("LD_PRELOAD=" + library));
  for (const std::string& other : {std::string("/tmp/x.so"), library + ":/tmp/x.so", library + " /tmp/x.so",
                                   driver_root.native() + "/../x.so", driver_root.native() + "ed/x.so", std::string()})
    EXPECT_THAT(output("tool", {}, {"LD_PRELOAD=" + other}), HasSubstr("it could run any code")) << other;
  EXPECT_EQ(output("env", {}, {"LD_PRELOAD=" + library}), kPath) << "a program elsewhere runs without it";
  fs::permissions(library, fs::perms(0666));
  EXPECT_THAT(output("tool", {}, {"LD_PRELOAD=" + library}),
              AllOf(HasSubstr("its library '" + library + "'"), HasSubstr("is writable by others")));
  fs::remove(library);
  EXPECT_THAT(output("tool", {}, {"LD_PRELOAD=" + library}), HasSubstr("its library '" + library + "'"));
}

TEST_F(ProgramsTest, AConfinedModuleSetsOnlyTheVariablesThatTheOperatorNames) {
  confine();
  EXPECT_EQ(output("env"), kPath);
  EXPECT_EQ(output("env", {}, {"CUDA_VISIBLE_DEVICES=0"}),
            "the module may not set 'CUDA_VISIBLE_DEVICES' for a program: add it to the key env of its [[module]]");
  confine(Texts{"CUDA_VISIBLE_DEVICES"});
  EXPECT_EQ(output("env", {}, {"CUDA_VISIBLE_DEVICES=0"}), "CUDA_VISIBLE_DEVICES=0\n" + std::string(kPath));
}

TEST_F(ProgramsTest, AProgramThatOthersCouldHaveChangedIsNotRun) {
  fs::permissions(folder / "tool", fs::perms(0775));
  EXPECT_THAT(output("tool"), AllOf(StartsWith("cannot start '" + (folder / "tool").native() + "': "),
                                    HasSubstr("is writable by others"), HasSubstr("chmod go-w")));
  fs::permissions(folder / "tool", fs::perms(0755));
  fs::permissions(folder.path(), fs::perms(0777));
  EXPECT_THAT(output("tool"), HasSubstr("folder '" + folder.path().native() + "' is writable by others"));
  fs::create_symlink("/usr/bin/env", folder / "link");
  EXPECT_THAT(output("link"), HasSubstr("is writable by others")) << "another user may have put the link there";
  fs::permissions(folder.path(), fs::perms(0755));
  EXPECT_EQ(output("link"), kPath);
}

TEST_F(ProgramsTest, TheInterpreterOfAScriptIsCheckedAsWell) {
  const auto shell = folder / "shell";
  fs::copy_file("/bin/sh", shell);
  write_tool("#! \t" + shell.native() + " -e\necho ran\n");
  EXPECT_EQ(output("tool"), "ran\n");
  fs::permissions(shell, fs::perms(0777));
  EXPECT_THAT(output("tool"), HasSubstr("its interpreter '" + shell.native() + "': '" + shell.native()));
  write_tool("#!sh\necho ran\n");
  EXPECT_THAT(output("tool"), HasSubstr("its interpreter 'sh': it is not an absolute path"));
}

TEST_F(ProgramsTest, OnlyARegularFileIsAProgram) {
  config.programs = {folder.path(), folder / "fifo"};
  EXPECT_THAT(output(folder.path().filename()), HasSubstr("it is not a regular file"));
}

}  // namespace
}  // namespace cardcage

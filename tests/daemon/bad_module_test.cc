// Files that are no modules of this host, and modules of an older ABI: status, log and `cagectl modules` say so.
#include "tests/daemon/daemon_fixture.h"
#include "tests/fakes/bad_modules.h"
#include "tests/fakes/eventually.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

class BadModuleDaemon : public DaemonTest {
 protected:
  // Starts the daemon with a module for each file, by its name.
  void start_with(const std::vector<BadModule>& wanted) {
    std::string sections;
    for (const BadModule& module : wanted)
      sections +=
          fmt::format("[[module]]\nname = \"{0}\"\npath = \"{0}.so\"\n[[module.serve]]\ndriver = \"{0}.example.com\"\n",
                      module.name);
    daemon.configure(daemon.node_section((daemon.folder() / "node").native()) + sections);
    daemon.start();
  }
  std::filesystem::path modules() const { return daemon.folder() / "modules"; }
};

TEST_F(BadModuleDaemon, EachIsRefusedWithItsCauseAndRemedy) {
  std::vector<BadModule> bad = make_bad_modules(modules());
  std::filesystem::create_symlink("loop.so", modules() / "loop.so");
  bad.push_back({"loop", "is reached through a loop of links, "});
  bad.push_back({"absent", "cannot open module file '"});
  start_with(bad);
  std::string shown;
  const auto are_shown = [&] {
    shown = cagectl("modules").text;
    return std::ranges::all_of(bad, [&](const BadModule& one) { return shown.find(one.text) != std::string::npos; });
  };
  EXPECT_TRUE(eventually(are_shown, 60s, [] { std::this_thread::sleep_for(100ms); }));
  for (const BadModule& one : bad) EXPECT_THAT(shown, HasSubstr(one.text)) << one.name;
}

#ifdef __x86_64__
TEST_F(BadModuleDaemon, AModuleOfTheDraftRunsWithANote) {
  const std::string content = bad_modules::content_of(built("tests/unit/module/kept/0.3/card_c.so"));
  ASSERT_TRUE(write_file_atomically(modules() / "old.so", content, 0644, false));
  start_with({{"old", ""}});
  ASSERT_TRUE(shows("modules", " ready ", 60s)) << daemon.log();
  const std::string note = "module ABI 0.3, which loads until December 2027: rebuild it with the headers of 1.0";
  EXPECT_THAT(cagectl("status").text, HasSubstr("module 'old' is built for " + note));
  EXPECT_THAT(cagectl("modules old").text, ContainsRegex("\n  abi  +0\\.3\n"));
  EXPECT_THAT(daemon.log(), AllOf(HasSubstr("module is built for an older ABI"), HasSubstr(note)));
}
#endif

}  // namespace
}  // namespace cardcage

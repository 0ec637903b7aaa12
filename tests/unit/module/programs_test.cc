#include "host/module/programs.h"

#include <gmock/gmock.h>

#include "tests/fakes/core_fixture.h"

namespace cardcage {
namespace {

using ::testing::HasSubstr;

class ProgramsTest : public CoreFixture {
 protected:
  Result<ExecResult> run_env(const std::string& variable) {
    ExecAsk ask{.program = "env", .arguments = {}, .environment = {variable}, .limit = {}};
    return run(programs.run(core, clock, std::move(ask), clock.now() + std::chrono::seconds(10)));
  }
  SystemClock clock;
  Programs programs{"m", {"/usr/bin/env"}, [] { return nullptr; }};
};

TEST_F(ProgramsTest, AProgramGetsTheVariablesThatItIsGiven) {
  const auto result = run_env("CUDA_VISIBLE_DEVICES=0");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->out, "CUDA_VISIBLE_DEVICES=0\n");
}

TEST_F(ProgramsTest, AModuleCannotRunItsOwnCodeThroughVariables) {
  for (const char* variable : {"LD_PRELOAD=/tmp/x.so", "LD_AUDIT=/tmp/x.so", "BASH_ENV=/tmp/x", "ENV=/tmp/x",
                               "PYTHONPATH=/tmp", "PERL5LIB=/tmp", "GCONV_PATH=/tmp", "GLIBC_TUNABLES=a"}) {
    const auto result = run_env(variable);
    ASSERT_FALSE(result) << variable;
    EXPECT_EQ(result.error().code, Code::kPermissionDenied);
    EXPECT_THAT(result.error().message, HasSubstr(variable));
  }
}

}  // namespace
}  // namespace cardcage

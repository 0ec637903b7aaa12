// cagectl web: what it needs before others may reach its page.
#include <gmock/gmock.h>

#include "tests/fakes/admin_fixture.h"
#include "tests/unit/ctl/cagectl_process.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ClusterPageTest : public AdminFixture {
 protected:
  std::string refusal(std::vector<std::string> options) {
    options.insert(options.begin(), {"--socket", socket.native(), "web"});
    const auto run = run_cagectl(options);
    EXPECT_NE(run.code, 0);
    return run.out + run.err;
  }
};

TEST_F(ClusterPageTest, AnAddressForOthersNeedsACertificate) {
  EXPECT_THAT(refusal({"--listen", "0.0.0.0:0"}), HasSubstr("or add --tls-cert and --tls-key"));
  EXPECT_THAT(refusal({"--listen", "0.0.0.0:0", "--tls-cert", "/missing.crt", "--tls-key", "/missing.key"}),
              AllOf(HasSubstr("--tls-cert"), HasSubstr("/missing.crt")));
  EXPECT_THAT(refusal({"--tls-cert", "/missing.crt"}), HasSubstr("--tls-key"));
}

TEST_F(ClusterPageTest, VisitorsOfTheClusterNeedItsApiServer) {
  EXPECT_THAT(refusal({"--kubernetes", "--node-name", "node1"}), HasSubstr("this is not a pod; add --kubeconfig"));
  EXPECT_THAT(refusal({"--kubernetes", "--kubeconfig", "/missing"}), HasSubstr("--kubernetes needs --node-name"));
  EXPECT_THAT(refusal({"--kubernetes", "--node-name", "node1", "--kubeconfig", "/missing"}), HasSubstr("/missing"));
}

}  // namespace
}  // namespace cardcage

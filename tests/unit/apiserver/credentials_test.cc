#include "host/apiserver/credentials.h"

#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>

#include "host/apiserver/kubeconfig.h"
#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/fake_clock.h"

namespace cardcage {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CredentialsTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(write_file_atomically(folder / name, content, 0600, false));
  }
  ServiceAccountPlaces pod(std::string host = "10.0.0.1", std::string port = "443") {
    return {std::move(host), std::move(port), folder.path()};
  }
  void mount_service_account() {
    write("token", "first\n");
    write("ca.crt", "CA");
  }

  ScratchFolder folder;
  FakeClock clock;
};

TEST_F(CredentialsTest, AServiceAccountIsReadFromItsMount) {
  mount_service_account();
  auto credentials = Credentials::from_service_account(clock, pod());
  ASSERT_TRUE(credentials) << credentials.error().message;
  const auto peer = credentials->current();
  EXPECT_EQ(peer->url, "https://10.0.0.1:443");
  EXPECT_EQ(peer->bearer_token, "first");
  EXPECT_EQ(peer->ca_pem, "CA");
}

TEST_F(CredentialsTest, AnIpv6AddressGetsBrackets) {
  mount_service_account();
  EXPECT_EQ(Credentials::from_service_account(clock, pod("fd00::1", "6443"))->peer().url, "https://[fd00::1]:6443");
}

TEST_F(CredentialsTest, OutsideAPodTheErrorNamesTheRemedy) {
  for (const auto& places : {pod("", ""), pod("10.0.0.1", ""), pod("10.0.0.1", "https")}) {
    const auto credentials = Credentials::from_service_account(clock, places);
    ASSERT_FALSE(credentials);
    EXPECT_EQ(credentials.error().code, Code::kFailedPrecondition);
    EXPECT_THAT(credentials.error().message, AllOf(HasSubstr("not in a cluster"), HasSubstr("apiserver.kubeconfig")));
  }
}

TEST_F(CredentialsTest, AMissingTokenNamesTheFile) {
  write("ca.crt", "CA");
  const auto credentials = Credentials::from_service_account(clock, pod());
  ASSERT_FALSE(credentials);
  EXPECT_THAT(credentials.error().message,
              AllOf(HasSubstr((folder / "token").native()), HasSubstr("automountServiceAccountToken")));
}

TEST_F(CredentialsTest, ATokenThatCouldInjectAHeaderIsRefused) {
  mount_service_account();
  write("token", "a\r\nX-Evil: 1");
  EXPECT_FALSE(Credentials::from_service_account(clock, pod()));
  write("token", " \n");
  EXPECT_FALSE(Credentials::from_service_account(clock, pod()));
}

TEST_F(CredentialsTest, ARotatedTokenIsReadWithinFiveSeconds) {
  mount_service_account();
  auto credentials = Credentials::from_service_account(clock, pod());
  write("token", "second");
  EXPECT_EQ(credentials->current()->bearer_token, "first");
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(credentials->current()->bearer_token, "second");
}

TEST_F(CredentialsTest, ATokenBehindASwappedLinkIsReadAgain) {
  mount_service_account();
  namespace fs = std::filesystem;
  for (const auto* version : {"v1", "v2"}) {
    fs::create_directory(folder / version);
    write(std::string(version) + "/token", version);
    write(std::string(version) + "/ca.crt", "CA");
  }
  fs::create_directory(folder / "mount");
  fs::create_symlink("../v1", folder / "mount/..data");
  fs::create_symlink("..data/token", folder / "mount/token");
  fs::create_symlink("..data/ca.crt", folder / "mount/ca.crt");
  auto credentials = Credentials::from_service_account(clock, {"10.0.0.1", "443", folder / "mount"});
  ASSERT_TRUE(credentials) << credentials.error().message;
  fs::create_symlink("../v2", folder / "mount/..next");
  fs::rename(folder / "mount/..next", folder / "mount/..data");
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(credentials->current()->bearer_token, "v2");
}

TEST_F(CredentialsTest, AfterARefusalTheFilesAreReadAtOnce) {
  mount_service_account();
  auto credentials = Credentials::from_service_account(clock, pod());
  const auto first = credentials->current();
  EXPECT_FALSE(credentials->differ_from(*first));
  write("token", "second");
  EXPECT_TRUE(credentials->differ_from(*first));
  EXPECT_TRUE(credentials->differ_from(*first)) << "for another call that was refused with the first token";
  EXPECT_FALSE(credentials->differ_from(*credentials->current()));
}

TEST_F(CredentialsTest, TheLastGoodTokenIsKeptWhileTheFileIsMissing) {
  mount_service_account();
  auto credentials = Credentials::from_service_account(clock, pod());
  std::filesystem::remove(folder / "token");
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(credentials->current()->bearer_token, "first");
  EXPECT_FALSE(credentials->differ_from(*credentials->current()));
  write("token", "second");
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(credentials->current()->bearer_token, "second");
}

class KubeconfigTest : public CredentialsTest {
 protected:
  Result<Kubeconfig> load(const std::string& cluster, const std::string& user, const std::string& more = "") {
    write("config", fmt::format("apiVersion: v1\nkind: Config\ncurrent-context: c1\n"
                                "contexts:\n- name: c1\n  context: {{cluster: k1, user: u1}}\n"
                                "clusters:\n- name: k1\n  cluster: {}\nusers:\n- name: u1\n  user: {}\n{}",
                                cluster, user, more));
    return load_kubeconfig(folder / "config");
  }
  std::string refusal(const std::string& cluster, const std::string& user) {
    const auto loaded = load(cluster, user);
    return loaded ? "loaded" : loaded.error().message;
  }
  static constexpr const char* kCluster = "{server: 'https://api:6443/', certificate-authority-data: Q0E=}";
};

TEST_F(KubeconfigTest, InlineDataIsDecoded) {
  const auto loaded = load(kCluster, "{client-certificate-data: Q0VSVA==, client-key-data: S0VZ}");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->peer, (HttpPeer{"https://api:6443", "CA", "CERT", "KEY", ""}));
  EXPECT_EQ(loaded->context, "c1");
  EXPECT_EQ(loaded->user, "u1");
}

TEST_F(KubeconfigTest, FilesAreRelativeToTheKubeconfigAndWatched) {
  write("ca.pem", "CA");
  write("cert.pem", "CERT");
  write("key.pem", "KEY");
  const auto loaded =
      load("{server: 'https://api', certificate-authority: ca.pem}",
           fmt::format("{{client-certificate: {}, client-key: key.pem}}", (folder / "cert.pem").native()));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->peer, (HttpPeer{"https://api", "CA", "CERT", "KEY", ""}));
  EXPECT_THAT(loaded->files,
              ElementsAre(folder / "config", folder / "ca.pem", folder / "cert.pem", folder / "key.pem"));
}

TEST_F(KubeconfigTest, ATokenFileWinsOverATokenAndIsReadAgain) {
  write("token", "from-file\n");
  ASSERT_EQ(load(kCluster, "{token: inline}")->peer.bearer_token, "inline");
  ASSERT_EQ(load(kCluster, "{token: inline, tokenFile: token}")->peer.bearer_token, "from-file");
  auto credentials = Credentials::from_kubeconfig(clock, folder / "config");
  ASSERT_TRUE(credentials);
  write("token", "rotated");
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(credentials->current()->bearer_token, "rotated");
  EXPECT_THAT(credentials->remedy(), AllOf(HasSubstr("user 'u1'"), HasSubstr((folder / "config").native())));
}

TEST_F(KubeconfigTest, UnsupportedSettingsAreRefusedNotIgnored) {
  EXPECT_THAT(refusal(kCluster, "{exec: {command: aws}}"), HasSubstr("the user sets exec: exec credential plugins"));
  EXPECT_THAT(refusal(kCluster, "{auth-provider: {name: gcp}}"), HasSubstr("auth-provider"));
  EXPECT_THAT(refusal(kCluster, "{username: a, password: b}"), HasSubstr("basic authentication"));
  EXPECT_THAT(refusal(kCluster, "{token: t, as: root}"), HasSubstr("impersonation"));
  EXPECT_THAT(refusal("{server: 'https://api', insecure-skip-tls-verify: true}", "{token: t}"),
              HasSubstr("always verified"));
  EXPECT_EQ(refusal("{server: 'https://api', insecure-skip-tls-verify: false}", "{token: t}"), "loaded");
  EXPECT_THAT(refusal("{server: 'https://api', proxy-url: 'http://p'}", "{token: t}"), HasSubstr("proxies"));
  EXPECT_THAT(refusal("{server: 'https://api', tls-server-name: x}", "{token: t}"), HasSubstr("tls-server-name"));
}

TEST_F(KubeconfigTest, ErrorsNameFileFieldAndRemedy) {
  const std::string file = fmt::format("kubeconfig '{}'", (folder / "config").native());
  EXPECT_THAT(refusal("{server: 'http://api'}", "{token: t}"), AllOf(HasSubstr(file), HasSubstr("not an https://")));
  EXPECT_THAT(refusal("{}", "{token: t}"), HasSubstr("the cluster has no server"));
  EXPECT_THAT(refusal("{server: 'https://a@b'}", "{token: t}"), HasSubstr("is not an address"));
  EXPECT_THAT(refusal(kCluster, "{}"), HasSubstr("the user has no credentials; set token"));
  EXPECT_THAT(refusal(kCluster, "{client-certificate-data: Q0E=}"), HasSubstr("one is missing"));
  EXPECT_THAT(refusal(kCluster, "{client-certificate-data: '%%%%', client-key-data: Q0E=}"),
              HasSubstr("client-certificate-data is not base64"));
  EXPECT_THAT(refusal(kCluster, "{tokenFile: nowhere}"),
              AllOf(HasSubstr("tokenFile"), HasSubstr((folder / "nowhere").native())));
  EXPECT_THAT(refusal("{server: 'https://a', certificate-authority: nowhere}", "{token: t}"),
              HasSubstr("certificate-authority: cannot open"));
}

TEST_F(KubeconfigTest, AMissingContextListsTheKnownOnes) {
  write("config", "current-context: other\ncontexts:\n- {name: c1, context: {}}\n- {name: c2, context: {}}\n");
  EXPECT_THAT(load_kubeconfig(folder / "config").error().message,
              HasSubstr("contexts has no entry 'other'; it has 'c1', 'c2'"));
  write("config", "{}");
  EXPECT_THAT(load_kubeconfig(folder / "config").error().message, HasSubstr("kubectl config use-context"));
}

TEST_F(KubeconfigTest, ErrorsInYamlNameThePosition) {
  write("config", "a: b\n  c: [");
  const auto loaded = load_kubeconfig(folder / "config");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kInvalidArgument);
  EXPECT_THAT(loaded.error().message, HasSubstr("is not valid YAML: line 2"));
  EXPECT_FALSE(load_kubeconfig(folder / "nowhere"));
}

TEST_F(KubeconfigTest, AliasesThatExpandEndlesslyAreRefused) {
  std::string text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    text += fmt::format("a{0}: &a{0} [*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1}]\n", i, i - 1);
  }
  write("config", text);
  EXPECT_THAT(load_kubeconfig(folder / "config").error().message, HasSubstr("too large"));
}

}  // namespace
}  // namespace cardcage

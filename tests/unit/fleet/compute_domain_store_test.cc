#include "fleet/compute_domain_store.h"

#include <gmock/gmock.h>

#include "tests/unit/fleet/compute_domain_objects.h"

namespace cardcage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = ComputeDomainStore::Kind;
using Step = ComputeDomainStep;

constexpr const char* kKey = "ns/my-compute-domain";
constexpr const char* kFinalizer = R"(,"finalizers":["example.com/other","resource.nvidia.com/computeDomain"])";
constexpr const char* kDeleted = R"(,"deletionTimestamp":"2027-01-15T08:00:00Z")";

class ComputeDomainStoreTest : public ::testing::Test {
 protected:
  // Puts the domain, with the status that it should have.
  void put_domain(const std::string& metadata, int nodes = 0) {
    json::object object = domain_object(metadata, nodes);
    store.put(Kind::kDomain, object);
    object["status"] = store.wanted_status(domain());
    store.put(Kind::kDomain, object);
  }
  void put_template(const std::string& uid = "uid-a", const std::string& more = "") {
    store.put(Kind::kTemplate, object_of(fmt::format(R"({{"metadata":{{"namespace":"ns","name":"imex-channel-0"{},
                                        "labels":{{"resource.nvidia.com/computeDomain":"{}"}}}}}})",
                                                     more, uid)));
  }
  const ComputeDomain& domain() const { return *store.find(kKey); }
  Step step() const { return store.next_step(domain()); }
  std::string status() const { return std::string(store.wanted_status(domain()).at("status").as_string()); }
  // The nodes of the wanted status: "name clique index status".
  std::vector<std::string> nodes() const {
    std::vector<std::string> lines;
    const json::object wanted = store.wanted_status(domain());
    for (const json::value& item : array_at(wanted, "nodes")) {
      const json::object& node = item.as_object();
      lines.push_back(fmt::format("{} {} {} {}", text_at(node, "name"), text_at(node, "cliqueID"),
                                  int_at(node, "index"), text_at(node, "status")));
    }
    return lines;
  }

  ComputeDomainStore store;
};

TEST_F(ComputeDomainStoreTest, ADomainGetsAFinalizerThenAStatusThenATemplate) {
  store.put(Kind::kDomain, domain_object());
  EXPECT_EQ(step(), Step::kAddFinalizer);
  store.put(Kind::kDomain, domain_object(kFinalizer));
  EXPECT_EQ(step(), Step::kWriteStatus);
  EXPECT_EQ(status(), "NotReady");
  put_domain(kFinalizer);
  EXPECT_EQ(step(), Step::kCreateTemplate);
  put_template();
  EXPECT_EQ(step(), Step::kWriteStatus);
  EXPECT_EQ(status(), "Ready");
  put_domain(kFinalizer);
  EXPECT_EQ(step(), Step::kNone);
}

TEST_F(ComputeDomainStoreTest, ADeletedDomainGoesAfterItsTemplate) {
  put_domain(std::string(kFinalizer) + kDeleted);
  put_template();
  EXPECT_EQ(step(), Step::kDeleteTemplate);
  put_template("uid-a", kDeleted);
  EXPECT_EQ(step(), Step::kNone) << "another finalizer holds the template";
  store.remove(Kind::kTemplate, "ns/imex-channel-0");
  EXPECT_EQ(step(), Step::kRemoveFinalizer);
  put_domain(kDeleted);
  EXPECT_EQ(step(), Step::kNone) << "another finalizer holds the domain";
}

TEST_F(ComputeDomainStoreTest, ATemplateOfAnotherDomainIsLeftAlone) {
  put_template("uid-b");
  put_domain(kFinalizer);
  EXPECT_EQ(status(), "NotReady");
  EXPECT_EQ(step(), Step::kCreateTemplate) << "the API server refuses that, and the error tells why";
  put_domain(std::string(kFinalizer) + kDeleted);
  EXPECT_EQ(step(), Step::kRemoveFinalizer);
}

TEST_F(ComputeDomainStoreTest, ALostTemplateIsMadeAgain) {
  put_template();
  put_domain(kFinalizer);
  ASSERT_EQ(step(), Step::kNone);
  store.keep(Kind::kTemplate, {});
  EXPECT_EQ(step(), Step::kWriteStatus);
  put_domain(kFinalizer);
  EXPECT_EQ(step(), Step::kCreateTemplate);
}

TEST_F(ComputeDomainStoreTest, TheStatusListsTheNodesOfItsClaims) {
  put_template();
  store.put(Kind::kSlice, channel_slice_object("n2", "c.7"));
  store.put(Kind::kSlice,
            channel_slice_object("n1", "c.7",
                                 R"([{"key":"compute-domain.nvidia.com/imex","value":"DOWN","effect":"NoSchedule"}])"));
  store.put(Kind::kSlice, channel_slice_object("n3", "c.7"));
  store.put(Kind::kClaim, channel_claim_object("a", "n2"));
  store.put(Kind::kClaim, channel_claim_object("b", "n1"));
  store.put(Kind::kClaim, channel_claim_object("c", "n3", "uid-b"));
  put_domain(kFinalizer);
  EXPECT_THAT(nodes(), ElementsAre("n1 c.7 0 NotReady", "n2 c.7 1 Ready"));
  EXPECT_EQ(status(), "NotReady");
  store.put(Kind::kSlice, channel_slice_object("n1", "c.7", R"([{"key":"a/b","effect":"None"}])"));
  EXPECT_EQ(status(), "Ready") << "a taint without an effect keeps no claim away";
  store.remove(Kind::kClaim, "ns/b");
  EXPECT_THAT(nodes(), ElementsAre("n2 c.7 1 Ready")) << "it keeps its index";
}

TEST_F(ComputeDomainStoreTest, ANodeWithTwoClaimsOfADomainIsListedOnce) {
  put_template();
  store.put(Kind::kSlice, channel_slice_object("n1", "c.7"));
  store.put(Kind::kClaim, channel_claim_object("a", "n1"));
  store.put(Kind::kClaim, channel_claim_object("b", "n1"));
  put_domain(kFinalizer);
  EXPECT_THAT(nodes(), ElementsAre("n1 c.7 0 Ready"));
  store.remove(Kind::kClaim, "ns/a");
  EXPECT_THAT(nodes(), ElementsAre("n1 c.7 0 Ready")) << "the other claim still holds the channel";
}

TEST_F(ComputeDomainStoreTest, TheStatusHasTheInternalAddressOfEachNode) {
  const auto addresses = [&] {
    std::vector<std::string> all;
    const json::object wanted = store.wanted_status(domain());
    for (const json::value& node : array_at(wanted, "nodes")) all.emplace_back(text_at(node.as_object(), "ipAddress"));
    return all;
  };
  put_domain(kFinalizer);
  store.put(Kind::kSlice, channel_slice_object("n1", "c.7"));
  for (const char* node : {"n1", "n2"}) store.put(Kind::kClaim, channel_claim_object(node, node));
  EXPECT_THAT(addresses(), ElementsAre("", "")) << "the field is required, so it is there from the beginning";
  EXPECT_TRUE(store.put(Kind::kNode, node_object("n1", "10.0.0.1")));
  EXPECT_TRUE(store.put(Kind::kNode, node_object("n2", "10.0.0.2")));
  EXPECT_THAT(addresses(), ElementsAre("10.0.0.1", "10.0.0.2")) << "also of a node without a slice now";
  EXPECT_FALSE(store.put(Kind::kNode, node_object("n1", "10.0.0.1", "2027-01-15T08:05:00Z")))
      << "a heartbeat changes no domain";
  EXPECT_TRUE(store.put(Kind::kNode, node_object("n1", "10.0.0.9")));
  store.remove(Kind::kNode, "/n2");
  EXPECT_THAT(addresses(), ElementsAre("10.0.0.9", ""));
  store.keep(Kind::kNode, {});
  EXPECT_THAT(addresses(), ElementsAre("", ""));
}

TEST_F(ComputeDomainStoreTest, ANodeKeepsItsIndexAndANewOneGetsAFreeOne) {
  put_template();
  for (const char* node : {"n2", "n4"}) {
    store.put(Kind::kSlice, channel_slice_object(node, "c.7"));
    store.put(Kind::kClaim, channel_claim_object(node, node));
  }
  put_domain(kFinalizer);
  ASSERT_THAT(nodes(), ElementsAre("n2 c.7 0 Ready", "n4 c.7 1 Ready"));
  json::object written = domain().object;
  for (const char* node : {"n1", "n3"}) store.put(Kind::kClaim, channel_claim_object(node, node));
  store.put(Kind::kDomain, written);
  EXPECT_THAT(nodes(), ElementsAre("n1  2 NotReady", "n2 c.7 0 Ready", "n3  3 NotReady", "n4 c.7 1 Ready"))
      << "a node without a channel now is not ready";
}

TEST_F(ComputeDomainStoreTest, IsReadyWithTheNumberOfNodesThatItWants) {
  put_template();
  put_domain(kFinalizer, 2);
  EXPECT_EQ(status(), "NotReady");
  for (const char* node : {"n1", "n2"}) {
    store.put(Kind::kSlice, channel_slice_object(node, "c.7"));
    store.put(Kind::kClaim, channel_claim_object(node, node));
  }
  EXPECT_EQ(status(), "Ready");
}

TEST_F(ComputeDomainStoreTest, IgnoresObjectsOfOthers) {
  json::object slice = channel_slice_object("n1", "c.7");
  slice["spec"].as_object()["driver"] = "gpu.nvidia.com";
  store.put(Kind::kSlice, slice);
  json::object claim = channel_claim_object("a", "n1");
  claim["status"].at("allocation").at("devices").at("results").as_array()[0].as_object()["driver"] = "gpu.nvidia.com";
  store.put(Kind::kClaim, claim);
  put_domain(kFinalizer);
  EXPECT_THAT(nodes(), IsEmpty());
  store.put(Kind::kDomain, object_of(R"({"metadata":{"namespace":"ns","name":"x","uid":"u"},"spec":{}})"));
  EXPECT_THAT(store.domains(), ElementsAre(kKey)) << "without a template's name there is nothing to make";
}

TEST_F(ComputeDomainStoreTest, AnOlderVersionIsIgnored) {
  put_domain(kFinalizer);
  json::object older = domain_object();
  older["metadata"].as_object()["resourceVersion"] = "4";
  store.put(Kind::kDomain, older);
  EXPECT_TRUE(domain().has_finalizer);
  json::object newer = domain_object();
  newer["metadata"].as_object()["resourceVersion"] = "10";
  store.put(Kind::kDomain, newer);
  EXPECT_FALSE(domain().has_finalizer);
}

TEST_F(ComputeDomainStoreTest, TheTemplateRequestsAChannelForTheDomain) {
  put_domain(kFinalizer);
  EXPECT_EQ(claim_template_json(domain()), object_of(R"({
    "apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate",
    "metadata":{"name":"imex-channel-0","namespace":"ns",
      "labels":{"resource.nvidia.com/computeDomain":"uid-a","resource.nvidia.com/computeDomainTarget":"Workload"},
      "ownerReferences":[{"apiVersion":"resource.nvidia.com/v1beta1","kind":"ComputeDomain",
        "name":"my-compute-domain","uid":"uid-a"}]},
    "spec":{"metadata":{"labels":{"resource.nvidia.com/computeDomain":"uid-a"}},
      "spec":{"devices":{
        "requests":[{"name":"channel","exactly":{"deviceClassName":"compute-domain-default-channel.nvidia.com",
          "allocationMode":"ExactCount","count":1}}],
        "config":[{"requests":["channel"],"opaque":{"driver":"compute-domain.nvidia.com","parameters":{
          "apiVersion":"resource.nvidia.com/v1beta1","kind":"ComputeDomainChannelConfig","domainID":"uid-a",
          "allocationMode":"Single"}}}]}}}})"));
}

// As NVIDIA's controller does in host-managed mode.
TEST_F(ComputeDomainStoreTest, ADomainWithAllChannelsGetsTheTemplateForOne) {
  put_domain(kFinalizer);
  const json::object single = claim_template_json(domain());
  json::object object = domain_object(kFinalizer);
  object["spec"].at("channel").as_object()["allocationMode"] = "All";
  store.put(Kind::kDomain, object);
  EXPECT_EQ(claim_template_json(domain()), single);
}

TEST_F(ComputeDomainStoreTest, TheFinalizerOfOthersStays) {
  put_domain(kFinalizer);
  EXPECT_EQ(with_finalizer(domain(), false).at("metadata").at("finalizers"), json::array({"example.com/other"}));
  EXPECT_EQ(with_finalizer(domain(), true).at("metadata").at("finalizers"),
            json::array({"example.com/other", "resource.nvidia.com/computeDomain"}));
}

TEST_F(ComputeDomainStoreTest, ADomainWithoutAnIdentityIsRefused) {
  const auto read = compute_domain_from_json(object_of(R"({"metadata":{"namespace":"ns","name":"x"},"spec":{}})"));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("no name, namespace or UID"));
}

}  // namespace
}  // namespace cardcage

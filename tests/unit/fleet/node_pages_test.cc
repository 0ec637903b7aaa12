#include "fleet/node_pages.h"

#include <gmock/gmock.h>

#include "tests/unit/fleet/fleet_objects.h"

namespace cardcage {
namespace {

class NodePagesTest : public ::testing::Test {
 protected:
  std::string pod_of(const std::string& node) const {
    const auto page = pages.of_node(node);
    return page ? page->pod : "";
  }

  int changes = 0;
  NodePages pages{[this] { ++changes; }};
};

TEST_F(NodePagesTest, APodServesThePageOfItsNodeOnceItIsReady) {
  pages.put(web_pod_object("web-1", "n1", "False"));
  EXPECT_EQ(pod_of("n1"), "");
  EXPECT_EQ(changes, 0);
  pages.put(web_pod_object("web-1", "n1"));
  ASSERT_TRUE(pages.of_node("n1"));
  EXPECT_EQ(pages.of_node("n1")->pod, "web-1");
  EXPECT_EQ(pages.of_node("n1")->port, 8443);
  EXPECT_EQ(pod_of("n"), "");
  EXPECT_EQ(pod_of("n11"), "");
  pages.put(web_pod_object("web-1", "n1"));
  EXPECT_EQ(changes, 1) << "the second report changes nothing";
  pages.put(web_pod_object("web-1", "n1", "False"));
  EXPECT_EQ(pod_of("n1"), "");
}

TEST_F(NodePagesTest, APodThatEndsIsReplaced) {
  pages.put(web_pod_object("web-1", "n1"));
  json::object ending = web_pod_object("web-1", "n1");
  ending.at("metadata").as_object()["deletionTimestamp"] = "2027-01-15T08:00:00Z";
  pages.put(ending);
  EXPECT_EQ(pod_of("n1"), "");
  pages.put(web_pod_object("web-2", "n1"));
  pages.remove(ending);
  EXPECT_EQ(pod_of("n1"), "web-2");
}

TEST_F(NodePagesTest, PodsWithoutANodeOrAPortHaveNoPage) {
  pages.put(web_pod_object("web-1", ""));
  json::object other = web_pod_object("web-2", "n2");
  other.at("spec").as_object().erase("containers");
  pages.put(other);
  EXPECT_EQ(pod_of("n2"), "");
  EXPECT_FALSE(pages.of_node(""));
  EXPECT_EQ(changes, 0);
}

TEST_F(NodePagesTest, ForgetsPodsThatAListLacks) {
  pages.put(web_pod_object("web-1", "n1"));
  pages.put(web_pod_object("web-2", "n2"));
  pages.keep({"web-2"});
  EXPECT_EQ(pod_of("n1"), "");
  EXPECT_EQ(pod_of("n2"), "web-2");
}

TEST(PodsPlaceTest, ReadsNamespaceAndSelector) {
  const auto place = parse_pods_place("cardcage/app.kubernetes.io/name=cardcage-web,a=b");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->name_space, "cardcage");
  EXPECT_EQ(place->selector, "app.kubernetes.io/name=cardcage-web,a=b");
  EXPECT_EQ(NodePages::kind(*place).paths.front(), "/api/v1/namespaces/cardcage/pods");
  EXPECT_EQ(NodePages::kind(*place).selector, "labelSelector=app.kubernetes.io%2Fname%3Dcardcage-web%2Ca%3Db");
  for (const char* wrong : {"", "cardcage", "cardcage/", "/a=b", "Card/a=b", "../a=b"})
    EXPECT_FALSE(parse_pods_place(wrong)) << wrong;
}

}  // namespace
}  // namespace cardcage

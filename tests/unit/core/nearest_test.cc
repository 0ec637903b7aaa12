#include "host/core/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace cardcage {
namespace {

const std::vector<std::string> kKeys = {"name", "path", "isolation", "kubelet_root", "cdi_dir", "options", "serve"};

TEST(NearestTest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest("nmae", kKeys), "name");
  EXPECT_EQ(nearest("Name", kKeys), "name");
  EXPECT_EQ(nearest("isolaton", kKeys), "isolation");
  EXPECT_EQ(nearest("kubelet-root", kKeys), "kubelet_root");
  EXPECT_EQ(nearest("option", kKeys), "options");
  EXPECT_EQ(nearest("cdidir", kKeys), "cdi_dir");
}

TEST(NearestTest, SuggestsNothingIfNoWordIsClose) {
  EXPECT_EQ(nearest("colour", kKeys), std::nullopt);
  EXPECT_EQ(nearest("", kKeys), std::nullopt);
  EXPECT_EQ(nearest("name", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(100'000, 'n'), kKeys), std::nullopt);
}

TEST(NearestTest, TheFirstOfEquallyCloseWordsWins) {
  const std::vector<std::string> twins = {"cat", "car"};
  EXPECT_EQ(nearest("caz", twins), "cat");
}

TEST(NearestTest, AnExactWordWinsOverACloseOne) {
  const std::vector<std::string> words = {"Path", "path"};
  EXPECT_EQ(nearest("path", words), "path");
}

TEST(NearestTest, TheHintFollowsAMessage) {
  EXPECT_EQ(nearest_hint("pth", kKeys), " (did you mean 'path'?)");
  EXPECT_EQ(nearest_hint("xyzzy", kKeys), "");
}

}  // namespace
}  // namespace cardcage

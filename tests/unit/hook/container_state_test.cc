// The state of a container, as runtimes pass it to hooks.
#include "host/hook/container_state.h"

#include <gmock/gmock.h>

namespace cardcage {
namespace {

// The state that runc 1.3 writes for a container of containerd 2.2, shortened.
constexpr const char* kOfContainerd = R"({"ociVersion":"1.2.1","id":"0f0d","status":"creating","pid":4711,
  "bundle":"/run/containerd/io.containerd.runtime.v2.task/k8s.io/0f0d","annotations":{
  "io.kubernetes.cri.container-type":"container","io.kubernetes.cri.sandbox-id":"77aa",
  "io.kubernetes.cri.sandbox-name":"web-0","io.kubernetes.cri.sandbox-namespace":"team",
  "io.kubernetes.cri.sandbox-uid":"3b241101-e2bb-4255-8caf-4136c566a962"}})";

TEST(ContainerStateTest, NamesTheProcessAndThePod) {
  const auto state = parse_container_state(kOfContainerd);
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->pid, 4711);
  EXPECT_EQ(state->bundle, "/run/containerd/io.containerd.runtime.v2.task/k8s.io/0f0d");
  EXPECT_EQ(state->pod_namespace + "/" + state->pod, "team/web-0");
  EXPECT_EQ(state->sandbox, "77aa");
  EXPECT_EQ(state->pod_uid, "3b241101-e2bb-4255-8caf-4136c566a962");
}

TEST(ContainerStateTest, KnowsTheAnnotationsOfCriO) {
  const auto state = parse_container_state(
      R"({"pid":7,"annotations":{"io.kubernetes.pod.name":"web-0","io.kubernetes.pod.namespace":"team",
      "io.kubernetes.pod.uid":"u","io.kubernetes.cri-o.SandboxID":"88bb"}})");
  ASSERT_TRUE(state);
  EXPECT_EQ(state->pod_namespace + "/" + state->pod + "/" + state->pod_uid, "team/web-0/u");
  EXPECT_EQ(state->sandbox, "88bb");
}

TEST(ContainerStateTest, AContainerOfNoPodHasNoNames) {
  for (const char* json : {R"({"pid":7})", R"({"pid":7,"annotations":[]})",
                           R"({"pid":7,"annotations":{"io.kubernetes.pod.name":1,"io.kubernetes.pod.uid":"a\nb"}})"}) {
    const auto state = parse_container_state(json);
    ASSERT_TRUE(state) << json;
    EXPECT_EQ(state->pod + state->pod_uid + state->sandbox, "") << json;
  }
}

// A hook in the container's namespaces gets its own pid there.
TEST(ContainerStateTest, WithoutAProcessThereIsNoPid) {
  for (const char* json : {"{}", R"({"pid":0})", R"({"pid":-4})", R"({"pid":"4"})", R"({"pid":1})",
                           R"({"pid":2147483648})", R"({"pid":4294967303})", R"({"pid":1e3})"}) {
    const auto state = parse_container_state(json);
    ASSERT_TRUE(state) << json;
    EXPECT_EQ(state->pid, std::nullopt) << json;
    EXPECT_EQ(state->bundle, "");
  }
}

TEST(ContainerStateTest, OtherTextIsNoState) {
  for (const char* json : {"", "{", "[]", "7"}) EXPECT_FALSE(parse_container_state(json)) << json;
}

}  // namespace
}  // namespace cardcage

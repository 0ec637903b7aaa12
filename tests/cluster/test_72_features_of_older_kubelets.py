"""Features of DRA under the oldest kubelets that have them. test_22 covers all of them under the newest."""

import pytest

from dra_features import EXTENDED, PORT_CLASS, PORT_DRIVER, added_features, check_admin_access, check_extended_resource, uid_of
from mock import claim, request, use
from node import KUBELETS, NEWEST
from scene import container, pod
from waiting import until


@pytest.fixture(scope="module", params=[name for name in KUBELETS if name != NEWEST])
def kubelet(cluster, daemon, request):
    cluster.use_kubelet(request.param)
    yield request.param
    if request.param == [*KUBELETS][-1]:
        cluster.use_kubelet(NEWEST)


@pytest.fixture(scope="module")
def features(cluster, daemon, kubelet, tmp_path_factory):
    with added_features(cluster, daemon):
        yield


def test_an_extended_resource_is_served_by_a_class(scene, daemon, features):
    check_extended_resource(scene, daemon, EXTENDED)


def test_admin_access_beside_the_claim_of_a_user(scene, daemon, features):
    check_admin_access(scene, daemon)


def test_a_device_that_needs_no_prepare(scene, daemon, features):
    """A kubelet before 1.37 does not know skipNodeOperations: it calls the driver, and gets a response as for any device."""
    until(lambda: not any("skipNodeOperations" in found["spec"] for found in daemon.slices(PORT_DRIVER)),
          "the slices ask no old kubelet to skip calls", 30)
    scene.apply(claim("port", request("port", device_class=PORT_CLASS)),
                pod("user", [container(claims=[{"name": "port"}])], [use("port", claim="port")]))
    scene.wait_running("user")
    uid = uid_of(scene, "port")
    assert uid in daemon.cagectl("claims", "--json")
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    assert uid not in daemon.cagectl("claims", "--json") and not daemon.cdi_files(uid)

"""The cluster without Cardcage: if one of these tests fails, the other failures say nothing about Cardcage."""

from node import API_ADDRESS, KUBELETS, NEWEST, NODE
from scene import container, pod


def test_node_is_ready(cluster):
    node = cluster.api.get(f"/api/v1/nodes/{NODE}")
    assert node["status"]["nodeInfo"]["kubeletVersion"].startswith(KUBELETS[NEWEST])


def test_every_version_of_the_resource_api_is_served(cluster):
    group = cluster.api.get("/apis/resource.k8s.io")
    assert [version["version"] for version in group["versions"]] == ["v1", "v1beta2", "v1beta1"]


def test_pod_runs_and_ends(scene):
    scene.apply(pod("plain"))
    scene.wait_running("plain")
    assert scene.execute("plain", "echo", "hello").strip() == "hello"
    scene.delete("pods", "plain")
    scene.wait_gone("pods", "plain")


def test_pod_reaches_the_api_server(scene):
    """Calls the address in the pod's environment, which the daemon in its DaemonSet uses."""
    scene.apply(pod("caller", [container(command=f"nc -w 5 {API_ADDRESS} 443 </dev/null && echo reached $KUBERNETES_SERVICE_HOST")]))
    scene.wait_phase("caller", "Succeeded")
    assert scene.logs("caller").strip() == f"reached {API_ADDRESS}"

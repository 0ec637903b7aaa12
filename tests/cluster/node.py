"""Command lines and configuration files of every program of the node, at the default paths of each program."""

import json
import os
from pathlib import Path

from programs import Program

NODE = "node1"
NODE_ADDRESS = "10.97.1.1"
SERVICES = "10.97.0.0/24"
API_ADDRESS = "10.97.0.1"  # the first of SERVICES, which pods get; it is on the loopback interface, so no translation is needed
API_URL = f"https://{API_ADDRESS}:443"
PODS = "10.97.2.0/24"
CERTIFICATES = Path("/etc/kubernetes/pki")
KUBECONFIGS = Path("/etc/kubernetes")
KUBELET_ROOT = Path("/var/lib/kubelet")
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
PAUSE_IMAGE = "cardcage.test/pause:1"
NEWER_RUNC = "newer-runc"  # for pods whose RuntimeClass names this handler; the others have Debian's runc
RUNTIMES = {"runc": "runc", NEWER_RUNC: "runc-1.4"}
LOCKED_MEMORY_MIB = 4  # containers may lock this amount by default; less than the limit of root
# The kubelets that the daemon supports, and their releases; all other programs have the newest release.
NEWEST = "kubelet"
# The gates of the newest release that some features of DRA need and that are off by default; other releases have other
# gates. They have no effect without the features.
GATES = {
    "DRAListTypeAttributes": True,                                # alpha since 1.36: attributes that are lists
    "DRAOptionalNodeOperations": True,                            # alpha since 1.37: skipNodeOperations
    "GenericWorkload": True, "DRAWorkloadResourceClaims": True,   # beta in 1.37: PodGroups, and their claims
}
KUBELETS = {NEWEST: "v1.37.", "kubelet-1.36": "v1.36.", "kubelet-1.34": "v1.34."}
KUBELET_GATES = {
    NEWEST: GATES,
    "kubelet-1.36": {},
    "kubelet-1.34": {"DRAExtendedResource": True},  # alpha since 1.34, on since 1.36
}


def etcd() -> Program:
    return Program("etcd", "--data-dir=/var/lib/etcd", "--unsafe-no-fsync", "--log-level=warn",
                   "--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
                   "--listen-peer-urls=http://127.0.0.1:2380")


def gates_flag(gates: dict[str, bool]) -> str:
    return "--feature-gates=" + ",".join(f"{name}={str(on).lower()}" for name, on in gates.items())


def kube_apiserver(gates: dict[str, bool] = GATES) -> Program:
    return Program(
        "kube-apiserver", gates_flag(gates), "--etcd-servers=http://127.0.0.1:2379", "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
        "--runtime-config=resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true,scheduling.k8s.io/v1beta1=true",
        "--kubelet-preferred-address-types=InternalIP", "--bind-address=0.0.0.0", "--secure-port=443", f"--advertise-address={NODE_ADDRESS}",
        f"--service-cluster-ip-range={SERVICES}", "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={CERTIFICATES}/service-accounts.key",
        f"--service-account-signing-key-file={CERTIFICATES}/service-accounts.key",
        f"--client-ca-file={CERTIFICATES}/ca.crt",
        f"--tls-cert-file={CERTIFICATES}/apiserver.crt", f"--tls-private-key-file={CERTIFICATES}/apiserver.key",
        f"--kubelet-client-certificate={CERTIFICATES}/apiserver-kubelet-client.crt",
        f"--kubelet-client-key={CERTIFICATES}/apiserver-kubelet-client.key",
        f"--audit-policy-file={audit_policy()}", "--audit-log-path=/var/log/audit.log")


def audit_policy() -> Path:
    """Writes only the daemon's requests to audit.log."""
    path = KUBECONFIGS / "audit-policy.json"
    path.write_text(json.dumps({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "users": ["system:serviceaccount:cardcage:cardcage"]}, {"level": "None"}]}))
    return path


def kube_controller_manager() -> Program:
    return Program(
        "kube-controller-manager", gates_flag(GATES), f"--kubeconfig={KUBECONFIGS}/controller-manager.conf", "--leader-elect=false",
        "--use-service-account-credentials", f"--root-ca-file={CERTIFICATES}/ca.crt",
        f"--service-account-private-key-file={CERTIFICATES}/service-accounts.key", "--bind-address=127.0.0.1")


def kube_scheduler() -> Program:
    config = KUBECONFIGS / "scheduler.json"
    version = "kubescheduler.config.k8s.io/v1"
    # By default it waits for ten minutes until a device is ready (KEP-5007).
    devices = {"apiVersion": version, "kind": "DynamicResourcesArgs", "bindingTimeout": "20s"}
    config.write_text(json.dumps({
        "apiVersion": version, "kind": "KubeSchedulerConfiguration", "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": f"{KUBECONFIGS}/scheduler.conf"},
        "profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [{"name": "DynamicResources", "args": devices}]}]}))
    return Program("kube-scheduler", gates_flag(GATES), f"--config={config}", "--bind-address=127.0.0.1")


def containerd() -> Program:
    network = Path("/etc/cni/net.d")
    network.mkdir(parents=True, exist_ok=True)
    for old in network.iterdir():
        old.unlink()
    (network / "10-cardcage-test.conflist").write_text(json.dumps({
        "cniVersion": "0.4.0", "name": "cardcage-test", "plugins": [{
            "type": "ptp", "ipam": {"type": "host-local", "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}],
                                    "dataDir": "/run/cni-addresses"}}]}))
    config = Path("/etc/containerd/config.toml")
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"""version = 3
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{PAUSE_IMAGE}"
[plugins."io.containerd.cri.v1.runtime"]
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  # A pod's oom_score_adj may be below ours, and lowering it needs a capability that root in a small machine can lack:
  # every sandbox would fail with "can't get final child's PID from pipe: EOF".
  restrict_oom_score_adj = {str(not may_lower_oom_score()).lower()}
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["/usr/lib/cni"]
  conf_dir = "{network}"
""" + "".join(f"""[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.{handler}]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.{handler}.options]
    BinaryName = "{program}"
    SystemdCgroup = false
""" for handler, program in RUNTIMES.items()))
    # Nodes often allow containers less locked memory than they could, which nodes with RDMA must be able to change.
    return Program("prlimit", f"--memlock={LOCKED_MEMORY_MIB << 20}:", "containerd", f"--config={config}", name="containerd")


def may_lower_oom_score() -> bool:
    cap_sys_resource = 24
    effective = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff"))
    return bool(int(effective.split()[1], 16) >> cap_sys_resource & 1)


def kubelet(program: str = NEWEST, topology_policy: str = "none") -> Program:
    config = KUBELET_ROOT / "config.json"
    config.write_text(json.dumps({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "featureGates": {"ResourceHealthStatus": True, "KubeletCrashLoopBackOffMax": True,  # the defaults since 1.36 and 1.35
                         **KUBELET_GATES[program]},
        "topologyManagerPolicy": topology_policy,
        "authentication": {"x509": {"clientCAFile": f"{CERTIFICATES}/ca.crt"}, "webhook": {"enabled": True},
                           "anonymous": {"enabled": False}},
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs", "cgroupRoot": "/" + os.environ["CARDCAGE_CLUSTER_CGROUP"], "failCgroupV1": False,
        "enforceNodeAllocatable": [], "failSwapOn": False, "makeIPTablesUtilChains": False,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100, "imageGCLowThresholdPercent": 99,
        "resolvConf": "", "volumePluginDir": f"{KUBELET_ROOT}/volume-plugins", "volumeStatsAggPeriod": "0s",
        # The scheduler sees added and removed devices with this delay.
        "nodeStatusUpdateFrequency": "1s",
        # Tests kill the daemon: a pause of ten seconds before its next start would measure the kubelet, not the daemon.
        "crashLoopBackOff": {"maxContainerRestartPeriod": "1s"},
        "registerNode": True, "maxPods": 200, "serializeImagePulls": False,
    }))
    return Program(program, f"--config={config}", f"--kubeconfig={KUBECONFIGS}/kubelet.conf", f"--root-dir={KUBELET_ROOT}",
                   f"--hostname-override={NODE}", f"--node-ip={NODE_ADDRESS}")

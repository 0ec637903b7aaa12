"""NVIDIA GPUs (docs/nvidia.md): the module on a node with three H100, which a fake driver simulates (sim/nvml)."""

import subprocess
from pathlib import Path

import pytest

from changed_release import wait_released
from daemon import build_folder
from glibc_images import COMPAT, libcuda, load_glibc_image
from kubectl import kubectl
from mock import allocated, claim, request, sees, template, use
from resources import wait_allocatable
from scene import container, pod
from waiting import until

DRIVER = "gpu.nvidia.com"
CLASS, MIG_CLASS = DRIVER, "mig.nvidia.com"
SERVICES = "/sys/fs/cgroup/systemd/cardcage"  # a node with cgroup v1 keeps processes here
RESOURCE = "nvidia.com/gpu"           # gpu-2, through the device-plugin API
MIG_RESOURCE = "nvidia.com/mig-{profile}"  # instances of gpu-2
CLAIMED_RESOURCE = "nvidia.com/h100"  # any other GPU, through a claim that the scheduler makes
ROOT = Path("/run/nvidia")            # the driver is in /run/nvidia/driver, as with the GPU operator
SMI = ROOT / "driver/usr/bin/nvidia-smi"
LOOK = 60                             # seconds in which the module looks at every GPU


def release(mig: str, **options) -> dict:
    """Values of the chart. The fake driver keeps its state in files, so it must be writable."""
    mounts = {"nvidia": ROOT, "nvidia-state": SMI.parents[1] / "lib64"}
    return {
        "driverRoot": str(ROOT / "driver"),
        "config": {"node": {f"{key}_root": f"{ROOT}/{folder}" for key, folder in (("sysfs", "sys"), ("procfs", "proc"), ("devfs", "dev"))}},
        "services": {"cgroup": SERVICES},
        "deviceClasses": {"extendedResources": {CLASS: CLAIMED_RESOURCE}},
        "modules": {"nvidia": {
            "enabled": True, "mps": True, "options": {"mig": mig, "health_interval": "200ms", **options},
            "resources": [{"resource": RESOURCE, "select": {"name": "gpu-2"}},
                          {"resource": MIG_RESOURCE, "select": {"parent": uuid(2) if mig == "static" else "none"}}]}},
        "extraVolumes": [{"name": name, "hostPath": {"path": str(path)}} for name, path in mounts.items()],
        "extraVolumeMounts": [{"name": name, "mountPath": str(path)} for name, path in mounts.items()]}


def of(name: str) -> str:
    return f"device.attributes['{DRIVER}'].{name}"


def fake(*words: str) -> str:
    """Changes the fake GPUs: fake("lose", "0")."""
    return subprocess.run([build_folder() / "bin/fake-nvidia", ROOT, *words], text=True, stdout=subprocess.PIPE, check=True).stdout


def uuid(gpu: int) -> str:
    return next(line.split()[3] for line in fake("show").splitlines() if line.startswith(f"gpu {gpu} "))


@pytest.fixture(scope="module")
def configure(cluster, daemon):
    """A function that configures a module for the fake GPUs. The shipped daemon is restored afterwards."""
    fake("create", "h100", "3", "580.65.06")
    for options in (["--bind", ROOT, ROOT], ["--make-shared", ROOT]):
        subprocess.run(["mount", *options], check=True)

    def configure(mig: str, **options) -> None:
        wait_released(daemon, 90)
        daemon.apply(release(mig, **options))

    yield configure
    try:
        wait_released(daemon, 90)
    finally:
        daemon.apply()
        wait_allocatable(cluster.api)
        subprocess.run(["umount", "--recursive", ROOT], check=True)


@pytest.fixture(scope="module")
def gpus(cluster, daemon, configure):
    configure("static")
    wait_published(daemon, "gpu-0", "gpu-1")
    wait_allocatable(cluster.api, {RESOURCE: 1})


@pytest.fixture(scope="module")
def shares(daemon, configure):
    configure("static", memory_shares=True)
    until(lambda: [device for device in published(daemon).values() if device.get("allowMultipleAllocations")], "GPUs that claims share are published", LOOK)


@pytest.fixture(scope="module")
def partitions(daemon, configure):
    def lacks_gate() -> bool:
        return any("gate=DRAPartitionableDevices" in line for line in daemon.log())

    configure("dynamic")
    until(lambda: len(published(daemon)) == 2 + 3 * 25 or lacks_gate(), "two GPUs and 25 partitions of each of three are published", 20)
    if lacks_gate():
        pytest.skip("the API server lacks the feature gate DRAPartitionableDevices")


def time_slice(interval: str) -> dict:
    return {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": interval}}


def gpu_claim(name: str, cel: str = "", count: int = 1, sharing: dict | None = None, device_class: str = CLASS) -> dict:
    made = claim(name, request(cel=cel, count=count, device_class=device_class))
    if sharing:
        made["spec"]["devices"]["config"] = [{"opaque": {"driver": DRIVER, "parameters": {
            "apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": sharing}}}]
    return made


def user(name: str, claimed: str, *containers: str) -> dict:
    return pod(name, [container(each, claims=[{"name": "gpu"}]) for each in containers or ["main"]], [use("gpu", claim=claimed)])


def number_of(scene, claimed: str) -> int:
    [device] = allocated(scene.get("resourceclaims", claimed))
    return int(device.removeprefix("gpu-"))


def nodes(scene, name: str, container: str = "") -> dict[str, str]:
    """NVIDIA's device nodes in a container, with their decimal numbers."""
    return {path: ":".join(str(int(part, 16)) for part in numbers.split(":"))
            for path, numbers in sees(scene, name, container)["nodes"].items() if path.startswith("/dev/nvidia")}


def gpu_nodes(*numbers: int) -> dict[str, str]:
    control = {"/dev/nvidiactl": "195:255", "/dev/nvidia-uvm": "509:0", "/dev/nvidia-uvm-tools": "509:1"}
    return control | {f"/dev/nvidia{number}": f"195:{number}" for number in numbers}


def published(daemon) -> dict[str, dict]:
    """The devices by name, and the plain values of their attributes."""
    return {device["name"]: {**device, "attributes": {name: next(iter(value.values())) for name, value in device["attributes"].items()}}
            for device in daemon.devices(DRIVER)}


def instances() -> list[list[str]]:
    """The GPU, profile id, instance and placement of each MIG instance."""
    table = subprocess.run([SMI, "mig", "-lgi"], text=True, stdout=subprocess.PIPE, check=True).stdout
    return [line.strip("| ").split() for line in table.splitlines() if line.startswith(("| 0", "| 1"))]


def wait_published(daemon, *names: str) -> None:
    until(lambda: sorted(published(daemon)) == sorted(names), f"{', '.join(names)} are published", LOOK)


def wait_unschedulable(scene, name: str) -> None:
    until(lambda: any("cannot allocate all claims" in text for text in scene.events("FailedScheduling", name)), "no device fits", 15)


def test_published_gpus(daemon, gpus):
    device = published(daemon)["gpu-0"]
    assert device["attributes"] == {
        "type": "gpu", "uuid": uuid(0), "productName": "NVIDIA H100 80GB HBM3", "brand": "Nvidia", "architecture": "Hopper",
        "cudaComputeCapability": "9.0.0", "driverVersion": "580.65.6", "cudaDriverVersion": "13.0.0", "addressingMode": "HMM",
        "nvidia.cardcage.dev/serial": "1651023000001", "nvidia.cardcage.dev/moduleID": 7, "resource.kubernetes.io/pciBusID": "0000:3b:00.0",
        "resource.kubernetes.io/pcieRoot": "pci0000:3a", "resource.kubernetes.io/numaNode": 0}
    assert device["capacity"] == {"memory": {"value": "81559Mi"}}


def test_container_gets_the_driver(scene, gpus):
    wanted = [f"{of('architecture')} == 'Hopper'", f"{of('cudaComputeCapability')}.isGreaterThan(semver('7.0.0'))",
              f"device.capacity['{DRIVER}'].memory.compareTo(quantity('40Gi')) >= 0", f"{of('uuid')} == '{uuid(0)}'"]
    scene.apply(gpu_claim("one", cel=" && ".join(wanted)), user("user", "one"))
    scene.wait_running("user")
    seen = sees(scene, "user")
    assert "NVIDIA_VISIBLE_DEVICES=void" in seen["env"] and nodes(scene, "user") == gpu_nodes(0)
    folders = ("/usr/lib64", "/usr/lib/x86_64-linux-gnu")
    assert {f"{folder}/{name}" for folder in folders for name in ("libcuda.so.1", "libnvidia-ml.so.1")} <= seen["mounts"]
    assert [scene.execute("user", "tail", "-n1", f"{folder}/libcuda.so.1") for folder in folders] == ["libcuda.so.580.65.06\n"] * 2
    scene.execute("user", "test", "-x", "/usr/bin/nvidia-smi")
    # The container may open the GPU: it gets as far as the kernel, which has no driver for it. The next GPU is forbidden.
    said = scene.execute("user", "sh", "-c", "mknod /tmp/other c 195 1; cat /dev/nvidia0 /tmp/other 2>&1 || true")
    assert said.splitlines() == ["cat: can't open '/dev/nvidia0': No such device or address",
                                 "cat: can't open '/tmp/other': Operation not permitted"]


@pytest.fixture(scope="module")
def real_libcuda(gpus):
    """The fake driver's libcuda is a text file, but a loader needs a library."""
    library = ROOT / "driver/usr/lib64/libcuda.so.580.65.06"
    before = library.read_bytes()
    library.write_bytes(libcuda("the node's"))
    yield
    library.write_bytes(before)


@pytest.mark.parametrize("image", [
    {"whose": "the node's"},
    {"whose": "the node's", "baked": False},
    {"whose": "the node's", "compat": "570.86.15"},
    {"whose": "the node's", "compat": "570.86.15", "read_only": True},
    {"whose": "the image's", "compat": "595.10.02"},
    {"whose": "the image's", "compat": "595.10.02", "baked": False}], ids=str)
def test_programs_find_libcuda(scene, real_libcuda, image):
    """libcuda is found by its SONAME and by ldconfig, even in images whose cache has an older one; a newer one of the image wins."""
    options = dict(image)
    whose, read_only = options.pop("whose"), options.pop("read_only", False)
    load_glibc_image("cardcage.test/glibc:1", **options)
    look = "probe libcuda.so.1; /sbin/ldconfig -p; cat /etc/ld.so.conf.d/00-cardcage.conf"
    scene.apply(gpu_claim("one"), pod("user", [container(command=look, claims=[{"name": "gpu"}], image="cardcage.test/glibc:1",
                                                         securityContext={"readOnlyRootFilesystem": read_only})],
                                      [use("gpu", claim="one")]))
    scene.wait_phase("user", "Succeeded")
    said = scene.logs("user").splitlines()
    place = COMPAT if whose == "the image's" else "/usr/lib64"
    assert said[0] == whose
    assert [line.split(" => ")[1] for line in said if line.strip().startswith("libcuda.so.1 ")] == [f"{place}/libcuda.so.1"]
    assert any(line.strip().startswith("libc.so.6 ") for line in said) == options.get("baked", True), "the image's own libraries stay"
    assert "/usr/lib64" in said


def test_one_claim_of_two_containers_and_two_pods(scene, gpus):
    scene.apply(gpu_claim("shared"), user("pair", "shared", "first", "second"), user("single", "shared"))
    scene.wait_running("pair", "single")
    wanted = gpu_nodes(number_of(scene, "shared"))
    assert [nodes(scene, "pair", "first"), nodes(scene, "pair", "second"), nodes(scene, "single")] == [wanted] * 3


def test_two_gpus_of_one_claim(scene, gpus):
    scene.apply(gpu_claim("both", count=2), user("user", "both"))
    scene.wait_running("user")
    assert nodes(scene, "user") == gpu_nodes(0, 1)


def test_time_slices(scene, gpus):
    def set_to() -> list[str]:
        log = (ROOT / "driver/usr/lib64/nvidia-smi.log").read_text()
        return [line[line.index("compute-policy"):] for line in log.splitlines() if "compute-policy" in line]

    scene.apply(gpu_claim("sliced", sharing=time_slice("Long")), user("user", "sliced"))
    scene.wait_running("user")
    command = f"compute-policy -i {uuid(number_of(scene, 'sliced'))} --set-timeslice"
    assert set_to() == [f"{command} 3"]
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    assert set_to() == [f"{command} 3", f"{command} 0"]


def test_mps(scene, gpus):
    """The pods of a claim share its GPU, and share memory with the control daemon; no other process sees that memory."""
    scene.apply(gpu_claim("mps", sharing={"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 40}}),
                gpu_claim("plain"), user("first", "mps"), user("second", "mps"), user("other", "plain"))
    scene.wait_running("first", "second", "other")
    uid = scene.get("resourceclaims", "mps")["metadata"]["uid"]
    for name in ("first", "second"):
        assert "CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps" in sees(scene, name)["env"]
        scene.execute(name, "test", "-p", "/tmp/nvidia-mps/control")
        assert scene.execute(name, "cat", "/dev/shm/cuda.shm") == "shared with clients\n"
    scene.execute("first", "sh", "-c", "echo mine > /dev/shm/mine")
    assert scene.execute("second", "cat", "/dev/shm/mine") == "mine\n"
    assert "CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps" not in sees(scene, "other")["env"]
    assert scene.execute("other", "ls", "/dev/shm") == ""
    log = (ROOT / f"mps/{uid}/log/control.log").read_text()
    assert f"CUDA_VISIBLE_DEVICES={uuid(number_of(scene, 'mps'))}\n" in log and "set_default_active_thread_percentage 40\n" in log
    scene.delete("pods", "first", "second")
    scene.wait_gone("pods", "first", "second")
    until(lambda: not (ROOT / f"mps/{uid}").exists(), "MPS of the claim is gone", 20)
    assert str(ROOT / "mps") not in Path("/proc/mounts").read_text()


def test_wrong_parameter_says_where(scene, gpus):
    scene.apply(gpu_claim("wrong", sharing=time_slice("Longest")), user("user", "wrong"))
    [text, *_] = until(lambda: scene.events("FailedPrepareDynamicResources", "user"), "the event about the claim", 30)
    assert "sharing.timeSlicingConfig.interval" in text and "Longest" in text and "Medium" in text, text


def test_examples(scene, gpus):
    """gpu-2 has the limit that nvidia-limit.yaml asks for. nvidia-smi runs, and finds no kernel driver in a container."""
    with scene.example("nvidia-gpu.yaml", "gpu"):
        scene.wait_log("gpu", "^Failed to initialize NVML: Driver Not Loaded$")
    with scene.example("nvidia-limit.yaml", "gpu-by-limit"):
        assert nodes(scene, "gpu-by-limit") == gpu_nodes(2)
    with scene.example("nvidia-shared.yaml", "shared-a", "shared-b"):
        shared = gpu_nodes(number_of(scene, "shared"))
        assert [nodes(scene, name) for name in ("shared-a", "shared-b")] == [shared] * 2


def test_example_of_mps(scene, gpus):
    with scene.example("nvidia-mps.yaml", "mps"):
        for name in ("first", "second"):
            scene.wait_log("mps", r"^CUDA_MPS_PIPE_DIRECTORY=", name)


def test_extended_resources(scene, gpus):
    """gpu-2 through the device-plugin API, and the others through claims that the scheduler makes."""
    scene.apply(*(pod(name, [container(limits={resource: 1})]) for name, resource in (("plugin", RESOURCE), ("claimed", CLAIMED_RESOURCE))))
    scene.wait_running("plugin", "claimed")
    assert nodes(scene, "plugin") == gpu_nodes(2)
    assert nodes(scene, "claimed") in (gpu_nodes(0), gpu_nodes(1))
    assert "NVIDIA_VISIBLE_DEVICES=void" in sees(scene, "plugin")["env"] & sees(scene, "claimed")["env"]


def test_lost_gpus(cluster, scene, daemon, gpus):
    """New pods avoid lost GPUs until they respond again."""
    def taints() -> list[str]:
        return [taint["key"] for taint in published(daemon)["gpu-0"].get("taints", [])]

    for gpu in "02":
        fake("lose", gpu)
    try:
        until(lambda: f"{DRIVER}/gpu-lost" in taints(), "a taint on the lost GPU", LOOK)
        wait_allocatable(cluster.api, {RESOURCE: 0})
        scene.apply(gpu_claim("lost", cel=f"{of('uuid')} == '{uuid(0)}'"), gpu_claim("any"), user("waits", "lost"), user("runs", "any"))
        scene.wait_running("runs")
        assert nodes(scene, "runs") == gpu_nodes(1)
        wait_unschedulable(scene, "waits")
        daemon.kill()  # the next daemon has never seen this GPU respond
        wait_published(daemon, "gpu-0", "gpu-1")
        assert f"{DRIVER}/gpu-lost" in taints() and not published(daemon)["gpu-1"].get("taints")
    finally:
        for gpu in "02":
            fake("restore", gpu)
    until(lambda: not taints(), "the taint is gone", LOOK)
    wait_allocatable(cluster.api, {RESOURCE: 1}, seconds=LOOK)
    scene.wait_running("waits")
    assert nodes(scene, "waits") == gpu_nodes(0)


def test_xid_in_the_pod_status(scene, daemon, gpus):
    """The status of a running pod shows the fault and its end, and new pods avoid the GPU meanwhile."""
    def taints() -> list[str]:
        return [f"{taint['key']}={taint.get('value', '')}" for taint in published(daemon)["gpu-0"].get("taints", [])]

    scene.apply(gpu_claim("one", cel=f"{of('uuid')} == '{uuid(0)}'"), user("user", "one"))
    scene.wait_running("user")
    scene.wait_health("user", "Healthy")
    daemons, workers = daemon.process_ids(), daemon.process_ids("cardcage-worker")
    fake("xid", "0", "119")
    fake("action", "0", "1")
    try:
        _, seen = scene.wait_health("user", "Unhealthy")
        assert "119" in seen["message"] or "reset" in seen["message"], seen
        until(lambda: f"{DRIVER}/xid=119" in taints(), "a taint on the GPU", 10)
        until(lambda: daemon.node_events("DeviceUnhealthy", "gpu-0"), "an Event on the node", 10)
        assert daemon.metric("cardcage_device_cause", device="gpu-0", cause="Xid") == 1
        assert scene.get("pods", "user")["status"]["phase"] == "Running"
    finally:
        fake("action", "0", "0")
    until(lambda: not taints(), "the taint is gone", LOOK)
    scene.wait_health("user", "Healthy")
    until(lambda: daemon.node_events("DeviceHealthy", "gpu-0"), "the Event of its end", 10)
    assert daemon.metric("cardcage_device_cause", device="gpu-0", cause="Xid") is None
    assert daemon.process_ids() == daemons and daemon.process_ids("cardcage-worker") == workers, "nothing was restarted"


def test_driver_upgrade(scene, daemon, gpus):
    """A quiesced module releases the driver, which can be replaced while pods run; the next pod gets the new one."""
    def held() -> int:
        maps = (path.read_text() for path in (Path(f"/proc/{pid}/maps") for pid in daemon.process_ids("cardcage-worker")))
        return sum("libnvidia-ml.so" in text for text in maps)

    mine = f"{of('uuid')} == '{uuid(0)}'"
    scene.apply(gpu_claim("old", cel=mine), user("old", "old"))
    scene.wait_running("old")
    assert held() == 1
    daemon.cagectl("module", "quiesce", "nvidia")
    try:
        try:
            assert held() == 0
            scene.apply(gpu_claim("waits", cel=f"{of('uuid')} == '{uuid(1)}'"), user("waits", "waits"))
            fake("upgrade", "580.126.20")
            wait_unschedulable(scene, "waits")
            assert held() == 0
        finally:
            daemon.cagectl("module", "resume", "nvidia")
        until(lambda: published(daemon)["gpu-0"]["attributes"]["driverVersion"] == "580.126.20", "the new version is published", LOOK)
        scene.wait_running("waits", seconds=60)
        assert scene.execute("waits", "tail", "-n1", "/usr/lib64/libcuda.so.1") == "libcuda.so.580.126.20\n"
        assert scene.get("pods", "old")["status"]["phase"] == "Running"
    finally:
        scene.delete("pods", "old", "waits")
        scene.wait_gone("pods", "old", "waits")
        fake("upgrade", "580.65.06")
    until(lambda: published(daemon)["gpu-0"]["attributes"]["driverVersion"] == "580.65.6", "the old version is published", LOOK)


def test_a_resource_for_each_profile(cluster, scene, gpus):
    """The mixed strategy: one rule, and a resource for each MIG profile that the administrator makes."""
    four, large = (MIG_RESOURCE.replace("{profile}", profile) for profile in ("1g.10gb", "3g.40gb"))
    fake("mig-mode", "2", "on")
    made = [fake("create-instance", "2", *place).strip() for place in (("19", "0"), ("19", "1"), ("19", "2"), ("19", "3"), ("9", "4"))]
    try:
        wait_allocatable(cluster.api, {RESOURCE: 0, four: 4, large: 1}, seconds=LOOK)
        names = [f"user-{number}" for number in range(4)]
        scene.apply(*(pod(name, [container(limits={four: 1})]) for name in names), pod("large", [container(limits={large: 1})]))
        scene.wait_running(*names, "large")
        own = [nodes(scene, name).items() ^ gpu_nodes(2).items() for name in (*names, "large")]
        assert all(len(each) == 2 for each in own) and len(set.union(*own)) == 10
        scene.delete("pods", *names, "large")
        scene.wait_gone("pods", *names, "large")
    finally:
        for instance in made:
            fake("destroy-instance", "2", instance)
        fake("mig-mode", "2", "off")
    wait_allocatable(cluster.api, {RESOURCE: 1, four: 0, large: 0}, seconds=LOOK)


def test_partitions_of_the_administrator(scene, daemon, gpus):
    """Existing instances are devices, and the GPU in MIG mode is not."""
    fake("mig-mode", "1", "on")
    instance = fake("create-instance", "1", "9", "0").strip()
    try:
        wait_published(daemon, "gpu-0", "gpu-1-mig-3g40gb-9-0")
        scene.apply(gpu_claim("mig", device_class=MIG_CLASS), user("user", "mig"))
        scene.wait_running("user")
        assert len(nodes(scene, "user")) == len(gpu_nodes(1)) + 2
        scene.delete("pods", "user")
        scene.wait_gone("pods", "user")
        assert [line for line in instances() if line[:3] == ["1", "9", instance]], "it is the administrator's"
    finally:
        fake("destroy-instance", "1", instance)
        fake("mig-mode", "1", "off")
    wait_published(daemon, "gpu-0", "gpu-1")


def test_shares_of_memory(scene, shares):
    """Two pods with amounts share a GPU. A third pod does not fit, nor does a claim that names no amount."""
    def of_gpu_0(name: str, memory: str = "") -> dict:
        made = gpu_claim(name, cel=f"{of('uuid')} == '{uuid(0)}'")
        if memory:
            made["spec"]["devices"]["requests"][0]["exactly"]["capacity"] = {"requests": {"memory": memory}}
        return made

    for name in ("first", "second"):
        scene.apply(of_gpu_0(name, "30Gi"), user(name, name))
    scene.wait_running("first", "second")
    assert [nodes(scene, name) for name in ("first", "second")] == [gpu_nodes(0)] * 2
    [given] = scene.get("resourceclaims", "first")["status"]["allocation"]["devices"]["results"]
    assert given["consumedCapacity"] == {"memory": "30Gi"} and given["shareID"]
    scene.apply(of_gpu_0("third", "30Gi"), user("third", "third"), of_gpu_0("whole"), user("whole", "whole"))
    for name in ("third", "whole"):
        wait_unschedulable(scene, name)
    scene.delete("pods", "first")
    scene.delete("resourceclaims", "first")
    scene.wait_running("third")
    assert nodes(scene, "second") == gpu_nodes(0)


def test_published_partitions(daemon, partitions):
    device = published(daemon)["gpu-0-mig-1g10gb-19-0"]
    assert device["attributes"].items() >= {"type": "mig", "profile": "1g.10gb", "parentUUID": uuid(0)}.items()
    assert device["capacity"]["memory"] == {"value": "9984Mi"} and device["capacity"]["multiprocessors"] == {"value": "16"}
    assert device["consumesCounters"][0]["counters"]["memory-slice-0"] == {"value": "1"}


def test_example_of_a_partition(scene, partitions):
    with scene.example("nvidia-mig.yaml", "mig"):
        assert len(instances()) == 1
    until(lambda: not instances(), "the instance is destroyed", 20)


def test_partitions_are_made_for_claims(scene, daemon, partitions):
    """Four pods share a GPU. A pod that requests all of it waits until they are gone."""
    mine = f"{of('profile')} == '1g.10gb' && {of('parentUUID')} == '{uuid(0)}'"
    names = [f"user-{number}" for number in range(4)]
    scene.apply(template("mig", request(cel=mine, device_class=MIG_CLASS)),
                *(pod(name, [container(claims=[{"name": "mig"}])], [use("mig", template="mig")]) for name in names))
    scene.wait_running(*names, seconds=60)
    made = instances()
    assert [(gpu, profile) for gpu, profile, *_ in made] == [("0", "19")] * 4
    own = [nodes(scene, name).items() ^ gpu_nodes(0).items() for name in names]
    assert all(len(each) == 2 for each in own) and len(set.union(*own)) == 8, "two capabilities each, and none twice"
    daemon.kill()
    scene.apply(gpu_claim("whole", cel=f"{of('uuid')} == '{uuid(0)}'"), user("whole", "whole"))
    wait_unschedulable(scene, "whole")
    assert instances() == made, "the next daemon keeps what claims hold"
    scene.delete("pods", *names)
    scene.wait_gone("pods", *names)
    scene.wait_running("whole")
    assert not instances() and nodes(scene, "whole") == gpu_nodes(0)


@pytest.mark.parametrize("step", ["nvmlDeviceSetMigMode", "nvmlDeviceCreateGpuInstanceWithPlacement",
                                  "nvmlGpuInstanceCreateComputeInstance", "nvmlComputeInstanceGetInfo_v2"])
def test_death_while_a_partition_is_made(scene, daemon, partitions, step):
    """Changes made before the daemon and its workers died are found again, and undone with the claim."""
    before = int(fake("calls", step))
    fake("hang", step)
    try:
        scene.apply(gpu_claim("mig", cel=f"{of('profile')} == '2g.20gb' && {of('parentUUID')} == '{uuid(0)}'", device_class=MIG_CLASS),
                    user("user", "mig"))
        until(lambda: int(fake("calls", step)) > before, f"the module is in {step}", 30)
        daemon.kill_and_see_start()
    finally:
        fake("release")
    daemon.wait_serving()
    kubectl("annotate", f"--namespace={scene.namespace}", "pod", "user", "retry=now")  # otherwise the kubelet retries after a minute or two
    scene.wait_running("user", seconds=60)
    assert [(gpu, profile) for gpu, profile, *_ in instances()] == [("0", "14")]
    scene.delete("pods", "user")
    scene.wait_gone("pods", "user")
    until(lambda: not instances(), "the instance is removed", 20)

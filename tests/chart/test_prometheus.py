"""A Prometheus server scrapes the demo and evaluates each expression of the alerts and the dashboard."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from api_server import free_port
from chart import CHART, SOURCE
from test_monitoring import EXPRESSIONS, RULES
from waiting import until

# The demo has no trouble, and its figures are those of a daemon that has just started.
ABSENT = {"cardcage_device_cause", "cardcage_device_cordoned", "cardcage_device_quarantined", "cardcage_health_events_total",
          "cardcage_service_restarts"}


@pytest.fixture(scope="module")
def demo(build):
    """The mock module on the embedded node, with a prepared claim. Yields the address of its figures."""
    with tempfile.TemporaryDirectory(prefix="cardcage-") as path:  # the path of a socket is short
        folder = Path(path)
        folder.chmod(0o755)
        (folder / "modules").mkdir()
        (folder / "node/claims").mkdir(parents=True)
        shutil.copy(build / "lib/cardcage/modules/libcardcage_mock.so", folder / "modules")
        claim = shutil.copy(SOURCE / "config/demo-claim.json", folder / "node/claims/default_demo.json")
        address = f"127.0.0.1:{free_port()}"
        config = folder / "cardcage.toml"
        config.write_text((SOURCE / "config/demo.toml").read_text() + f'\n[metrics]\nlisten = "{address}"\n')
        environment = {**os.environ, "CARDCAGE_DEMO_DIR": path, "CARDCAGE_KUBELET_ROOT": f"{path}/kubelet"}
        cagectl = [build / "bin/cagectl", "--socket", folder / "admin.sock"]
        daemon = subprocess.Popen([build / "bin/cardcage", "--config", config], env=environment)
        try:
            until(lambda: "gpu-1 " in subprocess.run([*cagectl, "devices"], capture_output=True, text=True).stdout, "the demo has its devices", 30)
            subprocess.run([*cagectl, "prepare", "--cdi-dir", folder / "cdi", claim], env=environment, check=True)
            yield address
        finally:
            daemon.terminate()
            daemon.wait(20)


@pytest.fixture(scope="module")
def prometheus(demo, tmp_path_factory):
    """A server that scrapes the demo and evaluates the alerts each second. Yields a function that asks its API."""
    folder, address = tmp_path_factory.mktemp("prometheus"), f"127.0.0.1:{free_port()}"
    (folder / "prometheus.yml").write_text(json.dumps({
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [str(CHART / f"files/{name}.yaml") for name in ("alerts", "rules")],
        "scrape_configs": [{"job_name": "cardcage", "static_configs": [{"targets": [demo]}]}]}))
    server = subprocess.Popen([SOURCE / "tests/chart/prometheus", "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                               f"--web.listen-address={address}", "--log.level=warn"])

    def ask(path: str, **query: str) -> dict:
        with urllib.request.urlopen(f"http://{address}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=10) as answer:
            return json.load(answer)["data"]

    try:
        until(lambda: ask("query", query="rate(cardcage_call_seconds_count[10s])")["result"], "Prometheus has scraped the demo twice", 30)
        yield ask
    finally:
        server.terminate()
        server.wait(20)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_finds_its_series(prometheus, expression):
    prometheus("query", query=expression.replace("$instance", ".*"))
    for series in set(re.findall(r"cardcage_\w+", expression)) - ABSENT:
        assert prometheus("query", query=series)["result"], f"the demo has no {series}"


def test_no_alert_fires(prometheus):
    def evaluated() -> list[dict]:
        rules = [rule for group in prometheus("rules")["groups"] for rule in group["rules"] if rule["type"] == "alerting"]
        return rules if all(rule["health"] != "unknown" for rule in rules) else []

    rules = until(evaluated, "all rules are evaluated", 30)
    assert [rule["name"] for rule in rules] == [rule["alert"] for rule in RULES]
    assert {rule["name"]: rule["health"] for rule in rules if rule["health"] != "ok"} == {}
    assert [rule["name"] for rule in rules if rule["state"] == "firing"] == []

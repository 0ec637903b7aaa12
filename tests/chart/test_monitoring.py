"""Monitors, alerts and the dashboard."""

import json
import re
import shutil
import subprocess

import pytest
import yaml

from chart import CHART, SOURCE, one, render

VALUES = {"modules": {"mock": {"enabled": True}}, "metrics": {
    "listen": "0.0.0.0:9999", "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}, "podMonitor": {"enabled": True},
    "prometheusRule": {"enabled": True}, "dashboard": {"enabled": True}}}
ALERTS = yaml.safe_load((CHART / "files/alerts.yaml").read_text())
DASHBOARD = json.loads((CHART / "files/dashboard.json").read_text())
EXPRESSIONS = [rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]] + [
    target["expr"].replace("$__rate_interval", "5m") for panel in DASHBOARD["panels"] for target in panel["targets"]]


def test_the_pods_name_no_port():
    """On the host's network two daemons of one node cannot share the port, and an update starts the second beside the first."""
    assert "ports" not in one(render(VALUES), "DaemonSet")["spec"]["template"]["spec"]["containers"][0]


def test_monitors_find_the_port():
    objects = render(VALUES)
    assert one(objects, "Service", "cardcage-metrics")["spec"]["ports"] == [{"name": "metrics", "port": 9999}]
    monitor = one(objects, "ServiceMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus" and monitor["spec"]["endpoints"][0]["port"] == "metrics"
    [endpoint] = one(objects, "PodMonitor")["spec"]["podMetricsEndpoints"]
    assert endpoint["relabelings"][1]["replacement"] == "$1:9999"


def test_rules_and_dashboard_are_rendered():
    objects = render(VALUES)
    assert one(objects, "PrometheusRule")["spec"] == ALERTS
    assert json.loads(one(objects, "ConfigMap", "cardcage-dashboard")["data"]["cardcage.json"]) == DASHBOARD


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_series_are_those_of_the_daemon(expression):
    documented = (SOURCE / "docs/operator.md").read_text()
    for name in re.findall(r"cardcage_\w+", expression):
        assert f"`{re.sub('_(bucket|count|sum)$', '', name)}" in documented, name


def test_expressions_are_valid(tmp_path):
    if not shutil.which("promtool"):
        pytest.skip("no promtool: it is in Debian's package prometheus")
    rules = tmp_path / "rules.yaml"
    rules.write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": [
        {"record": f"expression:{number}", "expr": expression.replace("$instance", ".*")} for number, expression in enumerate(EXPRESSIONS)]}]}))
    for file in (rules, CHART / "files/alerts.yaml"):
        result = subprocess.run(["promtool", "check", "rules", file], text=True, capture_output=True)
        assert result.returncode == 0, result.stdout + result.stderr

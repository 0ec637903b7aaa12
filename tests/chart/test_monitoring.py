"""Monitors, alerts and the dashboard."""

import json
import re
import subprocess

import pytest
import yaml

from chart import CHART, SOURCE, one, render

VALUES = {"modules": {"mock": {"enabled": True}}, "metrics": {
    "listen": "0.0.0.0:9999", "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}, "podMonitor": {"enabled": True},
    "prometheusRule": {"enabled": True}, "dashboard": {"enabled": True}}}
ALERTS = yaml.safe_load((CHART / "files/alerts.yaml").read_text())
RECORDED = yaml.safe_load((CHART / "files/rules.yaml").read_text())
DASHBOARD = json.loads((CHART / "files/dashboard.json").read_text())
EXPRESSIONS = [rule["expr"] for group in RECORDED["groups"] + ALERTS["groups"] for rule in group["rules"]] + [
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
    assert one(objects, "PrometheusRule")["spec"] == {"groups": RECORDED["groups"] + ALERTS["groups"]}
    assert json.loads(one(objects, "ConfigMap", "cardcage-dashboard")["data"]["cardcage.json"]) == DASHBOARD


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_series_are_those_of_the_daemon(expression):
    documented = (SOURCE / "docs/operator.md").read_text()
    for name in re.findall(r"cardcage_\w+", expression):
        assert f"`{re.sub('_(bucket|count|sum)$', '', name)}" in documented, name


def promtool(*arguments) -> None:
    result = subprocess.run([SOURCE / "tests/chart/prometheus", "promtool", *arguments], text=True, capture_output=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_expressions_are_valid(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": [
        {"record": f"expression:{number}", "expr": expression.replace("$instance", ".*")} for number, expression in enumerate(EXPRESSIONS)]}]}))
    promtool("check", "rules", rules, CHART / "files/alerts.yaml", CHART / "files/rules.yaml")


RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
QUIET = 10  # minutes before the trouble


def minutes(duration: str) -> int:
    return int(duration[:-1]) * {"m": 1, "h": 60}[duration[-1]]


def sample(series: str, values: str) -> dict:
    return {"series": series.replace("{", '{instance="node-1", ').replace(", }", "}"), "values": values}


def value(series: str, before: int | None, during: int, after: int | None):
    """A series with these values before, during and after the trouble; None: the daemon does not show it."""
    def values(lasts: int) -> str:  # in promtool's words a value is repeated, and a gap is not
        return " ".join([f"_x{QUIET}" if before is None else f"{before}x{QUIET - 1}", f"{during}x{lasts - 1}",
                         "stale _x60" if after is None else f"{after}x60"])
    return lambda lasts: [sample(series, values(lasts))]


def count(series: str):
    """A counter that counts one each minute of the trouble."""
    return lambda lasts: [sample(series, f"0x{QUIET - 1} 1+1x{lasts - 1} {lasts}x120")]


def slow_prepares(lasts: int) -> list[dict]:
    """A prepare each second, of less than a second, and in the trouble of 10 to 40 seconds."""
    stop = 60 * (QUIET - 1)
    quick, all_of_them = f"0+60x{QUIET - 1} {stop}x{lasts} {stop}+60x120", f"0+60x{QUIET + lasts + 120}"
    return [sample(f'cardcage_call_seconds_bucket{{{PREPARE}, le="{bound}"}}', values)
            for bound, values in (("1", quick), ("10", quick), ("40", all_of_them), ("+Inf", all_of_them))]


PREPARE = 'call="prepare", name="gpu.example.com"'
TROUBLE = {
    "CardcageDeviceUnhealthy": value('cardcage_device_health{module="gpu", device="gpu-0", state="unhealthy", reason="Xid 79"}', None, 1, None),
    "CardcageDeviceQuarantined": value('cardcage_device_quarantined{module="gpu", device="gpu-0"}', None, 1, None),
    "CardcageHealthFlaps": count('cardcage_health_events_total{module="gpu", cause="Link", kind="began"}'),
    "CardcageNotRegistered": value('cardcage_registered{name="gpu.example.com", api="dra"}', 1, 0, 1),
    "CardcageNotPublished": value('cardcage_published{name="gpu.example.com"}', 1, 0, 1),
    "CardcageModuleNotReady": value('cardcage_module_state{module="gpu", state="failed"}', None, 1, None),
    "CardcageModuleRestarts": count('cardcage_module_restarts_total{module="gpu"}'),
    "CardcageServiceRestarts": count('cardcage_service_restarts{module="gpu", service="mps", uid="u-1"}'),
    "CardcageDaemonRestarts": count("cardcage_restarts_total{}"),
    "CardcageConfigurationRefused": value("cardcage_config_ok{}", 1, 0, 1),
    "CardcageRestartNeeded": value("cardcage_config_restart_needed{}", 0, 2, 0),
    "CardcageLedgerRefuses": value("cardcage_ledger_ok{}", 1, 0, 1),
    "CardcageDiskLow": value("cardcage_state_dir_free_bytes{}", 10 ** 9, 10 ** 8, 10 ** 9),
    "CardcageApiServer": value("cardcage_api_server_ok{}", 1, 0, 1),
    "CardcagePrepareSlow": slow_prepares,
    "CardcagePrepareFails": lambda lasts: [
        sample(f'cardcage_call_seconds_count{{{PREPARE}, code="ok"}}', "0+60x300"),
        *count(f'cardcage_call_seconds_count{{{PREPARE}, code="unavailable"}}')(lasts)],
    "CardcageFiguresStale": lambda lasts: [sample('cardcage_module_collected_timestamp_seconds{module="gpu"}',
                                                  f"0+60x{QUIET - 1} {60 * (QUIET - 1)}x{lasts - 1} {60 * (QUIET + lasts)}+60x120")],
}


def firing(rule: dict, minute: int, alerts: int) -> dict:
    """A test of promtool: so many alerts of the rule fire in this minute."""
    return {"expr": f'count(ALERTS{{alertname="{rule["alert"]}", alertstate="firing", severity="{rule["labels"]["severity"]}"}})',
            "eval_time": f"{minute}m", "exp_samples": [{"labels": "{}", "value": alerts}] if alerts else []}


def alert_test(rule: dict) -> dict:
    """The alert waits for its time, fires, and clears; an expression that looks back is late by at most as much."""
    waits = minutes(rule.get("for", "0m"))
    lasts, late = waits + 20, max(map(minutes, re.findall(r"\[(\w+)\]", rule["expr"])), default=5 if "time()" in rule["expr"] else 0)
    return {"name": rule["alert"], "interval": "1m", "input_series": TROUBLE[rule["alert"]](lasts), "promql_expr_test": [
        firing(rule, QUIET - 1 + waits, 0), firing(rule, QUIET + lasts - 1, 1), firing(rule, QUIET + 2 + lasts + late, 0)]}


def test_alerts_fire_after_their_time_and_clear(tmp_path):
    healthy = [sample(series, "1x120") for series in (
        'cardcage_device_health{module="gpu", device="gpu-0", state="healthy", reason=""}', 'cardcage_module_state{module="gpu", state="ready"}')]
    in_order = {"name": "a node in order", "interval": "1m", "input_series": healthy,
                "promql_expr_test": [{"expr": "ALERTS", "eval_time": "120m", "exp_samples": []}]}
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(CHART / "files/alerts.yaml")], "tests": [in_order, *map(alert_test, RULES)]}))
    promtool("test", "rules", file)


def recorded(name: str, *samples: tuple[str, float]) -> dict:
    return {"expr": name, "eval_time": "20m", "exp_samples": [{"labels": name + labels, "value": value} for labels, value in samples]}


def test_sums_are_recorded(tmp_path):
    """Two devices of one driver, one of them held twice; a prepare each second, one of 60 fails."""
    health = 'cardcage_device_health{module="gpu", served_by="gpu.example.com"'
    held = 'cardcage_device_held{served_by="gpu.example.com", id="gpu-0"'
    series = [sample(f'{health}, id="gpu-0", state="healthy"}}', "1x30"), sample(f'{health}, id="gpu-1", state="unhealthy"}}', "1x30"),
              sample(f'{held}, claim="a"}}', "1x30"), sample(f'{held}, claim="b"}}', "1x30"), *slow_prepares(0),
              sample(f'cardcage_call_seconds_count{{{PREPARE}, code="ok"}}', "0+59x30"),
              sample(f'cardcage_call_seconds_count{{{PREPARE}, code="unavailable"}}', "0+1x30")]
    served, call = 'instance="node-1", served_by="gpu.example.com"', 'call="prepare", instance="node-1", name="gpu.example.com"'
    expected = [
        recorded("cardcage:devices:sum", (f'{{{served}, module="gpu", state="healthy"}}', 1), (f'{{{served}, module="gpu", state="unhealthy"}}', 1)),
        recorded("cardcage:devices_held:count", (f"{{{served}}}", 1)),
        recorded("cardcage:call_seconds:p99_5m", (f"{{{call}}}", 0.99)),
        recorded("cardcage:calls_failed:rate5m", (f'{{{call}, code="unavailable"}}', 1 / 60))]
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(CHART / "files/rules.yaml")], "tests": [
        {"name": "sums", "interval": "1m", "input_series": series, "promql_expr_test": expected}]}))
    promtool("test", "rules", file)

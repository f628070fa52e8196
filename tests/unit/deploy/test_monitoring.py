"""The dashboard and the manual match the existing metrics."""

import json
import re
from typing import Any

import pytest
import yaml

from portal.metrics import Metrics
from tests.paths import CHECKOUT

DASHBOARD = json.loads((CHECKOUT / "deploy/grafana/portal.json").read_text(encoding="utf-8"))
MANUAL = (CHECKOUT / "docs/operation.md").read_text(encoding="utf-8")
NAME = re.compile(r"\b(?:portal|process)_[a-z_]+\b")
PARTS = ("_bucket", "_sum", "_count")


def metrics() -> dict[str, set[str]]:
    """Return each metric's name in Prometheus with its labels."""
    registry, found = Metrics().registry, {}
    for collector in registry._collector_to_names:
        for family in collector.collect():
            name = f"{family.name}_total" if family.type == "counter" else family.name
            labels = set(getattr(collector, "_labelnames", ()))
            found[name] = labels | ({"le"} if family.type == "histogram" else set())
    assert len(found) > 20
    return found


def base(name: str, known: dict[str, set[str]]) -> str:
    """Return a histogram's name, given the name of one of its series."""
    names = [name.removesuffix(part) for part in PARTS if name.endswith(part)]
    return next((found for found in names if "le" in known.get(found, ())), name)


def expressions() -> list[str]:
    panels: list[dict[str, Any]] = DASHBOARD["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


@pytest.mark.parametrize("expression", expressions())
def test_the_dashboard_asks_for_what_there_is(expression: str) -> None:
    known = metrics()
    named = NAME.findall(expression)
    assert named
    for name in named:
        assert base(name, known) in known
    labels = set(re.findall(r"([a-z_]+)(?:=|!=|=~|!~)\"", expression))
    for words in re.findall(r"\bby \(([^)]*)\)", expression):
        labels |= set(words.replace(" ", "").split(","))
    for name in named:
        assert labels <= known[base(name, known)]


def test_alert_rules_are_those_of_the_manual() -> None:
    rules = yaml.safe_load((CHECKOUT / "deploy/prometheus/alerts.yml").read_text())["groups"][0][
        "rules"
    ]
    table = MANUAL.partition("### Alerts")[2].partition("### Dashboard")[0]
    assert [rule["expr"] for rule in rules] == re.findall(r"^\| `([^`]+)`", table, re.M)
    for rule in rules:
        for name in NAME.findall(rule["expr"]):
            assert base(name, metrics()) in metrics()
        assert rule["annotations"]["summary"]


def test_the_dashboard_is_whole() -> None:
    panels = DASHBOARD["panels"]
    rows = [panel["title"] for panel in panels if panel["type"] == "row"]
    assert rows == [
        "Usage", "Waits and spawns", "Slurm", "Directory and JupyterHub", "Proxy", "Errors",
    ]  # fmt: skip
    ids = [panel["id"] for panel in panels]
    assert len(set(ids)) == len(ids)
    for panel in panels:
        if panel["type"] != "row":
            assert panel["datasource"]["uid"] == "${source}"
            assert panel["description"]
            assert panel["targets"]


def test_the_dashboards_panels_lie_beside_each_other() -> None:
    taken = set[tuple[int, int]]()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        columns, rows = range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])
        cells = {(x, y) for x in columns for y in rows}
        assert not cells & taken
        taken |= cells


def test_the_dashboards_datasource_is_chosen_in_grafana() -> None:
    (variable,) = DASHBOARD["templating"]["list"]
    assert (variable["name"], variable["type"], variable["query"]) == (
        "source", "datasource", "prometheus",
    )  # fmt: skip
    assert 8 <= len(DASHBOARD["uid"]) <= 40


@pytest.mark.parametrize("expression", [text for text in expressions() if "process_" in text])
def test_of_processes_it_shows_the_portals_alone(expression: str) -> None:
    """Other programs' exporters use the same names."""
    assert expression.endswith(" and on (job, instance) portal_leads")


def test_what_is_rare_is_there_before_it_comes() -> None:
    """Prometheus notices an increase only from one scrape to the next."""
    sample = Metrics().registry.get_sample_value
    assert sample("portal_jobs_ended_total", {"kind": "job", "outcome": "failed"}) == 0
    assert sample("portal_jobs_ended_total", {"kind": "session", "outcome": "unknown"}) == 0
    assert sample("portal_queue_wait_seconds_count", {"kind": "tensorboard"}) == 0
    for slug in ("internal", "slurm-unreachable", "directory-unavailable"):
        assert sample("portal_errors_total", {"type": slug}) == 0
    assert sample("portal_errors_total", {"type": "not-found"}) is None
    assert sample("portal_launcher_seconds_count", {"operation": "submit"}) == 0
    assert sample("portal_hub_failures_total", {"method": "POST"}) == 0


def test_the_dashboard_shows_every_metric_of_ours() -> None:
    known = metrics()
    shown = {base(name, known) for text in expressions() for name in NAME.findall(text)}
    assert {name for name in known if name.startswith("portal_")} - shown == set()


def test_the_manual_names_every_metric_with_its_labels_and_no_other() -> None:
    known = metrics()
    rows = re.findall(r"^\| (`(?:portal|process)_[^|]*) \|([^|]*)\| (.*) \|$", MANUAL, re.M)
    documented: dict[str, set[str]] = {}
    for names, labels, _ in rows:
        for name in NAME.findall(names):
            documented[name] = set(re.findall(r"`(\w+)`", labels))
    assert documented == {name: labels - {"le"} for name, labels in known.items()}
    mentioned = {base(name, known) for name in NAME.findall(MANUAL)}
    assert mentioned <= set(known)


def test_gauges_are_called_so_in_the_manual() -> None:
    for collector in Metrics().registry._collector_to_names:
        for family in collector.collect():
            if family.type == "gauge" and family.name.startswith("portal_"):
                (row,) = re.findall(rf"^\| `{family.name}` .*$", MANUAL, re.M)
                assert "gauge" in row


def test_names_keep_to_the_conventions() -> None:
    for name, labels in metrics().items():
        assert not name.endswith(("_ms", "_minutes", "_milliseconds"))
        if "le" in labels:
            assert name.endswith("_seconds")
        assert not labels & {"user", "username", "path", "url", "name_of_job"}

"""Prometheus metrics: requests to the portal, response times of other systems, and failures.

They are few, and no label contains user input: routes are named by their templates, and other
labels are fixed words or names from the settings. docs/operation.md explains each metric.
"""

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from portal.errors import PortalError
from portal.models import JobKind
from spawner.slurm.model import Outcome

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Seconds.
REQUEST_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30)
SLURM_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
EDGE_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)
LAUNCHER_BUCKETS = (0.01, 0.05, 0.25, 1, 5, 30)
SPAWN_BUCKETS = (1, 1.5, 2, 3, 5, 10, 20, 30, 60, 120, 300, 600)
WAIT_BUCKETS = (1, 5, 15, 60, 300, 900, 3600, 14400, 43200, 86400)

UNKNOWN = "unknown"  # the outcome of a job that ended for an unknown reason

# Without this, each counter has a second series that is not used.
prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]


class ExternalSystemMetrics:
    """Response times and failures of one external system.

    Called as `spawner.timing.Measure`; the request is the label, if there is one.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        name: str,
        about: str,
        label: str | None = None,
        buckets: Sequence[float] = EDGE_BUCKETS,
    ) -> None:
        labels = (label,) if label else ()
        self._seconds = Histogram(
            f"portal_{name}_seconds",
            f"Response time of {about}, including failures",
            labels,
            buckets=buckets,
            registry=registry,
        )
        self._failures = Counter(
            f"portal_{name}_failures",
            f"Requests without a response from {about}",
            labels,
            registry=registry,
        )
        self._labelled = label is not None

    def known(self, *words: str) -> None:
        """Create the series of the expected requests before the first one."""
        for word in words:
            self._seconds.labels(word)
            self._failures.labels(word)

    def __call__(self, what: str, seconds: float, answered: bool) -> None:
        labels = (what,) if self._labelled else ()
        histogram = self._seconds.labels(*labels) if labels else self._seconds
        histogram.observe(seconds)
        failures = self._failures.labels(*labels) if labels else self._failures
        failures.inc(0 if answered else 1)  # 0 creates the series before the first failure


class Metrics:
    """The metrics, with one registry per application, so that several can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._create_web_metrics()
        self._create_work_metrics()
        self._create_edge_metrics()
        self._create_series()

    def _create_series(self) -> None:
        """Create rare series with 0 in advance. Prometheus sees an increase only between two reads,
        so that the first event would be lost.
        """
        for kind in JobKind:
            self.queue_wait.labels(kind.value)
        for kind, outcome in itertools.product(JobKind, (*Outcome, UNKNOWN)):
            self.jobs_ended.labels(kind.value, str(outcome))
        for slug in sorted(
            {kind.slug for kind in _iterate_kinds(PortalError) if kind.status >= 500}
        ):
            self.errors.labels(slug)
        self.slurm.known("squeue", "sacct", "sdiag", "scontrol", "sacctmgr", "scancel")
        self.launcher.known("submit", "cancel", "step")
        self.hub.known("GET", "POST", "DELETE")

    def _create_web_metrics(self) -> None:
        registry = self.registry
        self.requests = Counter(
            "portal_requests",
            "HTTP requests",
            ("method", "route", "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "portal_request_seconds",
            "Time until the response was complete",
            ("route",),
            buckets=REQUEST_BUCKETS,
            registry=registry,
        )
        self.errors = Counter(
            "portal_errors",
            "Responses with status 500 or higher, by problem type",
            ("type",),
            registry=registry,
        )

    def _create_work_metrics(self) -> None:
        registry = self.registry
        self.leads = Gauge(
            "portal_leads",
            "1 if this portal is the leader, 0 if it is on standby",
            registry=registry,
        )
        self.jobs = Gauge(
            "portal_jobs",
            "Sessions, jobs and TensorBoards that have not ended",
            ("kind", "state"),
            registry=registry,
        )
        self.jobs_ended = Counter(
            "portal_jobs_ended",
            "Sessions, jobs and TensorBoards that have ended",
            ("kind", "outcome"),
            registry=registry,
        )
        self.queue_wait = Histogram(
            "portal_queue_wait_seconds",
            "Time from submission to Slurm until the job starts",
            ("kind",),
            buckets=WAIT_BUCKETS,
            registry=registry,
        )
        self.spawn = Histogram(
            "portal_spawn_seconds",
            (
                "Time from the request for a session until its server responds, without the time "
                "in the queue"
            ),
            buckets=SPAWN_BUCKETS,
            registry=registry,
        )
        self.loop_seconds = Histogram(
            "portal_loop_seconds",
            "Duration of a successful step of a background loop",
            ("loop",),
            buckets=EDGE_BUCKETS,
            registry=registry,
        )
        self.loop_succeeded_at = Gauge(
            "portal_loop_succeeded_timestamp_seconds",
            "Time of the last successful step of a background loop",
            ("loop",),
            registry=registry,
        )
        self.background_failures = Counter(
            "portal_background_failures",
            "Failed steps of background loops, and failed tasks that will be retried",
            ("task",),
            registry=registry,
        )

    def _create_edge_metrics(self) -> None:
        registry = self.registry
        self.slurm = ExternalSystemMetrics(
            registry, "slurm", "a Slurm command", "command", SLURM_BUCKETS
        )
        self.launcher = ExternalSystemMetrics(
            registry, "launcher", "a launcher", "operation", LAUNCHER_BUCKETS
        )
        self.directory = ExternalSystemMetrics(
            registry, "directory", "a directory server", "server"
        )
        self.hub = ExternalSystemMetrics(registry, "hub", "JupyterHub", "method")
        self.proxy = ExternalSystemMetrics(registry, "proxy", "a TensorBoard (response headers)")
        self.proxy_open = Gauge(
            "portal_proxy_open", "TensorBoard responses being proxied", registry=registry
        )
        self.proxy_bytes = Counter(
            "portal_proxy_bytes", "Bytes of TensorBoard responses proxied", registry=registry
        )
        self.slurm_stale = Gauge(
            "portal_slurm_stale_seconds",
            "Age of the last data from Slurm; 0 while Slurm responds",
            registry=registry,
        )
        self.part_up = Gauge(
            "portal_part_up",
            "1 if the component works, as shown on Admin > Status",
            ("part", "name"),
            registry=registry,
        )

    def render(
        self,
        live_jobs: Iterable[tuple[str, str, int]],
        parts: Iterable[tuple[str, str, bool]] = (),
        slurm_stale_s: float = 0.0,
    ) -> bytes:
        """Return Prometheus' text. The values of gauges are `live_jobs` as (kind, state, count),
        and `parts` as (part, name, healthy).
        """
        self.jobs.clear()
        for kind, state, count in live_jobs:
            self.jobs.labels(kind, state).set(count)
        self.part_up.clear()
        for part, name, healthy in parts:
            self.part_up.labels(part, name).set(healthy)
        self.slurm_stale.set(slurm_stale_s)
        return prometheus_client.generate_latest(self.registry)


def _iterate_kinds(kind: type[PortalError]) -> Iterator[type[PortalError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _iterate_kinds(child)


class CountRequests:
    """Middleware that counts responses by the route's template.

    A route does not know the `prefix` that its router was given, so it is added here.
    """

    METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

    def __init__(self, app: Any, metrics: Metrics, prefix: str) -> None:
        self.app = app
        self.metrics = metrics
        self.prefix = prefix

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 500

        async def watch(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watch)
        finally:
            prefix = self.prefix if scope["path"].startswith(f"{self.prefix}/") else ""
            route = prefix + getattr(scope.get("route"), "path", "none")
            method = scope["method"] if scope["method"] in self.METHODS else "other"
            self.metrics.requests.labels(method, route, str(status)).inc()
            self.metrics.seconds.labels(route).observe(time.perf_counter() - started)

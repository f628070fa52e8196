"""Numbers for Prometheus: how many requests, how long they took, and how logins end.

No label holds anything a user wrote: routes are named by their templates.
"""

import time
from collections.abc import Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)


class Metrics:
    """One registry per application, so that several can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "portal_requests",
            "HTTP requests answered",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "portal_request_seconds",
            "Time until an answer was complete",
            ("route",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self.jobs = Gauge(
            "portal_jobs",
            "Sessions, jobs and tensorboards that have not ended",
            ("kind", "state"),
            registry=self.registry,
        )

    def render(self, live_jobs: Iterable[tuple[str, str, int]]) -> bytes:
        """Prometheus' text; `live_jobs` are (kind, state, count) as they are now."""
        self.jobs.clear()
        for kind, state, count in live_jobs:
            self.jobs.labels(kind, state).set(count)
        return generate_latest(self.registry)


class CountRequests:
    """Middleware: counts what the application answers, by the route's template.

    A route doesn't know the `prefix` that its router was given, so those are told apart here.
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

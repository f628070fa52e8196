"""Rendered templates as jobs of a real Slurm, submitted as the portal does."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from cluster.config.paths import Paths
from spawner.catalog.environment import Catalog
from spawner.catalog.jobscript import JobContext, RenderedJob, render_job, render_script
from spawner.catalog.template import check_parameters, load_templates
from spawner.launcher.sbatch import sbatch_options
from spawner.slurm.model import JobSpec, Resources
from tests.live import Live
from tests.polling import PATIENCE_S, T, wait_until

SMALL: dict[str, Any] = {"cpus": 2, "memory_gb": 3, "time_limit_minutes": 30, "partition": "debug"}


@dataclass(frozen=True)
class Run:
    """One submitted job of alice's."""

    live: Live
    job_id: int
    folder: Path
    logdir: Path
    rendered: RenderedJob

    def states(self) -> dict[str, str]:
        """Return Slurm's state of each task; a plain job has one task with an empty name."""
        printed = self.live.exec_as(
            "alice",
            ["sacct", "-X", "-n", "-P", "-j", str(self.job_id), "--format=JobID,State"],
        )
        rows = (line.split("|") for line in printed.splitlines())
        return {job.partition("_")[2]: state.split(" ")[0] for job, state in rows}

    def _wait_until(
        self, probe: Callable[[], T], what: str, bound_s: float, done: Callable[[T], object]
    ) -> T:
        try:
            return wait_until(probe, what, bound_s, done=done, pause_s=0.2)
        except AssertionError:
            print(self.states(), self.output(), sep="\n")
            raise

    def ended(self, bound_s: float = PATIENCE_S) -> dict[str, str]:
        """Return the states, once all tasks have ended."""
        live = {"PENDING", "RUNNING", "REQUEUED", "COMPLETING"}
        return self._wait_until(
            self.states, "all tasks end", bound_s, lambda s: s and not live & set(s.values())
        )

    def output(self, name: str = "*.log") -> str:
        """Return the output of all tasks."""
        return "".join(path.read_text() for path in sorted(self.folder.glob(name)))

    def wait_for_output(self, text: str, bound_s: float = PATIENCE_S) -> None:
        """Wait until the output contains this text."""
        self._wait_until(self.output, f"{text} in the output", bound_s, lambda out: text in out)

    def start_now(self, bound_s: float = PATIENCE_S) -> None:
        """Start a requeued job, which would otherwise wait for two minutes in Slurm."""
        self._wait_until(
            self.states, "all tasks pend", bound_s, lambda s: set(s.values()) == {"PENDING"}
        )
        now = ["scontrol", "update", f"JobId={self.job_id}", "StartTime=now"]
        self.live.exec_as("alice", now)

    def completed(self, bound_s: float = PATIENCE_S) -> str:
        """Return the output, after checking that the job completed."""
        states = self.ended(bound_s)
        assert set(states.values()) == {"COMPLETED"}, f"{states}\n{self.output()}"
        return self.output()


def run_template(
    live: Live, root: Path, name: str, parameters: Mapping[str, Any], **resources: Any
) -> Run:
    """Submit a template's job as alice."""
    template = load_templates()[name]
    values, problems = check_parameters(template, parameters)
    assert problems == []
    asked = Resources(**{**template.default_resources, **SMALL, **resources})
    place = _place(live, root, template.environment, asked)
    return submit(live, place, render_job(template, values, place))


def run_script(live: Live, root: Path, script: str, environment: str | None = None) -> Run:
    place = _place(live, root, environment, Resources(**SMALL))
    return submit(live, place, render_script(script, place, place.environment))


def _place(live: Live, root: Path, environment: str | None, resources: Resources) -> JobContext:
    uuid = str(uuid4())
    home = str(Paths(live.state).home / "alice")
    environments = Catalog.load(image_dir=root / "images").environments
    return JobContext(
        uuid=uuid,
        username="alice",
        home=home,
        runtime_dir=str(root / "runtime"),
        apptainer=shutil.which("apptainer") or "/usr/bin/apptainer",
        logdir=f"{home}/portal/runs/{uuid[:8]}",
        environment=environments[environment] if environment else None,
        resources=resources,
        node_dir=f"/tmp/portal-{uuid[:13]}",
    )


def submit(live: Live, place: JobContext, rendered: RenderedJob) -> Run:
    """Submit as the launcher does: create the user's folder with the files, then run sbatch."""
    folder = Path(place.home) / ".local/share/portal/jobs" / place.uuid
    live.exec_as("alice", ["mkdir", "-p", "-m", "700", str(folder)])
    owner = folder.stat()
    for name, text in {**rendered.files, "script.sh": rendered.script}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)
        os.chown(folder / name, owner.st_uid, owner.st_gid)
    spec = JobSpec(
        uuid=place.uuid,
        name="test",
        resources=place.resources,
        script=rendered.script,
        requeue=rendered.requeue,
        signal=rendered.signal,
    )
    if rendered.array:
        spec = replace(
            spec,
            array=f"0-{rendered.array - 1}",
            stdout="stdout-%a.log",
            stderr="stderr-%a.log",
        )
    options = [*sbatch_options(spec), f"--chdir={place.home}"]
    printed = live.exec_as("alice", ["sbatch", *options, str(folder / "script.sh")])
    return Run(live, int(printed.strip()), folder, Path(place.logdir), rendered)


def scalars(logdir: Path, tag: str) -> list[float]:
    """Return a scalar's values, ordered by step, read from TensorBoard's event files.

    The format is TFRecord: length, checksum, data, checksum. Of the Event and Summary messages only
    the fields with a scalar's tag and value are parsed.
    """
    found: dict[int, float] = {}
    for path in sorted(logdir.rglob("events.out.tfevents.*")):
        data, at = path.read_bytes(), 0
        while at + 12 <= len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            event = _fields(data[at + 12 : at + 12 + length])
            at += length + 16
            for summary in event.get(5, []):
                for value in _fields(summary).get(1, []):
                    fields = _fields(value)
                    if fields.get(1) == [tag.encode()] and 2 in fields:
                        (step,) = event.get(2, [0])
                        (found[step],) = struct.unpack("<f", fields[2][0])
    return [found[step] for step in sorted(found)]


def _fields(data: bytes) -> dict[int, list[Any]]:
    """Return a protocol buffer's fields by number, parsed by wire format only."""
    fields: dict[int, list[Any]] = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
        else:
            length, at = _varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value, at = data[at : at + length], at + length  # type: ignore[assignment]
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at

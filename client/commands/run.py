"""`run`: upload the working folder and submit a job that runs a program in it."""

from __future__ import annotations

import secrets
import shlex
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import operations
from ..errors import JobFailed, UsageProblem
from ..files.folder import MAX_BYTES, LocalFile, collect_folder
from ..files.remote import RemoteFiles, join, to_remote_name
from ..files.transfer import FileTransfer
from ..models import COMPLETED, ENDED, RUNNING, JobSummary, RemotePlace, TemplateSchema
from ..text import format_bytes
from .jobs import describe, follow_log, state_of
from .options import (
    POLL_S,
    AccountOption,
    CommandContext,
    CpusOption,
    EnvironmentOption,
    GpusOption,
    GpuTypeOption,
    JsonOption,
    MemoryOption,
    MinutesOption,
    NameOption,
    PartitionOption,
    PortalOption,
    QosOption,
    open_context,
    to_resources,
)

RUNS = "~/portal-runs"
INTERPRETERS: Mapping[str, str] = {
    ".py": "python3", ".sh": "bash", ".r": "Rscript", ".jl": "julia", ".lua": "th",
}  # fmt: skip
FLAGS = {"true": True, "yes": True, "false": False, "no": False}
MEBIBYTE = 1024 * 1024
MAX_NAME = 60


@dataclass(frozen=True)
class RunRequest:
    """What to run: a program of the folder, a template, or a template with a program."""

    program: str | None
    arguments: Sequence[str] = ()
    template: str | None = None
    values: Sequence[str] = ()
    environment: str | None = None
    name: str | None = None
    resources: Mapping[str, Any] = field(default_factory=dict)


def run(
    program: Annotated[
        str | None, typer.Argument(help="A program in the working folder, such as train.py.")
    ] = None,
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[-- ARGUMENTS…]", help="Its arguments.")
    ] = None,
    template: Annotated[str | None, typer.Option("--template", help="A job template.")] = None,
    values: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the template."),
    ] = None,
    env: EnvironmentOption = None,
    name: NameOption = None,
    gpus: GpusOption = None,
    gpu_type: GpuTypeOption = None,
    cpus: CpusOption = None,
    memory_gb: MemoryOption = None,
    minutes: MinutesOption = None,
    nodes: Annotated[int | None, typer.Option("--nodes", min=1, help="Nodes.")] = None,
    partition: PartitionOption = None,
    account: AccountOption = None,
    qos: QosOption = None,
    folder: Annotated[
        Path, typer.Option("--folder", help="The folder to upload.", file_okay=False, exists=True)
    ] = Path(),
    max_mb: Annotated[
        int, typer.Option("--max-mb", min=1, help="The largest folder to upload, in MiB.")
    ] = MAX_BYTES // MEBIBYTE,
    wait: Annotated[
        bool, typer.Option("--wait", help="Show the output, and exit with the job's outcome.")
    ] = False,
    portal: PortalOption = None,
    as_json: JsonOption = False,
) -> None:
    """Upload the working folder, and run a program of it, or a template, as a job."""
    request = RunRequest(
        program, arguments or (), template, values or (), env, name,
        to_resources(
            gpus=gpus, gpu_type=gpu_type, cpus=cpus, memory_gb=memory_gb, nodes=nodes,
            time_limit_minutes=minutes, partition=partition, account=account, qos=qos,
        ),
    )  # fmt: skip
    context = open_context(portal, as_json=as_json)
    job = submit(context, request, folder, max_mb * MEBIBYTE)
    context.output.note(f"{describe(job)} was submitted.")
    if wait:
        job = wait_for_end(context, job)
    context.output.result(job, "" if wait else job.id)
    check_outcome(job, waited=wait)


def submit(
    context: CommandContext, request: RunRequest, folder: Path, max_bytes: int
) -> JobSummary:
    """Upload the folder if a program of it is to run, and submit the job.

    Whatever can be refused here is refused before anything is sent.
    """
    check_request(request, folder)
    schema = None
    if request.template is not None:
        schema = context.connection.call(operations.GET_TEMPLATE, {"name": request.template})
    build_body(request, schema, "")
    where = ""
    if request.program is not None:
        where = upload_folder(context, collect_folder(folder, max_bytes), request.program)
    body = build_body(request, schema, where)
    return context.connection.call(operations.SUBMIT_JOB, body=body, key=str(uuid.uuid4()))


def check_request(request: RunRequest, folder: Path) -> None:
    """Raise UsageProblem for a request that can't be run."""
    if request.program is None and request.template is None:
        raise UsageProblem("Name a program to run, or a template with --template.")
    if request.values and request.template is None:
        raise UsageProblem(
            "--set is for the parameters of a template.", "Name one with --template."
        )
    if request.program is None:
        return
    path = Path(request.program)
    if path.is_absolute() or ".." in path.parts or not (folder / path).is_file():
        raise UsageProblem(
            f"There is no file {request.program} in the folder {folder.resolve()}.",
            "Run dsp in the folder of your project, or name it with --folder.",
        )
    if request.template is None:
        _find_interpreter(path)


def parse_values(values: Sequence[str], schema: TemplateSchema) -> dict[str, Any]:
    """Return the parameters that `--set` gives, with the types of the template. Pure.

    A list takes its items from several `--set` of its name. Raises UsageProblem.
    """
    properties = schema.parameters.get("properties", {})
    parsed: dict[str, Any] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or name not in properties:
            known = ", ".join(sorted(properties)) or "none"
            raise UsageProblem(
                f"--set {text}: {schema.name} has no such parameter.", f"Its parameters: {known}."
            )
        kinds = properties[name].get("type", "string")
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if "array" in kinds:
            item = properties[name].get("items", {}).get("type", "string")
            parsed.setdefault(name, []).append(_parse_value(text, value, [item]))
        else:
            parsed[name] = _parse_value(text, value, kinds)
    return parsed


def build_body(request: RunRequest, schema: TemplateSchema | None, where: str) -> dict[str, Any]:
    """Return the job to submit; `where` is the uploaded folder's full path. Pure.

    Raises UsageProblem for a template that runs no program of the user.
    """
    body: dict[str, Any] = {"resources": dict(request.resources)}
    if request.environment is not None:
        body["environment"] = request.environment
    name = request.name or (Path(request.program).stem if request.program else None)
    if name:
        body["name"] = name[:MAX_NAME]
    if schema is None:
        body["script"] = render_script(where, request.program or "", request.arguments)
        return body
    body |= {"template": schema.name, "parameters": parse_values(request.values, schema)}
    if request.program is None:
        return body
    properties = schema.parameters.get("properties", {})
    if "script" not in properties:
        raise UsageProblem(f"The template {schema.name} has no parameter `script`.")
    body["parameters"]["script"] = f"{where}/{request.program}"
    if request.arguments:
        body["parameters"]["arguments"] = list(request.arguments)
    return body


def render_script(where: str, program: str, arguments: Sequence[str]) -> str:
    """Return the job's script: the program, started in the uploaded folder. Pure."""
    command = [_find_interpreter(Path(program)), f"./{program}", *arguments]
    return f"#!/bin/bash\ncd -- {shlex.quote(where)} || exit\nexec {shlex.join(command)}\n"


def upload_folder(context: CommandContext, files: Sequence[LocalFile], program: str) -> str:
    """Upload the files to a new folder of the home, and return its full path."""
    if Path(program).as_posix() not in {file.name for file in files}:
        raise UsageProblem(f"{program} is excluded from the upload.", "Change .dspignore.")
    remote = RemoteFiles(context.connection)
    stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    name = to_remote_name(f"{Path(program).stem}-{stamp}-{secrets.token_hex(2)}")
    place = join(remote.find_place(RUNS), name)
    _send_files(context, remote, files, place)
    home = remote.home_path().rstrip("/")
    return f"{home}/{place.path}"


def wait_for_end(context: CommandContext, job: JobSummary) -> JobSummary:
    """Show the job's output until it ends, and return the ended job."""
    path = {"batch_job_id": job.id}
    shown = ""
    while job.state not in {RUNNING, ENDED}:
        if shown != job.state:
            shown = job.state
            context.output.note(f"{describe(job)}: {job.state}. {job.reason or ''}".rstrip())
        time.sleep(POLL_S)
        job = context.connection.call(operations.GET_JOB, path)
    for piece in follow_log(context.connection, job.id, {"stream": "stdout"}, 0):
        if not context.output.as_json:
            context.output.log(piece.text)
    while job.state != ENDED:
        time.sleep(POLL_S)
        job = context.connection.call(operations.GET_JOB, path)
    return job


def check_outcome(job: JobSummary, *, waited: bool) -> None:
    """Raise JobFailed for a job that was waited for and did not complete."""
    if not waited or job.outcome == COMPLETED:
        return
    code = f", exit code {job.exit_code}" if job.exit_code is not None else ""
    reason = f" {job.reason}" if job.reason else ""
    outcome = state_of(job.state, job.outcome)
    raise JobFailed(f"{describe(job)} ended: {outcome}{code}.{reason}", job.suggestion or "")


def _send_files(
    context: CommandContext, remote: RemoteFiles, files: Sequence[LocalFile], place: RemotePlace
) -> None:
    size = sum(file.size for file in files)
    context.output.note(f"Uploading {len(files)} files, {format_bytes(size)}.")
    transfer = FileTransfer(context.connection)
    remote.create_folder(place)
    for folder in sorted({Path(file.name).parent.as_posix() for file in files} - {"."}):
        remote.create_folder(join(place, to_remote_name(folder)))
    sent = 0
    with context.output.transfer("Upload", size) as advance:
        for file in files:
            target = join(place, to_remote_name(file.name))
            done = sent

            def report(part: int, done: int = done) -> None:
                advance(done + part)

            transfer.upload(file.path, target, overwrite=False, advance=report)
            sent += file.size


def _find_interpreter(path: Path) -> str:
    known = INTERPRETERS.get(path.suffix.lower())
    if known is None:
        raise UsageProblem(
            f"{path} is not a program that dsp can start.",
            f"Known: {', '.join(INTERPRETERS)}. Start others from a shell script.",
        )
    return known


def _parse_value(text: str, value: str, kinds: Sequence[str]) -> Any:
    """Return the value as the first type that it fits."""
    if "null" in kinds and value == "":
        return None
    parsers: dict[str, Any] = {"integer": int, "number": float, "boolean": _parse_flag}
    for kind in kinds:
        if kind == "string":
            return value
        if kind in parsers:
            try:
                return parsers[kind](value)
            except ValueError:
                continue
    raise UsageProblem(f"--set {text}: this is not of the type {' or '.join(kinds)}.")


def _parse_flag(value: str) -> bool:
    try:
        return FLAGS[value.lower()]
    except KeyError:
        raise ValueError(value) from None

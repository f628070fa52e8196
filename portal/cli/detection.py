"""Discovery for `portal init`: small independent functions, so that a failure of one does not stop
the others.

Each function that searches returns what it found, followed by a sentence for each thing that was
not found.
"""

import asyncio
import os
import re
import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from portal.directory.discovery import Address, DirectoryFound, DiscoveryFailed, discover
from spawner import subprocesses
from spawner.errors import SlurmError
from spawner.slurm.accounting import Accounting
from spawner.slurm.model import NodeInfo, PartitionInfo

MODULES_INIT = ("/etc/profile.d/lmod.sh", "/etc/profile.d/modules.sh")
# The path of the init file is an argument of the script, never part of it.
LIST_MODULES_SCRIPT = 'source "$1" && module --terse avail 2>&1'
MODULES_TIMEOUT_S = 30.0
LDAP_CLIENT_FILES = ("/etc/nslcd.conf", "/etc/ldap/ldap.conf", "/etc/openldap/ldap.conf")
CONFIG_LINE = re.compile(r"^\s*([A-Za-z_]+)\s+(.*?)\s*$", re.MULTILINE)
MODULE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*(/[A-Za-z0-9_.+-]+)*")
MAX_LISTED = 200


@dataclass(frozen=True)
class SlurmFound:
    """The findings about Slurm.

    `accounts`: the limits of each account itself, according to Slurm's accounting; empty without
    accounting.
    """

    bin_dir: Path
    conf: Path | None
    version: str
    cluster: str
    partitions: tuple[PartitionInfo, ...]
    nodes: tuple[NodeInfo, ...]
    accounts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    qos: frozenset[str] = frozenset()
    enforces: frozenset[str] = frozenset()


@dataclass(frozen=True)
class DetectedEnvironments:
    """The images, modules and virtualenvs found, and the folders that were searched.

    `runtime_dir` is from the command line, and need not exist yet.
    """

    runtime_dir: Path | None = None
    image_dir: Path | None = None
    images: tuple[str, ...] = ()
    modules_init: Path | None = None
    modules: tuple[str, ...] = ()
    virtualenvs: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Detected:
    """All findings; `missing` is a sentence for each thing that was not found."""

    host: str | None
    slurm: SlurmFound | None = None
    address: Address | None = None
    address_source: str = ""
    directory: DirectoryFound | None = None
    environments: DetectedEnvironments = DetectedEnvironments()
    programs: Mapping[str, Path] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class DetectionOptions:
    """The operator's command line options; None: search for it."""

    host: str | None = None
    slurm_bin_dir: Path | None = None
    slurm_conf: Path | None = None
    address: Address | None = None
    base: str | None = None
    runtime: Path | None = None
    images: Path | None = None
    modules_init: Path | None = None
    virtualenvs: Path | None = None


async def detect(options: DetectionOptions) -> Detected:
    """Run all searches concurrently."""
    address, base, source = options.address, options.base, "the command line"
    if address is None:
        address, base, source = find_client_address(LDAP_CLIENT_FILES) or (None, None, "")
        base = options.base or base
    (
        (slurm, *no_slurm),
        (directory, *no_directory),
        (environments, *no_environments),
    ) = await asyncio.gather(
        find_slurm(options), find_directory(address, base), find_environments(options)
    )
    return Detected(
        host=options.host or find_own_name(),
        slurm=slurm,
        address=address,
        address_source=source,
        directory=directory,
        environments=environments,
        programs=find_programs(),
        missing=(*no_slurm, *no_directory, *no_environments),
    )


def find_own_name() -> str | None:
    """Return this machine's name, if other machines can know it."""
    name = socket.getfqdn()
    return name if "." in name and not name.startswith("localhost") else None


# --- Slurm ----------------------------------------------------------------------------------------


async def find_slurm(options: DetectionOptions) -> tuple[SlurmFound | None, *tuple[str, ...]]:
    """Return what Slurm reports, and a sentence for what it doesn't."""
    program = shutil.which("sinfo")
    bin_dir = options.slurm_bin_dir or (Path(program).parent if program else None)
    if bin_dir is None:
        return None, "Slurm: sinfo isn't on the PATH; set its folder with --slurm-bin-dir."
    accounting = Accounting(bin_dir, options.slurm_conf)
    try:
        version = await accounting.version()
        partitions, nodes = await accounting.partitions(), await accounting.nodes()
    except SlurmError as error:
        return None, f"Slurm: {_to_text(error)}"
    try:
        facts = await accounting.facts()
        associations = await accounting.associations(facts.cluster)
    except SlurmError as error:
        known = SlurmFound(bin_dir, options.slurm_conf, version, "", partitions, nodes)
        return known, f"Slurm's accounting: {_to_text(error)}"
    accounts = {
        account: limits
        for (account, user, partition), limits in associations.items()
        if not user and not partition
    }
    cluster, qos, enforces = facts.cluster, facts.qos, facts.enforces
    return (
        SlurmFound(
            bin_dir,
            options.slurm_conf,
            version,
            cluster,
            partitions,
            nodes,
            accounts,
            qos,
            enforces,
        ),
    )


def _to_text(error: SlurmError) -> str:
    return " ".join(f"{error.message} {error.stderr[:200]}".split())


# --- the directory --------------------------------------------------------------------------------


def find_client_address(files: tuple[str, ...]) -> tuple[Address, str | None, str] | None:
    """Return the configuration of this machine's LDAP client: address, base, and its file."""
    for name in files:
        try:
            text = Path(name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # another client's file, or an unreadable one
        # reversed, because the first of several lines with one keyword counts
        words = {key.lower(): value for key, value in reversed(CONFIG_LINE.findall(text))}
        urls = words.get("uri", "").split()
        if not urls:
            continue
        ca = words.get("tls_cacertfile") or words.get("tls_cacert")
        file = Path(ca) if ca else None
        trusted = file if file and file.is_file() else None
        return Address(urls[0], ca_file=trusted), words.get("base"), name
    return None


async def find_directory(
    address: Address | None, base: str | None
) -> tuple[DirectoryFound | None, *tuple[str, ...]]:
    """Return what the directory contains, and a sentence for what was not found."""
    if address is None:
        return (
            None,
            "The directory: no LDAP client is configured here; set a server with --ldap-url.",
        )
    try:
        directory = await discover(address, base)
    except DiscoveryFailed as error:
        return None, f"The directory: {error}"
    if not directory.users:
        who = address.bind_dn or "anonymous users"
        return (
            directory,
            f"The directory shows no users to {who}: try --ldap-bind-dn and --ldap-base.",
        )
    return (directory,)


# --- environments and programs --------------------------------------------------------------------


async def find_environments(
    options: DetectionOptions,
) -> tuple[DetectedEnvironments, *tuple[str, ...]]:
    """Return the images, modules and virtualenvs, and a sentence for each kind without any."""
    missing = []
    images = (
        tuple(sorted(file.name for file in options.images.glob("*.sif"))) if options.images else ()
    )
    if options.images and not images:
        missing.append(f"Images: no *.sif found in {options.images}.")
    known = (Path(name) for name in MODULES_INIT)
    init = options.modules_init or next((file for file in known if file.is_file()), None)
    modules: tuple[str, ...] = ()
    if init is not None:
        modules = await find_modules(init)
        if not modules:
            missing.append(f"Modules: `module avail` lists none here with {init}.")
    virtualenvs = find_virtualenvs(options.virtualenvs) if options.virtualenvs else ()
    if options.virtualenvs and not virtualenvs:
        missing.append(f"Virtualenvs: none found in {options.virtualenvs}.")
    detected = DetectedEnvironments(
        options.runtime, options.images, images, init, modules, virtualenvs
    )
    return detected, *missing


async def find_modules(init: Path) -> tuple[str, ...]:
    """Return names with versions, as listed by `module -t avail` on this machine."""
    try:
        process = await subprocesses.start(
            "bash", "--noprofile", "--norc", "-c", LIST_MODULES_SCRIPT, "init", str(init),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return ()
    try:
        async with asyncio.timeout(MODULES_TIMEOUT_S):
            out, _ = await process.communicate()
    except TimeoutError:
        return ()
    finally:
        await subprocesses.end(process)
    return parse_module_names(out.decode(errors="replace")) if process.returncode == 0 else ()


def parse_module_names(text: str) -> tuple[str, ...]:
    """Parse the module list. Pure.

    Lines that end in a colon are folders; marks of defaults follow a name.
    """
    lines = (line.strip() for line in text.splitlines())
    names = (re.sub(r"\((default|L|D|,)+\)$", "", line) for line in lines if line[-1:] != ":")
    return tuple(sorted({name for name in names if MODULE_NAME.fullmatch(name)})[:MAX_LISTED])


def find_virtualenvs(folder: Path) -> tuple[Path, ...]:
    """Return the subfolders with a Python that are a virtualenv or a conda environment."""
    folders = [
        path
        for path in sorted(folder.iterdir())
        if os.access(path / "bin" / "python", os.X_OK)
        and ((path / "pyvenv.cfg").exists() or (path / "conda-meta").exists())
    ]
    return tuple(folders[:MAX_LISTED])


def find_programs() -> dict[str, Path]:
    """Return the programs that settings name."""
    programs = {name: shutil.which(name) for name in ("apptainer", "sudo")}
    return {name: Path(path) for name, path in programs.items() if path}

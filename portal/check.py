"""`portal check`: tries everything the portal needs, and says what to do about what fails."""

import asyncio
import getpass
import os
import pwd
import re
import shutil
import stat
import subprocess
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from portal import check_clocks, check_front, check_node, revisions, start
from portal.db import sqlite_file, utcnow
from portal.directory import open_directory
from portal.finding import Finding
from portal.hub import Hub, HubError
from portal.models import HomeTask
from portal.node_ca import NodeCaError, expiry, is_soon
from portal.services.catalog.shelf import Shelf, places
from portal.services.cluster.node_table_file import read as read_node_table
from portal.services.people import homes
from portal.services.sessions.certificates import RENEW
from portal.settings import Settings
from portal.smtp import MailError, Smtp
from spawner.catalog import CatalogError, Environment, availability
from spawner.errors import SlurmError
from spawner.pull import PATH
from spawner.runtimes import Container, Modules, Virtualenv

OPERATORS = {"Operator", "Administrator"}
OPERATOR_ADVICE = "Run: sacctmgr modify user {account} set AdminLevel=Operator"
SLURM_ADVICE = (
    "Look at slurm_bin_dir and slurm_conf, whether slurmctld runs (scontrol ping), whether munged"
    " runs here with the cluster's munge.key, and whether the clocks agree."
)
SUDO_S = 10.0
NOBODY = "portal-check"
PACKER = "mksquashfs"


class Inspector(check_clocks.Clock):
    """Questions that only this check asks."""

    async def config(self) -> str:
        """slurm.conf as slurmctld has it, a setting on each line."""
        return await self._ask(["scontrol", "show", "config"])


def private_data(config: str) -> set[str]:
    """What Slurm hides from ordinary users."""
    found = re.search(r"^PrivateData\s*=\s*(\S+)", config, re.MULTILINE)
    return set(found.group(1).split(",")) if found else set()


def keeps_comments(config: str) -> bool:
    """Whether accounting keeps a job's comment, by which the portal knows its own jobs again; up to
    20.11 by a setting of its own (slurm.conf(5))."""
    flags = r"^AccountingStore(Flags\s*=.*\bjob_comment\b|JobComment\s*=\s*Yes)"
    return re.search(flags, config, re.MULTILINE | re.IGNORECASE) is not None


async def check(settings: Settings, as_user: str | None = None) -> AsyncIterator[Finding]:
    """All findings, in the order in which things are best repaired. `as_user`: somebody as whom the
    launcher and one small job are tried."""
    yield account(settings)
    for finding in await _database(settings):
        yield finding
    for health in await open_directory(settings).health():
        yield Finding(f"directory {health.url}", health.cause, directory_advice(health.cause))
    slurm = Inspector(settings.slurm_bin_dir, settings.slurm_conf, settings.slurm_timeout_s)
    for finding in await _slurm(slurm):
        yield finding
    installed = launcher(settings)
    yield installed
    if installed.problem is None:
        yield await sudo(settings)
    for finding in _catalog(settings):
        yield finding
    if settings.node_table_file is not None:
        yield node_table(settings.node_table_file)
    yield imports(settings)
    yield home_directories(settings)
    yield await _hub(settings)
    for finding in await check_front.front_door(settings):
        yield finding
    yield authority(settings)
    yield await mail(settings)
    if as_user is not None:
        for finding in await check_node.as_somebody(settings, slurm, as_user):
            yield finding


def account(settings: Settings) -> Finding:
    """What holds for another account says nothing of the portal's."""
    me = getpass.getuser()
    try:
        owner = settings.state_dir.stat().st_uid
    except OSError as error:
        advice = "Make it, and let the portal's account own it."
        return Finding("account", f"state_dir {settings.state_dir}: {error.strerror}", advice)
    if owner == os.geteuid():
        return Finding("account")
    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = str(owner)
    problem = f"this runs as {me}, and state_dir belongs to {name}"
    return Finding("account", problem, f"Run: sudo -u {name} PORTAL_CONFIG=… portal check")


async def _database(settings: Settings) -> list[Finding]:
    found = await _schema(settings)
    if found.problem is not None or sqlite_file(settings.database) is not None:
        return [found]
    database = start.open_database(settings)
    try:
        return [found, *await check_clocks.of_database(database)]
    finally:
        await database.close()


async def _schema(settings: Settings) -> Finding:
    file = sqlite_file(settings.database)
    if file is not None and not file.exists():
        # Not made here: whoever runs this check may be another account than the portal's.
        ready = os.access(file.parent, os.W_OK)
        problem = None if ready else f"{file.parent} is no folder that can be written to"
        return Finding("database", problem, "Look at state_dir.")
    try:
        database = start.open_database(settings)
        try:
            schema = await start.look(database)
            start.refuse_unusable(database.url, schema)
        finally:
            await database.close()
    except start.StartRefused as error:
        return Finding("database", str(error), "The start is refused until then.")
    if schema.revision == revisions.head() or settings.migrates_at_start:
        return Finding("database")
    problem = f"it is at revision {schema.revision or 'none'}, this portal needs {revisions.head()}"
    return Finding("database", problem, "Back it up, then run: portal migrate")


def directory_advice(cause: str | None) -> str:
    """What to do about what a server of the directory suffers from."""
    if cause is None:
        return ""
    if "certificate" in cause:
        return "Let ldap_ca_file name the CA, and ldap_urls the name in the server's certificate."
    if "own account" in cause:
        return "Look at ldap_bind_dn and ldap_bind_password_file."
    return "Look at ldap_urls and ldap_start_tls, and whether the server runs."


async def _slurm(slurm: Inspector) -> list[Finding]:
    try:
        await slurm.jobs()
        config = await slurm.config()
    except SlurmError as error:
        return [Finding("slurm", _said(error), SLURM_ADVICE)]
    found = [Finding("slurm"), *await check_clocks.of_slurm(slurm)]
    account = getpass.getuser()
    try:
        level = await slurm.admin_level(account)
    except SlurmError as error:
        advice = "Look whether slurmdbd and its database run, with: sacctmgr show cluster"
        if "accounting_storage/none" in config:
            advice = "The portal needs slurmdbd: set AccountingStorageType in slurm.conf."
        return [*found, Finding("slurm accounting", _said(error), advice)]
    return [*found, Finding("slurm accounting"), operator(account, level, config), comments(config)]


def _said(error: SlurmError) -> str:
    return " ".join(f"{error.message} {error.stderr[:300]}".split())


def operator(account: str, level: str, config: str) -> Finding:
    what = "slurm operator"
    if level in OPERATORS:
        return Finding(what)
    hidden = "jobs" in private_data(config)
    does = "hides other users' jobs from it, and it" if hidden else "lets it see jobs but"
    problem = f"{account} is no Slurm operator: Slurm {does} can't end or extend them"
    return Finding(what, problem, OPERATOR_ADVICE.format(account=account))


def comments(config: str) -> Finding:
    if keeps_comments(config):
        return Finding("comments in accounting")
    problem = (
        "Slurm's accounting keeps no comments, so the portal may lose jobs that end in a restart"
    )
    advice = "Add job_comment to AccountingStoreFlags in slurm.conf, then run: scontrol reconfigure"
    return Finding("comments in accounting", problem, advice)


def authority(settings: Settings) -> Finding:
    """Whether what runs on the nodes can prove itself. An authority that isn't there yet is made
    at the portal's start."""
    what = "authority for nodes"
    try:
        end = expiry(settings)
    except (NodeCaError, OSError) as error:
        return Finding(what, str(error), "Look at node_ca_key_file.")
    if end is None or not is_soon(end, utcnow()):
        return Finding(what)
    return Finding(what, f"it expires on {end:%Y-%m-%d}", RENEW)


def launcher(settings: Settings) -> Finding:
    """Whether the launcher and sudo are there, as they must be."""
    path = settings.launcher_path
    advice = "Install the launcher as docs/install.md says: owned by root, writable by root alone."
    try:
        status = path.stat()
    except OSError as error:
        return Finding("launcher", f"{path}: {error.strerror}", advice)
    if status.st_uid != 0 or status.st_mode & 0o022 or not os.access(path, os.X_OK):
        problem = f"{path} must be root's, executable, and writable by nobody else"
        return Finding("launcher", problem, advice)
    if not os.access(settings.sudo_path, os.X_OK):
        return Finding("launcher", f"{settings.sudo_path} can't be run", "Look at sudo_path.")
    return Finding("launcher")


async def sudo(settings: Settings) -> Finding:
    """Whether sudo lets this account run the launcher, as it says itself. Nobody is acted as."""
    return await asyncio.to_thread(_sudo, settings)


def _sudo(settings: Settings) -> Finding:
    advice = "Run `portal system-files --install`, which writes /etc/sudoers.d/portal."
    process = subprocess.Popen(
        [settings.sudo_path, "-n", "-l"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    try:
        out, err = process.communicate(timeout=SUDO_S)
    except subprocess.TimeoutExpired:
        with suppress(PermissionError):  # it is root's by then, and ends when it is answered
            process.kill()
            process.communicate()
        why = f"it didn't answer within {SUDO_S:g} s"
        return Finding("sudo", why, "Look whether sudo asks a directory that doesn't answer.")
    if process.returncode != 0:
        said = " ".join(err.split())[:300]
        return Finding("sudo", f"it permits this account nothing: {said}", advice)
    allowed = [line for line in out.splitlines() if "NOPASSWD" in line]
    # sudo breaks no word, and names a command by its path
    if any(str(settings.launcher_path) in line.split() for line in allowed):
        return Finding("sudo")
    problem = f"it doesn't permit {getpass.getuser()} to run {settings.launcher_path}"
    return Finding("sudo", problem, advice)


def _catalog(settings: Settings) -> list[Finding]:
    try:
        catalog = Shelf(places(settings))
    except CatalogError as error:
        return [Finding("catalog", str(error), "Look at catalog_dir.")]
    findings = [Finding("catalog", text, "Correct the file.") for text in catalog.problems]
    reasons = {one.name: availability(one)[1] for one in catalog.environments.values()}
    for environment in catalog.environments.values():
        reason = reasons[environment.name]
        if reason is not None and not _is_sites(settings, environment.name):
            # of those that come along a site offers what it wants
            findings.append(Finding(f"environment {environment.name} (not offered)"))
            continue
        advice = _environment_advice(environment) if reason else ""
        findings.append(Finding(f"environment {environment.name}", reason, advice))
    if all(reasons.values()):
        problem = "none can be used: sessions can't be started"
        advice = "Build one: python -m deploy.images build python3 --out IMAGE_DIR"
        findings.append(Finding("environments", problem, advice))
    return findings


def _is_sites(settings: Settings, name: str) -> bool:
    """Whether the site has written this environment itself, and so means to offer it."""
    folder = settings.catalog_dir
    return folder is not None and (folder / "environments" / f"{name}.yaml").is_file()


def _environment_advice(environment: Environment) -> str:
    match environment.runtime:
        case Container(image):
            return f"Build or copy it to {image}."
        case Modules():
            return "Let modules_init name the file that makes `module` known to bash."
        case Virtualenv(prefix):
            return f"Make {prefix}, readable by everybody, or correct `prefix`."


def node_table(file: Path) -> Finding:
    """The operator's table of nodes, and each line in it that can't be used."""
    problems = [f"{file}: {problem}" for problem in read_node_table(file).problems]
    return Finding("node table", "\n".join(problems) or None, "Correct node_table_file's lines.")


def imports(settings: Settings) -> Finding:
    """Whether images can be imported where that is wished for; the credentials file has been looked
    at with the settings."""
    folder = settings.image_import_dir
    if folder is None:
        return Finding("image imports (off)")
    return Finding("image imports", *(_folder_problem(folder) or _tools_problem(settings) or ()))


def _folder_problem(folder: Path) -> tuple[str, str] | None:
    try:
        mode = stat.S_IMODE(folder.stat().st_mode)
    except OSError as error:
        return f"{folder}: {error.strerror}", "Make it, or correct image_import_dir."
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} can't be written to", "Let the portal's account own it."
    if mode & 0o005 != 0o005:
        return f"{folder} is closed to users (mode {mode:04o})", f"Run: chmod 0755 {folder}"
    return None


def _tools_problem(settings: Settings) -> tuple[str, str] | None:
    if not os.access(settings.apptainer_path, os.X_OK):
        problem = f"{settings.apptainer_path} can't be run on this machine"
        return problem, "Install Apptainer here too, or correct apptainer_path."
    if shutil.which(PACKER, path=PATH) is None:
        return f"{PACKER} is missing", "Install squashfs-tools on this machine."
    return None


def home_directories(settings: Settings) -> Finding:
    """Whether the site's commands for home directories are there. What they do isn't tried."""
    commands = {task: homes.command(settings, task) for task in HomeTask}
    if not any(commands.values()):
        return Finding("home directories (off)")
    for task, command in commands.items():
        if command and shutil.which(command[0], path=PATH) is None:
            problem = f"{command[0]} can't be run"
            return Finding("home directories", problem, f"Look at {homes.SETTINGS[task]}.")
    return Finding("home directories")


async def _hub(settings: Settings) -> Finding:
    try:
        async with Hub(settings.hub_url, settings.hub_token) as hub:
            await hub.version()
            await hub.server_state(NOBODY, NOBODY)  # asks for the token's own rights
    except HubError as error:
        advice = "Look at hub_url and hub_token_file, and whether the hub runs."
        return Finding("hub", str(error)[:300], advice)
    return Finding("hub")


async def mail(settings: Settings) -> Finding:
    """Whether the mail server would take an e-mail of the portal's. None is sent."""
    if settings.smtp_host is None:
        return Finding("mail (off)")
    try:
        await Smtp(settings).answers()
    except MailError as error:
        return Finding("mail", str(error), _mail_advice(str(error)))
    return Finding("mail")


def _mail_advice(cause: str) -> str:
    if "certificate" in cause:
        return "Let smtp_ca_file name the CA, and smtp_host the name in the server's certificate."
    if "let us in" in cause:
        return "Look at smtp_user and smtp_password_file."
    if "our sender" in cause:
        return "Look at smtp_from: the server must take it from this machine or account."
    return "Look at smtp_host, smtp_port and smtp_tls, and whether the server runs."


def run(settings: Settings, as_user: str | None = None) -> list[Finding]:
    """All findings at once, for the command line."""

    async def collect() -> list[Finding]:
        return [finding async for finding in check(settings, as_user)]

    return asyncio.run(collect())


def pages(settings: Settings) -> Finding:
    """Whether the built frontend is where the settings say."""
    folder = settings.pages_dir
    if folder is not None and (folder / "index.html").is_file():
        return Finding("pages")
    where = f"in {folder}" if folder else "with this installation"
    advice = "Install the wheel, which brings them, or build the frontend and set frontend_dir."
    return Finding("pages", f"there is no index.html {where}", advice)

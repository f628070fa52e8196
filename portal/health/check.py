"""`portal check`: tests everything the portal needs, with a remedy for each failure."""

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

from portal import startup
from portal.backup import revisions
from portal.config.settings import Settings
from portal.db import sqlite_file, utcnow
from portal.directory import open_directory
from portal.health import clocks, logins, nginx, node
from portal.health.finding import CheckResult
from portal.health.status_nginx import NODE_CA_ADVICE
from portal.hub.client import Hub, HubError
from portal.models import HomeTask
from portal.node_ca import NodeCaError, expiry, is_soon
from portal.services.catalog.live_catalog import LiveCatalog, places
from portal.services.cluster.node_table_file import read as read_node_table
from portal.services.identity import home_directories as homes
from portal.services.mail.smtp import MailError, Smtp
from spawner.catalog.environment import CatalogError, Environment, availability
from spawner.containers.runtimes import SYSTEM_PATH, Container, Modules, Virtualenv
from spawner.errors import SlurmError

OPERATORS = {"Operator", "Administrator"}
OPERATOR_ADVICE = "Run: sacctmgr modify user {account} set AdminLevel=Operator"
SLURM_ADVICE = (
    "Check slurm_bin_dir and slurm_conf, that slurmctld is running (scontrol ping), that munged "
    "is running on this machine with the cluster's munge.key, and that the clocks are "
    "synchronized."
)
SUDO_S = 10.0
FAKE_NAME = "portal-check"
PACKER = "mksquashfs"


class Inspector(clocks.ClockCommands):
    """Slurm commands that only this check runs."""

    async def config(self) -> str:
        """Return slurmctld's configuration, one setting per line."""
        return await self._ask(["scontrol", "show", "config"])


def private_data(config: str) -> set[str]:
    """Return what Slurm hides from ordinary users."""
    found = re.search(r"^PrivateData\s*=\s*(\S+)", config, re.MULTILINE)
    return set(found.group(1).split(",")) if found else set()


def keeps_comments(config: str) -> bool:
    """Return whether accounting keeps a job's comment, by which the portal recognizes its own jobs.

    Up to Slurm 20.11 this is a setting of its own (slurm.conf(5)).
    """
    flags = r"^AccountingStore(Flags\s*=.*\bjob_comment\b|JobComment\s*=\s*Yes)"
    return re.search(flags, config, re.MULTILINE | re.IGNORECASE) is not None


async def check(settings: Settings, as_user: str | None = None) -> AsyncIterator[CheckResult]:
    """Yield all findings, in the order in which they are best fixed.

    `as_user`: run the launcher and one small job as this user.
    """
    yield account(settings)
    for finding in await _check_database(settings):
        yield finding
    for health in await open_directory(settings).health():
        yield CheckResult(f"directory {health.url}", health.cause, directory_advice(health.cause))
    yield await logins.lockout(settings)
    yield logins.host(settings)
    slurm = Inspector(settings.slurm_bin_dir, settings.slurm_conf, settings.slurm_timeout_s)
    for finding in await _check_slurm(slurm):
        yield finding
    installed = launcher(settings)
    yield installed
    if installed.problem is None:
        yield await sudo(settings)
    for finding in _check_catalog(settings):
        yield finding
    if settings.node_table_file is not None:
        yield node_table(settings.node_table_file)
    yield imports(settings)
    yield home_directories(settings)
    yield await _check_hub(settings)
    for finding in await nginx.front_door(settings):
        yield finding
    yield authority(settings)
    yield await mail(settings)
    if as_user is not None:
        for finding in await node.run_as_user(settings, slurm, as_user):
            yield finding


def account(settings: Settings) -> CheckResult:
    """Check that this runs as the portal's account: results for another account are not
    meaningful.
    """
    me = getpass.getuser()
    try:
        owner = settings.state_dir.stat().st_uid
    except OSError as error:
        advice = "Create it, owned by the portal's account."
        return CheckResult("account", f"state_dir {settings.state_dir}: {error.strerror}", advice)
    if owner == os.geteuid():
        return CheckResult("account")
    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = str(owner)
    problem = f"this command runs as {me}, but state_dir belongs to {name}"
    return CheckResult("account", problem, f"Run: sudo -u {name} PORTAL_CONFIG=… portal check")


async def _check_database(settings: Settings) -> list[CheckResult]:
    found = await _check_schema(settings)
    if found.problem is not None or sqlite_file(settings.database) is not None:
        return [found]
    database = startup.open_database(settings)
    try:
        return [found, *await clocks.check_database_clock(database)]
    finally:
        await database.close()


async def _check_schema(settings: Settings) -> CheckResult:
    file = sqlite_file(settings.database)
    if file is not None and not file.exists():
        # Not created here: this check may run as an account other than the portal's.
        ready = os.access(file.parent, os.W_OK)
        problem = None if ready else f"{file.parent} is not a writable folder"
        return CheckResult("database", problem, "Check state_dir.")
    try:
        database = startup.open_database(settings)
        try:
            schema = await startup.load_schema(database)
            startup.refuse_unusable(database.url, schema)
        finally:
            await database.close()
    except startup.StartRefused as error:
        return CheckResult("database", str(error), "The portal does not start until this is fixed.")
    if schema.revision == revisions.head() or settings.migrates_at_start:
        return CheckResult("database")
    problem = f"it is at revision {schema.revision or 'none'}; this portal needs {revisions.head()}"
    return CheckResult("database", problem, "Back it up, then run: portal migrate")


def directory_advice(cause: str | None) -> str:
    """Return the remedy for a directory server's error."""
    if cause is None:
        return ""
    if "certificate" in cause:
        return (
            "Set ldap_ca_file to the CA, and use the name in the server's certificate in ldap_urls."
        )
    if "portal's account" in cause:
        return "Check ldap_bind_dn and ldap_bind_password_file."
    return "Check ldap_urls and ldap_start_tls, and that the server is running."


async def _check_slurm(slurm: Inspector) -> list[CheckResult]:
    try:
        await slurm.jobs()
        config = await slurm.config()
    except SlurmError as error:
        return [CheckResult("slurm", _to_text(error), SLURM_ADVICE)]
    found = [CheckResult("slurm"), *await clocks.check_slurm_clock(slurm)]
    account = getpass.getuser()
    try:
        level = await slurm.admin_level(account)
    except SlurmError as error:
        advice = "Check that slurmdbd and its database are running: sacctmgr show cluster"
        if "accounting_storage/none" in config:
            advice = "The portal needs slurmdbd: set AccountingStorageType in slurm.conf."
        return [*found, CheckResult("slurm accounting", _to_text(error), advice)]
    return [
        *found,
        CheckResult("slurm accounting"),
        operator(account, level, config),
        comments(config),
    ]


def _to_text(error: SlurmError) -> str:
    return " ".join(f"{error.message} {error.stderr[:300]}".split())


def operator(account: str, level: str, config: str) -> CheckResult:
    what = "slurm operator"
    if level in OPERATORS:
        return CheckResult(what)
    hidden = "jobs" in private_data(config)
    does = (
        "hides other users' jobs from it, and the portal"
        if hidden
        else "shows it all jobs, but the portal"
    )
    problem = f"{account} is not a Slurm operator: Slurm {does} can't end or extend them"
    return CheckResult(what, problem, OPERATOR_ADVICE.format(account=account))


def comments(config: str) -> CheckResult:
    if keeps_comments(config):
        return CheckResult("comments in accounting")
    problem = (
        "Slurm's accounting does not store comments, so the portal may lose track of jobs "
        "that end during a restart"
    )
    advice = "Add job_comment to AccountingStoreFlags in slurm.conf, then run: scontrol reconfigure"
    return CheckResult("comments in accounting", problem, advice)


def authority(settings: Settings) -> CheckResult:
    """Check the nodes' certificate authority.

    One that does not exist yet is created at the portal's start.
    """
    what = "certificate authority for nodes"
    try:
        end = expiry(settings)
    except (NodeCaError, OSError) as error:
        return CheckResult(what, str(error), "Check node_ca_key_file.")
    if end is None or not is_soon(end, utcnow()):
        return CheckResult(what)
    return CheckResult(what, f"it expires on {end:%Y-%m-%d}", NODE_CA_ADVICE)


def launcher(settings: Settings) -> CheckResult:
    """Check that the launcher and sudo are installed correctly."""
    path = settings.launcher_path
    advice = (
        "Install the launcher as described in docs/install.md: owned by root and writable "
        "only by root."
    )
    try:
        status = path.stat()
    except OSError as error:
        return CheckResult("launcher", f"{path}: {error.strerror}", advice)
    if status.st_uid != 0 or status.st_mode & 0o022 or not os.access(path, os.X_OK):
        problem = f"{path} must be executable, owned by root and writable only by root"
        return CheckResult("launcher", problem, advice)
    if not os.access(settings.sudo_path, os.X_OK):
        return CheckResult("launcher", f"{settings.sudo_path} can't be run", "Check sudo_path.")
    return CheckResult("launcher")


async def sudo(settings: Settings) -> CheckResult:
    """Check that sudo lets this account run the launcher, by sudo's own listing.

    Runs nothing as a user.
    """
    return await asyncio.to_thread(_check_sudo, settings)


def _check_sudo(settings: Settings) -> CheckResult:
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
        with suppress(PermissionError):  # it runs as root by then, and ends once it gets its answer
            process.kill()
            process.communicate()
        why = f"it didn't answer within {SUDO_S:g} s"
        return CheckResult(
            "sudo", why, "Check whether sudo queries a directory that is not responding."
        )
    if process.returncode != 0:
        output = " ".join(err.split())[:300]
        return CheckResult("sudo", f"it permits no commands for this account: {output}", advice)
    allowed = [line for line in out.splitlines() if "NOPASSWD" in line]
    # sudo does not wrap within a word, and lists a command by its path.
    if any(str(settings.launcher_path) in line.split() for line in allowed):
        return CheckResult("sudo")
    problem = f"it doesn't permit {getpass.getuser()} to run {settings.launcher_path}"
    return CheckResult("sudo", problem, advice)


def _check_catalog(settings: Settings) -> list[CheckResult]:
    try:
        catalog = LiveCatalog(places(settings))
    except CatalogError as error:
        return [CheckResult("catalog", str(error), "Check catalog_dir.")]
    findings = [CheckResult("catalog", text, "Correct the file.") for text in catalog.problems]
    reasons = {one.name: availability(one)[1] for one in catalog.environments.values()}
    for environment in catalog.environments.values():
        reason = reasons[environment.name]
        if reason is not None and not _is_site_environment(settings, environment.name):
            # Of the shipped environments, a site offers only those it wants.
            findings.append(CheckResult(f"environment {environment.name} (not offered)"))
            continue
        advice = _environment_advice(environment) if reason else ""
        findings.append(CheckResult(f"environment {environment.name}", reason, advice))
    if all(reasons.values()):
        problem = "none can be used: sessions can't be started"
        advice = "Build one: python -m deploy.images build python3 --out IMAGE_DIR"
        findings.append(CheckResult("environments", problem, advice))
    return findings


def _is_site_environment(settings: Settings, name: str) -> bool:
    """Return whether this environment is the site's own, which it therefore means to offer."""
    folder = settings.catalog_dir
    return folder is not None and (folder / "environments" / f"{name}.yaml").is_file()


def _environment_advice(environment: Environment) -> str:
    match environment.runtime:
        case Container(image):
            return f"Build or copy it to {image}."
        case Modules():
            return "Set modules_init to the file that defines `module` in bash."
        case Virtualenv(prefix):
            return f"Create {prefix}, readable by all users, or correct `prefix`."


def node_table(file: Path) -> CheckResult:
    """Check the operator's table of nodes; each unusable line is a problem."""
    problems = [f"{file}: {problem}" for problem in read_node_table(file).problems]
    return CheckResult(
        "node table", "\n".join(problems) or None, "Correct the lines in node_table_file."
    )


def imports(settings: Settings) -> CheckResult:
    """Check that images can be imported, if that is configured.

    The credentials file is checked with the settings.
    """
    folder = settings.image_import_dir
    if folder is None:
        return CheckResult("image imports (off)")
    return CheckResult(
        "image imports", *(_folder_problem(folder) or _tools_problem(settings) or ())
    )


def _folder_problem(folder: Path) -> tuple[str, str] | None:
    try:
        mode = stat.S_IMODE(folder.stat().st_mode)
    except OSError as error:
        return f"{folder}: {error.strerror}", "Create it, or correct image_import_dir."
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} can't be written to", "Make the portal's account its owner."
    if mode & 0o005 != 0o005:
        return f"{folder} is not accessible to users (mode {mode:04o})", f"Run: chmod 0755 {folder}"
    return None


def _tools_problem(settings: Settings) -> tuple[str, str] | None:
    if not os.access(settings.apptainer_path, os.X_OK):
        problem = f"{settings.apptainer_path} can't be run on this machine"
        return problem, "Install Apptainer here too, or correct apptainer_path."
    if shutil.which(PACKER, path=SYSTEM_PATH) is None:
        return f"{PACKER} is missing", "Install squashfs-tools on this machine."
    return None


def home_directories(settings: Settings) -> CheckResult:
    """Check that the site's commands for home directories exist. They are not run."""
    commands = {task: homes.command(settings, task) for task in HomeTask}
    if not any(commands.values()):
        return CheckResult("home directories (off)")
    for task, command in commands.items():
        if command and shutil.which(command[0], path=SYSTEM_PATH) is None:
            problem = f"{command[0]} can't be run"
            return CheckResult("home directories", problem, f"Check {homes.SETTINGS[task]}.")
    return CheckResult("home directories")


async def _check_hub(settings: Settings) -> CheckResult:
    try:
        async with Hub(settings.hub_url, settings.hub_token) as hub:
            await hub.version()
            await hub.server_state(
                FAKE_NAME, FAKE_NAME
            )  # also requires the token's own permissions
    except HubError as error:
        advice = "Check hub_url and hub_token_file, and that JupyterHub is running."
        return CheckResult("hub", str(error)[:300], advice)
    return CheckResult("hub")


async def mail(settings: Settings) -> CheckResult:
    """Check that the mail server would accept an e-mail from the portal. None is sent."""
    if settings.smtp_host is None:
        return CheckResult("mail (off)")
    try:
        await Smtp(settings).answers()
    except MailError as error:
        return CheckResult("mail", str(error), _mail_advice(str(error)))
    return CheckResult("mail")


def _mail_advice(cause: str) -> str:
    if "certificate" in cause:
        return "Set smtp_ca_file to the CA, and smtp_host to the name in the server's certificate."
    if "refused the login" in cause:
        return "Check smtp_user and smtp_password_file."
    if "refused the sender address" in cause:
        return "Check smtp_from: the server must accept it from this machine or account."
    return "Check smtp_host, smtp_port and smtp_tls, and that the server is running."


def run(settings: Settings, as_user: str | None = None) -> list[CheckResult]:
    """Return all findings at once, for the command line."""

    async def collect() -> list[CheckResult]:
        return [finding async for finding in check(settings, as_user)]

    return asyncio.run(collect())


def pages(settings: Settings) -> CheckResult:
    """Check that the built frontend is at the path in the settings."""
    folder = settings.pages_dir
    if folder is not None and (folder / "index.html").is_file():
        return CheckResult("pages")
    where = f"in {folder}" if folder else "with this installation"
    advice = (
        "Install the wheel, which includes the pages, or build the frontend and set frontend_dir."
    )
    return CheckResult("pages", f"there is no index.html {where}", advice)

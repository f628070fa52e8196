"""The files that an installation needs besides the package, all derived from the settings.

These are systemd units, sudoers, the launcher with its configuration, and the configuration of
JupyterHub and nginx. `files` and `folders` write nothing, but `files` also inspects the programs
that run as root and nginx's version; `write_files` and `make_folders` write. The command is `portal
system-files`.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from deploy import nginx, nginx_inputs, nginx_program, sudoers
from portal.cli.proposal import to_toml
from portal.config.settings import Settings
from portal.services.sessions.gate import host_port
from spawner.launcher.installed import FILES_PROGRAM, files_program, launcher_program

DEPLOY_DIR = Path(__file__).resolve().parent
OWN_PREFIX = Path(sys.prefix)
APP_LINK = "portal-app"
"""The link that `portal upgrade` keeps beside the virtualenvs, to the one that the units run."""
UNITS = Path("/etc/systemd/system")
SUDOERS = Path("/etc/sudoers.d/portal")
UNIT_NAMES = (
    "portal.target",
    "portal.socket",
    "portal.service",
    "portal-hub.service",
    "portal-nginx.service",
    "portal-backup.service",
    "portal-backup.timer",
)
HOME_SETTINGS = ("home_command", "home_archive_command", "home_delete_command")


def stable_prefix(prefix: Path) -> Path:
    """Return the link that leads to this virtualenv, or its own path if there is none."""
    link = prefix.with_name(APP_LINK)
    return link if link.is_symlink() and link.resolve() == prefix.resolve() else prefix


class SystemFilesRefused(Exception):
    """These settings cannot become an installation, or it cannot be written; one sentence."""


@dataclass(frozen=True)
class ServiceAccounts:
    """The accounts of portal, hub and nginx."""

    portal: str = "portal"
    hub: str = "portalhub"
    nginx: str = "www-data"


@dataclass(frozen=True)
class Installation:
    """The settings, their file, and the locations of everything else.

    `prefix` is the virtualenv that the units run, by its link if there is one: to point the link
    to another virtualenv then changes what all units run.
    """

    settings: Settings
    config: Path
    accounts: ServiceAccounts = ServiceAccounts()
    prefix: Path = field(default_factory=lambda: stable_prefix(OWN_PREFIX))
    hub_dir: Path = Path("/var/lib/portal-hub")
    nginx_dir: Path = Path("/var/lib/portal-nginx")
    backup_dir: Path = Path("/var/backups/portal")
    listen: nginx_inputs.ListenOptions = field(default_factory=nginx_inputs.ListenOptions)


@dataclass(frozen=True)
class File:
    data: bytes = field(repr=False)
    mode: int = 0o644

    @property
    def text(self) -> str:
        return self.data.decode()


def text_file(text: str, mode: int = 0o644) -> File:
    return File(text.encode(), mode)


def files(installation: Installation) -> dict[Path, File]:
    """Return every file by its absolute path. Raises SystemFilesRefused."""
    settings = installation.settings
    for program in list_root_programs(settings):
        require_only_root_writes(Path(program))
    try:
        folder = installation.nginx_dir
        inputs = nginx_inputs.from_settings(settings, folder, listen=installation.listen)
        inputs = replace(inputs, version=nginx_program.version_here())
        nginx_files = {
            folder / name: text_file(text) for name, text in nginx.render(inputs).items()
        }
        rule = sudoers.render(
            installation.accounts.portal,
            str(settings.launcher_path),
            settings.ldap_user_groups,
            list_root_programs(settings),
            settings.umask,
        )
    except (nginx_inputs.NginxError, ValueError) as error:
        raise SystemFilesRefused(f"{error}.") from error
    return {
        **{UNITS / name: text_file(text) for name, text in units(installation, inputs).items()},
        SUDOERS: text_file(rule, 0o440),
        **launcher_files(settings),
        hub_config(installation): text_file(_render_toml(hub_values(installation))),
        **nginx_files,
    }


def folders(installation: Installation) -> list[tuple[Path, str, int]]:
    """Return each service's own folders, with the owner's name and the mode."""
    accounts, settings = installation.accounts, installation.settings
    # nginx's account must reach the nodes' CA certificate there, but must not list the folder
    others_enter = settings.node_tls and settings.node_ca_certificate.parent == settings.state_dir
    result = [
        (settings.state_dir, accounts.portal, 0o711 if others_enter else 0o700),
        (installation.backup_dir, accounts.portal, 0o700),
        (installation.hub_dir, accounts.hub, 0o700),
        (installation.nginx_dir, accounts.nginx, 0o700),
        *((installation.nginx_dir / name, accounts.nginx, 0o700) for name in nginx.FOLDERS),
    ]
    if settings.image_import_dir is not None:
        result.append((settings.image_import_dir, accounts.portal, 0o755))
    return result


def units(installation: Installation, inputs: nginx_inputs.NginxInputs) -> dict[str, str]:
    """Return systemd's files by name. Raises SystemFilesRefused."""
    low = min(listener.port for listener in inputs.listeners) < 1024
    program = nginx_program.program() or "/usr/sbin/nginx"
    values = {
        "accounts": installation.accounts,
        "config": installation.config,
        "prefix": installation.prefix,
        "hub_dir": installation.hub_dir,
        "hub_config": hub_config(installation),
        "jupyterhub_config": _below_prefix(installation, DEPLOY_DIR / "jupyterhub_config.py"),
        "nginx_dir": installation.nginx_dir,
        "nginx": " ".join([program, *nginx.command(inputs)[1:]]),
        "low_port": low,
        "listen": host_port(installation.settings.listen_host, installation.settings.listen_port),
        "root_programs": list_root_programs(installation.settings),
        "backup_dir": installation.backup_dir,
        "state_dir": installation.settings.state_dir,
    }
    for name, value in values.items():
        # systemd interprets spaces, percent signs, quotes and backslashes in a path
        if (
            isinstance(value, Path)
            and not str(value)
            .replace("/", "")
            .replace("-", "")
            .replace("_", "")
            .replace(".", "")
            .isalnum()
        ):
            raise SystemFilesRefused(
                f"{value} ({name}) can't be used in a systemd unit: use only letters, digits "
                "and -_."
            )
    environment = Environment(
        loader=FileSystemLoader(DEPLOY_DIR / "templates"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - no HTML
    )
    return {name: environment.get_template(f"systemd/{name}").render(values) for name in UNIT_NAMES}


def _below_prefix(installation: Installation, file: Path) -> Path:
    """Return the path of a file of this package as the units reach it."""
    own = OWN_PREFIX.resolve()
    return installation.prefix / file.relative_to(own) if file.is_relative_to(own) else file


def list_root_programs(settings: Settings) -> list[str]:
    """Return the programs for home directories that the settings run as root by sudo."""
    programs = []
    for name in HOME_SETTINGS:
        program, *arguments = getattr(settings, name) or [""]
        if Path(program).name == "sudo":
            programs += [word for word in arguments if not word.startswith("-")][:1]
    return list(dict.fromkeys(programs))


def require_only_root_writes(program: Path) -> None:
    """Refuse a program that root would run and that other users could replace.

    Links are followed. A program that does not exist yet is judged by the folders above it. Raises
    SystemFilesRefused.
    """
    path = program.resolve()
    has_content = False
    for folder in (path, *path.parents):
        try:
            status = folder.stat()
        except FileNotFoundError:
            continue
        # in a sticky folder no other user can replace root's files
        is_sticky = has_content and status.st_mode & stat.S_ISVTX
        others_write = status.st_mode & 0o022 and not is_sticky
        has_content = True
        if status.st_uid != 0 or others_write:
            raise SystemFilesRefused(
                f"{program} would run as root, but other users can write to {folder}: make root "
                "its owner (chown root:root), and remove write permission for others (chmod "
                "go-w)."
            )


def launcher_files(settings: Settings) -> dict[Path, File]:
    path = settings.launcher_path
    return {
        path: File(launcher_program(), 0o755),
        path.with_name(FILES_PROGRAM): File(files_program()),
        path.with_name("launcher.conf"): text_file(launcher_conf(settings)),
    }


def launcher_conf(settings: Settings) -> str:
    fields = {
        "min_uid": settings.min_uid,
        "slurm_bin_dir": str(settings.slurm_bin_dir),
        "slurm_conf": str(settings.slurm_conf or ""),
        "umask": settings.umask,
    }
    return json.dumps(fields) + "\n"


def hub_config(installation: Installation) -> Path:
    return installation.config.with_name("hub.toml")


def hub_values(installation: Installation) -> dict[str, str | list[str]]:
    """Return the values that deploy/jupyterhub_config.py requires.

    A portal trusts the hub on its own host only, so only other portals on loopback are included.
    """
    settings = installation.settings
    other_urls = [
        f"http://{address}" for address in settings.portals if address != settings.address
    ]
    other_urls = [url for url in other_urls if _is_on_loopback(url)]
    notebooks = settings.notebook_url or settings.content_url
    return {
        "public_url": settings.public_url,
        "hub_bind_url": settings.hub_url,
        "node_url": settings.node_url,
        "portal_url": f"http://{settings.address}",
        "hub_token_file": str(settings.hub_token_file),
        "internal_secret_file": str(settings.internal_secret_file),
        "cookie_secret_file": str(installation.hub_dir / "cookie_secret"),
        "db_url": f"sqlite:///{installation.hub_dir}/hub.db",
        "cookie_name": settings.cookie_name,
        **({"other_portal_urls": other_urls} if other_urls else {}),
        **({"notebook_url": notebooks} if notebooks else {}),
    }


def _is_on_loopback(url: str) -> bool:
    try:
        return ip_address(urlsplit(url).hostname or "").is_loopback
    except ValueError:
        return False


def _render_toml(values: Mapping[str, str | list[str]]) -> str:
    lines = [f"{name} = {to_toml(value)}" for name, value in values.items()]
    head = "# Rendered by `portal system-files`: change the settings, and render again."
    return "\n".join([head, *lines]) + "\n"


# --- writing --------------------------------------------------------------------------------------


def write_files(contents: Mapping[Path, File], root: Path = Path("/")) -> list[Path]:
    """Write the files below `root` atomically, with their modes, and return the written paths.

    Files that have the right content and mode are left alone. Raises SystemFilesRefused.
    """
    if SUDOERS in contents:
        check_sudoers(contents[SUDOERS].text)
    return [
        path for path, file in contents.items() if _write_file(root / path.relative_to("/"), file)
    ]


def _write_file(path: Path, file: File) -> bool:
    try:
        same = path.read_bytes() == file.data
        if same and path.stat().st_mode & 0o7777 == file.mode:
            return False
    except FileNotFoundError:
        pass
    except OSError as error:
        raise SystemFilesRefused(f"{path} can't be read: {error.strerror}.") from error
    # sudo ignores files in sudoers.d whose names contain a dot
    fresh = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.unlink(missing_ok=True)
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(file.data)
            # not by path: another account could have replaced it by a link
            os.fchmod(handle, file.mode)
        fresh.replace(path)
    except OSError as error:
        raise SystemFilesRefused(f"{path} can't be written: {error.strerror}.") from error
    return True


def check_sudoers(text: str) -> None:
    """Check the rules with visudo: a file that sudo cannot parse would disable sudo for
    everyone."""
    program = shutil.which("visudo", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    if program is None:
        return
    with tempfile.NamedTemporaryFile("w", prefix="portal-sudoers-") as file:
        file.write(text)
        file.flush()
        command = [program, "--check", "--quiet", f"--file={file.name}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemFilesRefused(f"sudo rejected these rules: {done.stderr.strip()[:300]}.")


def make_folders(folder_specs: Sequence[tuple[Path, str, int]]) -> None:
    """Create the folders with their owners. Raises SystemFilesRefused."""
    for path, owner, mode in folder_specs:
        try:
            account = pwd.getpwnam(owner)
            _make_folder(path, account, mode)
        except KeyError as error:
            raise SystemFilesRefused(
                f"The account {owner} does not exist: create it first."
            ) from error
        except OSError as error:
            raise SystemFilesRefused(f"{path} can't be created: {error.strerror}.") from error


def _make_folder(path: Path, account: pwd.struct_passwd, mode: int) -> None:
    """Create a folder, and set owner and mode by its descriptor.

    The parent folder may belong to another account, which could put a link in the folder's place,
    so that root would give away the link's target. A link that belongs to root is followed.
    """
    path.mkdir(parents=True, exist_ok=True)
    if path.lstat().st_uid == os.geteuid():
        path = path.resolve()
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchown(opened, account.pw_uid, account.pw_gid)
        os.fchmod(opened, mode)
    finally:
        os.close(opened)

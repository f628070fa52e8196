"""Every setting of the portal, in one class, checked before anything starts.

Values come from the TOML file that PORTAL_CONFIG names and from PORTAL_* variables, which win.
docs/settings.md describes each one. What is missing or wrong stops the start with the field's name;
nothing here opens a connection.
"""

import os
import stat
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from portal.models import Role
from portal.registry_auth import registry_hosts
from portal.settings_content import ContentSettings, content_problem
from portal.settings_directory import DirectorySettings
from portal.settings_files import FileSettings
from portal.settings_listen import ListenSettings
from portal.settings_mail import MailSettings
from portal.settings_node_tls import NodeTlsSettings
from portal.settings_types import AbsolutePath, DatabaseUrl, HomeCommand
from spawner.references import parse_registry

PAGES = Path(__file__).with_name("pages")
MIN_SECRET_LENGTH = 32
USERNAME_PATTERN = r"^[a-z_][a-z0-9_.-]{0,31}$"


class SettingsError(Exception):
    """The portal can't start with these settings; `problems` are (field, sentence)."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"{field}: {message}" for field, message in problems))


def _http_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be a URL that begins with http:// or https://")
    return value.rstrip("/")


HttpUrl = Annotated[str, AfterValidator(_http_url)]
Registry = Annotated[str, AfterValidator(parse_registry)]


class PresetResources(BaseModel):
    """The resources a preset asks for; what it leaves out comes from the environment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    partition: str | None = None
    nodes: PositiveInt | None = None
    gpus: int | None = Field(default=None, ge=0)
    gpu_type: str | None = None
    cpus: PositiveInt | None = None
    memory_gb: PositiveFloat | None = None
    time_limit_minutes: PositiveInt | None = None
    account: str | None = None
    qos: str | None = None


class Preset(BaseModel):
    """One named choice of resources, offered beside the form."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    title: str
    description: str = ""
    resources: PresetResources = PresetResources()


class Settings(
    ContentSettings,
    DirectorySettings,
    FileSettings,
    ListenSettings,
    MailSettings,
    NodeTlsSettings,
    BaseSettings,
):
    """All settings; read-only after the start."""

    model_config = SettingsConfigDict(
        env_prefix="PORTAL_", extra="forbid", frozen=True, hide_input_in_errors=True
    )

    # where the portal is
    public_url: HttpUrl
    extra_origins: list[HttpUrl] = []
    node_url: HttpUrl
    certificate_file: AbsolutePath | None = None
    certificate_key_file: AbsolutePath | None = None
    hub_url: HttpUrl = "http://127.0.0.1:8081"
    state_dir: AbsolutePath
    frontend_dir: AbsolutePath | None = None
    database_url: DatabaseUrl = ""
    auto_migrate: bool | None = None
    hub_token_file: AbsolutePath
    internal_secret_file: AbsolutePath
    metrics_token_file: AbsolutePath | None = None
    log_format: Literal["json", "console"] = "json"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    notice: str | None = None

    # Slurm, and acting as a user
    cluster_name: str = "cluster"
    slurm_bin_dir: AbsolutePath = Path("/usr/bin")
    slurm_conf: AbsolutePath | None = None
    slurm_timeout_s: float = Field(default=10.0, gt=0, le=60)  # the launcher's own limit
    launcher_path: AbsolutePath = Path("/usr/local/libexec/portal/launcher")
    sudo_path: AbsolutePath = Path("/usr/bin/sudo")
    min_uid: int = Field(default=1000, ge=1)
    default_partition: str | None = None
    default_gpu_partition: str | None = None
    default_account: str | None = None
    default_qos: str | None = None
    default_time_limit_minutes: PositiveInt = 240
    service_partition: str | None = None
    slurm_account_of_group: dict[str, str] = {}
    usage_months: PositiveInt = 13
    presets: list[Preset] = []
    gpu_memory_gb: dict[str, PositiveFloat] = {}
    node_table_file: AbsolutePath | None = None
    node_addresses_for: list[Role] = [Role.ADMIN, Role.VIEWER]

    # what runs on the nodes
    runtime_dir: AbsolutePath
    image_dir: AbsolutePath
    catalog_dir: AbsolutePath | None = None
    apptainer_path: AbsolutePath = Path("/usr/bin/apptainer")
    modules_init: AbsolutePath | None = None

    # images that administrators import from registries
    image_import_dir: AbsolutePath | None = None
    image_import_auth_file: AbsolutePath | None = None
    image_import_plain_registries: list[Registry] = []
    image_import_hours: PositiveFloat = 6.0

    # home directories, by the site's own commands
    home_command: HomeCommand = []
    home_archive_command: HomeCommand = []
    home_delete_command: HomeCommand = []
    home_command_minutes: PositiveFloat = 10.0

    # people at work
    web_session_hours: PositiveFloat = 12.0
    web_session_idle_hours: PositiveFloat = 8.0
    reauth_minutes: PositiveFloat = 10.0
    login_attempts: PositiveInt = 10
    login_attempts_per_address: PositiveInt = 60
    login_window_minutes: PositiveFloat = 10.0
    access_token_max_days: PositiveInt = 365
    audit_retention_days: int | None = Field(default=None, ge=7)
    second_factor_required_for: list[Role] = []
    second_factor_key_file: AbsolutePath | None = None
    session_extend_minutes: int = Field(default=240, ge=0)
    session_max_hours: PositiveFloat | None = None
    session_idle_warning_minutes: float = Field(default=60.0, ge=0)
    directory_sweep_minutes: PositiveFloat = 5.0
    tensorboard_idle_minutes: PositiveFloat = 30.0
    hub_give_up_minutes: PositiveFloat = 5.0

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        config = os.environ.get("PORTAL_CONFIG")
        file = TomlConfigSettingsSource(settings_cls, Path(config)) if config else None
        return (init_settings, env_settings, *((file,) if file else ()))

    @model_validator(mode="after")
    def _a_certificate_has_its_key(self) -> Self:
        if (self.certificate_file is None) != (self.certificate_key_file is None):
            lacking = "certificate_key_file" if self.certificate_file else "certificate_file"
            raise ValueError(f"{lacking}\tmust be set, too: a certificate and its key")
        return self

    @model_validator(mode="after")
    def _numbers_are_not_the_systems(self) -> Self:
        if self.ldap_write_dn and self.ldap_uid_range[0] < self.min_uid:
            raise ValueError(f"ldap_uid_range\tmust not begin below min_uid, {self.min_uid}")
        return self

    @model_validator(mode="after")
    def _content_is_apart(self) -> Self:
        others = [*self.extra_origins, self.node_url]
        why = self.content and content_problem(self.content, self.public_url, others)
        if why:
            raise ValueError(f"content_url\t{why}")
        return self

    @cached_property
    def database(self) -> str:
        """The database's URL; by default SQLite in the state folder."""
        return self.database_url or f"sqlite+aiosqlite:///{self.state_dir / 'portal.db'}"

    @property
    def pages_dir(self) -> Path | None:
        """The built pages: where the setting says, else those that came with this installation."""
        if self.frontend_dir is not None:
            return self.frontend_dir
        return PAGES if (PAGES / "index.html").is_file() else None

    @property
    def second_factor_key(self) -> Path:
        """The file with the key of second factors' secrets; by default beside the database."""
        return self.second_factor_key_file or self.state_dir / "second-factor.key"

    @property
    def migrates_at_start(self) -> bool:
        if self.auto_migrate is not None:
            return self.auto_migrate
        return self.database.startswith("sqlite")

    @property
    def secure_cookies(self) -> bool:
        return self.public_url.startswith("https://")

    @property
    def cookie_name(self) -> str:
        """A `__Host-` name only works with Secure, that is with TLS."""
        return "__Host-portal" if self.secure_cookies else "portal_session"

    @property
    def content_cookie(self) -> str:
        """What opens notebooks and TensorBoards on a host of their own."""
        return "__Host-portal-content" if self.secure_cookies else "portal_content"

    @property
    def entry_cookie(self) -> str:
        """By which a content host knows the browser that it sent to the portal again."""
        return "__Host-portal-entry" if self.secure_cookies else "portal_entry"

    @cached_property
    def origins(self) -> frozenset[str]:
        """Origins whose pages may change things here."""
        return frozenset(origin_of(url) for url in (self.public_url, *self.extra_origins))

    @cached_property
    def internal_secret(self) -> str:
        return read_secret(self.internal_secret_file)

    @cached_property
    def metrics_token(self) -> str | None:
        return read_secret(self.metrics_token_file) if self.metrics_token_file else None

    @cached_property
    def hub_token(self) -> str:
        return read_secret(self.hub_token_file)

    @cached_property
    def ldap_bind_password(self) -> str | None:
        file = self.ldap_bind_password_file
        return read_secret(file, min_length=1) if file else None

    @cached_property
    def ldap_write_password(self) -> str | None:
        file = self.ldap_write_password_file
        return read_secret(file, min_length=1) if file else None

    @cached_property
    def smtp_password(self) -> str | None:
        file = self.smtp_password_file
        return read_secret(file, min_length=1) if file else None

    @property
    def registries_with_credentials(self) -> frozenset[str]:
        """Read each time: an administrator may put another password into the file."""
        file = self.image_import_auth_file
        return registry_hosts(file) if file else frozenset()


def origin_of(url: str) -> str:
    """`https://host[:port]` of a URL, as browsers write it: no default port, lowercase."""
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in {None, default} else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def read_secret(path: Path, *, min_length: int = MIN_SECRET_LENGTH) -> str:
    """The secret in a file, which nobody but its owner and group may read.

    Raises ValueError with a sentence that says what to do.
    """
    try:
        with path.open(encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            secret = file.read(4096).strip()
    except OSError as error:
        raise ValueError(f"{path} can't be read: {error.strerror}") from error
    if mode & (stat.S_IRWXO | stat.S_IWGRP):
        raise ValueError(f"{path} is open to others (mode {mode:04o}): chmod 0600 it")
    if len(secret) < min_length:
        raise ValueError(f"{path} holds fewer than {min_length} characters")
    return secret


def load_settings() -> Settings:
    """Read and check everything, secrets too; raises SettingsError."""
    settings = read_settings()
    problems = _secret_problems(settings)
    if problems:
        raise SettingsError(problems)
    return settings


def read_settings() -> Settings:
    """The settings, before the secrets are where they say; raises SettingsError."""
    config = os.environ.get("PORTAL_CONFIG")
    if config and not Path(config).is_file():
        raise SettingsError([("PORTAL_CONFIG", f"there is no file {config}")])
    try:
        return Settings()  # the sources fill it
    except ValidationError as error:
        raise SettingsError(_plain(error)) from error
    except (OSError, ValueError) as error:
        raise SettingsError([("PORTAL_CONFIG", str(error))]) from error


def _secret_problems(settings: Settings) -> list[tuple[str, str]]:
    problems = []
    for field, name in (
        ("internal_secret_file", "internal_secret"),
        ("hub_token_file", "hub_token"),
        ("metrics_token_file", "metrics_token"),
        ("ldap_bind_password_file", "ldap_bind_password"),
        ("ldap_write_password_file", "ldap_write_password"),
        ("smtp_password_file", "smtp_password"),
        ("node_url_ca_file", "node_url_ca"),
        ("image_import_auth_file", "registries_with_credentials"),
    ):
        try:
            getattr(settings, name)
        except ValueError as error:
            problems.append((field, str(error)))
    return problems


def _plain(error: ValidationError) -> list[tuple[str, str]]:
    """pydantic's findings as (field, sentence), without the values, which may be secret."""
    problems: list[tuple[str, str]] = []
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        field = ".".join(str(part) for part in item["loc"])
        message = item["msg"].removeprefix("Value error, ")
        if not field:
            pairs = (line.partition("\t") for line in message.split("\n"))
            problems.extend((name, text) for name, _, text in pairs)
        elif item["type"] == "missing":
            problems.append((field, "is missing"))
        elif item["type"] == "extra_forbidden":
            problems.append((field, "isn't a setting of the portal"))
        else:
            problems.append((field, message[:1].lower() + message[1:]))
    return problems

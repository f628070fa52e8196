"""All settings of the portal, in one class, validated before anything starts.

Values come from the TOML file in PORTAL_CONFIG and from PORTAL_* variables, which take precedence.
docs/settings.md describes each one. A missing or invalid setting stops the start with the field's
name; nothing here opens a connection.
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

from portal.config.content import ContentSettings
from portal.config.directory import DirectorySettings
from portal.config.files import FileSettings
from portal.config.listen import ListenSettings
from portal.config.mail import MailSettings
from portal.config.node_tls import NodeTlsSettings
from portal.config.registry_auth import registry_hosts
from portal.config.site import SiteSettings
from portal.config.types import AbsolutePath, DatabaseUrl, HomeCommand, Umask, sites_umask
from portal.models import Role
from spawner.containers.references import parse_registry

PAGES = Path(__file__).parents[1] / "pages"
MIN_SECRET_LENGTH = 32


class SettingsError(Exception):
    """The settings are invalid, so the portal cannot start; `problems` are (field, message)."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"{field}: {message}" for field, message in problems))


def _check_http_url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be a URL that begins with http:// or https://")
    return value.rstrip("/")


HttpUrl = Annotated[str, AfterValidator(_check_http_url)]


def _check_index_url(value: str) -> str:
    if "@" in urlsplit(value).netloc:
        raise ValueError("must not contain a username or password: every job can read it")
    return _check_http_url(value)


IndexUrl = Annotated[str, AfterValidator(_check_index_url)]
Registry = Annotated[str, AfterValidator(parse_registry)]


class PresetResources(BaseModel):
    """The resources of a preset; omitted ones come from the environment."""

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
    """A named choice of resources, offered beside the form."""

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
    SiteSettings,
    BaseSettings,
):
    """All settings; read-only after the start."""

    model_config = SettingsConfigDict(
        env_prefix="PORTAL_", extra="forbid", frozen=True, hide_input_in_errors=True
    )

    # addresses and files of the portal
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

    # Slurm, and running as a user
    cluster_name: str = "cluster"
    slurm_bin_dir: AbsolutePath = Path("/usr/bin")
    slurm_conf: AbsolutePath | None = None
    slurm_timeout_s: float = Field(default=10.0, gt=0, le=60)  # the launcher's own limit
    launcher_path: AbsolutePath = Path("/usr/local/libexec/portal/launcher")
    sudo_path: AbsolutePath = Path("/usr/bin/sudo")
    min_uid: int = Field(default=1000, ge=1)
    umask: Umask = Field(default_factory=sites_umask)
    default_partition: str | None = None
    default_gpu_partition: str | None = None
    default_account: str | None = None
    default_qos: str | None = None
    default_time_limit_minutes: PositiveInt = 240
    service_partition: str | None = None
    slurm_account_of_group: dict[str, str] = {}
    usage_months: PositiveInt = 13
    job_usage_samplers: bool = True
    presets: list[Preset] = []
    gpu_memory_gb: dict[str, PositiveFloat] = {}
    node_table_file: AbsolutePath | None = None
    node_addresses_for: list[Role] = [Role.ADMIN, Role.VIEWER]

    # software on the nodes
    runtime_dir: AbsolutePath
    image_dir: AbsolutePath
    catalog_dir: AbsolutePath | None = None
    app_dir: AbsolutePath | None = None
    apptainer_path: AbsolutePath = Path("/usr/bin/apptainer")
    modules_init: AbsolutePath | None = None
    pip_index_url: IndexUrl | None = None

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

    # defaults for new users
    default_login_group: str | None = None
    default_slurm_account: str | None = None

    # logins, sessions and users
    web_session_hours: PositiveFloat = 12.0
    web_session_idle_hours: PositiveFloat = 8.0
    reauth_minutes: PositiveFloat = 10.0
    login_attempts: PositiveInt = 3
    login_attempts_known_browser: PositiveInt = 3
    login_attempts_per_address: PositiveInt = 60
    login_window_minutes: PositiveFloat = 10.0
    refused_login_seconds: float = Field(default=0.5, ge=0, le=10)
    logins_per_user: PositiveInt = 20
    access_token_max_days: PositiveInt = 365
    audit_retention_days: int | None = Field(default=None, ge=7)
    job_retention_days: int | None = Field(default=None, ge=31)
    second_factor_required_for: list[Role] = []
    second_factor_key_file: AbsolutePath | None = None
    session_extend_minutes: int = Field(default=240, ge=0)
    session_max_hours: PositiveFloat | None = None
    session_idle_warning_minutes: float = Field(default=60.0, ge=0)
    session_ssh: bool = True
    directory_sweep_minutes: PositiveFloat = 5.0
    tensorboard_idle_minutes: PositiveFloat = 30.0
    call_home_minutes: PositiveFloat = 3.0
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
            raise ValueError(f"{lacking}\tmust be set too: a certificate needs its key")
        return self

    @model_validator(mode="after")
    def _ldap_uid_range_is_not_below_min_uid(self) -> Self:
        if self.ldap_write_dn and self.ldap_uid_range[0] < self.min_uid:
            raise ValueError(f"ldap_uid_range\tmust not begin below min_uid, {self.min_uid}")
        return self

    @model_validator(mode="after")
    def _default_login_group_lets_in(self) -> Self:
        group, allowed = self.default_login_group, self.ldap_user_groups
        if group and allowed and group not in allowed:
            raise ValueError("default_login_group\tmust be one of ldap_user_groups")
        if group and group in {*self.ldap_admin_groups, *self.ldap_viewer_groups}:
            raise ValueError(
                "default_login_group\tmust not be a group of administrators or viewers"
            )
        return self

    @model_validator(mode="after")
    def _content_is_apart(self) -> Self:
        others = [*self.extra_origins, self.node_url]
        problem = self.content and self.content.problem(self.public_url, others)
        if problem:
            name, why = problem
            raise ValueError(f"{'content_url' if self.content_url else name}\t{why}")
        return self

    @cached_property
    def database(self) -> str:
        """Return the database's URL; by default SQLite in the state folder."""
        return self.database_url or f"sqlite+aiosqlite:///{self.state_dir / 'portal.db'}"

    @property
    def pages_dir(self) -> Path | None:
        """Return the folder of the built pages: from the setting, else the ones in this
        installation.
        """
        if self.frontend_dir is not None:
            return self.frontend_dir
        return PAGES if (PAGES / "index.html").is_file() else None

    @property
    def second_factor_key(self) -> Path:
        """Return the file with the key of second factors' secrets; by default beside the
        database.
        """
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
        """Return the login cookie's name.

        A `__Host-` name works only with Secure, which means TLS.
        """
        return "__Host-portal" if self.secure_cookies else "portal_session"

    def own_cookie(self, name: str) -> str:
        """Return the name of a further cookie.

        All ports of a host receive it, so each origin has a name of its own.
        """
        return f"__Host-portal-{name}" if self.secure_cookies else f"portal_{name}"

    @property
    def notebook_cookie(self) -> str:
        """Return the name of the login cookie for notebooks on an origin of their own."""
        return self.own_cookie("content")

    @property
    def tensorboard_cookie(self) -> str:
        """Return the name of the login cookie for TensorBoards on an origin of their own."""
        apart = self.content is not None and self.content.apart
        return self.own_cookie("tensorboard") if apart else self.notebook_cookie

    @property
    def entry_cookie(self) -> str:
        """Return the name of the cookie by which a content host recognizes the browser that it
        redirected to the portal.
        """
        return self.own_cookie("entry")

    def cookie_at(self, host: str | None) -> str:
        """Return the name of the login cookie at this content host; None: at the portal's own
        host.
        """
        if host is None or self.content is None:
            return self.cookie_name
        return self.notebook_cookie if self.content.is_notebook(host) else self.tensorboard_cookie

    @property
    def device_cookie(self) -> str:
        """Return the name of the cookie by which the login recognizes a browser that has logged in
        before.
        """
        return "__Host-portal-device" if self.secure_cookies else "portal_device"

    @cached_property
    def origins(self) -> frozenset[str]:
        """Return the origins with pages that may change things here."""
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
        """Return the registries in the credentials file; read each time, because an administrator
        may change it.
        """
        file = self.image_import_auth_file
        return registry_hosts(file) if file else frozenset()


def origin_of(url: str) -> str:
    """Return a URL's `https://host[:port]` in the form that browsers use: no default port,
    lowercase.
    """
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in {None, default} else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def read_secret(path: Path, *, min_length: int = MIN_SECRET_LENGTH) -> str:
    """Return the secret in a file, which only its owner and group may read.

    Raises ValueError with a message and its remedy.
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
        raise ValueError(f"{path} has fewer than {min_length} characters")
    return secret


def load_settings() -> Settings:
    """Read and validate all settings, secrets too; raises SettingsError."""
    settings = read_settings()
    problems = _secret_problems(settings)
    if problems:
        raise SettingsError(problems)
    return settings


def read_settings() -> Settings:
    """Read the settings without the secrets' files; raises SettingsError."""
    config = os.environ.get("PORTAL_CONFIG")
    if config and not Path(config).is_file():
        raise SettingsError([("PORTAL_CONFIG", f"there is no file {config}")])
    try:
        return Settings()  # filled by the sources
    except ValidationError as error:
        raise SettingsError(_to_problems(error)) from error
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


def _to_problems(error: ValidationError) -> list[tuple[str, str]]:
    """Convert pydantic's errors to (field, message), without the values, which may be secret."""
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
            problems.append((field, "isn't a known setting"))
        else:
            problems.append((field, message[:1].lower() + message[1:]))
    return problems

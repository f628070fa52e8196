"""Settings of e-mail: the server for the portal's notifications."""

from email.errors import MessageError
from email.headerregistry import Address
from email.policy import SMTP
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, model_validator

from portal.config.types import AbsolutePath

Tls = Literal["starttls", "tls", "none"]
PORTS: dict[Tls, int] = {"starttls": 587, "tls": 465, "none": 25}
_PARSER_ERRORS = (
    MessageError,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
    UnboundLocalError,
)
"""The errors of the standard library's parser for text that is no address, for example `a@[b`."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def one_address(text: str) -> Address:
    """Parse `portal@example.org` or `Data Scientist Portal <portal@example.org>` as one address;
    raises ValueError for anything else.
    """
    plain = "must be an e-mail address, such as portal@example.org or Portal <portal@example.org>"
    if not text.isprintable():
        raise ValueError(plain)
    try:
        header = SMTP.header_factory("From", text)
    except _PARSER_ERRORS as error:
        raise ValueError(plain) from error
    addresses: tuple[Address, ...] = getattr(header, "addresses", ())
    if getattr(header, "defects", ()) or len(addresses) != 1 or not addresses[0].domain:
        raise ValueError(plain)
    return addresses[0]


def _check_sender(value: str) -> str:
    one_address(value)
    return value


class MailSettings(BaseModel):
    """The portal's settings of e-mail, a part of all settings; without `smtp_host` none is sent."""

    smtp_host: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    smtp_port: Annotated[int, Field(ge=1, le=65535)] | None = None
    smtp_tls: Tls = "starttls"
    smtp_ca_file: AbsolutePath | None = None
    smtp_user: str | None = None
    smtp_password_file: AbsolutePath | None = None
    smtp_from: Annotated[str, AfterValidator(_check_sender)] | None = None

    @model_validator(mode="after")
    def _mail_is_complete(self) -> Self:
        problems = _find_problems(self)
        if problems:
            # Settings reads this back as one (field, message) pair per line (_to_problems).
            raise ValueError("\n".join(f"{field}\t{text}" for field, text in problems))
        return self

    @property
    def smtp_address(self) -> tuple[str, int] | None:
        """Return host and port of the mail server, if there is one."""
        if self.smtp_host is None:
            return None
        return self.smtp_host, self.smtp_port or PORTS[self.smtp_tls]


def _find_problems(settings: MailSettings) -> list[tuple[str, str]]:
    if settings.smtp_host is None:
        return []
    problems = []
    if settings.smtp_from is None:
        problems.append(("smtp_from", "is missing: smtp_host is set"))
    if (settings.smtp_user is None) != (settings.smtp_password_file is None):
        problems.append(("smtp_user", "and smtp_password_file go together: set both or none"))
    if settings.smtp_user and settings.smtp_tls == "none" and settings.smtp_host not in LOOPBACK:
        problems.append(
            (
                "smtp_tls",
                "must not be none with smtp_user: the password would be sent in plain text",
            )
        )
    return problems

"""The settings of the directory: address, attribute names, and permitted changes.

`ldap_directory` names the kind, which determines the defaults of everything that differs between
kinds.
"""

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, Field, model_validator

from portal.config.types import AbsolutePath

MAX_NUMBER = 2_147_483_647
"""The largest uid: some programs treat a larger one as negative."""
LOCKED_FOR_GOOD = "000001010000Z"
"""ppolicy's pwdAccountLockedTime for a lock until an administrator unlocks the account."""

_MEMBER_FILTER = re.compile(r"\((memberUid|member|uniqueMember)=", re.IGNORECASE)

_PRESETS: dict[str, dict[str, Any]] = {
    "openldap": {},
    "other": {},
    "freeipa": {
        "ldap_user_filter": "(&(objectClass=posixAccount)(uid={username}))",
        "ldap_groups_filter": "(objectClass=ipaUserGroup)",
        "ldap_group_member_attribute": "member",
        "ldap_member_of_attribute": "memberOf",
        "ldap_nested_groups": True,
    },
    "active-directory": {
        "ldap_user_filter": "(&(objectClass=user)(!(objectClass=computer))"
        "(sAMAccountName={username}))",
        "ldap_username_attribute": "sAMAccountName",
        "ldap_home_attribute": "unixHomeDirectory",
        "ldap_groups_filter": "(objectClass=group)",
        "ldap_group_member_attribute": "member",
        "ldap_member_of_attribute": "memberOf",
        "ldap_nested_groups": True,
    },
}
_GROUP_FILTERS = {
    "memberUid": "(memberUid={username})",
    "member": "(member={dn})",
    "uniqueMember": "(uniqueMember={dn})",
}


def _check_number_range(value: tuple[int, int]) -> tuple[int, int]:
    first, last = value
    if not 0 < first <= last <= MAX_NUMBER:
        raise ValueError(f"must be two numbers, the first and the last, up to {MAX_NUMBER}")
    return value


NumberRange = Annotated[tuple[int, int], AfterValidator(_check_number_range)]
AttributeName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]*$")]
AttributeNames = list[AttributeName]


class DirectorySettings(BaseModel):
    """The settings of `portal.directory`; a part of `Settings`."""

    # address, and the account that searches
    ldap_directory: Literal["openldap", "active-directory", "freeipa", "other"] = "openldap"
    ldap_urls: list[str] = Field(min_length=1)
    ldap_start_tls: bool = True
    ldap_ca_file: AbsolutePath | None = None
    ldap_allow_plaintext: bool = False
    ldap_verify_certificate: bool = True
    ldap_bind_dn: str | None = None
    ldap_bind_password_file: AbsolutePath | None = None
    ldap_timeout_s: float = Field(default=2.0, gt=0, le=30)

    # users
    ldap_user_base: str | None = None
    ldap_user_filter: str = "(uid={username})"
    ldap_user_dn_template: str | None = None
    ldap_username_attribute: AttributeName = "uid"
    ldap_name_attributes: AttributeNames = ["displayName", "cn"]
    ldap_mail_attribute: AttributeName = "mail"
    ldap_uid_attribute: AttributeName = "uidNumber"
    ldap_gid_attribute: AttributeName = "gidNumber"
    ldap_home_attribute: AttributeName = "homeDirectory"
    ldap_shell_attribute: AttributeName = "loginShell"
    ldap_member_of_attribute: AttributeName | None = None

    # groups
    ldap_group_base: str | None = None
    ldap_group_filter: str = "(memberUid={username})"
    ldap_group_name_attribute: AttributeName = "cn"
    ldap_group_member_attribute: Literal["memberUid", "member", "uniqueMember"] = "memberUid"
    ldap_groups_filter: str = (
        "(|(objectClass=posixGroup)(objectClass=groupOfNames)(objectClass=groupOfUniqueNames))"
    )
    ldap_nested_groups: bool = False
    ldap_admin_groups: list[str] = []
    ldap_viewer_groups: list[str] = []
    ldap_user_groups: list[str] = []

    # changes to users and groups
    ldap_write_dn: str | None = None
    ldap_write_password_file: AbsolutePath | None = None
    ldap_new_user_base: str | None = None
    ldap_uid_range: NumberRange = (20000, 59999)
    ldap_gid_range: NumberRange = (20000, 59999)
    ldap_numbers_base: str | None = None
    ldap_primary_gid: int | None = Field(default=None, ge=1, le=MAX_NUMBER)
    ldap_home_template: str = "/home/{username}"
    ldap_new_shell: str = Field(default="/bin/bash", pattern=r"^/[!-~]+$")
    ldap_disabled_shell: str = Field(default="/usr/sbin/nologin", pattern=r"^/[!-~]+$")

    @model_validator(mode="before")
    @classmethod
    def _kind_brings_its_names(cls, values: Any) -> Any:
        """Fill in the defaults of the kind of directory, and values derived from other settings."""
        if not isinstance(values, dict):
            return values
        kind = values.get("ldap_directory", "openldap")
        preset = _PRESETS.get(kind, {}) if isinstance(kind, str) else {}
        filled = {**preset, **values}
        given = values.get("ldap_group_filter")
        match = _MEMBER_FILTER.search(given) if isinstance(given, str) else None
        if match and "ldap_group_member_attribute" not in values:
            names = {name.lower(): name for name in _GROUP_FILTERS}
            filled["ldap_group_member_attribute"] = names[match.group(1).lower()]
        member = filled.get("ldap_group_member_attribute", "memberUid")
        if given is None and isinstance(member, str) and member in _GROUP_FILTERS:
            filled["ldap_group_filter"] = _GROUP_FILTERS[member]
        return filled

    @model_validator(mode="after")
    def _directory_is_complete(self) -> Self:
        problems = [*_find_reading_problems(self), *_find_writing_problems(self)]
        if problems:
            raise ValueError("\n".join(f"{field}\t{text}" for field, text in problems))
        return self

    @property
    def ldap_effective_new_user_base(self) -> str:
        """Return the DN below which new users are created."""
        return self.ldap_new_user_base or self.ldap_user_base or ""

    @property
    def ldap_numbers_place(self) -> str:
        """Return the DN below which the counters of uid and gid numbers are."""
        return self.ldap_numbers_base or self.ldap_effective_new_user_base


Problems = list[tuple[str, str]]


def _find_reading_problems(settings: DirectorySettings) -> Problems:
    """Return the missing LDAP settings.

    They are never guessed: a missing setting must stop the start.
    """
    problems: Problems = []
    for url in settings.ldap_urls:
        scheme = urlsplit(url).scheme
        if scheme not in {"ldap", "ldaps"} or not urlsplit(url).hostname:
            problems.append(("ldap_urls", f"{url[:200]} doesn't begin with ldap:// or ldaps://"))
        elif scheme == "ldap" and not (settings.ldap_start_tls or settings.ldap_allow_plaintext):
            problems.append(
                (
                    "ldap_start_tls",
                    f"{url[:200]} would carry passwords in plain text; set ldap_start_tls "
                    "= true, use ldaps://, or set ldap_allow_plaintext = true",
                )
            )
    if not (settings.ldap_user_base or settings.ldap_user_dn_template):
        problems.append(
            ("ldap_user_base", "is missing: the DN below which the directory has users")
        )
    template = settings.ldap_user_dn_template
    if template is not None and "{username}" not in template:
        problems.append(("ldap_user_dn_template", "must contain {username}"))
    if "{username}" not in settings.ldap_user_filter:
        problems.append(("ldap_user_filter", "must contain {username}"))
    if not any(mark in settings.ldap_group_filter for mark in ("{username}", "{dn}")):
        problems.append(("ldap_group_filter", "must contain {username} or {dn}"))
    if settings.ldap_bind_dn and not settings.ldap_bind_password_file:
        problems.append(("ldap_bind_password_file", "is missing: ldap_bind_dn needs a password"))
    groups = settings.ldap_admin_groups, settings.ldap_viewer_groups, settings.ldap_user_groups
    groups_named = any(groups)
    if groups_named and not settings.ldap_group_base:
        problems.append(("ldap_group_base", "is missing: other settings name groups"))
    if settings.ldap_ca_file and not settings.ldap_ca_file.is_file():
        problems.append(("ldap_ca_file", f"{settings.ldap_ca_file} doesn't exist"))
    return problems


def _find_writing_problems(settings: DirectorySettings) -> Problems:
    """Return the missing settings of an account that writes; empty if there is none."""
    if not settings.ldap_write_dn:
        return []
    problems: Problems = []
    if settings.ldap_directory != "openldap":
        problems.append(
            ("ldap_write_dn", "needs ldap_directory = openldap: other kinds are read-only")
        )
    if not settings.ldap_write_password_file:
        problems.append(("ldap_write_password_file", "is missing: ldap_write_dn needs a password"))
    if settings.ldap_user_dn_template or not settings.ldap_user_base:
        problems.append(("ldap_write_dn", "needs ldap_user_base, and no ldap_user_dn_template"))
    if "{username}" not in settings.ldap_home_template or settings.ldap_home_template[:1] != "/":
        problems.append(("ldap_home_template", "must be a path from / that contains {username}"))
    if settings.ldap_primary_gid is None and settings.ldap_group_base is None:
        problems.append(("ldap_group_base", "is missing, or set ldap_primary_gid for new users"))
    if settings.ldap_primary_gid is None and settings.ldap_group_member_attribute == "member":
        problems.append(("ldap_primary_gid", "is missing: these groups have no GIDs"))
    if settings.ldap_group_member_attribute == "uniqueMember":
        problems.append(
            ("ldap_group_member_attribute", "must be memberUid or member where groups are changed")
        )
    return problems

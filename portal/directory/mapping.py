"""Conversion of the directory's attributes to users and groups, and of search words to filters.
Pure.

Every text that comes from outside passes through `escaped` before it is part of a filter.
"""

import hashlib
import json
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from portal.config.directory import LOCKED_FOR_GOOD
from portal.config.settings import Settings
from portal.directory.contract import MAX_QUERY_LENGTH, DirectoryGroup, DirectoryUser
from portal.errors import FieldError, invalid_input

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # ldap3 uses pyasn1's older names
    from ldap3.utils.conv import escape_filter_chars

IN_CHAIN = "1.2.840.113556.1.4.1941"
"""Active Directory's matching rule that follows nested groups, LDAP_MATCHING_RULE_IN_CHAIN."""

Entry = dict[str, Any]
"""A searchResEntry in ldap3's form."""

DN_MEMBERS, NAME_MEMBERS = ("member", "uniqueMember"), "memberUid"
GIVEN_NAME, SURNAME, DESCRIPTION = "givenName", "sn", "description"
LOCKED, RESET, ENTRY_CSN = "pwdAccountLockedTime", "pwdReset", "entryCSN"
_AD_DISABLED = 0x2
MAX_WORDS = 8


def escaped(text: str) -> str:
    return str(escape_filter_chars(text))


@dataclass(frozen=True)
class Mapping:
    """The attribute names and filters of this directory, from the settings."""

    settings: Settings

    @property
    def user_attributes(self) -> list[str]:
        settings = self.settings
        names = [
            settings.ldap_username_attribute,
            *settings.ldap_name_attributes,
            settings.ldap_mail_attribute,
            settings.ldap_uid_attribute,
            settings.ldap_gid_attribute,
            settings.ldap_home_attribute,
            settings.ldap_shell_attribute,
            GIVEN_NAME,
            SURNAME,
        ]
        state = {
            "active-directory": ["userAccountControl", "lockoutTime", "pwdLastSet"],
            "freeipa": ["nsAccountLock"],
        }.get(settings.ldap_directory, [LOCKED, RESET, ENTRY_CSN])
        return list(dict.fromkeys([*names, *state]))

    @property
    def group_attributes(self) -> list[str]:
        return [
            self.settings.ldap_group_name_attribute,
            self.settings.ldap_gid_attribute,
            DESCRIPTION,
        ]

    def user(self, entry: Entry, typed: str, groups: Iterable[str] = ()) -> DirectoryUser:
        """Convert an entry of the directory to a DirectoryUser.

        `typed` stands in for the username where the entry has none.
        """
        settings = self.settings
        username = (first(entry, settings.ldap_username_attribute) or typed).lower()
        names = (first(entry, name) for name in settings.ldap_name_attributes)
        shell = first(entry, settings.ldap_shell_attribute)
        locked, disabled, must_change = self._read_state(entry, shell)
        return DirectoryUser(
            username=username,
            dn=entry["dn"],
            display_name=next((name for name in names if name), username)[:200],
            email=(first(entry, settings.ldap_mail_attribute) or "")[:320] or None,
            uid=number(entry, settings.ldap_uid_attribute),
            groups=frozenset(groups),
            gid=number(entry, settings.ldap_gid_attribute),
            home=first(entry, settings.ldap_home_attribute),
            shell=shell,
            given_name=first(entry, GIVEN_NAME),
            surname=first(entry, SURNAME),
            locked=locked,
            disabled=disabled,
            must_change=must_change,
            version=self._hash_version(entry),
        )

    def _hash_version(self, entry: Entry) -> str:
        """Return a hash of the fields that an editor may change.

        entryCSN is not used because it also changes with each wrong password.
        """
        settings = self.settings
        names = [
            *settings.ldap_name_attributes,
            settings.ldap_mail_attribute,
            settings.ldap_gid_attribute,
            settings.ldap_home_attribute,
            settings.ldap_shell_attribute,
            GIVEN_NAME,
            SURNAME,
        ]
        content = json.dumps([sorted(texts(entry, name)) for name in names])
        return hashlib.sha256(content.encode()).hexdigest()[:20]

    def _read_state(self, entry: Entry, shell: str | None) -> tuple[bool, bool, bool]:
        """Return (locked, disabled, must change the password); each kind of directory stores these
        differently.
        """
        settings = self.settings
        if settings.ldap_directory == "active-directory":
            flags = number(entry, "userAccountControl") or 0
            locked = (number(entry, "lockoutTime") or 0) != 0
            return locked, bool(flags & _AD_DISABLED), first(entry, "pwdLastSet") == "0"
        if settings.ldap_directory == "freeipa":
            disabled = (first(entry, "nsAccountLock") or "").lower() == "true"
            return disabled, disabled, False
        locked_at = first(entry, LOCKED)
        disabled = shell == settings.ldap_disabled_shell and locked_at == LOCKED_FOR_GOOD
        return locked_at is not None, disabled, (first(entry, RESET) or "").upper() == "TRUE"

    def group(self, entry: Entry) -> DirectoryGroup:
        settings = self.settings
        return DirectoryGroup(
            name=first(entry, settings.ldap_group_name_attribute) or "",
            dn=entry["dn"],
            gid=number(entry, settings.ldap_gid_attribute),
            description=(first(entry, DESCRIPTION) or "")[:1000] or None,
        )

    @property
    def named_members(self) -> tuple[str, ...]:
        """Return the attributes in which groups list their members.

        Empty where users list their groups (`ldap_member_of_attribute`), because there a large
        group does not return all members at once.
        """
        return () if self.settings.ldap_member_of_attribute else (NAME_MEMBERS, *DN_MEMBERS)

    def sized_group(self, entry: Entry) -> DirectoryGroup:
        """Convert an entry read with `named_members` as `group` does, with the number of its
        members.
        """
        names = self.named_members
        size = len({text for name in names for text in texts(entry, name)}) if names else None
        return replace(self.group(entry), size=size)

    # --- filters ------------------------------------------------------------------------------

    def one_user(self, username: str) -> str:
        return self.settings.ldap_user_filter.format(username=escaped(username))

    def users(self, query: str = "") -> str:
        """Return a filter for users whose name, username or mail contain every word of `query`; all
        for "".
        """
        settings = self.settings
        names = [
            settings.ldap_username_attribute,
            *settings.ldap_name_attributes,
            settings.ldap_mail_attribute,
        ]
        return conjunction(
            [settings.ldap_user_filter.format(username="*"), *_word_filters(query, names)]
        )

    def all_groups(self, query: str = "") -> str:
        names = [self.settings.ldap_group_name_attribute, DESCRIPTION]
        return conjunction([self.settings.ldap_groups_filter, *_word_filters(query, names)])

    def one_group(self, name: str) -> str:
        attribute = self.settings.ldap_group_name_attribute
        return conjunction([self.settings.ldap_groups_filter, equals(attribute, name)])

    def groups_of(self, username: str, dn: str) -> str:
        """Return a filter for the groups that list this user directly."""
        return self.settings.ldap_group_filter.format(username=escaped(username), dn=escaped(dn))


def number(entry: Entry, attribute: str) -> int | None:
    text = first(entry, attribute) or ""
    return int(text) if text.isascii() and text.isdecimal() else None


def equals(attribute: str, value: str) -> str:
    return f"({attribute}={escaped(value)})"


def any_of(attribute: str, values: Iterable[str]) -> str:
    return f"(|{''.join(equals(attribute, value) for value in values)})"


def in_chain(attribute: str, dn: str) -> str:
    """Return a filter for entries from which `attribute` leads to `dn`, directly or through nested
    groups.
    """
    return f"({attribute}:{IN_CHAIN}:={escaped(dn)})"


def conjunction(filters: list[str]) -> str:
    return filters[0] if len(filters) == 1 else f"(&{''.join(filters)})"


def _word_filters(query: str, attributes: list[str]) -> list[str]:
    """Return a filter for each word: one of these attributes contains it."""
    words = query.split()
    if len(query) > MAX_QUERY_LENGTH or len(words) > MAX_WORDS or not query.isprintable():
        message = (
            f"Search for at most {MAX_WORDS} words with {MAX_QUERY_LENGTH} characters in total."
        )
        raise invalid_input([FieldError("query", message)])
    return [
        f"(|{''.join(f'({name}=*{escaped(word)}*)' for name in dict.fromkeys(attributes))})"
        for word in words
    ]


def texts(entry: Entry, attribute: str) -> list[str]:
    """Return the values of an attribute, as text; attribute names ignore case."""
    lowered = attribute.lower()
    for name, values in entry["raw_attributes"].items():
        if name.lower() == lowered:
            return [value.decode("utf-8", "replace") for value in values]
    return []


def first(entry: Entry, attribute: str) -> str | None:
    """Return the first value of an attribute, as text."""
    values = texts(entry, attribute)
    return values[0] if values else None

"""Creation, editing and deletion of users, and one-time passwords, in OpenLDAP.

Every function works on one server as the account that writes. Steps are ordered so that a failure
in the middle grants no access: it leaves a user without a password, or one in fewer groups.
"""

import secrets
from collections.abc import Iterable

import structlog

from portal.directory import checks, groups, numbers, writing_groups
from portal.directory.changes import (
    CONSTRAINT_VIOLATION,
    ENTRY_EXISTS,
    DirectoryChange,
    Modifications,
    change,
    replace,
)
from portal.directory.connections import (
    NO_SUCH_OBJECT,
    SUBTREE,
    SUCCESS,
    OpenConnection,
    Servers,
)
from portal.directory.contract import (
    CreatedUser,
    DirectoryUser,
    Edit,
    NewDirectoryUser,
    OneTimePassword,
)
from portal.directory.entries import entry_of, for_change
from portal.directory.login import REFUSALS, find, policy_error
from portal.directory.mapping import (
    ENTRY_CSN,
    GIVEN_NAME,
    RESET,
    SURNAME,
    Mapping,
    conjunction,
    equals,
    first,
)
from portal.directory.password_policy import (
    CONTROL_OID,
    REQUEST_CONTROL,
    PolicyError,
    change_refusal,
)
from portal.errors import (
    Conflict,
    DirectoryChanged,
    FieldError,
    InvalidInput,
    NotFound,
    PortalError,
    invalid_input,
)

log = structlog.get_logger(__name__)

CLASSES = ["inetOrgPerson", "posixAccount"]
# Without characters that are easily mistaken for others when read out or copied by hand.
_ALPHABET = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_PASSWORD_PARTS, _PASSWORD_PART_LENGTH = 4, 4
_MAX_ATTEMPTS = 5


# --- creating -------------------------------------------------------------------------------------


def create(servers: Servers, link: OpenConnection, new: NewDirectoryUser) -> CreatedUser:
    with change(servers, link) as steps:
        _check_new(link, new)
        for _ in range(_MAX_ATTEMPTS):
            uid = _choose_uid(steps, new)
            dn = _add_user(steps, new, uid)
            if dn is not None:
                break
        else:
            raise Conflict("Another request is taking the same numbers. Try again.")
        try:
            for name in sorted(new.groups):
                writing_groups.join(steps, name, new.username, dn)
            password = _set_password(steps, dn, new.username, new.password)
        except PortalError:
            _roll_back(steps, new.username, dn)
            raise
        return CreatedUser(_find_changed(steps, new.username), password)


def _check_new(link: OpenConnection, new: NewDirectoryUser) -> None:
    """Raise InvalidInput with all conflicts of this user with the directory."""
    settings = link.settings
    problems = checks.new_user(new, settings, checks.local_accounts())
    if not any(error.field == "username" for error in problems):
        problems += _check_name_free(link, new)
    if new.uid is not None and not any(error.field == "uid" for error in problems):
        if numbers.uids_in_use(link, [new.uid]):
            problems.append(FieldError("uid", f"The UID {new.uid} is already in use."))
        elif _gets_own_group(link, new) and numbers.gids_in_use(link, [new.uid]):
            problems.append(FieldError("uid", f"The GID {new.uid} is already in use."))
    if new.gid is not None and not any(error.field == "gid" for error in problems):
        problems += _check_gid(link, new.gid)
    if new.home is not None and not any(error.field == "home" for error in problems):
        problems += _check_home_free(link, new.home)
    unknown = sorted(new.groups - groups.existing(link, sorted(new.groups)))
    problems += [FieldError("groups", f"There is no group {name[:64]}.") for name in unknown]
    if problems:
        raise invalid_input(problems)


def _check_name_free(link: OpenConnection, new: NewDirectoryUser) -> Iterable[FieldError]:
    base = link.settings.ldap_user_base or ""
    if numbers.owners(link, base, Mapping(link.settings).one_user(new.username)):
        yield FieldError("username", f"A user named {new.username} already exists.")
    elif _gets_own_group(link, new) and groups.entry_of(link, new.username, []) is not None:
        yield FieldError(
            "username",
            f"A group named {new.username} already exists, and each user gets a group of "
            "the same name.",
        )


def _check_gid(link: OpenConnection, gid: int) -> Iterable[FieldError]:
    if gid == link.settings.ldap_primary_gid:
        return
    if not numbers.gids_in_use(link, [gid]):
        yield FieldError("gid", f"There is no group with the GID {gid}.")
    for name in link.settings.ldap_admin_groups:
        entry = groups.entry_of(link, name, [])
        if entry is not None and Mapping(link.settings).group(entry).gid == gid:
            message = (
                f"The GID {gid} belongs to {name}, a group of administrators. Add the user to "
                "that group as a member instead."
            )
            yield FieldError("gid", message)


def _check_home_free(link: OpenConnection, home: str, username: str = "") -> Iterable[FieldError]:
    settings, mapping = link.settings, Mapping(link.settings)
    query = conjunction([mapping.users(), equals(settings.ldap_home_attribute, home)])
    base, names = settings.ldap_user_base or "", mapping.user_attributes
    for entry in link.search(base, query, SUBTREE, names, size_limit=2):
        owner = mapping.user(entry, "").username
        if owner != username.lower():
            yield FieldError("home", f"This is the home directory of {owner}.")
            return


def _gets_own_group(link: OpenConnection, new: NewDirectoryUser) -> bool:
    return new.gid is None and link.settings.ldap_primary_gid is None


def _choose_uid(steps: DirectoryChange, new: NewDirectoryUser) -> int:
    if new.uid is not None:
        return new.uid
    link, local = steps.link, checks.local_accounts().numbers
    own_group = _gets_own_group(link, new)

    def taken(some: list[int]) -> set[int]:
        used = numbers.uids_in_use(link, some) | (local & set(some))
        return used | numbers.gids_in_use(link, some) if own_group else used

    return numbers.allot(steps, link.settings.ldap_uid_range, taken)


def _add_user(steps: DirectoryChange, new: NewDirectoryUser, uid: int) -> str | None:
    """Add the entry and, if users have one, its own group.

    Return None if another client took the number at the same moment and another number may do.
    Raises InvalidInput for input that cannot succeed.
    """
    link, settings = steps.link, steps.link.settings
    own_group = _gets_own_group(link, new)
    gid = uid if own_group else new.gid or settings.ldap_primary_gid or uid
    base = settings.ldap_effective_new_user_base
    dn = f"{settings.ldap_username_attribute}={new.username},{base}"
    attributes = _to_attributes(link, new, uid, gid)
    added = steps.add(dn, CLASSES, attributes, f"the entry of {new.username} was created")
    if added == ENTRY_EXISTS:
        message = f"A user named {new.username} already exists."
        raise invalid_input([FieldError("username", message)])
    clash = added == CONSTRAINT_VIOLATION  # slapd's unique overlay
    if not clash:
        query = equals(settings.ldap_uid_attribute, str(uid))
        clash = len(numbers.owners(link, settings.ldap_user_base or "", query)) > 1
        if not clash and own_group:
            clash = not writing_groups.make_own(steps, new.username, gid)
        if clash:
            _roll_back(steps, new.username, dn)
    if clash and new.uid is not None:
        message = f"The number {uid} is already in use by a user or group."
        raise invalid_input([FieldError("uid", message)])
    return None if clash else dn


def _to_attributes(
    link: OpenConnection, new: NewDirectoryUser, uid: int, gid: int
) -> dict[str, str | int | None]:
    settings = link.settings
    name = new.display_name or f"{new.given_name} {new.surname}".strip()
    return {
        settings.ldap_username_attribute: new.username,
        "cn": name,
        "displayName": name,
        GIVEN_NAME: new.given_name,
        SURNAME: new.surname,
        settings.ldap_mail_attribute: new.email,
        settings.ldap_uid_attribute: uid,
        settings.ldap_gid_attribute: gid,
        settings.ldap_home_attribute: new.home
        or settings.ldap_home_template.format(username=new.username),
        settings.ldap_shell_attribute: new.shell or settings.ldap_new_shell,
    }


def _roll_back(steps: DirectoryChange, username: str, dn: str) -> None:
    """Remove an entry just added, and its own group, so that nothing is left of the attempt."""
    writing_groups.leave_all(steps, username, dn)
    writing_groups.remove_own(steps, username, dn)
    steps.delete(dn, f"the entry of {username} was removed again", accept={NO_SUCH_OBJECT})
    steps.done.clear()


# --- passwords ------------------------------------------------------------------------------------


def set_password(
    servers: Servers, link: OpenConnection, username: str, text: str | None
) -> OneTimePassword:
    with change(servers, link) as steps:
        if problems := checks.password(text):
            raise invalid_input(problems)
        return _set_password(steps, entry_of(link, username)["dn"], username, text)


def _set_password(
    steps: DirectoryChange, dn: str, username: str, text: str | None
) -> OneTimePassword:
    """Set a password by the password modify operation, so that the directory hashes it and applies
    its policy.
    """
    link = steps.link
    password = text if text is not None else _make_password()
    standard = link.connection.extend.standard
    result = steps.send(
        lambda: standard.modify_password(dn, None, password, controls=[REQUEST_CONTROL]),
        f"{username} got a new password",
    )
    if result["result"] in REFUSALS:
        sentence = change_refusal(policy_error(result), str(result["message"]))
        raise InvalidInput(sentence, errors=[FieldError("password", sentence)])
    if result["result"] != SUCCESS:
        words = f"{result['description']} {str(result['message'])[:200]}".strip()
        raise Conflict(f"The directory refused the new password ({words}).")
    if not has_policy(steps.servers, link):
        return OneTimePassword(password, must_change=False)
    words = f"{username} must change the password at the next login"
    steps.modify(dn, replace({RESET: "TRUE"}), words)
    return OneTimePassword(password, _is_one_time(link, dn, password))


def _is_one_time(link: OpenConnection, dn: str, password: str) -> bool:
    """Return whether the directory requires a change: not where the policy lacks pwdMustChange.

    For a locked user this cannot be seen, so pwdReset counts.
    """
    policy = policy_error(link.try_bind(dn, password, [REQUEST_CONTROL]))
    link.bind_writer()
    return policy in {PolicyError.CHANGE_AFTER_RESET, PolicyError.ACCOUNT_LOCKED}


def has_policy(servers: Servers, link: OpenConnection) -> bool:
    """Return whether slapd's ppolicy overlay is present."""
    return CONTROL_OID in servers.features(link).controls


def _make_password() -> str:
    parts = (
        "".join(secrets.choice(_ALPHABET) for _ in range(_PASSWORD_PART_LENGTH))
        for _ in range(_PASSWORD_PARTS)
    )
    return "-".join(parts)


# --- editing --------------------------------------------------------------------------------------


def edit(
    servers: Servers, link: OpenConnection, username: str, changes: Edit, version: str
) -> DirectoryUser:
    with change(servers, link) as steps:
        problems = checks.edit(changes, link.settings)
        if changes.gid is not None and not problems:
            problems += _check_gid(link, changes.gid)
        if changes.home is not None and not problems:
            problems += _check_home_free(link, changes.home, username)
        if problems:
            raise invalid_input(problems)
        for _ in range(_MAX_ATTEMPTS):
            entry = entry_of(link, username)
            if version and version != _find_as_reader(link, username).version:
                raise _to_conflict(username)
            disabled = Mapping(link.settings).user(entry, username).disabled
            if changes.shell is not None and disabled:
                message = f"{username} is disabled. Enable the user first, then choose the shell."
                raise Conflict(message, errors=[FieldError("shell", message)])
            modifications = _build_modifications(link, changes, entry["dn"])
            if not modifications:
                return _find_changed(steps, username)
            # Only if the entry is still the one that was compared.
            csn = (first(entry, ENTRY_CSN) or "") if steps.asserts() else ""
            words = f"the entry of {username} was edited"
            if steps.modify(entry["dn"], modifications, words, if_csn=csn) == SUCCESS:
                return _find_changed(steps, username)
        raise _to_conflict(username)


def _to_conflict(username: str) -> DirectoryChanged:
    return DirectoryChanged(
        f"{username} was changed by another user after you opened this. Review the current "
        "values, then make your change again."
    )


def _build_modifications(link: OpenConnection, changes: Edit, dn: str) -> Modifications:
    settings = link.settings
    values: dict[str, str | None] = {
        GIVEN_NAME: changes.given_name,
        SURNAME: changes.surname,
        "displayName": changes.display_name,
        settings.ldap_mail_attribute: changes.email,
        settings.ldap_gid_attribute: None if changes.gid is None else str(changes.gid),
        settings.ldap_home_attribute: changes.home,
        settings.ldap_shell_attribute: changes.shell,
    }
    if not dn.lower().startswith("cn="):  # otherwise cn is part of the DN
        values["cn"] = changes.display_name
    return replace({name: text or None for name, text in values.items() if text is not None})


# --- removing -------------------------------------------------------------------------------------


def delete(servers: Servers, link: OpenConnection, username: str) -> bool:
    with change(servers, link) as steps:
        entry = for_change(link, username)
        dn = entry["dn"] if entry is not None else None
        writing_groups.leave_all(steps, username, dn)
        if entry is None or dn is None:
            return False
        writing_groups.remove_own(steps, username, dn)
        words = f"the entry of {username} was removed"
        return steps.delete(dn, words, accept={NO_SUCH_OBJECT}) == SUCCESS


def _find_as_reader(link: OpenConnection, username: str) -> DirectoryUser:
    """Return the user as visible to the account that searches, which may see less: the editor's
    version comes from that view.
    """
    link.bind_reader()
    user = Mapping(link.settings).user(entry_of(link, username), username)
    link.bind_writer()
    return user


def _find_changed(steps: DirectoryChange, username: str) -> DirectoryUser:
    """Return the user after the change, as visible to the account that searches."""
    user = find(steps.servers, steps.link, username)
    if user is None:
        raise NotFound(f"{username} is no longer in the directory.")
    return user

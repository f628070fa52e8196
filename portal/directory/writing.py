"""People: made, edited, removed, and given one-time passwords, in OpenLDAP.

Every function works on one server as the account that writes. Steps are ordered so that what is
left by a failure in the middle lets nobody in: a person without a password, one in fewer groups.
"""

import secrets
from collections.abc import Iterable

import structlog

from portal.directory import checks, groups, numbers, writing_groups
from portal.directory.changes import (
    CONSTRAINT_VIOLATION,
    ENTRY_EXISTS,
    Change,
    Modifications,
    change,
    replace,
)
from portal.directory.connections import (
    NO_SUCH_OBJECT,
    SUBTREE,
    SUCCESS,
    Link,
    Servers,
)
from portal.directory.contract import Created, Edit, NewPerson, OneTimePassword, Person
from portal.directory.entries import entry_of, for_change
from portal.directory.login import REFUSALS, find, policy_error
from portal.directory.mapping import (
    GIVEN_NAME,
    RESET,
    SURNAME,
    VERSION,
    Mapping,
    conjunction,
    equals,
    first,
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
from portal.ppolicy import CONTROL_OID, REQUEST_CONTROL, PolicyError, change_refusal

log = structlog.get_logger(__name__)

CLASSES = ["inetOrgPerson", "posixAccount"]
# without what is easily mistaken for something else when it is read out or copied by hand
_ALPHABET = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_PASSWORD_PARTS, _PASSWORD_PART_LENGTH = 4, 4
_TRIES = 5


# --- creating -------------------------------------------------------------------------------------


def create(servers: Servers, link: Link, new: NewPerson) -> Created:
    with change(servers, link) as making:
        _check_new(link, new)
        for _ in range(_TRIES):
            uid = _uid_for(making, new)
            dn = _add_person(making, new, uid)
            if dn is not None:
                break
        else:
            raise Conflict("Others are taking the same numbers at the moment. Please try again.")
        try:
            for name in sorted(new.groups):
                writing_groups.join(making, name, new.username, dn)
            password = _set_password(making, dn, new.username, new.password)
        except PortalError:
            _take_back(making, new.username, dn)
            raise
        return Created(_person(making, new.username), password)


def _check_new(link: Link, new: NewPerson) -> None:
    """Raise InvalidInput with everything that stands against this person."""
    settings = link.settings
    found = checks.new_person(new, settings, checks.local_accounts())
    if not any(error.field == "username" for error in found):
        found += _name_is_taken(link, new)
    if new.uid is not None and not any(error.field == "uid" for error in found):
        if numbers.uids_in_use(link, [new.uid]):
            found.append(FieldError("uid", f"Somebody has the number {new.uid} already."))
        elif _own_group(link, new) and numbers.gids_in_use(link, [new.uid]):
            found.append(FieldError("uid", f"A group has the number {new.uid} already."))
    if new.gid is not None and not any(error.field == "gid" for error in found):
        found += _gid_is_wrong(link, new.gid)
    if new.home is not None and not any(error.field == "home" for error in found):
        found += _home_is_anothers(link, new.home)
    unknown = sorted(new.groups - groups.existing(link, sorted(new.groups)))
    found += [FieldError("groups", f"There is no group {name[:64]}.") for name in unknown]
    if found:
        raise invalid_input(found)


def _name_is_taken(link: Link, new: NewPerson) -> Iterable[FieldError]:
    base = link.settings.ldap_user_base or ""
    if numbers.owners(link, base, Mapping(link.settings).one_person(new.username)):
        yield FieldError("username", f"There is somebody called {new.username} already.")
    elif _own_group(link, new) and groups.entry_of(link, new.username, []) is not None:
        yield FieldError(
            "username",
            f"There is a group called {new.username} already, and everybody gets one of their own.",
        )


def _gid_is_wrong(link: Link, gid: int) -> Iterable[FieldError]:
    if gid == link.settings.ldap_primary_gid:
        return
    if not numbers.gids_in_use(link, [gid]):
        yield FieldError("gid", f"No group has the number {gid}.")
    for name in link.settings.ldap_admin_groups:
        entry = groups.entry_of(link, name, [])
        if entry is not None and Mapping(link.settings).group(entry).gid == gid:
            message = f"{gid} is the number of {name}, which makes administrators: add them to it."
            yield FieldError("gid", message)


def _home_is_anothers(link: Link, home: str, username: str = "") -> Iterable[FieldError]:
    settings, mapping = link.settings, Mapping(link.settings)
    query = conjunction([mapping.people(), equals(settings.ldap_home_attribute, home)])
    base, names = settings.ldap_user_base or "", mapping.person_attributes
    for entry in link.search(base, query, SUBTREE, names, size_limit=2):
        owner = mapping.person(entry, "").username
        if owner != username.lower():
            yield FieldError("home", f"This is the home directory of {owner}.")
            return


def _own_group(link: Link, new: NewPerson) -> bool:
    return new.gid is None and link.settings.ldap_primary_gid is None


def _uid_for(making: Change, new: NewPerson) -> int:
    if new.uid is not None:
        return new.uid
    link, local = making.link, checks.local_accounts().numbers
    own_group = _own_group(link, new)

    def taken(some: list[int]) -> set[int]:
        used = numbers.uids_in_use(link, some) | (local & set(some))
        return used | numbers.gids_in_use(link, some) if own_group else used

    return numbers.allot(making, link.settings.ldap_uid_range, taken)


def _add_person(making: Change, new: NewPerson, uid: int) -> str | None:
    """The entry and, where people have them, its own group; None when someone else took the
    number at the same moment, and another one may do. Raises InvalidInput for what can't be so."""
    link, settings = making.link, making.link.settings
    own_group = _own_group(link, new)
    gid = uid if own_group else new.gid or settings.ldap_primary_gid or uid
    dn = f"{settings.ldap_username_attribute}={new.username},{settings.ldap_people_base}"
    attributes = _attributes(link, new, uid, gid)
    added = making.add(dn, CLASSES, attributes, f"the entry of {new.username} was made")
    if added == ENTRY_EXISTS:
        message = f"There is somebody called {new.username} already."
        raise invalid_input([FieldError("username", message)])
    clash = added == CONSTRAINT_VIOLATION  # slapd's unique overlay
    if not clash:
        query = equals(settings.ldap_uid_attribute, str(uid))
        clash = len(numbers.owners(link, settings.ldap_user_base or "", query)) > 1
        if not clash and own_group:
            clash = not writing_groups.make_own(making, new.username, gid)
        if clash:
            _take_back(making, new.username, dn)
    if clash and new.uid is not None:
        message = f"Somebody or some group has the number {uid} already."
        raise invalid_input([FieldError("uid", message)])
    return None if clash else dn


def _attributes(link: Link, new: NewPerson, uid: int, gid: int) -> dict[str, str | int | None]:
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


def _take_back(making: Change, username: str, dn: str) -> None:
    """Remove an entry just made, and its own group, so that nothing is left of the attempt."""
    writing_groups.leave_all(making, username, dn)
    writing_groups.remove_own(making, username, dn)
    making.delete(dn, f"the entry of {username} was removed again", {NO_SUCH_OBJECT})
    making.done.clear()


# --- passwords ------------------------------------------------------------------------------------


def set_password(servers: Servers, link: Link, username: str, text: str | None) -> OneTimePassword:
    with change(servers, link) as making:
        if found := checks.password(text):
            raise invalid_input(found)
        return _set_password(making, entry_of(link, username)["dn"], username, text)


def _set_password(making: Change, dn: str, username: str, text: str | None) -> OneTimePassword:
    """By the password modify operation, so that the directory hashes it and its policy counts."""
    link = making.link
    password = text if text is not None else _make_password()
    standard = link.connection.extend.standard
    result = making.send(
        lambda: standard.modify_password(dn, None, password, controls=[REQUEST_CONTROL]),
        f"{username} got a new password",
    )
    if result["result"] in REFUSALS:
        sentence = change_refusal(policy_error(result), str(result["message"]))
        raise InvalidInput(sentence, errors=[FieldError("password", sentence)])
    if result["result"] != SUCCESS:
        words = f"{result['description']} {str(result['message'])[:200]}".strip()
        raise Conflict(f"The directory refused the new password ({words}).")
    if not has_policy(making.servers, link):
        return OneTimePassword(password, must_change=False)
    words = f"{username} must change the password at the next login"
    making.modify(dn, replace({RESET: "TRUE"}), words, set())
    return OneTimePassword(password, _is_one_time(link, dn, password))


def _is_one_time(link: Link, dn: str, password: str) -> bool:
    """Whether the directory insists on a change: not where the policy lacks pwdMustChange. For
    somebody locked it can't be seen, and pwdReset has to do."""
    policy = policy_error(link.try_bind(dn, password, [REQUEST_CONTROL]))
    link.bind_writer()
    return policy in {PolicyError.CHANGE_AFTER_RESET, PolicyError.ACCOUNT_LOCKED}


def has_policy(servers: Servers, link: Link) -> bool:
    """Whether slapd's ppolicy overlay is there."""
    return CONTROL_OID in servers.features(link).controls


def _make_password() -> str:
    parts = (
        "".join(secrets.choice(_ALPHABET) for _ in range(_PASSWORD_PART_LENGTH))
        for _ in range(_PASSWORD_PARTS)
    )
    return "-".join(parts)


# --- editing --------------------------------------------------------------------------------------


def edit(servers: Servers, link: Link, username: str, wanted: Edit, version: str) -> Person:
    with change(servers, link) as making:
        found = checks.edit(wanted, link.settings)
        if wanted.gid is not None and not found:
            found += _gid_is_wrong(link, wanted.gid)
        if wanted.home is not None and not found:
            found += _home_is_anothers(link, wanted.home, username)
        if found:
            raise invalid_input(found)
        for _ in range(_TRIES):
            entry = entry_of(link, username)
            if version and version != _as_read(link, username).version:
                raise _changed(username)
            disabled = Mapping(link.settings).person(entry, username).disabled
            if wanted.shell is not None and disabled:
                message = f"{username} is disabled: enable them first, then choose the shell."
                raise Conflict(message, errors=[FieldError("shell", message)])
            modifications = _edits(link, wanted, entry["dn"])
            if not modifications:
                return _person(making, username)
            # only if the entry still is what was just compared
            seen = (first(entry, VERSION) or "") if making.asserts() else ""
            words = f"the entry of {username} was edited"
            if making.modify(entry["dn"], modifications, words, set(), seen) == SUCCESS:
                return _person(making, username)
        raise _changed(username)


def _changed(username: str) -> DirectoryChanged:
    return DirectoryChanged(
        f"Somebody else has changed {username} since you opened this. Look at what is there now, "
        "and make your change again."
    )


def _edits(link: Link, wanted: Edit, dn: str) -> Modifications:
    settings = link.settings
    values: dict[str, str | None] = {
        GIVEN_NAME: wanted.given_name,
        SURNAME: wanted.surname,
        "displayName": wanted.display_name,
        settings.ldap_mail_attribute: wanted.email,
        settings.ldap_gid_attribute: None if wanted.gid is None else str(wanted.gid),
        settings.ldap_home_attribute: wanted.home,
        settings.ldap_shell_attribute: wanted.shell,
    }
    if not dn.lower().startswith("cn="):  # there the entry is named by it
        values["cn"] = wanted.display_name
    return replace({name: text or None for name, text in values.items() if text is not None})


# --- removing -------------------------------------------------------------------------------------


def delete(servers: Servers, link: Link, username: str) -> bool:
    with change(servers, link) as making:
        entry = for_change(link, username)
        dn = entry["dn"] if entry is not None else None
        writing_groups.leave_all(making, username, dn)
        if entry is None or dn is None:
            return False
        writing_groups.remove_own(making, username, dn)
        words = f"the entry of {username} was removed"
        return making.delete(dn, words, {NO_SUCH_OBJECT}) == SUCCESS


def _as_read(link: Link, username: str) -> Person:
    """As the account that searches sees them, which may see less: whoever edits has seen that."""
    link.bind_reader()
    found = Mapping(link.settings).person(entry_of(link, username), username)
    link.bind_writer()
    return found


def _person(making: Change, username: str) -> Person:
    """What has become of them, as the account that searches sees it."""
    found = find(making.servers, making.link, username)
    if found is None:
        raise NotFound(f"{username} is gone from the directory already.")
    return found

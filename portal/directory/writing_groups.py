"""Creation, deletion and membership of groups, in OpenLDAP.

A posixGroup lists usernames (memberUid) and has a number; a groupOfNames lists DNs (member) and is
never empty. The entry decides which one an existing group is, the settings which one is created.
"""

from portal.directory import checks, groups, numbers
from portal.directory.changes import (
    CLASS_VIOLATION,
    CONSTRAINT_VIOLATION,
    ENTRY_EXISTS,
    NO_SUCH_ATTRIBUTE,
    VALUE_EXISTS,
    DirectoryChange,
    add_value,
    change,
    remove_value,
)
from portal.directory.connections import (
    BASE,
    NO_SUCH_OBJECT,
    SUBTREE,
    SUCCESS,
    OpenConnection,
    Servers,
)
from portal.directory.contract import MAX_GROUPS, DirectoryGroup, NewGroup
from portal.directory.mapping import (
    DESCRIPTION,
    Entry,
    Mapping,
    any_of,
    conjunction,
    equals,
    first,
    number,
    texts,
)
from portal.errors import Conflict, FieldError, NotFound, invalid_input

POSIX, OF_NAMES = "posixGroup", "groupOfNames"
_BY_NAME, _BY_DN = "memberUid", "member"
_ATTRIBUTES = ["objectClass", _BY_NAME, _BY_DN]
_MAX_ATTEMPTS = 5


def create_group(servers: Servers, link: OpenConnection, new: NewGroup) -> DirectoryGroup:
    with change(servers, link) as steps:
        members = _check_new(link, new)
        for _ in range(_MAX_ATTEMPTS):
            if _add_group(steps, new, members):
                break
        else:
            raise Conflict("Another request is taking the same numbers. Try again.")
        created = groups.group(link, new.name)
        if created is None:
            raise NotFound(f"The group {new.name} no longer exists.")
        return created


def _check_new(link: OpenConnection, new: NewGroup) -> dict[str, str]:
    """Return the members' DNs by username. Raises InvalidInput with all errors."""
    problems = checks.new_group(new, link.settings, checks.local_groups())
    fields = {error.field for error in problems}
    if "name" not in fields and groups.entry_of(link, new.name, []) is not None:
        problems.append(FieldError("name", f"A group named {new.name} already exists."))
    if new.gid is not None and "gid" not in fields and numbers.gids_in_use(link, [new.gid]):
        problems.append(FieldError("gid", f"The GID {new.gid} is already in use."))
    members = _find_dns(link, sorted(new.members))
    unknown = sorted(new.members - set(members))
    problems += [FieldError("members", f"There is no user {name[:64]}.") for name in unknown]
    if problems:
        raise invalid_input(problems)
    return members


def _find_dns(link: OpenConnection, usernames: list[str]) -> dict[str, str]:
    """Return the DNs of users, as visible to the account that writes."""
    settings, mapping = link.settings, Mapping(link.settings)
    dns = {}
    for some in groups.batches(usernames):
        query = conjunction([mapping.users(), any_of(settings.ldap_username_attribute, some)])
        attributes = [settings.ldap_username_attribute]
        base = settings.ldap_user_base or ""
        for entry in link.search(
            base, query, SUBTREE, attributes, size_limit=2 * groups.MAX_FILTER_TERMS
        ):
            dns[mapping.user(entry, "").username] = entry["dn"]
    return dns


def _add_group(steps: DirectoryChange, new: NewGroup, members: dict[str, str]) -> bool:
    """Add the group.

    Return False if another client took the number at the same moment and another number may do.
    """
    link, settings = steps.link, steps.link.settings
    attributes: dict[str, object] = {DESCRIPTION: new.description}
    gid = None
    if settings.ldap_group_member_attribute == _BY_DN:
        kind = OF_NAMES
        attributes[_BY_DN] = sorted(members.values())
    else:
        kind = POSIX
        gid = new.gid if new.gid is not None else _allot_gid(steps)
        attributes |= {settings.ldap_gid_attribute: gid, _BY_NAME: sorted(members)}
    dn = _group_dn(link, new.name)
    attributes[settings.ldap_group_name_attribute] = new.name
    present = {name: value for name, value in attributes.items() if value != []}
    added = steps.add(dn, [kind], present, f"the group {new.name} was created")
    if added == ENTRY_EXISTS:
        message = f"A group named {new.name} already exists."
        raise invalid_input([FieldError("name", message)])
    clash = added == CONSTRAINT_VIOLATION
    if not clash and gid is not None and _is_shared(link, gid):
        steps.delete(dn, f"the group {new.name} was removed again", accept={NO_SUCH_OBJECT})
        steps.done.clear()
        clash = True
    if clash and new.gid is not None:
        raise invalid_input([FieldError("gid", f"The GID {gid} is already in use.")])
    return not clash


def _allot_gid(steps: DirectoryChange) -> int:
    link, local = steps.link, checks.local_groups().numbers
    return numbers.allot(
        steps,
        link.settings.ldap_gid_range,
        lambda some: numbers.gids_in_use(link, some) | (local & set(some)),
    )


def _is_shared(link: OpenConnection, gid: int) -> bool:
    settings, mapping = link.settings, Mapping(link.settings)
    query = conjunction([mapping.all_groups(), equals(settings.ldap_gid_attribute, str(gid))])
    return len(numbers.owners(link, settings.ldap_group_base or "", query)) > 1


def _group_dn(link: OpenConnection, name: str) -> str:
    settings = link.settings
    return f"{settings.ldap_group_name_attribute}={name},{settings.ldap_group_base}"


def delete_group(servers: Servers, link: OpenConnection, name: str) -> bool:
    with change(servers, link) as steps:
        entry = groups.entry_of(link, name, _ATTRIBUTES)
        if entry is None:
            return False
        gid = number(entry, link.settings.ldap_gid_attribute)
        if gid is not None:
            _refuse_primary(link, name, gid)
        _leave_by_dn(steps, name, entry["dn"])
        words = f"the group {name} was removed"
        return steps.delete(entry["dn"], words, accept={NO_SUCH_OBJECT}) == SUCCESS


def _refuse_primary(link: OpenConnection, name: str, gid: int) -> None:
    settings, mapping = link.settings, Mapping(link.settings)
    query = conjunction([mapping.users(), equals(settings.ldap_gid_attribute, str(gid))])
    attributes = [settings.ldap_username_attribute]
    entries = link.search(settings.ldap_user_base or "", query, SUBTREE, attributes, size_limit=4)
    if entries:
        names = [mapping.user(entry, "").username for entry in entries]
        who = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
        raise Conflict(
            f"{name} is the primary group of {who}. Choose another primary group for them first."
        )


# --- members --------------------------------------------------------------------------------------


def add_member(servers: Servers, link: OpenConnection, group: str, username: str) -> None:
    with change(servers, link) as steps:
        known = username.lower()
        dn = _find_dns(link, [known]).get(known)
        if dn is None:
            raise NotFound(f"There is no user {username[:64]} in the directory.")
        join(steps, group, known, dn)


def join(steps: DirectoryChange, group: str, username: str, dn: str) -> None:
    """Add a user to a group. Raises NotFound for a group that does not exist."""
    entry = _find_group(steps.link, group)
    by_dn = _holds_dns(entry)
    step = add_value(_BY_DN, dn) if by_dn else add_value(_BY_NAME, username)
    steps.modify(
        entry["dn"], step, f"the account {username} was added to {group}", accept={VALUE_EXISTS}
    )


def remove_member(servers: Servers, link: OpenConnection, group: str, username: str) -> None:
    with change(servers, link) as steps:
        entry = _find_group(link, group)
        if not _holds_dns(entry):
            step = remove_value(_BY_NAME, username)
            words = f"the account {username} was removed from {group}"
            steps.modify(entry["dn"], step, words, accept={NO_SUCH_ATTRIBUTE})
            return
        dn = _find_dns(link, [username]).get(username) or _find_stale_dn(link, entry, username)
        if dn is not None:
            _remove_dn(steps, entry, group, username, dn)


def _find_stale_dn(link: OpenConnection, entry: Entry, username: str) -> str | None:
    """Return the DN under which a group still lists a user who is no longer in the directory."""
    own = f"{link.settings.ldap_username_attribute}={username},".casefold()
    return next((dn for dn in texts(entry, _BY_DN) if dn.casefold().startswith(own)), None)


def _remove_dn(steps: DirectoryChange, entry: Entry, group: str, name: str, dn: str) -> None:
    words = f"the account {name} was removed from {group}"
    code = steps.modify(
        entry["dn"], remove_value(_BY_DN, dn), words, accept={NO_SUCH_ATTRIBUTE, CLASS_VIOLATION}
    )
    if code == CLASS_VIOLATION:
        raise Conflict(_last_member_message(name, [group]))


def _last_member_message(name: str, of: list[str]) -> str:
    return (
        f"{name} is the last member of {', '.join(of)}, and groups in this directory can't "
        "be empty. Add another member first, or delete the group."
    )


def leave_all(steps: DirectoryChange, username: str, dn: str | None) -> None:
    """Remove a user from every group.

    Raises Conflict, with nothing changed, if a group would be empty.
    """
    link = steps.link
    if link.settings.ldap_group_base is None:
        return
    if dn is not None:
        _leave_by_dn(steps, username, dn)
    for entry in _search_groups(link, equals(_BY_NAME, username)):
        group = Mapping(link.settings).group(entry).name
        words = f"the account {username} was removed from {group}"
        step = remove_value(_BY_NAME, username)
        steps.modify(entry["dn"], step, words, accept={NO_SUCH_ATTRIBUTE, NO_SUCH_OBJECT})


def _leave_by_dn(steps: DirectoryChange, name: str, dn: str) -> None:
    link, mapping = steps.link, Mapping(steps.link.settings)
    holding = _search_groups(link, equals(_BY_DN, dn))
    alone = [mapping.group(entry).name for entry in holding if len(texts(entry, _BY_DN)) == 1]
    if alone:
        raise Conflict(_last_member_message(name, sorted(alone)))
    for entry in holding:
        _remove_dn(steps, entry, mapping.group(entry).name, name, dn)


def _search_groups(link: OpenConnection, query: str) -> list[Entry]:
    attributes = [link.settings.ldap_group_name_attribute, _BY_DN]
    base = link.settings.ldap_group_base or ""
    return link.search(base, query, SUBTREE, attributes, size_limit=MAX_GROUPS)


def _find_group(link: OpenConnection, name: str) -> Entry:
    entry = groups.entry_of(link, name, _ATTRIBUTES)
    if entry is None:
        raise NotFound(f"There is no group {name[:64]} in the directory.")
    return entry


def _holds_dns(entry: Entry) -> bool:
    return OF_NAMES.lower() in {name.lower() for name in texts(entry, "objectClass")}


# --- users's own groups --------------------------------------------------------------------------


def make_own(steps: DirectoryChange, username: str, gid: int) -> bool:
    """Add a user's own group; False if its number or name was taken in the meantime."""
    link = steps.link
    attributes = {
        link.settings.ldap_group_name_attribute: username,
        link.settings.ldap_gid_attribute: gid,
    }
    words = f"the group {username} was created"
    added = steps.add(_group_dn(link, username), [POSIX], attributes, words)
    return added == SUCCESS and not _is_shared(link, gid)


def remove_own(steps: DirectoryChange, username: str, dn: str) -> None:
    """Remove a user's own group, if it exists, has the user's number, and has no other members."""
    link, settings = steps.link, steps.link.settings
    if settings.ldap_group_base is None:
        return
    entry = groups.entry_of(link, username, _ATTRIBUTES)
    entries = link.search(dn, "(objectClass=*)", BASE, [settings.ldap_gid_attribute], size_limit=1)
    if entry is None or not entries or _holds_dns(entry):
        return
    same = first(entry, settings.ldap_gid_attribute) == first(
        entries[0], settings.ldap_gid_attribute
    )
    if same and not set(texts(entry, _BY_NAME)) - {username}:
        steps.delete(entry["dn"], f"the group {username} was removed", accept={NO_SUCH_OBJECT})

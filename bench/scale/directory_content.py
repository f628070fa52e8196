"""A large directory for slapd: users, and groups that each user is in a few of."""

from __future__ import annotations

from tests.servers.slapd import BASE, CONFIG, SUFFIX, USER_ENTRIES, Content, user_entry

FIRST_NUMBER = 40_000
GROUPS_PER_USER = 5
ADMIN = "user0001"  # the administrator of bench/rows.py
# the indexes that docs/install.md presupposes, and no limit on an answer's size
SIZES = "directory {folder}/db\nmaxsize 1073741824\nindex objectClass,uid,cn,memberUid eq\n"
UNLIMITED = "sizelimit unlimited\ndatabase mdb\n"


def render_directory(users: int, groups: int) -> Content:
    """Return a directory with the users and groups of the tests and this many more."""
    config = CONFIG.replace("directory {folder}/db\n", SIZES).replace("database mdb\n", UNLIMITED)
    added = (user_entry(username(n), FIRST_NUMBER + n) for n in range(users))
    base = BASE.replace("memberUid: carol\n", f"memberUid: carol\nmemberUid: {ADMIN}\n", 1)
    return Content(config, "".join([base, *_render_groups(users, groups), USER_ENTRIES, *added]))


def username(number: int) -> str:
    return f"user{number:04}"


def group_name(number: int) -> str:
    return f"group{number:03}"


def _render_groups(users: int, groups: int) -> list[str]:
    """Render the groups; a user's groups are neighbors."""
    members: list[list[str]] = [[] for _ in range(groups)]
    for number in range(users):
        for step in range(GROUPS_PER_USER):
            members[(number + step) % groups].append(username(number))
    return [_render_group(number, names) for number, names in enumerate(members)]


def _render_group(number: int, members: list[str]) -> str:
    lines = [
        f"\ndn: cn={group_name(number)},ou=groups,{SUFFIX}",
        "objectClass: posixGroup",
        f"cn: {group_name(number)}",
        f"gidNumber: {31_000 + number}",
        *(f"memberUid: {name}" for name in members),
    ]
    return "\n".join(lines) + "\n"

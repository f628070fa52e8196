"""Commands for sacctmgr that write the pending values of associations."""

from collections.abc import Iterable, Mapping

from portal.services.limits.association_states import AssociationState
from portal.services.limits.associations import ABSENT, EXISTS, PRESENT
from spawner.slurm import parse_accounting

USERS_PER_LINE = 100

Line = tuple[str, list[AssociationState]]


def build_lines(
    due: Iterable[AssociationState], cluster: str, moves: Mapping[str, str]
) -> list[Line]:
    """Return the sacctmgr commands, in a workable order, and the associations of each.

    First come additions, then values, then removals. `moves` are the new default accounts by user.
    Associations with equal values share a command.
    """
    adds: dict[tuple[bool, str, str], list[AssociationState]] = {}
    sets: dict[tuple[str, str, str], list[AssociationState]] = {}
    gone: list[Line] = []
    for association in sorted(due, key=lambda member: member.key):
        account, username, partition = association.key
        existence = association.pending.get(EXISTS)
        if existence == ABSENT:
            if not partition and username in moves:
                gone.append(
                    (parse_accounting.set_default_account(cluster, username, moves[username]), [])
                )
            gone.append(
                (parse_accounting.remove(cluster, account, username, partition), [association])
            )
            continue
        if existence == PRESENT:
            adds.setdefault((bool(partition), account, partition), []).append(association)
        values = {name: value for name, value in association.pending.items() if name != EXISTS}
        if values:
            sets.setdefault((account, partition if username else "*", repr(values)), []).append(
                association
            )
    lines: list[Line] = []
    for _, members in sorted(adds.items()):
        for group in _chunk(members):
            account, _, partition = group[0].key
            line = parse_accounting.add(
                cluster, account, [member.key[1] for member in group], partition
            )
            lines.append((line, group))
    for _, members in sorted(sets.items()):
        for group in _chunk(members):
            account, _, partition = group[0].key
            users = [member.key[1] for member in group if member.key[1]]
            values = {name: value for name, value in group[0].pending.items() if name != EXISTS}
            lines.append(
                (parse_accounting.modify(cluster, account, users, partition, values), group)
            )
    return [*lines, *gone]


def _chunk(members: list[AssociationState]) -> list[list[AssociationState]]:
    return [members[at : at + USERS_PER_LINE] for at in range(0, len(members), USERS_PER_LINE)]

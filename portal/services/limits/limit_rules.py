"""Which limit counts, and what it refuses. Pure: figures in, sentences out.

For each field a person's own limit counts; else the most generous of those of their groups'
members; else the default. A field that is None says nothing. What a group's members may use
together is a rule of its own beside.

Refused is only what could never be: one job that asks for more than its owner may use at once. When
several together do, Slurm lets them wait, and the portal says why.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from portal.errors import FieldError
from portal.models import LimitScope
from spawner.model import ClusterInfo, Resources

NUMBERS = ("gpus", "sessions", "jobs", "cpus", "memory_gb", "time_limit_minutes")
LISTS = ("partitions", "accounts", "qos")
BY_TYPE = "gpus_by_type"
FIELDS = ("gpus", BY_TYPE, "sessions", "jobs", "cpus", "memory_gb", "time_limit_minutes", *LISTS)
TOGETHER = ("gpus", BY_TYPE, "sessions", "jobs", "cpus", "memory_gb")
"""What a group's members can have together; the rest is of each one's."""


@dataclass(frozen=True)
class Figures:
    """What one limit says of each field."""

    gpus: int | None = None
    gpus_by_type: Mapping[str, int] | None = None
    sessions: int | None = None
    jobs: int | None = None
    cpus: int | None = None
    memory_gb: int | None = None
    time_limit_minutes: int | None = None
    partitions: Sequence[str] | None = None
    accounts: Sequence[str] | None = None
    qos: Sequence[str] | None = None

    @property
    def said(self) -> dict[str, Any]:
        """The fields that it says something of."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Source:
    """Whose limit a value is; `name` is a username, a group's, or empty for the default."""

    scope: LimitScope
    name: str = ""


@dataclass(frozen=True)
class Counted:
    """A value that counts, and where it comes from."""

    value: Any
    source: Source


Effective = Mapping[str, Counted]


@dataclass(frozen=True)
class Together:
    """What a group's members may use together, by the account that belongs to it."""

    group: str
    account: str | None
    figures: Figures


@dataclass(frozen=True)
class Allowance:
    """All that limits one person: what counts for each field, and what they share in."""

    effective: Effective = field(default_factory=dict)
    together: Sequence[Together] = ()

    def value(self, name: str) -> Any:
        """What counts for a field; None: nothing limits it."""
        found = self.effective.get(name)
        return found.value if found else None


# --- which limit counts -------------------------------------------------------------------------


def effective(
    own: tuple[str, Figures] | None, groups: Mapping[str, Figures], default: Figures | None
) -> dict[str, Counted]:
    """What counts of each field that some limit says something of."""
    found: dict[str, Counted] = {}
    for name in FIELDS:
        counted = _own(own, name) or _most_generous(groups, name) or _default(default, name)
        if counted is not None:
            found[name] = counted
    return found


def _own(own: tuple[str, Figures] | None, name: str) -> Counted | None:
    value = getattr(own[1], name) if own else None
    return Counted(value, Source(LimitScope.PERSON, own[0])) if own and value is not None else None


def _default(default: Figures | None, name: str) -> Counted | None:
    value = getattr(default, name) if default else None
    return Counted(value, Source(LimitScope.DEFAULT)) if value is not None else None


def _most_generous(groups: Mapping[str, Figures], name: str) -> Counted | None:
    said = {group: getattr(groups[group], name) for group in sorted(groups)}
    said = {group: value for group, value in said.items() if value is not None}
    if not said:
        return None
    if name in NUMBERS:
        best = max(said, key=lambda group: said[group])
        return Counted(said[best], Source(LimitScope.MEMBER, best))
    value = _together_by_type(said.values()) if name == BY_TYPE else _union(said.values())
    from_ = [group for group, theirs in said.items() if _gives(theirs, value)]
    return Counted(value, Source(LimitScope.MEMBER, ", ".join(from_)))


def _together_by_type(maps: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in maps:
        for kind, number in one.items():
            found[kind] = max(number, found.get(kind, 0))
    return dict(sorted(found.items()))


def _union(lists: Iterable[Sequence[str]]) -> list[str]:
    return sorted({name for names in lists for name in names})


def _gives(theirs: Any, value: Any) -> bool:
    """Whether a group's limit is one of those that the whole comes from."""
    if isinstance(value, dict):
        return any(theirs.get(kind) == number for kind, number in value.items())
    return bool(set(theirs) & set(value))


# --- what it refuses ----------------------------------------------------------------------------


def fitted(
    wanted: Resources,
    named: Iterable[str],
    allowance: Allowance,
    runs: Callable[[Resources], bool],
) -> Resources:
    """The same with what its owner did not name made to fit: a default time that is too long, a
    default partition, account or QOS that isn't theirs. Of partitions the first that `runs` it."""
    named = set(named)
    most = allowance.value("time_limit_minutes")
    asked = wanted.time_limit_minutes
    if most is not None and asked is not None and asked > most and not named & {_TIME}:
        wanted = replace(wanted, time_limit_minutes=most)
    for name, one in (("partitions", "partition"), ("accounts", "account"), ("qos", "qos")):
        allowed, present = allowance.value(name), getattr(wanted, one)
        if allowed and present is not None and present not in allowed and one not in named:
            others = [replace(wanted, **{one: other}) for other in allowed]
            wanted = next((other for other in others if runs(other)), others[0])
    return wanted


_TIME = "time_limit_minutes"


def with_type(wanted: Resources, allowance: Allowance, cluster: ClusterInfo | None) -> Resources:
    """The same with the type of its GPUs named, where limits count by type and its partition has
    one type only: Slurm counts by type only what names one."""
    if not wanted.gpus or wanted.gpu_type or allowance.value(BY_TYPE) is None or cluster is None:
        return wanted
    types = _types(wanted, cluster)
    return replace(wanted, gpu_type=types[0]) if len(types) == 1 else wanted


def _types(wanted: Resources, cluster: ClusterInfo) -> list[str]:
    """Types of GPU in the partition, those without a name left out."""
    nodes = [n for n in cluster.nodes if wanted.partition in {None, *n.partitions}]
    return sorted({kind for node in nodes for kind in node.gpus} - {"gpu"})


def refusals(
    wanted: Resources, allowance: Allowance, cluster: ClusterInfo | None, held: int | None = None
) -> list[FieldError]:
    """Why these resources could never be had under these limits; empty if they could. `held`: the
    GPUs that the owner's running jobs hold, where that is known."""
    found = [*_amounts(wanted, allowance, held), *_by_type(wanted, allowance, cluster)]
    most = allowance.effective.get(_TIME)
    asked = wanted.time_limit_minutes
    if most is not None and asked is not None and asked > most.value:
        text = f"Your sessions and jobs may last {_minutes(most.value)} at most{whose(most)}."
        found.append(_error(_TIME, f"{text} {_LESS_TIME}"))
    for name, one, words in _CHOICES:
        allowed = allowance.effective.get(name)
        chosen = getattr(wanted, one)
        if allowed is not None and chosen is not None and chosen not in allowed.value:
            may = ", ".join(allowed.value)
            found.append(_error(one, f"You may use {words}: {may}{whose(allowed)}. {_OTHER}"))
    return [*found, *_shared(wanted, allowance)]


_ASK = "or ask your administrators."
_LESS_TIME = f"Ask for a shorter time, {_ASK}"
_OTHER = f"Choose one of these, {_ASK}"
_CHOICES = (
    ("partitions", "partition", "these partitions"),
    ("accounts", "account", "these accounts"),
    ("qos", "qos", "these QOS"),
)


def asked_of(wanted: Resources) -> dict[str, float]:
    """What one job takes of each number that is limited at once, on all its nodes together."""
    memory = (wanted.memory_gb or 0) * wanted.nodes
    return {
        "gpus": wanted.gpus * wanted.nodes,
        "cpus": wanted.cpus * wanted.nodes,
        "memory_gb": memory,
    }


_UNITS = {"gpus": "GPU", "cpus": "CPU", "memory_gb": "GB of memory"}


def _amounts(wanted: Resources, allowance: Allowance, held: int | None) -> list[FieldError]:
    found = []
    for name, number in asked_of(wanted).items():
        most = allowance.effective.get(name)
        if most is None or number <= most.value:
            continue
        text = f"You may use {count(most.value, name)} at once{whose(most)}; this asks for"
        text += f" {number:g}."
        if name == "gpus" and held:
            text += f" Your sessions and jobs hold {held} now."
        found.append(_error(name, f"{text} Ask for {_fewer(name)}, {_ASK}"))
    return found


def _by_type(
    wanted: Resources, allowance: Allowance, cluster: ClusterInfo | None
) -> list[FieldError]:
    limits = allowance.effective.get(BY_TYPE)
    if limits is None or not wanted.gpus:
        return []
    kind = wanted.gpu_type
    if kind is None:
        types = _types(wanted, cluster) if cluster else []
        if not set(types) & set(limits.value) or len(types) < 2:
            return []
        text = f"Your GPUs are counted by type{whose(limits)}: choose one of {', '.join(types)}."
        return [_error("gpu_type", text)]
    most, number = limits.value.get(kind), wanted.gpus * wanted.nodes
    if most is None or number <= most:
        return []
    text = f"You may use {most} GPU{'' if most == 1 else 's'} of type {kind} at once"
    text += f"{whose(limits)}; this asks for {number}. Ask for fewer, {_ASK}"
    return [_error("gpus", text)]


def _shared(wanted: Resources, allowance: Allowance) -> list[FieldError]:
    """What could never run for the account's limit, which all members of its group share."""
    found = []
    for shared in allowance.together:
        if wanted.account is None or shared.account != wanted.account:
            continue
        for name, number in asked_of(wanted).items():
            most = getattr(shared.figures, name)
            if most is not None and number > most:
                text = f"All members of {shared.group} together may use {count(most, name)}"
                text += f" at once; this alone asks for {number:g}. Ask for {_fewer(name)}, {_ASK}"
                found.append(_error(name, text))
    return found


def too_many(kind: str, have: int, more: int, limit: Counted) -> str | None:
    """Why no more of these ("session", "job") may be begun, or None: one may have `limit` of them
    that wait or run, has `have`, and wants `more`."""
    if have + more <= limit.value:
        return None
    text = f"You may have {limit.value} {kind}{'' if limit.value == 1 else 's'} at a time"
    text += f"{whose(limit)}; {have} of yours {_waits_or_runs(have)} now"
    text += f", and this would be {more} more." if more > 1 else "."
    return f"{text} {'Stop one' if have else 'Begin fewer'}, {_ASK}"


def too_many_together(kind: str, have: int, more: int, limit: int, group: str) -> str | None:
    """The same for all members of a group together."""
    if have + more <= limit:
        return None
    text = f"All members of {group} together may have {limit} {kind}{'' if limit == 1 else 's'} at"
    text += f" a time; {have} {_waits_or_runs(have)} now. Wait until one ends, {_ASK}"
    return text


def _waits_or_runs(number: int) -> str:
    return "waits or runs" if number == 1 else "wait or run"


def whose(counted: Counted) -> str:
    """Whose rule it is, in brackets after what it says."""
    source = counted.source
    match source.scope:
        case LimitScope.PERSON:
            return " (a limit of your own)"
        case LimitScope.MEMBER | LimitScope.GROUP:
            plural = "groups" if ", " in source.name else "group"
            return f" (the limit of your {plural} {source.name})"
        case LimitScope.DEFAULT:
            return " (the limit for everybody)"


def count(number: float, name: str) -> str:
    """`2 GPUs`, `8 GB of memory`."""
    unit = _UNITS[name]
    plural = "" if number == 1 or name == "memory_gb" else "s"
    return f"{number:g} {unit}{plural}"


def _minutes(number: int) -> str:
    if number % 60 or number == 0:
        return f"{number} minutes"
    hours = number // 60
    return f"{hours} hour{'' if hours == 1 else 's'}"


def _fewer(name: str) -> str:
    return "less" if name == "memory_gb" else "fewer"


def _error(name: str, text: str) -> FieldError:
    return FieldError(f"resources.{name}", text)


# --- what a leader may give ---------------------------------------------------------------------


def beyond(given: Figures, ceiling: Figures, before: Figures | None) -> list[FieldError]:
    """What of a limit is more than its group has, as far as `ceiling` says; and, where an
    administrator, or the leader of another group, has set the person's limit, `before`, more than
    that."""
    found = []
    for name in FIELDS:
        value, most = getattr(given, name), getattr(ceiling, name)
        held = getattr(before, name) if before else None
        if held is not None and (value is None or _more(value, held)):
            text = f"An administrator, or another group's leader, set this: at most {_shown(held)}."
            found.append(FieldError(name, text))
        elif value is not None and name in LISTS and most is None:
            text = "Only administrators can say this: the group has no such limit."
            found.append(FieldError(name, text))
        elif value is not None and most is not None and _more(value, most):
            found.append(FieldError(name, f"The group has {_shown(most)}: no more can be given."))
    return found


def _more(value: Any, most: Any) -> bool:
    if isinstance(value, Mapping):
        return any(number > most.get(kind, number) for kind, number in value.items()) or any(
            kind not in value for kind in most
        )
    if isinstance(value, int):
        return value > int(most)
    return not set(value) <= set(most)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{number} {kind}" for kind, number in value.items()) or "none"
    return str(value) if isinstance(value, int) else ", ".join(value)

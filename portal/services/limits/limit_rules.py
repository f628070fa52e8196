"""Effective limits, and the requests they refuse. Pure: values in, messages out.

Per field: the user's own limit, else the most generous per-member limit of their groups, else the
default. None means unset. Group totals are a separate rule.

Resources are refused only if they could never run: a single job larger than its owner may use at
once. If several jobs together exceed a limit, Slurm keeps them pending and the portal shows why.
More sessions or jobs than allowed at a time are refused at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from portal.errors import FieldError
from portal.models import LimitScope
from spawner.durations import format_minutes
from spawner.slurm.model import ClusterInfo, Resources

NUMBERS = ("gpus", "sessions", "jobs", "cpus", "memory_gb", "time_limit_minutes")
LISTS = ("partitions", "accounts", "qos")
BY_TYPE = "gpus_by_type"
FIELDS = ("gpus", BY_TYPE, "sessions", "jobs", "cpus", "memory_gb", "time_limit_minutes", *LISTS)
GROUP_TOTAL_FIELDS = ("gpus", BY_TYPE, "sessions", "jobs", "cpus", "memory_gb")
"""The fields a group total can have; the others apply to each member only."""


@dataclass(frozen=True)
class LimitValues:
    """The values of one limit by field; None is unset."""

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
    def set_fields(self) -> dict[str, Any]:
        """The fields that are set."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class LimitSource:
    """The origin of a value; `name` is a user name, a group name, or empty for the default."""

    scope: LimitScope
    name: str = ""


@dataclass(frozen=True)
class EffectiveLimit:
    """An effective value and its origin."""

    value: Any
    source: LimitSource


Effective = Mapping[str, EffectiveLimit]


@dataclass(frozen=True)
class GroupTotal:
    """A group total: what a group's members may use together, in the group's account."""

    group: str
    account: str | None
    values: LimitValues


@dataclass(frozen=True)
class Allowance:
    """Everything that limits one user: effective limits by field, and shared group totals."""

    effective: Effective = field(default_factory=dict)
    group_totals: Sequence[GroupTotal] = ()

    def value(self, name: str) -> Any:
        """Return the effective value of a field; None if nothing limits it."""
        limit = self.effective.get(name)
        return limit.value if limit else None


# --- effective limits ---------------------------------------------------------------------------


def merge_limits(
    own: tuple[str, LimitValues] | None,
    groups: Mapping[str, LimitValues],
    default: LimitValues | None,
) -> dict[str, EffectiveLimit]:
    """Return the effective value of each field that some limit sets."""
    limits: dict[str, EffectiveLimit] = {}
    for name in FIELDS:
        limit = (
            _get_own(own, name) or _pick_most_generous(groups, name) or _get_default(default, name)
        )
        if limit is not None:
            limits[name] = limit
    return limits


def _get_own(own: tuple[str, LimitValues] | None, name: str) -> EffectiveLimit | None:
    value = getattr(own[1], name) if own else None
    return (
        EffectiveLimit(value, LimitSource(LimitScope.USER, own[0]))
        if own and value is not None
        else None
    )


def _get_default(default: LimitValues | None, name: str) -> EffectiveLimit | None:
    value = getattr(default, name) if default else None
    return EffectiveLimit(value, LimitSource(LimitScope.DEFAULT)) if value is not None else None


def _pick_most_generous(groups: Mapping[str, LimitValues], name: str) -> EffectiveLimit | None:
    given = {group: getattr(groups[group], name) for group in sorted(groups)}
    given = {group: value for group, value in given.items() if value is not None}
    if not given:
        return None
    if name in NUMBERS:
        best = max(given, key=lambda group: given[group])
        return EffectiveLimit(given[best], LimitSource(LimitScope.MEMBER, best))
    value = _merge_by_type(given.values()) if name == BY_TYPE else _union(given.values())
    from_ = [group for group, theirs in given.items() if _contributes(theirs, value)]
    return EffectiveLimit(value, LimitSource(LimitScope.MEMBER, ", ".join(from_)))


def _merge_by_type(maps: Iterable[Mapping[str, int]]) -> dict[str, int]:
    most: dict[str, int] = {}
    for by_type in maps:
        for kind, number in by_type.items():
            most[kind] = max(number, most.get(kind, 0))
    return dict(sorted(most.items()))


def _union(lists: Iterable[Sequence[str]]) -> list[str]:
    return sorted({name for names in lists for name in names})


def _contributes(theirs: Any, value: Any) -> bool:
    """Return whether a group's limit contributes to the combined value."""
    if isinstance(value, dict):
        return any(theirs.get(kind) == number for kind, number in value.items())
    return bool(set(theirs) & set(value))


# --- refusals -----------------------------------------------------------------------------------


def apply_limits(
    resources: Resources,
    explicit: Iterable[str],
    allowance: Allowance,
    runs: Callable[[Resources], bool],
) -> Resources:
    """Adjust fields that the user did not set to the limits.

    This covers a default time limit that is too long, and a default partition, account or QOS that
    the user may not use. Of the allowed alternatives the first one that `runs` accepts is taken.
    """
    explicit = set(explicit)
    most = allowance.value("time_limit_minutes")
    minutes = resources.time_limit_minutes
    if most is not None and minutes is not None and minutes > most and not explicit & {_TIME}:
        resources = replace(resources, time_limit_minutes=most)
    for name, name_field in (("partitions", "partition"), ("accounts", "account"), ("qos", "qos")):
        allowed, present = allowance.value(name), getattr(resources, name_field)
        if (
            allowed
            and present is not None
            and present not in allowed
            and name_field not in explicit
        ):
            others = [replace(resources, **{name_field: other}) for other in allowed]
            resources = next((other for other in others if runs(other)), others[0])
    return resources


_TIME = "time_limit_minutes"


def set_gpu_type(
    resources: Resources, allowance: Allowance, cluster: ClusterInfo | None
) -> Resources:
    """Set the GPU type where limits count by type and the partition has a single type.

    Slurm counts GPUs by type only for jobs that name one.
    """
    if (
        not resources.gpus
        or resources.gpu_type
        or allowance.value(BY_TYPE) is None
        or cluster is None
    ):
        return resources
    types = _list_gpu_types(resources, cluster)
    return replace(resources, gpu_type=types[0]) if len(types) == 1 else resources


def _list_gpu_types(resources: Resources, cluster: ClusterInfo) -> list[str]:
    """Return the GPU types in the partition, without untyped GPUs."""
    nodes = [n for n in cluster.nodes if resources.partition in {None, *n.partitions}]
    return sorted({kind for node in nodes for kind in node.gpus} - {"gpu"})


def list_refusals(
    resources: Resources,
    allowance: Allowance,
    cluster: ClusterInfo | None,
    gpus_in_use: int | None = None,
) -> list[FieldError]:
    """Return why these limits could never allow the resources; empty if they could.

    `gpus_in_use`: the GPUs that the owner's running jobs hold, if known.
    """
    errors = [
        *_check_amounts(resources, allowance, gpus_in_use),
        *_check_by_type(resources, allowance, cluster),
    ]
    most = allowance.effective.get(_TIME)
    minutes = resources.time_limit_minutes
    if most is not None and minutes is not None and minutes > most.value:
        longest, source = format_minutes(most.value), describe_source(most)
        text = f"Your sessions and jobs may last {longest} at most{source}."
        errors.append(_error(_TIME, f"{text} {_LESS_TIME}"))
    for name, name_field, words in _CHOICES:
        allowed = allowance.effective.get(name)
        chosen = getattr(resources, name_field)
        if allowed is not None and chosen is not None and chosen not in allowed.value:
            may = ", ".join(allowed.value)
            errors.append(
                _error(
                    name_field, f"You may use {words}: {may}{describe_source(allowed)}. {_OTHER}"
                )
            )
    return [*errors, *_check_group_totals(resources, allowance)]


_ASK = "or ask your administrators."
_LESS_TIME = f"Ask for a shorter time, {_ASK}"
_OTHER = f"Choose one of these, {_ASK}"
_CHOICES = (
    ("partitions", "partition", "these partitions"),
    ("accounts", "account", "these accounts"),
    ("qos", "qos", "these QOS"),
)


def compute_totals(resources: Resources) -> dict[str, float]:
    """Return the amounts that one job takes on all its nodes together.

    These are the fields that are limited by amount in use.
    """
    memory = (resources.memory_gb or 0) * resources.nodes
    return {
        "gpus": resources.gpus * resources.nodes,
        "cpus": resources.cpus * resources.nodes,
        "memory_gb": memory,
    }


_UNITS = {"gpus": "GPU", "cpus": "CPU", "memory_gb": "GB of memory"}


def _check_amounts(
    resources: Resources, allowance: Allowance, gpus_in_use: int | None
) -> list[FieldError]:
    errors = []
    for name, number in compute_totals(resources).items():
        most = allowance.effective.get(name)
        if most is None or number <= most.value:
            continue
        amount = format_amount(most.value, name)
        text = f"You may use {amount} at once{describe_source(most)}; this asks for"
        text += f" {number:g}."
        if name == "gpus" and gpus_in_use:
            text += f" Your sessions and jobs use {gpus_in_use} now."
        errors.append(_error(name, f"{text} Ask for {_fewer(name)}, {_ASK}"))
    return errors


def _check_by_type(
    resources: Resources, allowance: Allowance, cluster: ClusterInfo | None
) -> list[FieldError]:
    limits = allowance.effective.get(BY_TYPE)
    if limits is None or not resources.gpus:
        return []
    kind = resources.gpu_type
    if kind is None:
        types = _list_gpu_types(resources, cluster) if cluster else []
        if not set(types) & set(limits.value) or len(types) < 2:
            return []
        source = describe_source(limits)
        text = f"Your GPUs are counted by type{source}: choose one of {', '.join(types)}."
        return [_error("gpu_type", text)]
    most, number = limits.value.get(kind), resources.gpus * resources.nodes
    if most is None or number <= most:
        return []
    text = f"You may use {most} GPU{'' if most == 1 else 's'} of type {kind} at once"
    text += f"{describe_source(limits)}; this asks for {number}. Ask for fewer, {_ASK}"
    return [_error("gpus", text)]


def _check_group_totals(resources: Resources, allowance: Allowance) -> list[FieldError]:
    """Return what the limit of the account could never allow; all members of its group share it."""
    errors = []
    for shared in allowance.group_totals:
        if resources.account is None or shared.account != resources.account:
            continue
        for name, number in compute_totals(resources).items():
            most = getattr(shared.values, name)
            if most is not None and number > most:
                text = f"All members of {shared.group} together may use {format_amount(most, name)}"
                text += f" at once; this alone asks for {number:g}. Ask for {_fewer(name)}, {_ASK}"
                errors.append(_error(name, text))
    return errors


def explain_too_many(kind: str, have: int, added: int, limit: EffectiveLimit) -> str | None:
    """Return why `added` sessions or jobs (`kind`) may not be started, or None.

    The user has `have` pending or running ones.
    """
    if have + added <= limit.value:
        return None
    text = f"You may have {limit.value} {kind}{'' if limit.value == 1 else 's'} at a time"
    text += f"{describe_source(limit)}; {have} of yours {_waits_or_runs(have)} now"
    text += f", and this would be {added} more." if added > 1 else "."
    if limit.value == 0:
        return " ".join([text, "Ask your administrators for more."])
    return f"{text} {'Stop one' if have else 'Submit fewer'}, {_ASK}"


def explain_too_many_in_group(
    kind: str, have: int, added: int, limit: int, group: str
) -> str | None:
    """Return the same for all members of a group together."""
    if have + added <= limit:
        return None
    text = f"All members of {group} together may have {limit} {kind}{'' if limit == 1 else 's'} at"
    text += f" a time; {have} {_waits_or_runs(have)} now. Wait until one ends, {_ASK}"
    return text


def _waits_or_runs(number: int) -> str:
    return "waits or runs" if number == 1 else "wait or run"


def describe_source(limit: EffectiveLimit) -> str:
    """Return the origin of a value in parentheses, to follow a message."""
    source = limit.source
    match source.scope:
        case LimitScope.USER:
            return " (a limit of your own)"
        case LimitScope.MEMBER | LimitScope.GROUP:
            plural = "groups" if ", " in source.name else "group"
            return f" (the limit of your {plural} {source.name})"
        case LimitScope.DEFAULT:
            return " (the default limit)"


def format_amount(number: float, name: str) -> str:
    """Format an amount: `2 GPUs`, `8 GB of memory`."""
    unit = _UNITS[name]
    plural = "" if number == 1 or name == "memory_gb" else "s"
    return f"{number:g} {unit}{plural}"


def _fewer(name: str) -> str:
    return "less" if name == "memory_gb" else "fewer"


def _error(name: str, text: str) -> FieldError:
    return FieldError(f"resources.{name}", text)


# --- limits set by group managers ---------------------------------------------------------------


def find_exceeding(
    given: LimitValues, ceiling: LimitValues, before: LimitValues | None
) -> list[FieldError]:
    """Return the fields that a group manager may not set so high.

    The bounds are `ceiling`, what the group has, and `before`, the values that an administrator or
    the manager of another group has set for the user.
    """
    errors = []
    for name in FIELDS:
        value, most = getattr(given, name), getattr(ceiling, name)
        current = getattr(before, name) if before else None
        if current is not None and (value is None or _exceeds(value, current)):
            limit = _format_value(current)
            text = f"An administrator or another group's manager set this limit: at most {limit}."
            errors.append(FieldError(name, text))
        elif value is not None and name in LISTS and most is None:
            text = "Only administrators can set this, because the group has no such limit."
            errors.append(FieldError(name, text))
        elif value is not None and most is not None and _exceeds(value, most):
            errors.append(
                FieldError(
                    name,
                    f"The limit of the group is {_format_value(most)}. A member can't have more.",
                )
            )
    return errors


def _exceeds(value: Any, most: Any) -> bool:
    if isinstance(value, Mapping):
        return any(number > most.get(kind, number) for kind, number in value.items()) or any(
            kind not in value for kind in most
        )
    if isinstance(value, int):
        return value > int(most)
    return not set(value) <= set(most)


def _format_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{number} {kind}" for kind, number in value.items()) or "none"
    return str(value) if isinstance(value, int) else ", ".join(value)

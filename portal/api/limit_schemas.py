"""Limits, what is in use, and Slurm's associations, as the API shows them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from portal.models import Limit, LimitScope
from portal.services.limits import associations as rules
from portal.services.limits import limit_views as views
from portal.services.limits.limit_changes import MOST_NAMES, names_of
from portal.services.limits.limit_rules import FIELDS, Counted, Figures
from portal.services.limits.slurm_limits import Standing

Number = Annotated[int, Field(ge=0, le=1_000_000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True)]
Names = Annotated[list[Name], Field(min_length=1, max_length=MOST_NAMES)]


class LimitIn(BaseModel):
    """What a limit says; a field that is null says nothing. Numbers are those at once, of all that
    waits or runs for sessions and jobs; each task of an array is a job. `version` is that which
    the editor saw, null for a limit that isn't there yet. `create_account`: for a group together,
    make the account that belongs to it where Slurm has none."""

    model_config = ConfigDict(extra="forbid")

    gpus: Number | None = None
    gpus_by_type: Annotated[dict[Name, Number], Field(min_length=1, max_length=20)] | None = None
    sessions: Number | None = None
    jobs: Number | None = None
    cpus: Number | None = None
    memory_gb: Number | None = None
    time_limit_minutes: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    partitions: Names | None = None
    accounts: Names | None = None
    qos: Names | None = None
    version: int | None = None
    create_account: bool = False

    def figures(self) -> Figures:
        lists = {name: getattr(self, name) for name in ("partitions", "accounts", "qos")}
        said: dict[str, Any] = {name: getattr(self, name) for name in FIELDS if name not in lists}
        said |= {name: names_of(names) for name, names in lists.items() if names is not None}
        return Figures(**said)


class Whose(BaseModel):
    """Whose limit it is; `name` is empty for the default. More than one group stand with commas."""

    scope: LimitScope
    name: str


class SlurmOut(BaseModel):
    """Whether Slurm has been told, and what there is to say about it, maybe nothing."""

    state: Literal["written", "pending", "refused", "nothing"]
    message: str


class LimitOut(BaseModel):
    """One limit; what is null says nothing."""

    scope: LimitScope
    name: str
    gpus: int | None
    gpus_by_type: dict[str, int] | None
    sessions: int | None
    jobs: int | None
    cpus: int | None
    memory_gb: int | None
    time_limit_minutes: int | None
    partitions: list[str] | None
    accounts: list[str] | None
    qos: list[str] | None
    version: int
    updated_at: datetime
    updated_by: str
    slurm: SlurmOut | None = None


class Limits(BaseModel):
    """All limits: the default, groups', people's."""

    items: list[LimitOut]


class LimitSet(BaseModel):
    """A limit as it now is, and how it stands with Slurm."""

    limit: LimitOut
    slurm: SlurmOut


class CountedOut(BaseModel):
    """What counts, and whose limit it is; both null where nothing limits it."""

    value: int | list[str] | dict[str, int] | None
    from_: Annotated[Whose | None, Field(alias="from")]

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)


class EffectiveOut(CountedOut):
    """As above; `otherwise` is what would count if the person had no limit of their own."""

    otherwise: CountedOut | None


class UseOut(BaseModel):
    """What running jobs hold, and sessions and jobs that wait or run; null where nobody knows."""

    gpus: int | None
    gpus_by_type: dict[str, int] | None
    sessions: int
    jobs: int
    cpus: int | None
    memory_gb: float | None


class TogetherOut(BaseModel):
    """What all members of a group may use together, and do use; `account` is Slurm's."""

    group: str
    account: str
    limit: LimitOut
    use: UseOut


class AssociationOut(BaseModel):
    """One of Slurm's associations. Figures are by their name in words: what the limits want, what
    Slurm was told, what it has, what an administrator lets stand."""

    account: str
    username: str
    partition: str
    wanted: dict[str, str]
    written: dict[str, str]
    found: dict[str, str] | None
    accepted: dict[str, str]
    refused: str | None
    written_at: datetime | None
    drift_since: datetime | None
    state: Literal["written", "pending", "refused", "drifted"]


class PersonLimitsOut(BaseModel):
    """What counts for someone by field, the limits it comes from, what they use now, what they
    share in with their groups, and, for administrators, how Slurm has it."""

    username: str
    groups: list[str]
    effective: dict[str, EffectiveOut]
    limits: list[LimitOut]
    use: UseOut
    together: list[TogetherOut]
    slurm: list[AssociationOut] | None


def limit_out(row: Limit, slurm: views.SlurmState | None = None) -> LimitOut:
    figures = {name: getattr(row, name) for name in FIELDS}
    return LimitOut(
        scope=row.scope,
        name=row.name,
        **figures,
        version=row.version,
        updated_at=row.updated_at,
        updated_by=row.updated_by,
        slurm=slurm_out(slurm) if slurm else None,
    )


def slurm_out(state: views.SlurmState) -> SlurmOut:
    return SlurmOut(state=state.state, message=state.message)


def _counted(found: Counted | None) -> dict[str, Any]:
    if found is None:
        return {"value": None, "from_": None}
    value = list(found.value) if isinstance(found.value, list | tuple) else found.value
    whose = Whose(scope=found.source.scope, name=found.source.name)
    return {"value": value, "from_": whose}


def counted_out(found: Counted) -> CountedOut:
    return CountedOut(**_counted(found))


def use_out(found: views.InUseNow) -> UseOut:
    use = found.use
    return UseOut(
        gpus=use.gpus if use else None,
        gpus_by_type=dict(use.gpus_by_type) if use else None,
        sessions=found.sessions,
        jobs=found.jobs,
        cpus=use.cpus if use else None,
        memory_gb=round(use.memory_mb / 1024, 2) if use else None,
    )


def association_out(one: Standing) -> AssociationOut:
    account, username, partition = one.place
    return AssociationOut(
        account=account,
        username=username,
        partition=partition,
        wanted=views.shown_figures(one.should),
        written=views.shown_figures(one.told),
        found=None if one.found is None else views.shown_figures(one.found),
        accepted=views.shown_figures(one.accepted),
        refused=one.refused,
        written_at=one.written_at,
        drift_since=one.drift_since,
        state=_state(one),
    )


def _state(one: Standing) -> Literal["written", "pending", "refused", "drifted"]:
    if one.refused:
        return "refused"
    if one.tell:
        return "pending"
    return "drifted" if one.drift else "written"


def person_out(
    found: views.PersonLimits, together: list[TogetherOut], *, slurm: bool
) -> PersonLimitsOut:
    effective = {
        name: EffectiveOut(
            **_counted(count.counted),
            otherwise=counted_out(count.otherwise) if count.otherwise else None,
        )
        for name, count in found.counts.items()
    }
    return PersonLimitsOut(
        username=found.username,
        groups=found.groups,
        effective=effective,
        limits=[limit_out(row) for row in found.limits],
        use=use_out(found.in_use),
        together=together,
        slurm=[association_out(one) for one in found.standings] if slurm else None,
    )


def drift_words(one: Standing, name: str, value: Any) -> str:
    """A figure's value in words; of the association itself whether there is one."""
    if name != rules.HERE:
        return rules.shown(name, value)
    return "there is one" if value == rules.PRESENT else "there is none"

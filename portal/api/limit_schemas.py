"""Schemas of limits, usage, and Slurm's associations."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StringConstraints

from portal.models import Limit, LimitScope
from portal.services.limits import associations as association_rules
from portal.services.limits import limit_views as views
from portal.services.limits.association_states import AssociationState
from portal.services.limits.limit_changes import MAX_NAMES, normalize_names
from portal.services.limits.limit_rules import FIELDS, LISTS, EffectiveLimit, LimitValues

Number = Annotated[int, Field(strict=True, ge=0, le=1_000_000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100, strip_whitespace=True)]
Names = Annotated[list[Name], Field(min_length=1, max_length=MAX_NAMES)]


class NewLimits(BaseModel):
    """Limits of a new user; null means unset.

    Numbers are totals over the user's sessions and jobs. `sessions` and `jobs` count pending ones,
    too; each array task is a job. `time_limit_minutes` applies to each of them.
    """

    model_config = ConfigDict(extra="forbid")

    gpus: Number | None = None
    gpus_by_type: Annotated[dict[Name, Number], Field(min_length=1, max_length=20)] | None = None
    sessions: Number | None = None
    jobs: Number | None = None
    cpus: Number | None = None
    memory_gb: Number | None = None
    time_limit_minutes: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] | None = None
    partitions: Names | None = None
    qos: Names | None = None

    def to_limit_values(self) -> LimitValues:
        lists = {name: getattr(self, name, None) for name in LISTS}
        values: dict[str, Any] = {name: getattr(self, name) for name in FIELDS if name not in lists}
        values |= {
            name: normalize_names(names) for name, names in lists.items() if names is not None
        }
        return LimitValues(**values)


class LimitIn(NewLimits):
    """The fields of a limit; null means unset.

    Numbers are totals over the sessions and jobs of a user, or of a group total's members.
    `sessions` and `jobs` count pending ones, too; each array task is a job. `time_limit_minutes`
    applies to each of them. `version` is the one that the editor read, null for a limit that does
    not exist yet. `create_account`: for a group total, create the group's account if Slurm has
    none.
    """

    accounts: Names | None = None
    version: StrictInt | None = None
    create_account: StrictBool = False


class LimitOrigin(BaseModel):
    """The source of a limit; `name` is empty for the default.

    Several groups are separated by commas.
    """

    scope: LimitScope
    name: str


class SlurmOut(BaseModel):
    """The state of a limit in Slurm, with a message that may be empty.

    `written`: Slurm has it; `nothing`: no association in Slurm depends on it.
    """

    state: Literal["written", "pending", "refused", "nothing"]
    message: str


class LimitOut(BaseModel):
    """A limit; null means unset."""

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
    """All limits: the default, groups', users'."""

    items: list[LimitOut]


class LimitSet(BaseModel):
    """A limit after the change, and its state in Slurm."""

    limit: LimitOut
    slurm: SlurmOut


class LimitChoices(BaseModel):
    """Names that the fields of a limit can have; null while Slurm cannot report them."""

    partitions: list[str] | None
    accounts: list[str] | None
    qos: list[str] | None


class EffectiveValueOut(BaseModel):
    """An effective value and its source; both null if there is no limit."""

    value: int | list[str] | dict[str, int] | None
    from_: Annotated[LimitOrigin | None, Field(alias="from")]

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)


class EffectiveOut(EffectiveValueOut):
    """An effective limit of a user; `otherwise` is the one without the user's own limit."""

    otherwise: EffectiveValueOut | None


class UseOut(BaseModel):
    """The resources of running jobs, and the numbers of pending or running sessions and jobs; null
    means unknown.
    """

    gpus: int | None
    gpus_by_type: dict[str, int] | None
    sessions: int
    jobs: int
    cpus: int | None
    memory_gb: float | None


class GroupTotalOut(BaseModel):
    """The group total and its usage; `account` is Slurm's."""

    group: str
    account: str
    limit: LimitOut
    use: UseOut


class AssociationOut(BaseModel):
    """A Slurm association.

    Values are by their label: as the limits want them, as last applied, as found in Slurm, and as
    accepted by an administrator.
    """

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


class UserLimitsOut(BaseModel):
    """A user's effective limits by field, the limits they come from, and present usage.

    `together` are the group totals that apply; `slurm` is the state in Slurm, for administrators.
    """

    username: str
    groups: list[str]
    effective: dict[str, EffectiveOut]
    limits: list[LimitOut]
    use: UseOut
    together: list[GroupTotalOut]
    slurm: list[AssociationOut] | None


class GroupUseOut(BaseModel):
    """The present usage of a group without a total."""

    group: str
    use: UseOut


class MyLimitsOut(UserLimitsOut):
    """The caller's limits.

    `problem`: why Slurm accepts no session or job of theirs, null if it does or cannot report it.
    `no_session`: why they can start no further session now, null if they can. `group_use`: the
    usage of some of their groups that have a Slurm account and no total.
    """

    problem: str | None
    no_session: str | None
    group_use: list[GroupUseOut]


def limit_out(row: Limit, slurm: views.LimitSyncState | None = None) -> LimitOut:
    values = {name: getattr(row, name) for name in FIELDS}
    return LimitOut(
        scope=row.scope,
        name=row.name,
        **values,
        version=row.version,
        updated_at=row.updated_at,
        updated_by=row.updated_by,
        slurm=slurm_out(slurm) if slurm else None,
    )


def slurm_out(state: views.LimitSyncState) -> SlurmOut:
    return SlurmOut(state=state.state, message=state.message)


def _to_value_fields(limit: EffectiveLimit | None) -> dict[str, Any]:
    if limit is None:
        return {"value": None, "from_": None}
    value = list(limit.value) if isinstance(limit.value, list | tuple) else limit.value
    source = LimitOrigin(scope=limit.source.scope, name=limit.source.name)
    return {"value": value, "from_": source}


def effective_value_out(limit: EffectiveLimit) -> EffectiveValueOut:
    return EffectiveValueOut(**_to_value_fields(limit))


def use_out(in_use: views.InUseNow) -> UseOut:
    use = in_use.running
    return UseOut(
        gpus=use.gpus if use else None,
        gpus_by_type=dict(use.gpus_by_type) if use else None,
        sessions=in_use.live.sessions,
        jobs=in_use.live.jobs,
        cpus=use.cpus if use else None,
        memory_gb=round(use.memory_mb / 1024, 2) if use else None,
    )


def association_out(association: AssociationState) -> AssociationOut:
    account, username, partition = association.key
    return AssociationOut(
        account=account,
        username=username,
        partition=partition,
        wanted=views.format_association_values(association.desired),
        written=views.format_association_values(association.applied),
        found=None
        if association.actual is None
        else views.format_association_values(association.actual),
        accepted=views.format_association_values(association.accepted),
        refused=association.refused,
        written_at=association.written_at,
        drift_since=association.drift_since,
        state=_to_state(association),
    )


def _to_state(association: AssociationState) -> Literal["written", "pending", "refused", "drifted"]:
    if association.refused:
        return "refused"
    if association.pending:
        return "pending"
    return "drifted" if association.drift else "written"


def user_limits_out(
    limits: views.UserLimits, group_totals: list[GroupTotalOut], *, slurm: bool
) -> UserLimitsOut:
    effective = {
        name: EffectiveOut(
            **_to_value_fields(limit.effective),
            otherwise=effective_value_out(limit.without_own) if limit.without_own else None,
        )
        for name, limit in limits.by_field.items()
    }
    return UserLimitsOut(
        username=limits.username,
        groups=limits.groups,
        effective=effective,
        limits=[limit_out(row) for row in limits.limits],
        use=use_out(limits.in_use),
        together=group_totals,
        slurm=[association_out(association) for association in limits.associations]
        if slurm
        else None,
    )


def drift_words(association: AssociationState, name: str, value: Any) -> str:
    """Return the text for a field's value; for the association itself, whether it exists."""
    if name != association_rules.EXISTS:
        return association_rules.format_value(name, value)
    return "there is one" if value == association_rules.PRESENT else "there is none"

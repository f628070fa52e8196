"""Route of the defaults for a form for new users."""

from fastapi import APIRouter
from pydantic import BaseModel

from portal.api.limit_schemas import EffectiveValueOut, effective_value_out
from portal.services.limits import all_limits, user_accounts
from portal.services.users import readiness
from portal.web.dependencies import ContextDep, Reader

router = APIRouter(prefix="/admin", tags=["admin"])


class NewUserDefaults(BaseModel):
    """The defaults of a form for new users.

    `login_groups`: the groups whose members may log in, empty if every user may. `accounts`:
    Slurm's accounts, null while they cannot be read. `limits`: the effective limits, by field, of a
    member of `login_group` without limits of their own.
    """

    login_groups: list[str]
    login_group: str | None
    accounts: list[str] | None
    slurm_account: str | None
    home_template: str
    makes_home: bool
    limits: dict[str, EffectiveValueOut]


@router.get("/new-user")
async def get_new_user_defaults(_reader: Reader, context: ContextDep) -> NewUserDefaults:
    """Return the defaults of a form for new users."""
    settings = context.settings
    group = settings.default_login_group
    async with context.db.session() as db:
        limits = await all_limits.load_all(db)
    effective = limits.merge("", {group} if group else set())
    return NewUserDefaults(
        login_groups=list(readiness.list_login_groups(settings)),
        login_group=group,
        accounts=await user_accounts.list_accounts(context),
        slurm_account=settings.default_slurm_account,
        home_template=settings.ldap_home_template,
        makes_home=bool(settings.home_command),
        limits={name: effective_value_out(limit) for name, limit in effective.items()},
    )

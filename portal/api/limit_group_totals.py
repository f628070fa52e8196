"""Group totals in their API form."""

from collections.abc import Iterable

from portal.api.limit_schemas import GroupTotalOut, limit_out, use_out
from portal.context import AppContext
from portal.models import Limit, LimitScope
from portal.services.limits import limit_views
from portal.services.limits.all_limits import get_account


async def load_group_totals(context: AppContext, rows: Iterable[Limit]) -> list[GroupTotalOut]:
    """Return the group totals among these limits, with the usage of their members."""
    return [
        GroupTotalOut(
            group=row.name,
            account=get_account(context.settings, row.name),
            limit=limit_out(row),
            use=use_out(await limit_views.load_group_total_use(context, row.name)),
        )
        for row in rows
        if row.scope is LimitScope.GROUP
    ]

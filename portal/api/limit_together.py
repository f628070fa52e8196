"""What groups share, as the API shows it."""

from collections.abc import Iterable

from portal.api.limit_schemas import TogetherOut, limit_out, use_out
from portal.models import Limit, LimitScope
from portal.parts import Parts
from portal.services.limits import limit_views
from portal.services.limits.allowances import account_of


async def together_of(parts: Parts, rows: Iterable[Limit]) -> list[TogetherOut]:
    """Of these limits, those of groups together, with what their members use."""
    return [
        TogetherOut(
            group=row.name,
            account=account_of(parts.settings, row.name),
            limit=limit_out(row),
            use=use_out(await limit_views.in_use_together(parts, row.name)),
        )
        for row in rows
        if row.scope is LimitScope.GROUP
    ]

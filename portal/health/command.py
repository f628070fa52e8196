"""`portal check`: runs the checks of the command line once."""

from dataclasses import replace

from portal.config.settings import Settings
from portal.context import open_context
from portal.health.checks.node import check_as_user
from portal.health.registry import CHECKS, run_check
from portal.health.result import CheckResult, ComponentState


async def check(settings: Settings, as_user: str | None = None) -> list[CheckResult]:
    """Return all results, each with its full name, in the order of the registry.

    `as_user`: run the launcher and one small job as this user.
    """
    results: list[CheckResult] = []
    not_passed: set[str] = set()
    async with open_context(settings) as context:
        for check in CHECKS:
            if not check.cli:
                continue
            if not check.applies(settings):
                results.append(CheckResult(f"{check.name} (off)"))
            elif not_passed.intersection(check.requires):
                not_passed.add(check.name)
            else:
                outcome = await run_check(check, context)
                if any(result.state is ComponentState.FAILING for result in outcome):
                    not_passed.add(check.name)
                results += [
                    replace(item, name=f"{check.name} {item.name}".strip()) for item in outcome
                ]
        if as_user is not None:
            results += await check_as_user(context, as_user)
    return results

"""Checks of the site's files: the catalog and the table of nodes.

Their contents may be confidential to some viewers of Admin > Status, so only the details, which
`portal check` prints, quote them.
"""

from collections.abc import Iterable

from portal.context import AppContext
from portal.health.result import CheckResult, failing, format_count, format_names
from portal.services.cluster.node_table import TableProblem
from spawner.catalog.environment import CatalogError

CATALOG_SUGGESTION = "The Catalog page lists the files and their problems."
TABLE_SUGGESTION = (
    "Correct the file in node_table_file; it is reloaded automatically. `portal check` and "
    "the portal's log show the problem in each line."
)
MAX_PROBLEMS = 5


async def check_catalog(context: AppContext) -> CheckResult:
    """Check the files of environments and templates."""
    try:
        if not context.is_serving:
            context.catalog.load()
        problems = context.catalog.problems
    except CatalogError as error:
        problems = (str(error),)
    if problems:
        text = f"{format_count(len(problems), 'problem')} in the environment and template files."
        return failing(text, CATALOG_SUGGESTION, details=problems)
    return CheckResult(text="All files are valid.", timed=False)


async def check_node_table(context: AppContext) -> CheckResult:
    """Check the operator's table of nodes."""
    table = context.node_table
    if not context.is_serving:
        await table.refresh()
    if table.problems:
        mistakes = format_count(len(table.problems), "mistake")
        text = f"{mistakes} in {table.file}: {_describe_lines(table.problems)}."
        return failing(text, TABLE_SUGGESTION, details=tuple(map(str, table.problems)))
    text = f"It has the addresses of {format_count(len(table.nodes), 'node')}."
    cluster = context.watcher.cluster
    known = {node.name for node in cluster.nodes} if cluster else None
    strange = table.nodes.keys() - known if known is not None else set()
    if strange:
        text += f" Slurm has no node called {format_names(sorted(strange))}."
    return CheckResult(text=text, timed=False)


def _describe_lines(problems: Iterable[TableProblem]) -> str:
    """Return problems of the file itself, but of its lines only their numbers."""
    of_file = [problem.text for problem in problems if problem.line is None]
    texts = of_file + [
        f"line {line}" for line in sorted({problem.line for problem in problems if problem.line})
    ]
    return format_names(texts, MAX_PROBLEMS)

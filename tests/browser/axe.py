"""Accessibility checks of a page with axe-core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "frontend/node_modules/axe-core/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

_RUN = """async ([only, tags]) => {
  const runOnly = only ? { type: 'rule', values: only } : { type: 'tag', values: tags };
  const found = await axe.run(document, { runOnly, resultTypes: ['violations'] });
  // Open menus and popups are drawn over the page, outside of its landmarks.
  const overPage = ({ target }) => document.querySelector(target[0])?.closest('[data-portal]');
  return found.violations.map(({ id, impact, help, nodes }) => ({
    id, impact, help,
    where: nodes
      .filter((node) => id !== 'region' || !overPage(node))
      .map(({ html, failureSummary }) => `${html.slice(0, 200)}\\n${failureSummary}`),
  }));
}"""


def findings(page: Page, *, only: list[str] | None = None) -> list[str]:
    """Return violations of levels A and AA and of best practice as sentences; `only` restricts
    the rules.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    found: list[dict[str, Any]] = page.evaluate(_RUN, [only, RULES])
    return [
        f"{each['id']} ({each['impact']}): {each['help']}\n{where}"
        for each in found
        for where in each["where"]
    ]

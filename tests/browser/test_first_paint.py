"""Pages don't move after they are first shown: notices are part of the first paint."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.scenes import Api
from tests.live import Live

PATH = "/admin/announcements"
TITLE = "Maintenance of the test"
ANNOUNCEMENTS = 12
SHOWN = 2
MAX_SHIFT = 0.02
"""The sum of layout shifts of a page (CLS); 0.1 is good by web.dev. Data may still fill in."""

# Where the header and the page itself begin, in each frame from the first that has them
RECORD = """() => {
  window.tops = new Set();
  window.shift = 0;
  const record = () => {
    const header = document.querySelector('header');
    const main = document.querySelector('main#main');
    if (header && main) {
      const tops = [header, main].map((part) => Math.round(part.getBoundingClientRect().top));
      window.tops.add(tops.join(' '));
    }
    requestAnimationFrame(record);
  };
  record();
  new PerformanceObserver((list) => {
    for (const shift of list.getEntries()) window.shift += shift.value;
  }).observe({ type: 'layout-shift', buffered: true });
}"""

# The nodes, at the top of the page, arrive after everything else
DELAY_NODES = """() => {
  const fetchNow = window.fetch;
  window.fetch = async (request, ...more) => {
    const answer = await fetchNow(request, ...more);
    const { pathname } = new URL(request.url ?? request, location.href);
    if (pathname.endsWith('/cluster/map')) await new Promise((end) => setTimeout(end, 1500));
    return answer;
  };
}"""


@pytest.fixture
def announced(portal: Live, logged_in: Callable[[str], Page]) -> Iterator[Api]:
    """The API as carol, in whose browser many announcements are shown; they are removed
    afterwards."""
    page = logged_in("carol")
    page.close()  # else it would hold the event stream for all tabs
    api = Api(page.context.request, portal.base_url)
    for level in ("critical", "info") * (ANNOUNCEMENTS // 2):
        api.ask("POST", PATH, {"level": level, "title": TITLE})
    # Home lists it above the jobs
    setup = {"name": TITLE, "environment": "python3", "resources": {"cpus": 1, "memory_gb": 1}}
    saved = api.ask("POST", "/setups", setup)
    yield api
    api.ask("DELETE", f"/setups/{saved['id']}")
    for item in api.ask("GET", PATH)["items"]:
        if item["title"] == TITLE:
            api.ask("DELETE", f"{PATH}/{item['id']}")


@pytest.mark.parametrize(
    ("path", "heading"), [("/", "Your sessions"), ("/jobs", "Your jobs"), ("/cluster", "Cluster")]
)
def test_a_page_with_many_announcements_does_not_move(
    portal: Live, announced: Api, context: BrowserContext, path: str, heading: str
) -> None:
    context.add_init_script(f"({RECORD})()")
    page = context.new_page()
    page.goto(f"{portal.base_url}{path}")
    page.get_by_role("heading", name=heading, exact=True).wait_for()
    region = page.get_by_role("region", name="Announcements")
    expect(region.get_by_text(TITLE)).to_have_count(SHOWN)
    more = ANNOUNCEMENTS - SHOWN
    expect(region.get_by_role("button", name=f"{more} more")).to_be_visible()
    # the event stream has begun once it reports another one
    announced.ask("POST", PATH, {"level": "info", "title": TITLE})
    expect(region.get_by_role("button", name=f"{more + 1} more")).to_be_visible()
    assert len(page.evaluate("[...window.tops]")) == 1
    assert page.evaluate("window.shift") < MAX_SHIFT


@pytest.mark.usefixtures("announced")
def test_the_cluster_page_does_not_move_when_its_nodes_come_last(
    portal: Live, context: BrowserContext
) -> None:
    context.add_init_script(f"({RECORD})()")
    context.add_init_script(f"({DELAY_NODES})()")
    page = context.new_page()
    with page.expect_response("**/api/v1/cluster/reservations"):
        page.goto(f"{portal.base_url}/cluster")
    page.get_by_role("heading", name="History", exact=True).wait_for()
    expect(page.get_by_role("heading", name="Nodes", exact=True)).to_be_visible()
    assert page.evaluate("window.shift") < MAX_SHIFT


# Everything that a form waits for arrives late
DELAY_FORMS = DELAY_NODES.replace(
    "pathname.endsWith('/cluster/map')",
    "/.api.v1.(environments|templates|resources|admin.new-user)/.test(pathname)",
)
# Where the cluster's panel is, beside the form
PANEL = """() => [...document.querySelectorAll('[aria-labelledby=in-use-now]')]
  .map((panel) => panel.getBoundingClientRect().x)"""


@pytest.mark.parametrize(
    ("path", "button"),
    [
        ("/start", "Start session"),
        ("/jobs/new?template=python-training", "Submit job"),
        ("/admin/new/user", "Create user"),
    ],
)
def test_a_form_arrives_where_its_skeleton_was(
    portal: Live, context: BrowserContext, logged_in: Callable[[str], Page], path: str, button: str
) -> None:
    logged_in("carol").close()
    context.add_init_script(f"({RECORD})()")
    context.add_init_script(f"({DELAY_FORMS})()")
    page = context.new_page()
    page.goto(f"{portal.base_url}{path}")
    skeleton = page.get_by_role("status", name="Loading")
    expect(skeleton).to_be_visible()
    panel = page.evaluate(PANEL)
    expect(page.get_by_role("button", name=button).first).to_be_visible()
    expect(skeleton).to_have_count(0)
    assert page.evaluate(PANEL) == panel
    assert page.evaluate("window.shift") < MAX_SHIFT

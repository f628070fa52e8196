"""Properties of the frontend's sources that building and serving depend on.

The frontend's own tests use vitest.
"""

import json
import re

from tests.paths import CHECKOUT

FRONTEND = CHECKOUT / "frontend"


def test_the_lock_names_no_registry() -> None:
    packages = json.loads((FRONTEND / "package-lock.json").read_text())["packages"]
    assert len(packages) > 50
    for name, package in packages.items():
        assert "resolved" not in package, name
        assert not name or "integrity" in package, name


def test_nothing_runs_at_install_time() -> None:
    assert "ignore-scripts=true" in (FRONTEND / ".npmrc").read_text().splitlines()
    scripts = json.loads((FRONTEND / "package.json").read_text())["scripts"]
    assert not {name for name in scripts if re.match(r"(pre|post)?(install|prepare)", name)}


def test_the_page_needs_no_inline_script() -> None:
    page = (FRONTEND / "index.html").read_text()
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
    assert scripts
    assert all("src=" in attributes and not body.strip() for attributes, body in scripts)
    assert not re.search(r"\son\w+=|<style|style=", page)


def test_pages_load_nothing_from_elsewhere() -> None:
    sources = [
        *FRONTEND.glob("src/**/*.[tc]s*"),
        *FRONTEND.glob("public/*"),
        FRONTEND / "index.html",
    ]
    shown = [f for f in sources if ".test." not in f.name and "testing" not in f.parts]
    assert len(shown) > 50
    for file in shown:
        addresses = re.findall(r"(?:https?:)?//[\w.-]+\.\w+", _without_comments(file.read_text()))
        assert [a for a in addresses if "www.w3.org" not in a] == [], file


def _without_comments(source: str) -> str:
    return re.sub(r"/\*.*?\*/|^\s*//.*$", "", source, flags=re.DOTALL | re.MULTILINE)

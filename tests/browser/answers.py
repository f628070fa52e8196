"""Recorded API responses for the frontend's page and component tests (frontend/src/testing).

    python -m tests.browser.answers --cluster DIR --out frontend/src/testing/answers

DIR is the state folder of a running cluster. The program starts two sessions and a few jobs as
carol, and ends them afterwards. Nothing of this machine is recorded: DIR is replaced by /cluster.
Afterwards, `npm run format` formats the files, and `npm run typecheck` checks that they still match
the API.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.browser import scenes
from tests.live import Live

WHO = "carol"
TEMPLATE = "python-training"
SETUP = {"name": "Small and quick", "environment": "python3", "resources": scenes.SMALL}
ENVIRONMENTS = frozenset({"python3", "pytorch", "r", "science"})
TEMPLATES = frozenset({TEMPLATE, "hyperparameter-array", "batch-inference"})
HEADER = """/** A recorded response of the portal, written by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

"""


@dataclass(frozen=True)
class Question:
    """One request to record.

    `route` is the path in the schema, `path` the requested one; `few` are the names or ids of a
    list's items to keep.
    """

    name: str
    route: str
    path: str
    few: frozenset[str] | None = None


def questions(things: dict[str, str]) -> Iterator[Question]:
    made = frozenset(things.values())
    yield Question("me", "/me", "/me")
    yield Question("sessions", "/sessions", "/sessions", made)
    yield Question("jobs", "/jobs", "/jobs", made)
    for name in ("failed", "array"):
        yield Question(f"{name}Job", "/jobs/{batch_job_id}", f"/jobs/{things[name]}")
    session = f"/sessions/{things['session']}"
    yield Question("sessionUse", "/sessions/{session_id}/use", f"{session}/use")
    packages = "/environments/{name}/packages"
    yield Question("packages", packages, packages.format(name=SETUP["environment"]))
    log = f"/jobs/{things['failed']}/log?stream=stderr&offset=-4096"
    yield Question("failedLog", "/jobs/{batch_job_id}/log", log)
    yield Question("jobCount", "/jobs/count", "/jobs/count")
    yield Question("cluster", "/cluster", "/cluster")
    yield Question("environments", "/environments", "/environments", ENVIRONMENTS)
    yield Question("templates", "/templates", "/templates", TEMPLATES)
    yield Question("template", "/templates/{name}", f"/templates/{TEMPLATE}")
    yield Question("limits", "/me/limits", "/me/limits")
    yield Question("space", "/files/space", "/files/space")
    yield Question("setups", "/setups", "/setups")
    yield Question("recentSetups", "/setups/recent", "/setups/recent")


def anonymous(text: str, live: Live) -> str:
    """Return the text without data of this machine."""
    host = re.sub(r"^https?://", "", live.base_url)
    for ours, theirs in (
        (str(live.state.resolve()), "/cluster"),
        (str(live.state.resolve().parent), "/site"),
        (live.base_url, "https://portal.example"),
        (host, "portal.example"),
    ):
        text = text.replace(ours, theirs)
    for secret in live.users.values():
        assert secret not in text, "an answer holds a password"
    return text


def write(live: Live, api: scenes.Api, question: Question, out: Path) -> None:
    answer: Any = api.ask("GET", question.path)
    if question.few is not None:
        answer["items"] = [
            one for one in answer["items"] if {one["name"], one.get("id")} & question.few
        ]
    text = anonymous(json.dumps(answer, ensure_ascii=False, indent=2), live)
    promise = f"satisfies Answer<'/api/v1{question.route}'>"
    declared = f"export const {question.name} = {text} {promise};\n"
    (out / f"{question.name}.ts").write_text(HEADER + declared)


def record(live: Live, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        request = playwright.request.new_context()
        api = scenes.Api(request, live.base_url)
        api.ask("POST", "/login", {"username": WHO, "password": live.users[WHO]})
        scenes.lead(api, WHO)
        setup = api.ask("POST", "/setups", SETUP)["id"]
        things = scenes.begin(api)
        try:
            scenes.finish(api, things)
            for question in questions(things):
                write(live, api, question, out)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            (out / "recordedAt.ts").write_text(f"export const recordedAt = '{at}';\n")
        finally:
            scenes.end(api, things, WHO)
            api.ask("DELETE", f"/setups/{setup}")
            request.dispose()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.browser.answers")
    parser.add_argument("--cluster", type=Path, required=True, help="a running cluster's folder")
    parser.add_argument("--out", type=Path, required=True, help="where the answers go")
    asked = parser.parse_args()
    record(Live.of(asked.cluster), asked.out)


if __name__ == "__main__":
    main()

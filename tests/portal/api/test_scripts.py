"""Import of sbatch scripts through the API."""

import pytest

from tests.portal.conftest import Browser, RunPortal

pytestmark = pytest.mark.anyio

SCRIPT = "#!/bin/bash\r\n#SBATCH --time=2:00:00 -C fast --exclusive\r\nhostname\r\n"


async def refusal(browser: Browser, script: str) -> str:
    answer = await browser.post("/api/v1/scripts/import", {"script": script})
    assert answer.status == 422, answer
    assert [problem["field"] for problem in answer.body["errors"]] == ["script"]
    return str(answer.body["errors"][0]["message"])


async def test_a_script_is_imported(run_portal: RunPortal) -> None:
    async with run_portal() as portal, portal.browser() as alice:
        path = "/api/v1/scripts/import"
        assert (await alice.post(path, {"script": SCRIPT})).status == 401
        await alice.login("alice")
        answer = await alice.post(path, {"script": SCRIPT})
        assert answer.status == 200, answer
        assert answer.body == {
            "script": "#!/bin/bash\n#SBATCH -C fast\n##SBATCH --exclusive\nhostname\n",
            "name": None,
            "resources": {"time_limit_minutes": 120},
            "options": [
                {"line": 2, "text": "--time=2:00:00", "outcome": "field", "note": None},
                {"line": 2, "text": "-C fast", "outcome": "passed", "note": None},
                {
                    "line": 2,
                    "text": "--exclusive",
                    "outcome": "left_out",
                    "note": "It is not supported here.",
                },
            ],
        }


async def test_what_is_no_script_is_refused(run_portal: RunPortal) -> None:
    async with run_portal() as portal, portal.browser() as alice:
        await alice.login("alice")
        assert "empty" in await refusal(alice, " \n")
        assert "not a text file" in await refusal(alice, "PK\x03\x04\0\0")
        assert "the limit is 256 KiB" in await refusal(alice, "#" * 300 * 1024)

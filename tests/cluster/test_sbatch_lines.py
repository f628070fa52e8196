"""#SBATCH lines as the real sbatch parses them: it finds no option that the portal has missed."""

from __future__ import annotations

import re

import pytest

from spawner.catalog.own_script import ScriptRefused, parse_script
from tests.live import Live

SCRIPT = "#!/bin/bash\n#SBATCH --mail-type=END\n#SBATCH {line}\nsleep 60\n"
SUBMIT = 'cd && printf %s "$1" >sbatch-lines.sh && sbatch --hold --parsable sbatch-lines.sh'
ARRAY = "ArrayTaskId="
MAIL = "MailUser="


def submitted(portal: Live, line: str) -> str:
    """Return Slurm's interpretation of a script with this line; the job is cancelled."""
    script = SCRIPT.format(line=line)
    job_id = portal.exec_as("alice", ["bash", "-c", SUBMIT, "bash", script]).strip()
    assert re.fullmatch(r"\d+", job_id), job_id
    try:
        return portal.exec_as("alice", ["scontrol", "show", "job", job_id])
    finally:
        portal.exec_as("alice", ["scancel", job_id])


def passes(line: str) -> bool:
    try:
        parse_script(SCRIPT.format(line=line), 10_000)
    except ScriptRefused:
        return False
    return True


@pytest.mark.parametrize(
    "line",
    [
        "--mail-user 'a\\' -C' --array=0-3 --mail-user=\\'",
        "--mail-user=a\v--array=0-3",
        "--mail-user=a --arra=0-3",
        "--mail-user=a -a0-3",
    ],
)
def test_what_hides_an_array_from_others_is_refused(portal: Live, line: str) -> None:
    assert ARRAY in submitted(portal, line)
    assert not passes(line)


@pytest.mark.parametrize(
    "line",
    [
        "--mail-user=a # --array=0-3",
        "--mail-user=a#b --array=0-3",
        "--mail-user='a'#b --array=0-3",
        '--mail-user="a # b" # --array=0-3',
        "--mail-user='a --array=0-3'",
        "--mail-user='a\" --array=0-3 --mail-type=\"END'",
        "--mail-user=a\u00a0--array=0-3",
        "--mail-user=a\u2028--array=0-3",
        "--mail-user --array=0-3",
    ],
)
def test_what_passes_holds_no_array(portal: Live, line: str) -> None:
    """sbatch may find fewer options than the portal, never more."""
    found = submitted(portal, line)
    assert MAIL in found
    assert not (passes(line) and ARRAY in found), found

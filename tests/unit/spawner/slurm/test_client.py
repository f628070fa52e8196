"""The Slurm client against misbehaving commands: slow, silent, endless, failing with exit 0.

The commands are small scripts in a separate folder; tests/cluster uses the real ones.
"""

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spawner.errors import JobNotFound, QueryTooLarge, Rejected, Unreachable
from spawner.slurm import client
from spawner.slurm.client import Slurm
from tests.polling import PATIENCE_S, until

pytestmark = pytest.mark.anyio
NOW = datetime(2026, 11, 20, tzinfo=UTC)

# named behaviors of a command
CONTACT = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
EMPTY = "pass"
NEVER = "import time; time.sleep(600)"
DOWN = f"import sys; sys.exit({CONTACT!r})"
LIAR = f"import sys; print({CONTACT!r}, file=sys.stderr)"  # exits 0 nevertheless
QUIET_ERROR = "import sys; print('squeue: error: out of order', file=sys.stderr)"
ENDLESS = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
NONSENSE = "print('Welcome to the cluster!')"
WARNS = "import sys; print('job_submit: be nice', file=sys.stderr)"
NO_SUCH_JOB = (
    "import sys; sys.exit('scancel: error: Kill job error on job id 9: Invalid job id specified')"
)
SILENT_NO_SUCH_JOB = (
    "import sys; print('scancel: error: Kill job error on job id 9: Invalid job id specified',"
    " file=sys.stderr)"
)
ENDED = (
    "import sys; sys.exit('scancel: error: Kill job error on job id 9: "
    "Job/step already completing or completed')"
)
DENIED = (
    "import sys; sys.exit('scancel: error: Kill job error on job id 9: Access/permission denied')"
)
RECORDS = (
    "import json, os, sys\n"
    "json.dump([sys.argv[1:], dict(os.environ)], open(sys.argv[0] + '.recorded', 'w'))"
)


class Commands:
    """A folder of commands, each with one behavior."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, name: str, behaviour: str) -> None:
        path = self.folder / name
        path.write_text(f"#!{sys.executable} -IS\n{behaviour}\n")
        path.chmod(0o755)

    def slurm(self, timeout_s: float = PATIENCE_S) -> Slurm:
        return Slurm(self.folder, "/etc/slurm/slurm.conf", timeout_s)

    def recorded(self, name: str) -> tuple[list[str], dict[str, str]]:
        arguments, environment = json.loads((self.folder / f"{name}.recorded").read_text())
        return arguments, environment


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    return Commands(tmp_path)


async def test_each_command_is_measured_by_its_name(commands: Commands) -> None:
    heard: list[tuple[str, bool]] = []

    def measure(what: str, seconds: float, answered: bool) -> None:
        assert seconds >= 0
        heard.append((what, answered))

    slurm = Slurm(commands.folder, measure=measure)
    commands.make("squeue", EMPTY)
    await slurm.jobs()
    commands.make("squeue", DOWN)
    commands.make("scancel", DENIED)
    for ask in (slurm.jobs, lambda: slurm.cancel(9, "alice"), slurm.nodes):
        with pytest.raises((Rejected, Unreachable)):
            await ask()
    assert heard == [("squeue", True), ("squeue", False), ("scancel", True), ("scontrol", False)]


async def test_no_jobs_at_all_is_an_answer(commands: Commands) -> None:
    commands.make("squeue", EMPTY)
    assert await commands.slurm().jobs() == []


async def test_a_plugins_chatter_is_no_failure(commands: Commands) -> None:
    commands.make("squeue", WARNS)
    assert await commands.slurm().jobs() == []


async def test_never_is_given_up_and_ended(commands: Commands) -> None:
    commands.make("squeue", NEVER)
    asking = asyncio.create_task(commands.slurm(timeout_s=2).jobs())
    await until(lambda: asking.done() or processes_of(commands.folder) != [])
    with pytest.raises(Unreachable, match=r"within 2 s"):
        await asking
    assert not processes_of(commands.folder)


async def test_who_stops_waiting_leaves_no_process(commands: Commands) -> None:
    commands.make("squeue", NEVER)
    asking = asyncio.create_task(commands.slurm(timeout_s=60).jobs())
    await until(lambda: processes_of(commands.folder) != [])
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not processes_of(commands.folder)


@pytest.mark.parametrize("behaviour", [DOWN, LIAR, NONSENSE])
async def test_no_answer_or_none_to_be_believed(commands: Commands, behaviour: str) -> None:
    commands.make("squeue", behaviour)
    with pytest.raises(Unreachable):
        await commands.slurm().jobs()


async def test_an_error_with_exit_0_is_not_an_empty_queue(commands: Commands) -> None:
    commands.make("squeue", QUIET_ERROR)
    with pytest.raises(Rejected, match="out of order"):
        await commands.slurm().jobs()


async def test_endless_output_is_bounded(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_OUTPUT_BYTES", 100_000)
    commands.make("squeue", ENDLESS)
    with pytest.raises(Unreachable, match="too long"):
        await commands.slurm().jobs()
    assert not processes_of(commands.folder)


async def test_not_installed(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="can't be run"):
        await Slurm(tmp_path / "nowhere").jobs()


async def test_the_mark_is_new_each_time_and_not_in_the_arguments(commands: Commands) -> None:
    commands.make("squeue", RECORDS)
    slurm, marks = commands.slurm(), set()
    for _ in range(2):
        await slurm.jobs()
        arguments, environment = commands.recorded("squeue")
        mark = environment["SQUEUE_FORMAT"].partition("%")[0]
        assert len(mark) >= 12
        assert mark not in " ".join(arguments)
        marks.add(mark)
    assert len(marks) == 2


async def test_the_environment_is_built(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SQUEUE_USERS", "root")
    monkeypatch.setenv("SLURM_CONF", "/evil")
    commands.make("sacct", RECORDS)
    await commands.slurm().accounting(NOW, [7, 3])
    arguments, environment = commands.recorded("sacct")
    assert environment.keys() - {"LC_CTYPE"} == {"TZ", "LC_ALL", "SLURM_CONF", "SLURM_BITSTR_LEN"}
    assert environment["SLURM_CONF"] == "/etc/slurm/slurm.conf"
    assert "--jobs=3,7" in arguments
    assert "--starttime=2026-11-19T23:59:59" in arguments
    assert {"--allusers", "--endtime=now"} <= set(arguments)
    await commands.slurm().accounting(NOW, until=NOW + timedelta(hours=1), user="alice")
    arguments, _ = commands.recorded("sacct")
    assert {"--user=alice", "--endtime=2026-11-20T01:00:00"} <= set(arguments)
    assert "--allusers" not in arguments


async def test_how_far_slurmdbd_lags(commands: Commands) -> None:
    commands.make("sdiag", "print('Agent queue size:    3\\nDBD Agent queue size: 12\\n')")
    assert await commands.slurm().backlog() == 12
    commands.make("sdiag", NONSENSE)
    with pytest.raises(Unreachable):
        await commands.slurm().backlog()


@pytest.mark.parametrize(
    ("line", "age"),
    [
        ("MinJobAge               = 300 sec", timedelta(minutes=5)),
        ("MinJobAge               = 0 sec", timedelta.max),
        ("MaxJobCount             = 10000", timedelta(0)),
    ],
    ids=["some", "never purged", "not shown"],
)
async def test_min_job_age(commands: Commands, line: str, age: timedelta) -> None:
    commands.make("scontrol", f"print('Configuration data\\n{line}\\nMpiDefault = none')")
    assert await commands.slurm().min_job_age() == age


@pytest.mark.parametrize(
    ("line", "at"),
    [
        (
            "BOOT_TIME               = 2026-11-22T13:43:16",
            datetime(2026, 11, 22, 13, 43, 16, tzinfo=UTC),
        ),
        ("BurstBufferType         = (null)", None),
    ],
    ids=["shown", "not shown"],
)
async def test_start_of_slurmctld(commands: Commands, line: str, at: datetime | None) -> None:
    commands.make("scontrol", f"print('Configuration data\\n{line}\\nMpiDefault = none')")
    assert await commands.slurm().started_at() == at


async def test_slow_answer_is_not_too_large(commands: Commands) -> None:
    commands.make("sacct", NEVER)
    with pytest.raises(Unreachable) as caught:
        await commands.slurm(timeout_s=0.5).accounting(NOW)
    assert not isinstance(caught.value, QueryTooLarge)


async def test_accounting_of_nothing_asks_nothing(commands: Commands) -> None:
    assert await commands.slurm().accounting(NOW, []) == []


@pytest.mark.parametrize("behaviour", [NO_SUCH_JOB, SILENT_NO_SUCH_JOB])
async def test_cancelling_what_is_not_there(commands: Commands, behaviour: str) -> None:
    commands.make("scancel", behaviour)
    with pytest.raises(JobNotFound):
        await commands.slurm().cancel(9, "alice")


async def test_cancelling_what_has_ended_is_well(commands: Commands) -> None:
    commands.make("scancel", ENDED)
    await commands.slurm().cancel(9, "alice")


async def test_cancelling_without_the_right(commands: Commands) -> None:
    commands.make("scancel", DENIED)
    with pytest.raises(Rejected) as caught:
        await commands.slurm().cancel(9, "alice")
    assert caught.value.code == "not-permitted"
    assert "denied" in caught.value.stderr


async def test_cancelling_with_slurm_down(commands: Commands) -> None:
    commands.make("scancel", DOWN)
    with pytest.raises(Unreachable):
        await commands.slurm().cancel(9, "alice")


async def test_cancelling_what_is_another_users_by_now(commands: Commands) -> None:
    """Slurm 22.05 reports this with exit 0."""
    output = "scancel: error: No active jobs match ALL job filters, including: user_name=alice"
    commands.make("scancel", f"import sys; print({output!r}, file=sys.stderr)")
    with pytest.raises(JobNotFound):
        await commands.slurm().cancel(9, "alice")


async def test_cancel_omits_a_user_unknown_to_the_host(commands: Commands) -> None:
    """squeue reports such users by number, which scancel rejects: `Invalid user name`."""
    commands.make("scancel", RECORDS)
    await commands.slurm().cancel(9, "20002")
    assert commands.recorded("scancel")[0] == ["--verbose", "9"]


async def test_a_number_that_nothing_has(commands: Commands) -> None:
    output = "slurm_load_jobs error: Invalid job id specified"
    commands.make("squeue", f"import sys; sys.exit({output!r})")
    assert await commands.slurm().find(9) == []
    assert await commands.slurm().find(9, 10) == []
    commands.make("squeue", DOWN)
    with pytest.raises(Unreachable):
        await commands.slurm().find(9)


async def test_ending_at_once(commands: Commands) -> None:
    """First the program itself with all its children, then the job, which Slurm ends as usual."""
    again = RECORDS.replace("'w'", "'a'")
    commands.make("scancel", again)
    await commands.slurm().kill(9, "alice")
    text = (commands.folder / "scancel.recorded").read_text()
    first, end = json.JSONDecoder().raw_decode(text)
    second, _ = json.JSONDecoder().raw_decode(text[end:])
    assert first[0] == ["--batch", "--signal=KILL", "--user=alice", "9"]
    assert second[0] == ["--verbose", "--user=alice", "9"]
    commands.make("scancel", ENDED)
    await commands.slurm().kill(9, "alice")
    commands.make("scancel", DOWN)
    with pytest.raises(Unreachable):
        await commands.slurm().kill(9, "alice")


async def test_a_new_time_limit(commands: Commands) -> None:
    commands.make("scontrol", RECORDS)
    await commands.slurm().set_time_limit(9, 90)
    assert commands.recorded("scontrol")[0] == ["update", "JobId=9", "TimeLimit=90"]


def processes_of(folder: Path) -> list[str]:
    """Return command lines that contain a path in this folder."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().decode(errors="replace")
        except OSError:
            continue  # it has just ended
        if str(folder) in line:
            lines.append(line)
    return lines

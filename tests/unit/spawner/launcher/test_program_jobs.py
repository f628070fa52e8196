"""The launcher's requests to Slurm: jobs, their withdrawal, steps."""

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.polling import wait_until
from tests.unit.spawner.launcher.launcher_home import (
    DENIED,
    DOWN,
    HAS_ENDED,
    MUMBLES,
    NEVER,
    NO_SUCH_JOB,
    OTHER,
    RECORDS,
    REFUSES,
    TAKES,
    TAKES_ON_A_CLUSTER,
    UID,
    UUID,
    Place,
    Process,
    error_of,
    processes_naming,
)

pytest_plugins = ["tests.unit.spawner.launcher.launcher_fixtures"]


class TestWithdraw:
    """A job that may still reach Slurm is claimed in advance."""

    def test_before_anything_is_there_and_once_more(self, launcher: Process) -> None:
        for _ in range(2):
            assert launcher.ask("withdraw", uuid=UUID)["result"] == {"withdrawn": True}

    def test_a_copy_that_comes_later_does_nothing(self, launcher: Process, place: Place) -> None:
        """Runs the first lines of both kinds of scripts."""
        launcher.ask("withdraw", uuid=UUID)
        claimed = place.jobs / UUID / "claimed"
        assert claimed.readlink() != Path("4711")
        with pytest.raises(FileExistsError):
            claimed.mkdir()
        with pytest.raises(FileExistsError):
            claimed.symlink_to("4711")

    def test_one_that_has_begun_stays(self, launcher: Process, place: Place) -> None:
        claimed = place.job_file("stdout.log").with_name("claimed")
        claimed.symlink_to("4711")
        assert launcher.ask("withdraw", uuid=UUID)["result"] == {"withdrawn": False}
        claimed.unlink()
        claimed.mkdir()
        assert launcher.ask("withdraw", uuid=UUID)["result"] == {"withdrawn": False}

    def test_missing_home_is_reported(self, launcher: Process, place: Place) -> None:
        shutil.rmtree(place.home)
        assert error_of(launcher.ask("withdraw", uuid=UUID))[0] == "HomeUnavailable"


class TestUnclaimed:
    """Whether a job's script has begun, from the claim in its folder."""

    def ask(self, launcher: Process) -> object:
        return launcher.ask("unclaimed", uuid=UUID)["result"]["unclaimed"]

    def test_a_folder_without_a_claim(self, launcher: Process, place: Place) -> None:
        place.job_file("stdout.log")
        assert self.ask(launcher) is True

    def test_a_claim_of_a_script_or_of_the_portal(self, launcher: Process, place: Place) -> None:
        claimed = place.job_file("stdout.log").with_name("claimed")
        claimed.symlink_to("4711")
        assert self.ask(launcher) is False
        claimed.unlink()
        launcher.ask("withdraw", uuid=UUID)
        assert self.ask(launcher) is False

    def test_a_missing_folder_proves_nothing(self, launcher: Process, place: Place) -> None:
        assert self.ask(launcher) is False
        shutil.rmtree(place.job_file("stdout.log").parent)
        assert self.ask(launcher) is False

    def test_missing_home_is_reported(self, launcher: Process, place: Place) -> None:
        shutil.rmtree(place.home)
        assert error_of(launcher.ask("unclaimed", uuid=UUID))[0] == "HomeUnavailable"


class TestSubmit:
    def test_the_jobs_folder_is_the_users_alone(self, launcher: Process, place: Place) -> None:
        place.command("sbatch", TAKES)
        assert launcher.submit()["result"] == {"job_id": 4711, "stderr": ""}
        folder = place.jobs / UUID
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "config.json").stat().st_mode & 0o777 == 0o600
        assert (folder / "config.json").stat().st_uid == UID
        assert sorted(path.name for path in folder.iterdir()) == ["config.json", "script.sh"]

    def test_what_sbatch_gets(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SBATCH_ACCOUNT", "evil")
        monkeypatch.setenv("LD_LIBRARY_PATH", "/evil")
        launcher = Process(place)
        place.command("sbatch", TAKES)
        launcher.submit(options=["--job-name=a b; $(id)", "--no-requeue"], script="#!/bin/sh\n:\n")
        launcher.close()
        arguments, environment, folder, mask, script = place.recorded("sbatch")
        assert arguments == ["--job-name=a b; $(id)", "--no-requeue", f"--chdir={place.home}"]
        assert environment.keys() - {"LC_CTYPE"} == {
            "HOME", "USER", "LOGNAME", "SHELL", "PATH", "LANG", "SLURM_CONF"
        }  # fmt: skip
        assert (environment["HOME"], environment["USER"]) == (str(place.home), "user")
        assert folder == str(place.home)
        assert mask == 0o027, "the site's, not the launcher's own"
        assert script == "#!/bin/sh\n:\n"

    def test_the_answer_names_a_cluster(self, launcher: Process, place: Place) -> None:
        place.command("sbatch", TAKES_ON_A_CLUSTER)
        assert launcher.submit()["result"]["job_id"] == 4711

    def test_refused_leaves_nothing(self, launcher: Process, place: Place) -> None:
        place.command("sbatch", REFUSES)
        answer = launcher.submit()
        assert error_of(answer)[0] == "Rejected"
        assert "Invalid qos" in answer["error"]["stderr"]
        assert list(place.jobs.iterdir()) == []

    @pytest.mark.parametrize("behaviour", [DOWN, MUMBLES])
    def test_unknown_leaves_the_folder_for_the_job_may_exist(
        self, launcher: Process, place: Place, behaviour: str
    ) -> None:
        place.command("sbatch", behaviour)
        assert error_of(launcher.submit())[0] == "Unreachable"
        assert (place.jobs / UUID / "config.json").exists()

    def test_its_deadline_ends_the_whole_process_group(
        self, launcher: Process, place: Place
    ) -> None:
        place.command("sbatch", NEVER)
        assert error_of(launcher.submit(timeout_s=0.5))[0] == "Unreachable"
        wait_until(lambda: not processes_naming(str(place.bin_dir / "sbatch")))
        assert launcher.ask("ping")["ok"]

    def test_again_keeps_what_a_running_job_has(self, launcher: Process, place: Place) -> None:
        place.command("sbatch", TAKES)
        launcher.submit()
        place.job_file("stdout.log", b"running")
        place.command("sbatch", REFUSES)
        assert error_of(launcher.submit(files={"config.json": "new"}))[0] == "Rejected"
        folder = place.jobs / UUID
        assert (folder / "stdout.log").read_bytes() == b"running"
        assert (folder / "config.json").read_text() == "new"
        assert not list(folder.glob(".*.new"))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"uuid": "../../etc"}, {"uuid": UUID.upper()}, {"uuid": None},
            {"files": {"../x": ""}}, {"files": {"a/b": ""}}, {"files": {".bashrc": ""}},
            {"files": {"x": 1}}, {"files": []}, {"files": {f"f{n}": "" for n in range(40)}},
            {"script": None}, {"script": "\ud800"}, {"options": ["/etc/shadow"]},
            {"options": ["-c1"]}, {"options": ["--wrap=a\nb"]}, {"options": [1]}, {"options": ""},
            {"timeout_s": 0}, {"timeout_s": 1e9}, {"timeout_s": True}, {"timeout_s": "1"},
        ],
    )  # fmt: skip
    def test_malformed(self, launcher: Process, place: Place, wrong: dict[str, Any]) -> None:
        place.command("sbatch", TAKES)
        assert error_of(launcher.submit(**wrong))[0] == "BadRequest"
        assert not place.jobs.exists() or not list(place.jobs.iterdir())
        assert not (place.bin_dir / "sbatch.recorded").exists()

    def test_no_sbatch_there(self, launcher: Process) -> None:
        kind, message = error_of(launcher.submit())
        assert (kind, message) == (
            "Unreachable",
            "The program sbatch can't be run: No such file or directory.",
        )


class TestJobs:
    def test_cancel(self, launcher: Process, place: Place) -> None:
        place.command("scancel", RECORDS)
        assert launcher.ask("cancel", job_id=9)["ok"]
        assert place.recorded("scancel")[0] == ["--verbose", "9"]

    def test_cancel_what_has_ended(self, launcher: Process, place: Place) -> None:
        place.command("scancel", HAS_ENDED)
        assert launcher.ask("cancel", job_id=9)["ok"]

    def test_cancel_what_is_not_there(self, launcher: Process, place: Place) -> None:
        place.command("scancel", NO_SUCH_JOB)
        assert error_of(launcher.ask("cancel", job_id=9))[0] == "NotFound"

    @pytest.mark.parametrize("job_id", [0, -1, "9", True, None, 1 << 32, 9.0])
    def test_malformed(self, launcher: Process, job_id: Any) -> None:
        assert error_of(launcher.ask("cancel", job_id=job_id))[0] == "BadRequest"

    def step(self, launcher: Process, **fields: Any) -> Any:
        whole = {"uuid": OTHER, "job_id": 7, "node": "node01", "files": {}, "script": "#!/bin/sh"}
        return launcher.ask("step", **{**whole, **fields})

    def test_a_step_outlives_the_launcher(self, launcher: Process, place: Place) -> None:
        place.command("srun", NEVER)
        assert self.step(launcher)["ok"]
        assert launcher.close() == 0
        program = str(place.bin_dir / "srun")
        # the fake srun starts its child a moment after the launcher's answer
        step, child = wait_until(
            lambda: sorted(processes_naming(program)), done=lambda found: len(found) == 2
        )
        assert os.getsid(step) == step
        os.killpg(step, signal.SIGKILL)
        wait_until(lambda: not {step, child} & set(processes_naming(program)))

    def test_what_srun_gets(self, launcher: Process, place: Place) -> None:
        place.command("srun", RECORDS)
        assert self.step(launcher)["ok"]
        arguments, environment, *_ = place.recorded("srun")
        for option in ("--overlap", "--jobid=7", "--nodelist=node01", "--propagate=NONE"):
            assert option in arguments
        assert "--gres=none" in arguments
        assert arguments[-1] == str(place.jobs / OTHER / "script.sh")
        assert os.access(arguments[-1], os.X_OK)
        assert environment["HOME"] == str(place.home)

    def test_a_step_gets_the_jobs_gpus_on_request(self, launcher: Process, place: Place) -> None:
        place.command("srun", RECORDS)
        assert self.step(launcher, gpus=True)["ok"]
        assert "--gres=none" not in place.recorded("srun")[0]

    def test_a_step_that_is_refused_leaves_nothing(self, launcher: Process, place: Place) -> None:
        place.command("srun", DENIED)
        answer = self.step(launcher)
        assert error_of(answer)[0] == "Rejected"
        assert "denied" in answer["error"]["stderr"]
        assert not (place.jobs / OTHER).exists()

    @pytest.mark.parametrize("node", ["", "-x", "a b", "node01\n", None])
    def test_a_steps_node(self, launcher: Process, node: Any) -> None:
        assert error_of(self.step(launcher, node=node))[0] == "BadRequest"

    def test_ending_a_step(self, launcher: Process, place: Place) -> None:
        lines = [f"7.1|portal-{UUID}", f"17.2|portal-{OTHER}", f"7.3|portal-{OTHER}"]
        place.command("squeue", f"print('''{chr(10).join(lines)}''')")
        place.command("scancel", RECORDS)
        assert launcher.ask("end_step", uuid=OTHER, job_id=7)["ok"]
        assert place.recorded("scancel")[0] == ["--verbose", "7.3"]

    def test_ending_a_step_that_ends_by_itself(self, launcher: Process, place: Place) -> None:
        place.command("squeue", f"print('7.3|portal-{OTHER}')")
        gone = "scancel: error: Kill job error on job id 7.3: Invalid job id specified"
        place.command("scancel", f"import sys; print({gone!r}, file=sys.stderr); sys.exit(1)")
        assert launcher.ask("end_step", uuid=OTHER, job_id=7)["ok"]

    def test_ending_a_step_that_has_ended(self, launcher: Process, place: Place) -> None:
        place.command("squeue", "pass")
        assert launcher.ask("end_step", uuid=OTHER, job_id=7)["ok"]

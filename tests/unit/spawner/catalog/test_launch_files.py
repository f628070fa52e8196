"""Files and scripts of jobs: the shell reads them as intended, and they contain no secrets."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spawner.catalog import launch_files
from spawner.catalog.launch_files import SessionLaunch, TensorboardLaunch
from spawner.node import node_setup
from tests.polling import PATIENCE_S

SECRET = "s3cr3t-of-the-session"
SESSION = SessionLaunch(
    uuid="0c4d7a52-8f1e-4a4e-9c63-6f2b7f0a1d11",
    secret=SECRET,
    portal_url="http://10.77.0.1:8080/",
    runtime_dir="/srv/portal/runtime",
    username="alice",
    home="/home/alice",
    name="s1",
    logdir="/home/alice/portal/runs/s1-0c4d7a52",
    default_kernel="python3",
    kernelspecs={"python3": {"argv": ["python3"]}},
    lab={"overrides": {}, "page_config": {}},
    server_config={"KernelManager": {"transport": "ipc"}},
    apps={"origin": "https://jupyter.test", "declared": {}},
)
TENSORBOARD = TensorboardLaunch(
    uuid="11111111-8f1e-4a4e-9c63-6f2b7f0a1d11",
    tensorboard_id="22222222-8f1e-4a4e-9c63-6f2b7f0a1d11",
    secret=SECRET,
    signing_key="k3y-of-the-guard",
    portal_url="http://10.77.0.1:8080",
    runtime_dir="/srv/portal/runtime",
    username="alice",
    home="/home/alice",
    logdir="/home/alice/portal/runs/s1",
)
JOB_SSH = launch_files.JobSshLaunch(
    uuid="33333333-8f1e-4a4e-9c63-6f2b7f0a1d11",
    batch_job_id="44444444-8f1e-4a4e-9c63-6f2b7f0a1d11",
    secret=SECRET,
    portal_url="http://10.77.0.1:8080/",
    runtime_dir="/srv/portal/runtime",
    home="/home/alice",
)
# possible content of a path or an argument: anything except NUL that UTF-8 can encode
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def shell_reads(script: str) -> list[str]:
    """Return the arguments that /bin/sh parses from a line, printed with NULs between them."""
    program = f"printf '%s\\0' {script}"
    done = subprocess.run(
        ["/bin/sh", "-c", program], capture_output=True, check=True, timeout=PATIENCE_S
    )
    return done.stdout.decode().split("\0")[:-1]


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_the_shell_reads_back_what_was_quoted(texts: list[str]) -> None:
    assert shell_reads(" ".join(launch_files.quote(text) for text in texts)) == texts


@pytest.mark.parametrize(
    "text",
    [
        "$(touch x)",
        "`touch x`",
        "a'b\"c",
        "a\nb",
        "-rf",
        "",
        "${HOME}",
        "a;b&c|d",
        "ü 🙂",
        "!!",
        "~",
    ],
)
def test_hostile_words_stay_words(text: str) -> None:
    assert shell_reads(launch_files.quote(text)) == [text]


def test_a_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        launch_files.quote("a\0b")


@pytest.mark.parametrize("name", ["plain", 'it\'s $(touch pwned) `touch pwned` "x"', "a\nb"])
def test_the_script_claims_its_job_once(tmp_path: Path, name: str) -> None:
    """Run twice, as Slurm may after a crash: the second copy stops before the node program."""
    home, runtime = tmp_path / name, tmp_path / f"{name} runtime"
    launch = replace(SESSION, home=str(home), runtime_dir=str(runtime))
    Path(launch_files.job_dir(str(home), launch.uuid)).mkdir(parents=True)
    (runtime / "bin").mkdir(parents=True)
    python = runtime / "bin/python"
    python.write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    python.chmod(0o755)
    script = tmp_path / "script.sh"
    script.write_text(launch_files.session_script(launch))
    first, second = (
        subprocess.run(["/bin/sh", script], cwd=tmp_path, capture_output=True, check=False)
        for _ in range(2)
    )
    config = f"{launch_files.job_dir(str(home), launch.uuid)}/config.json"
    assert first.stdout.decode().split("\0")[:-1] == ["-I", "-m", "spawner.node.session", config]
    assert (second.returncode, second.stdout) == (launch_files.EXIT_CLAIMED, b"")
    assert b"claimed" in second.stderr
    assert not (tmp_path / "pwned").exists()


def test_the_script_s_first_act_is_the_claim() -> None:
    lines = launch_files.session_script(SESSION).splitlines()
    assert lines[0] == "#!/bin/sh"
    assert lines[1].startswith("mkdir -- ")
    assert lines[2].startswith("exec ")
    assert len(lines) == 3


def test_the_secret_is_in_the_config_alone() -> None:
    for launch_script in (
        launch_files.session_script(SESSION),
        launch_files.tensorboard_script(TENSORBOARD),
        launch_files.job_ssh_script(JOB_SSH),
    ):
        assert SECRET not in launch_script
    assert SECRET not in repr(JOB_SSH)
    assert SECRET not in repr(SESSION)
    assert SECRET not in repr(TENSORBOARD)
    assert json.loads(launch_files.session_files(SESSION)["config.json"])["secret"] == SECRET
    assert (
        json.loads(launch_files.tensorboard_files(TENSORBOARD)["config.json"])["secret"] == SECRET
    )


def test_the_session_s_config_is_whole() -> None:
    config = json.loads(launch_files.session_files(SESSION)["config.json"])
    assert config == {
        "uuid": SESSION.uuid,
        "secret": SECRET,
        "portal_url": "http://10.77.0.1:8080",
        "portal_ca": None,
        "tls": False,
        "username": "alice",
        "name": "s1",
        "logdir": SESSION.logdir,
        "runtime_dir_prefix": launch_files.node_dir(SESSION.uuid, SECRET)[:-13],
        "kernelspecs": {"python3": {"argv": ["python3"]}},
        "default_kernel": "python3",
        "lab": {"overrides": {}, "page_config": {}},
        "server_config": {"KernelManager": {"transport": "ipc"}},
        "apps": {"origin": "https://jupyter.test", "declared": {}},
    }


def test_the_config_of_a_jobs_ssh_names_the_job_and_its_own_run() -> None:
    assert json.loads(launch_files.job_ssh_files(JOB_SSH)["config.json"]) == {
        "uuid": JOB_SSH.uuid,
        "batch_job_id": JOB_SSH.batch_job_id,
        "secret": SECRET,
        "portal_url": "http://10.77.0.1:8080",
        "portal_ca": None,
        "tls": False,
        "runtime_dir_prefix": launch_files.node_dir(JOB_SSH.uuid, SECRET)[:-13],
    }
    script = launch_files.job_ssh_script(JOB_SSH)
    assert "-I -m spawner.node.job_ssh /home/alice/" in script
    assert f"/{JOB_SSH.uuid}/claimed" in script


def test_the_tensorboard_s_config_names_its_own_address() -> None:
    config = json.loads(launch_files.tensorboard_files(TENSORBOARD)["config.json"])
    assert config["path_prefix"] == f"/tensorboard/{TENSORBOARD.tensorboard_id}"
    assert config["tensorboard_id"] == TENSORBOARD.tensorboard_id
    assert config["uuid"] == TENSORBOARD.uuid
    assert "spawner.node.tensorboard" in launch_files.tensorboard_script(TENSORBOARD)


def test_a_socket_fits_into_the_node_s_folder() -> None:
    """A socket's path has at most 107 bytes (unix(7)), of which jupyter_client uses 50."""
    assert len(launch_files.node_dir(SESSION.uuid, SECRET)) <= 57


def test_node_dir_has_a_part_that_other_users_cannot_guess() -> None:
    """Other users see the UUID in the job's comment, and could create the folder first."""
    own = launch_files.node_dir(SESSION.uuid, SECRET)
    assert re.fullmatch(rf"/tmp/portal-[0-9a-f]{{12}}-{SESSION.uuid[:13]}", own)
    assert launch_files.node_dir(SESSION.uuid, f"{SECRET}0") != own
    assert SECRET[:12] not in own
    for files in (
        launch_files.session_files(SESSION),
        launch_files.tensorboard_files(TENSORBOARD),
    ):
        config = json.loads(files["config.json"])
        folder = str(node_setup.node_dir_path(config))
        assert folder == launch_files.node_dir(config["uuid"], config["secret"])


def test_every_session_has_its_own_folders() -> None:
    other = "0c4d7a52-8f1f-4a4e-9c63-6f2b7f0a1d11"
    own = launch_files.node_dir(SESSION.uuid, SECRET)
    assert launch_files.node_dir(other, SECRET) != own
    assert (
        launch_files.job_dir("/home/alice/", other)
        == f"/home/alice/.local/share/portal/jobs/{other}"
    )

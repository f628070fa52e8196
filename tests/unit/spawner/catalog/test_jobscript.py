"""Job scripts: a program gets exactly a parameter's value; a copied script does not run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spawner.catalog import jobscript
from spawner.catalog.environment import Catalog
from spawner.catalog.jobscript import (
    SAMPLER,
    JobContext,
    RenderedJob,
    ScriptRefused,
    is_measured,
    render_job,
    render_script,
)
from spawner.catalog.launch_files import EXIT_CLAIMED, job_dir
from spawner.catalog.template import Template, check_parameters, load_templates, parameters_schema
from spawner.slurm.model import Resources
from tests.needs import needs_program
from tests.polling import PATIENCE_S, wait_until

UUID = "0c4d7a52-8f1e-4a4e-9c63-6f2b7f0a1d11"
HOSTILE = [
    "it's", '"', "$(touch x)", "`touch x`", "${HOME}", "a\nb", "a\\\nb", "*", "~", "--help", "",
    "; exit 3", "&", "|", ">x", "#", "!!", "\\", "'; touch x; '", "{{ 7 * 7 }}", "{% raw %}", "é😀",
    "\x01", "\t", "\r", " ", "a\x02b", "\x7f", "\u202e", "[0]=x", "(a b)", "{a,b}",
]  # fmt: skip
TEXTS = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40),
)


def template_of(script: str, **more: Any) -> Template:
    rules: dict[str, dict[str, Any]] = {
        "text": {"type": "string", "title": "Text", "default": ""},
        "count": {"type": "integer", "title": "Count", "default": 0},
        "rate": {"type": "number", "title": "Rate", "default": 0.5},
        "flag": {"type": "boolean", "title": "Flag", "default": False},
        "some": {
            "type": "array", "title": "Some", "items": {"type": "string"}, "default": [],
        },
        "other": {
            "type": "array", "title": "Other", "items": {"type": "string"}, "default": [],
        },
        "path": {"type": ["string", "null"], "title": "Path", "x-widget": "path", "default": None},
    }  # fmt: skip
    return Template(
        "mine", "Mine", "…", "none", script, parameters=parameters_schema(rules), **more
    )


def place_of(home: Path) -> JobContext:
    (home / "runs").mkdir(exist_ok=True)
    Path(job_dir(str(home), UUID)).mkdir(parents=True, exist_ok=True)
    return JobContext(
        uuid=UUID,
        username="alice",
        home=str(home),
        runtime_dir="/srv/runtime",
        apptainer="/usr/bin/apptainer",
        logdir=f"{home}/runs/mine",
        environment=None,
        resources=Resources(nodes=2, gpus=1, cpus=4),
    )


def rendered(template: Template, given: Mapping[str, Any], place: JobContext) -> RenderedJob:
    values, problems = check_parameters(template, given)
    assert problems == []
    return render_job(template, values, place)


def run(
    job: RenderedJob, place: JobContext, job_id: int = 7, **variables: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the script under bash, with the variables that Slurm sets."""
    folder = Path(job_dir(place.home, place.uuid))
    for name, text in job.files.items():
        (folder / name).write_text(text, newline="")
    env = {"PATH": os.environ["PATH"], "SLURM_JOB_ID": str(job_id), "LC_ALL": "C.UTF-8"}
    argv = ["/bin/bash", "-c", job.script, "script.sh"]
    return subprocess.run(
        argv, env={**env, **variables}, capture_output=True, check=False, timeout=PATIENCE_S
    )


def printed_lines(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode().split("\0")[:-1]


def fresh(place: JobContext) -> JobContext:
    """Return the same place without a claim."""
    for path in Path(job_dir(place.home, place.uuid)).iterdir():
        path.rmdir() if path.is_dir() else path.unlink()
    return place


# --- values -------------------------------------------------------------------------------------

PRINT = """
in_env printf '%s\\0' "$text" --x="$text" ${text:+--y="$text"} "${some[@]}" "$count" "$rate$flag"
"""


@settings(max_examples=80, deadline=None)
@given(text=TEXTS, some=st.lists(TEXTS, max_size=4), count=st.integers(), rate=st.floats(-9, 9))
def test_a_program_gets_exactly_the_values(
    tmp_path_factory: pytest.TempPathFactory, text: str, some: list[str], count: int, rate: float
) -> None:
    place = fresh(place_of(tmp_path_factory.getbasetemp()))
    given_ = {"text": text, "some": some, "count": count, "rate": rate, "flag": True}
    job = rendered(template_of(PRINT), given_, place)
    optional = [f"--y={text}"] if text else []
    expected = [text, f"--x={text}", *optional, *some, str(count), f"{rate}true"]
    assert printed_lines(run(job, place)) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS, min_size=1, max_size=3))
def test_each_task_gets_its_own_values(
    tmp_path_factory: pytest.TempPathFactory, some: list[str], other: list[str]
) -> None:
    template = template_of(
        """printf '%s\\0' "$some" --x="${other[@]}" "$PORTAL_LOGDIR\"""", array=("some", "other")
    )
    place = fresh(place_of(tmp_path_factory.getbasetemp()))
    job = rendered(template, {"some": some, "other": other}, place)
    assert job.array == len(some) * len(other)
    task = job.array - 1
    done = run(job, place, SLURM_ARRAY_JOB_ID="7", SLURM_ARRAY_TASK_ID=str(task))
    logdir = jobscript.task_logdir(place.logdir, task)
    assert printed_lines(done) == [some[-1], f"--x={other[-1]}", logdir]
    assert Path(logdir).is_dir()


def test_flags_and_empty_values(tmp_path: Path) -> None:
    script = """
    [[ $flag == true ]] && printf 'flag\\0'
    printf '%s\\0' "<$path>" "${#some[@]}" $(( count + 1 )) ${path:+--path="$path"}
    """
    for values, printed in (
        ({}, ["<>", "0", "1"]),
        ({"flag": True, "path": "a b", "some": ["", ""], "count": -1},
         ["flag", "<a b>", "2", "0", "--path=a b"]),
    ):  # fmt: skip
        place = fresh(place_of(tmp_path))
        assert printed_lines(run(rendered(template_of(script), values, place), place)) == printed


def test_variables_are_not_exported(tmp_path: Path) -> None:
    place = place_of(tmp_path)
    template = template_of("env -0", array=("other",))
    job = rendered(template, {"text": "x", "some": ["x"], "other": ["x"]}, place)
    names = {line.partition("=")[0] for line in printed_lines(run(job, place))}
    assert {name for name in names if not name.isupper()} <= {"_"}


@pytest.mark.parametrize(
    ("path", "meant"),
    [("~", ""), ("~/a b", "/a b"), ("~bob/x", None), ("data", None), ("/x", None), ("a~/b", None)],
)
def test_a_paths_tilde_is_the_users_home(tmp_path: Path, path: str, meant: str | None) -> None:
    place = place_of(tmp_path)
    job = rendered(template_of("printf '%s\\0' \"$path\""), {"path": path}, place)
    assert printed_lines(run(job, place)) == [path if meant is None else f"{tmp_path}{meant}"]


def test_where_the_job_is(tmp_path: Path) -> None:
    script = (
        "printf '%s\\0' $home $nodes $gpus $cpus $username $logdir"
        " $PWD $PORTAL_JOB_DIR $PORTAL_TASK"
    )
    place = replace(place_of(tmp_path), workdir=str(tmp_path / "runs"))
    folder = job_dir(str(tmp_path), UUID)
    heard = printed_lines(run(rendered(template_of(script), {}, place), place))
    job = [str(tmp_path), "2", "1", "4", "alice", f"{tmp_path}/runs/mine"]
    assert heard == [*job, f"{tmp_path}/runs", folder, "0"]


def test_values_too_long_for_a_script_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScriptRefused) as refused:
        rendered(template_of("true"), {"some": ["x" * 4000] * 100}, place_of(tmp_path))
    assert refused.value.field == "parameters"
    assert "KiB" in refused.value.message


# --- claims -------------------------------------------------------------------------------------


def test_a_second_job_of_one_id_does_not_run(tmp_path: Path) -> None:
    place = place_of(tmp_path)
    job = rendered(template_of("echo ran"), {}, place)
    assert run(job, place, 7).stdout == b"ran\n"
    assert run(job, place, 8).returncode == EXIT_CLAIMED
    assert run(job, place, 7).returncode == EXIT_CLAIMED
    assert run(job, place, 8, SLURM_RESTART_COUNT="1").returncode == EXIT_CLAIMED
    assert run(job, place, 7, SLURM_RESTART_COUNT="1").stdout == b"ran\n"


def test_tasks_of_one_array_all_run(tmp_path: Path) -> None:
    place = place_of(tmp_path)
    job = rendered(template_of('echo "$some"', array=("some",)), {"some": ["a", "b"]}, place)
    array = {"SLURM_ARRAY_JOB_ID": "7"}
    assert run(job, place, 7, SLURM_ARRAY_TASK_ID="1", **array).stdout == b"b\n"
    assert run(job, place, 8, SLURM_ARRAY_TASK_ID="0", **array).stdout == b"a\n"
    assert run(job, place, 9, SLURM_ARRAY_TASK_ID="0", **array).returncode == EXIT_CLAIMED


def test_a_finished_job_that_comes_back_does_nothing(tmp_path: Path) -> None:
    place = place_of(tmp_path)
    job = rendered(template_of("echo ran\n", requeue=True), {}, place)
    assert run(job, place).stdout == b"ran\n"
    again = run(job, place, SLURM_RESTART_COUNT="1")
    assert (again.returncode, again.stdout) == (0, b"")


def test_a_failed_one_that_comes_back_runs(tmp_path: Path) -> None:
    place = place_of(tmp_path)
    job = rendered(template_of("echo ran; false\n", requeue=True), {}, place)
    assert run(job, place).returncode == 1
    assert run(job, place, SLURM_RESTART_COUNT="1").stdout == b"ran\n"


# --- measuring usage ----------------------------------------------------------------------------

RECORD = """#!/bin/bash
echo "$0 $*" >> {folder}/started
while [ ! -e {folder}/stop ]; do sleep 0.05; done
echo "$0" >> {folder}/stopped
"""


@pytest.fixture
def samplers(tmp_path: Path) -> Iterator[Path]:
    """Return a folder in which the nodes' Python and srun record that they started, and stay."""
    for name in ("bin/python", "srun"):
        program = tmp_path / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(RECORD.format(folder=tmp_path))
        program.chmod(0o755)
    yield tmp_path
    (tmp_path / "stop").touch()
    wait_for_lines(tmp_path / "stopped", len(wait_for_lines(tmp_path / "started", 1)))


def wait_for_lines(path: Path, count: int) -> list[str]:
    return wait_until(
        lambda: sorted(path.read_text().splitlines()) if path.exists() else [],
        f"{path.name} has {count} lines",
        done=lambda lines: len(lines) >= count,
    )


@pytest.mark.parametrize("script", ["wait; echo ran", "#!/bin/bash\nwait\necho ran"])
def test_samplers_start_on_each_node_and_nothing_waits_for_them(
    samplers: Path, script: str
) -> None:
    place = replace(place_of(samplers), runtime_dir=str(samplers))
    own = script.startswith("#!")
    job = render_script(script, place, None) if own else rendered(template_of(script), {}, place)
    path = f"{samplers}:{os.environ['PATH']}"
    done = run(job, place, PATH=path, SLURM_JOB_NUM_NODES="3")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ran\n", b"")
    assert not (samplers / "stopped").exists()
    here, others = wait_for_lines(samplers / "started", 2)
    assert here.startswith(f"{samplers}/bin/python -I -m spawner.node.usage.sampler ")
    assert here.rpartition(" ")[2].isdigit()
    assert "--overlap --relative=1 --nodes=2 --ntasks=2 " in others
    assert others.endswith(" -I -m spawner.node.usage.sampler")


def test_one_node_needs_no_step(samplers: Path) -> None:
    place = replace(place_of(samplers), runtime_dir=str(samplers))
    job = rendered(template_of("echo ran"), {}, place)
    path = f"{samplers}:{os.environ['PATH']}"
    assert run(job, place, PATH=path, SLURM_JOB_NUM_NODES="1").stdout == b"ran\n"
    assert len(wait_for_lines(samplers / "started", 1)) == 1


@pytest.mark.parametrize("measured", [True, False])
def test_samplers_can_be_off(tmp_path: Path, measured: bool) -> None:
    place = replace(place_of(tmp_path), measured=measured)
    for job in (rendered(template_of("true"), {}, place), render_script("true", place, None)):
        assert is_measured(job.script) is measured
        assert (SAMPLER in job.script) is measured


def test_job_runs_without_a_sampler(tmp_path: Path) -> None:
    """The runtime folder is missing, and so is srun."""
    job = rendered(template_of("echo ran"), {}, place_of(tmp_path))
    done = run(job, place_of(tmp_path), SLURM_JOB_NUM_NODES="2", PATH="/usr/bin:/bin")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ran\n", b"")


# --- environments -------------------------------------------------------------------------------


def test_commands_run_in_the_container(tmp_path: Path) -> None:
    environment = Catalog.load(image_dir=Path("/images")).environments["python3"]
    place = replace(place_of(tmp_path), environment=environment)
    job = rendered(load_templates()["python-training"], {}, place)
    words = job.script.split("\nexec_in_env() {")[1].split("\n}\n")[0]
    assert "-m spawner.node.kernel --keep" in words
    assert "--nv" in words  # the place has a GPU
    assert "/images/python3.sif env" in " ".join(words.split())
    assert "PMIX" not in words
    assert set(job.files) == {"toy.py", "train_numpy.py"}


@needs_program("shellcheck")
@pytest.mark.parametrize("name", sorted(load_templates()))
def test_shipped_script_passes_shellcheck(tmp_path: Path, name: str) -> None:
    """With defaults, and with every path set."""
    template = load_templates()[name]
    environment = Catalog.load(image_dir=Path("/images")).environments[template.environment]
    place = replace(place_of(tmp_path), environment=environment)
    needed = dict.fromkeys(template.parameters["required"], "~/a b.ipynb")
    more = {
        field: "~/a b.ipynb"
        for field, rule in template.parameters["properties"].items()
        if rule["x-widget"] == "path"
    }
    files = [tmp_path / "defaults.sh", tmp_path / "paths.sh"]
    for file, given_ in zip(files, (needed, needed | more), strict=True):
        file.write_text(rendered(template, given_, place).script)
    done = subprocess.run(
        ["shellcheck", "--norc", *files],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.stdout + done.stderr == ""
    assert done.returncode == 0


# --- a user's own script ------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(TEXTS)
def test_an_own_script_runs_as_it_is(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    place = fresh(place_of(tmp_path_factory.getbasetemp()))
    script = f"#!/bin/cat\n{text}\n".replace("\r", "")
    job = render_script(script, place, None)
    assert job.files == {"job": script}
    assert run(job, place).stdout.decode() == script


def test_without_a_first_line_it_is_bash(tmp_path: Path) -> None:
    place = place_of(tmp_path)
    done = run(render_script("echo $BASH_VERSION; exit 3\n", place, None), place)
    assert done.returncode == 3
    assert done.stdout.strip()


def test_own_script_in_bash_has_module(tmp_path: Path) -> None:
    init = tmp_path / "modules init.sh"
    init.write_text("echo loading\nmodule() { echo loaded $2; }\nexport -f module\nfalse\n")
    place = replace(place_of(tmp_path), modules_init=str(init))
    done = run(render_script("#!/bin/bash\nmodule load cuda\n", place, None), place)
    assert (done.returncode, done.stdout) == (0, b"loaded cuda\n")


def test_own_script_runs_where_the_modules_file_is_missing(tmp_path: Path) -> None:
    place = replace(place_of(tmp_path), modules_init=str(tmp_path / "absent.sh"))
    done = run(render_script("echo ran\n", place, None), place)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ran\n", b"")


def test_it_is_claimed_too(tmp_path: Path) -> None:
    place = place_of(tmp_path)
    job = render_script("echo ran\n", place, None)
    assert run(job, place, 7).stdout == b"ran\n"
    assert run(job, place, 8).returncode == EXIT_CLAIMED


def test_some_lines_for_sbatch_are_passed_on(tmp_path: Path) -> None:
    script = "#!/bin/sh\n#SBATCH -C v100 --nodelist=node01 # here\n\ntrue\n#SBATCH --mem=1G\n"
    job = render_script(script, place_of(tmp_path), None)
    assert job.script.startswith("#!/bin/bash\n#SBATCH -C v100 --nodelist=node01 # here\nexport")
    assert "--mem" not in job.script


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("--clusters=other", "--clusters: the portal doesn't pass it on"),
        ("-M other", "--clusters: the portal doesn't pass it on"),
        ("--array=0-9999", "--array: use a template with an array"),
        ("-a 1-9", "--array: use"),
        ("--output=/etc/x", "--output: the portal saves and shows the script's output"),
        ("-o/x", "--output: the portal saves"),
        ("--gres=gpu:8", "--gres: set it in the job's resources instead (gpus)"),
        ("--mem 900G", "--mem: set it in the job's resources instead (memory_gb)"),
        ("-p gpu", "--partition: set it in the job's resources instead (partition)"),
        ("--uid=0", "--uid: the portal"),
        ("--wrap=x", "--wrap: the portal"),
        ("--comment=portal:x", "--comment: the portal"),
        ("-C v100 --export=NONE", "--export: the portal"),
        ("--me=1G", "--me: the portal"),
        ("x", "'x' is not an option of sbatch"),
        ("--constraint='", "a quote isn't closed"),
        ("--mail-user 'a\\' -C' --array=0-9 --gres=gpu:8 --mail-user=\\'", "backslashes"),
        ("-C v100\x0b--array=0-9", "control characters"),
        ("-C v100\x0c--array=0-9", "control characters"),
        ("-C v100\r--array=0-9", "control characters"),
    ],
)
def test_a_line_that_evades_is_named(tmp_path: Path, line: str, why: str) -> None:
    with pytest.raises(ScriptRefused) as refused:
        script = f"#!/bin/sh\n# mine\n  # indented\n#SBATCH {line}\ntrue\n"
        render_script(script, place_of(tmp_path), None)
    assert refused.value.field == "script"
    assert refused.value.message.startswith("Line 4: ")
    assert why in refused.value.message


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("echo \0", "NUL"),
        ("echo \udc80", "UTF-8"),
        ("echo\r\n", "Windows"),
        ("#!python\n", "Line 1"),
        ("x" * (300 * 1024), "300 KiB; the limit is 256 KiB"),
    ],
)
def test_what_is_no_script(tmp_path: Path, script: str, why: str) -> None:
    with pytest.raises(ScriptRefused) as refused:
        render_script(script, place_of(tmp_path), None)
    assert why in refused.value.message

"""Kernelspecs, the wrapper's environment, terminals and JupyterLab's defaults."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from string import Template
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner.catalog import lab_config
from spawner.catalog.environment import Catalog, Environment
from spawner.containers.kernels import (
    KernelContext,
    job_command,
    kernel_env,
    kernelspec,
    packages_dir,
)
from spawner.containers.runtimes import Container
from spawner.node import kernel as wrapper
from tests.paths import CHECKOUT
from tests.polling import PATIENCE_S

PLACE = KernelContext(
    runtime_dir="/srv/p/runtime",
    apptainer="/usr/bin/apptainer",
    home="/home/alice",
    node_dir="/tmp/portal-1",
    logdir="/home/alice/portal/runs/s1",
    gpus=True,
)
PACKAGES = "/home/alice/.local/share/portal/packages/python3"


def test_apptainer_copies_no_resolv_conf_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "resolv.conf"
    assert wrapper.resolver(file) == {"APPTAINER_DNS": "127.0.0.1"}
    file.touch()
    assert wrapper.resolver(file) == {}


@pytest.fixture
def python3() -> Environment:
    return Catalog.load(image_dir=Path("/images")).environments["python3"]


def inside(argv: list[str]) -> list[str]:
    """Return the part of the command that runs inside the container."""
    return argv[argv.index("/images/python3.sif") + 1 :]


def test_the_kernel_runs_in_the_image_through_the_wrapper(python3: Environment) -> None:
    spec = kernelspec(python3, PLACE)
    argv = spec["argv"]
    assert argv[:4] == ["/srv/p/runtime/bin/python", "-I", "-m", "spawner.node.kernel"]
    request = wrapper.parse(argv[4:])
    assert request.command[:4] == ("/usr/bin/apptainer", "-q", "exec", "--nv")
    assert request.make == (Path(f"{PACKAGES}/lib/python3.11/site-packages"),)
    assert request.keep == spec["env"].keys()
    assert spec["interrupt_mode"] == "signal"
    assert spec["display_name"] == "Python 3.11"
    assert "{connection_file}" in argv


def test_a_python_kernel_runs_our_startup_file_and_a_terminal_does_not(
    python3: Environment,
) -> None:
    spec = kernelspec(python3, PLACE)
    assert spec["env"]["PYTHONSTARTUP"] == "/tmp/portal-1/kernel_startup.py"
    terminal = spec["metadata"]["portal"]
    assert "PYTHONSTARTUP" not in terminal["terminal_env"]
    assert "PYTHONSTARTUP" not in wrapper.parse(terminal["terminal"][4:]).keep
    assert "PYTHONSTARTUP" not in kernelspec(replace(python3, language="R"), PLACE)["env"]
    own = replace(python3, env={"PYTHONSTARTUP": "/its/own.py"})
    assert kernelspec(own, PLACE)["env"]["PYTHONSTARTUP"] == "/its/own.py"


def test_the_kernel_has_a_process_group_of_its_own_and_dies_with_its_starter(
    python3: Environment,
) -> None:
    command = inside(kernelspec(python3, PLACE)["argv"])
    assert command[:4] == ["setsid", "setpriv", "--pdeathsig", "KILL"]
    assert command[4] == "env"
    assert command[5].startswith(f"PATH={PACKAGES}/bin:/usr/local/sbin:")
    assert command[6:9] == ["python3", "-m", "ipykernel_launcher"]
    assert command[-1] == "--HistoryManager.hist_file=/tmp/portal-1/history.sqlite"


def test_nothing_goes_by_apptainer_s_own_variables(python3: Environment) -> None:
    text = json.dumps(kernelspec(python3, PLACE))
    assert "APPTAINERENV" not in text
    assert "--env" not in text
    assert "--cleanenv" not in text


def test_the_terminal_keeps_its_tty(python3: Environment) -> None:
    about = kernelspec(python3, PLACE)["metadata"]["portal"]
    command = inside(about["terminal"])
    assert not {"setsid", "setpriv"} & set(command)
    assert command[0] == "env"
    assert "debian_chroot=python3" in command
    assert command[-1] == "bash"
    assert about["terminal_env"] == kernel_env(python3, PLACE)


def test_a_user_s_packages_have_a_folder_for_each_environment(python3: Environment) -> None:
    other = replace(python3, name="other")
    assert packages_dir("/home/alice", python3) != packages_dir("/home/alice", other)
    env = kernel_env(python3, PLACE)
    assert env["PYTHONUSERBASE"] == PACKAGES
    assert (env["PIP_USER"], env["PIP_BREAK_SYSTEM_PACKAGES"]) == ("1", "1")
    assert env["PORTAL_LOGDIR"] == PLACE.logdir


def test_the_environment_s_own_variables_win(python3: Environment) -> None:
    own = replace(python3, env={"PIP_USER": "0", "MINE": "1"})
    assert kernel_env(own, PLACE)["PIP_USER"] == "0"
    assert "MINE" in wrapper.parse(kernelspec(own, PLACE)["argv"][4:]).keep


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_jupyter_reads_variables_back_as_they_were(value: str) -> None:
    """jupyter_client substitutes ${NAME} in a kernelspec's env with string.Template."""
    environment = Catalog.load(image_dir=Path("/images")).environments["python3"]
    spec = kernelspec(replace(environment, env={"X": value}), PLACE)
    assert Template(spec["env"]["X"]).safe_substitute(os.environ) == value


def test_folders_elsewhere_are_bound(python3: Environment) -> None:
    place = replace(PLACE, logdir="/scratch/alice/runs", gpus=False)
    runtime = Container(Path("/images/python3.sif"), binds=("/data",))
    argv = kernelspec(replace(python3, runtime=runtime), place)["argv"]
    bound = [argv[n + 1] for n, word in enumerate(argv) if word == "--bind"]
    assert bound == ["/home/alice", "/tmp/portal-1", "/scratch/alice/runs", "/data"]
    assert "--nv" not in argv
    _, words = job_command(python3, replace(PLACE, app_dir="/srv/apps"), ())
    assert "/srv/apps" in words[words.index("exec") : words.index("/images/python3.sif")]


@pytest.mark.parametrize(
    ("gpu", "bound"), [("none", False), ("optional", True), ("required", True)]
)
def test_driver_is_bound_only_where_the_environment_can_use_it(
    python3: Environment, gpu: Any, bound: bool
) -> None:
    spec = kernelspec(replace(python3, gpu=gpu), PLACE)
    assert ("--nv" in spec["argv"]) == bound
    assert ("--nv" in spec["metadata"]["portal"]["terminal"]) == bound


def test_package_index_of_the_site_reaches_pip(python3: Environment) -> None:
    def pip(url: str | None, environment: Environment = python3) -> dict[str, str]:
        env = kernel_env(environment, replace(PLACE, pip_index_url=url))
        names = ("PIP_INDEX_URL", "PIP_TRUSTED_HOST")
        return {name: env[name] for name in names if name in env}

    assert pip(None) == {}
    https = "https://mirror.example.org/simple"
    assert pip(https) == {"PIP_INDEX_URL": https}
    plain = "http://10.77.0.1:3141/simple"
    assert pip(plain) == {"PIP_INDEX_URL": plain, "PIP_TRUSTED_HOST": "10.77.0.1:3141"}
    assert pip(https, replace(python3, language="R")) == {}
    own = replace(python3, env={"PIP_INDEX_URL": "https://other.example"})
    assert pip(https, own) == {"PIP_INDEX_URL": "https://other.example"}


def test_an_environment_without_a_kernel_has_no_spec(python3: Environment) -> None:
    with pytest.raises(ValueError, match="no kernel"):
        kernelspec(replace(python3, kernel_argv=()), PLACE)


SECRETS = {
    "JUPYTERHUB_API_TOKEN": "x",
    "JPY_API_TOKEN": "x",
    "SLURM_JWT": "x",
    "PYTHONPATH": "x",
    "LD_LIBRARY_PATH": "x",
    "LD_PRELOAD": "x",
    "CONDA_PREFIX": "x",
    "R_HOME": "x",
    "MPLBACKEND": "agg",
    "APPTAINER_BIND": "/etc",
    "APPTAINERENV_X": "`id`",
    "SINGULARITYENV_X": "`id`",
    "BASH_ENV": "x",
}
WANTED = {
    "HOME": "/home/alice",
    "LC_ALL": "C.UTF-8",
    "SLURM_JOB_ID": "17",
    "CUDA_VISIBLE_DEVICES": "0",
    "OMP_NUM_THREADS": "4",
    "JPY_SESSION_NAME": "a `id` $(id)\n.ipynb",
    "JUPYTER_RUNTIME_DIR": "/tmp/portal-1",
    "https_proxy": "http://proxy.test",
    "NCCL_DEBUG": "INFO",
}


def test_only_what_is_allowed_passes() -> None:
    passed = wrapper.filtered(SECRETS | WANTED | {"PATH": "/odd", "MINE": "1"}, {"MINE"})
    assert passed == {**WANTED, "MINE": "1", "PATH": wrapper.SYSTEM_PATH}


@pytest.mark.parametrize("name", ["SLURM_JWT", "APPTAINERENV_X", "SINGULARITY_BIND"])
def test_some_never_pass_even_if_asked_for(name: str) -> None:
    assert name not in wrapper.filtered({name: "x"}, {name})


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_values_are_never_changed(environ: dict[str, str]) -> None:
    passed = wrapper.filtered(environ, environ.keys())
    assert all(passed[name] == environ[name] for name in passed.keys() - {"PATH"})


@pytest.mark.parametrize("arguments", [[], ["--"], ["ls"], ["--keep"], ["--frob", "x", "--", "ls"]])
def test_arguments_that_make_no_sense_are_refused(arguments: list[str]) -> None:
    with pytest.raises(wrapper.UsageError):
        wrapper.parse(arguments)


def test_the_command_is_never_read_as_options() -> None:
    request = wrapper.parse(["--keep", "A,B", "--", "ls", "--keep", "C"])
    assert request.command == ("ls", "--keep", "C")
    assert request.keep == {"A", "B"}


def run_wrapper(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "spawner.node.kernel", *arguments],
        cwd=CHECKOUT,
        env={"HOME": "/", **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def test_the_wrapper_makes_the_folder_and_becomes_the_command(tmp_path: Path) -> None:
    folder = tmp_path / "a/b"
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    command = [sys.executable, "-I", "-c", show]
    hostile = "$(touch x)\n`id`"
    done = run_wrapper(
        "--keep",
        "MINE",
        "--make",
        str(folder),
        "--",
        *command,
        MINE=hostile,
        JUPYTERHUB_API_TOKEN="x",
    )
    seen: dict[str, Any] = json.loads(done.stdout)
    assert seen["MINE"] == hostile
    assert "JUPYTERHUB_API_TOKEN" not in seen
    assert folder.is_dir()


def test_failed_folder_creation_does_not_stop_the_kernel(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run_wrapper("--make", str(tmp_path / "file/x"), "--", "/bin/echo", "runs")
    assert done.stdout == "runs\n"
    assert "packages can't be installed" in done.stderr


def test_a_missing_program_is_named() -> None:
    done = run_wrapper("--", "/nowhere/apptainer")
    assert done.returncode == 127
    assert "/nowhere/apptainer is not installed" in done.stderr


def test_the_server_offers_these_kernels_alone_over_sockets() -> None:
    config = lab_config.server_config(["python3", "other"], "/tmp/portal-1")
    assert config["KernelManager"]["transport"] == "ipc"
    assert config["MultiKernelManager"]["default_kernel_name"] == "python3"
    assert config["KernelSpecManager"] == {
        "allowed_kernelspecs": ["python3", "other"],
        "ensure_native_kernel": False,
    }
    assert config["TerminalsExtensionApp"]["terminal_manager_class"] == (
        "spawner.node.terminals.SessionTerminals"
    )
    assert config["LabApp"]["app_settings_dir"] == "/tmp/portal-1/lab"


def test_a_terminal_in_the_environment_is_one_click_away(python3: Environment) -> None:
    both = [python3, replace(python3, name="other")]
    overrides = lab_config.lab_files(both)["overrides"]
    (button,) = overrides["@jupyterlab/application-extension:top-bar"]["toolbar"]
    assert button["command"] == "terminal:create-new"
    assert button["args"] == {"name": "env_python3"}
    (menu,) = overrides["@jupyterlab/mainmenu-extension:plugin"]["menus"]
    (item,) = menu["items"]
    entries = item["submenu"]["items"]
    assert [entry["args"]["name"] for entry in entries] == ["env_python3", "env_other"]
    assert {entry["args"]["title"] for entry in entries} == {python3.title}


def test_the_hubs_entries_are_not_in_the_file_menu(python3: Environment) -> None:
    disabled = lab_config.lab_files([python3])["page_config"]["disabledExtensions"]
    assert disabled["@jupyterlab/hub-extension"]


def test_terminal_names_are_such_as_the_server_takes(python3: Environment) -> None:
    r"""The server's routes match \w+ only (jupyter_server_terminals, api_handlers)."""
    assert lab_config.terminal_name(python3).replace("_", "").isalnum()


def test_jupyterlab_begins_in_the_language_of_the_portal(python3: Environment) -> None:
    """As a default: a language chosen in JupyterLab is in the user's settings, which take
    precedence."""
    translation = "@jupyterlab/translation-extension:plugin"
    chinese = lab_config.lab_files([python3], "zh")["overrides"]
    assert chinese[translation] == {"locale": "zh_CN"}
    assert "终端" in str(chinese["@jupyterlab/application-extension:top-bar"])
    for language in ("en", None, "xx"):
        english = lab_config.lab_files([python3], language)["overrides"]
        assert translation not in english
        assert "Terminal in" in str(english)

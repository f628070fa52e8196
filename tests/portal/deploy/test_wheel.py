"""The wheel: it is complete, and works without a checkout.

Its dependencies are borrowed from the portal's virtualenv here; `make test-install` installs them
from the lock.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from portal.app import bare_app
from portal.config.settings import Settings
from tests.paths import CHECKOUT
from tests.portal.command_line import write_config
from tests.portal.conftest import MakeSettings

OF_THE_CHECKOUT = {"deploy/Dockerfile"}  # docker compose builds from the sources
STATE = Path(sys.prefix).parent
BUILDER = STATE / "build/bin/python"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    argv = [str(BUILDER), "-m", "deploy.wheel", "--out", str(out)]
    done = subprocess.run(argv, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = out.glob("data_scientist_portal-*.whl")
    assert (out / "requirements.lock").read_bytes() == (CHECKOUT / "requirements.lock").read_bytes()
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a new virtualenv with the wheel."""
    venv = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", venv], check=True)
    pip = [str(BUILDER), "-m", "pip", f"--python={venv}/bin/python", "--no-cache-dir"]
    install = [*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(install, check=True)
    (packages,) = venv.glob("lib/python3*/site-packages")
    (borrowed,) = (STATE / "venv").glob("lib/python3*/site-packages")
    (packages / "borrowed.pth").write_text(f"{borrowed}\n")
    return venv


def run(
    venv: Path, *argv: str, cwd: Path, config: Path | None = None
) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    if config is not None:
        env["PORTAL_CONFIG"] = str(config)
    done = subprocess.run(
        [venv / "bin" / argv[0], *argv[1:]],
        cwd=cwd, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_everything_that_is_kept_in_git_is_in_it(wheel: Path) -> None:
    listed = ["git", "ls-files", "portal", "spawner", "deploy", "migrations/versions"]
    tracked = subprocess.run(
        listed, cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout
    there = {name for name in tracked.split() if (CHECKOUT / name).is_file()} - OF_THE_CHECKOUT
    packed = set(zipfile.ZipFile(wheel).namelist())
    assert there - packed == set()
    assert {"portal/pages/index.html", "deploy/lab/package.json"} <= packed
    locks = {"deploy/requirements-runtime.lock", "deploy/requirements-build.lock"}
    assert locks <= packed
    assert not any("__pycache__" in name or name.startswith("tests") for name in packed)


def test_the_command_is_there_and_is_this_version(installed: Path, tmp_path: Path) -> None:
    output = run(installed, "portal", "openapi", cwd=tmp_path).stdout
    # compared with the current sources; `make lint` checks that openapi.json is fresh
    assert json.loads(output) == bare_app().openapi()


def test_its_code_and_pages_are_its_own(installed: Path, tmp_path: Path) -> None:
    code = (
        "import portal, spawner.catalog.environment as e, portal.config.settings as s;"
        "import deploy.runtime as r;"
        "print(portal.__file__, e.SHIPPED, s.PAGES / 'index.html', *r.SHIPPED)"
    )
    places = run(installed, "python", "-I", "-c", code, cwd=tmp_path).stdout.split()
    assert len(places) == 5
    for place in places:
        assert place.startswith(f"{installed}/")
        assert Path(place).exists()


def test_it_migrates_and_renders(
    installed: Path, make_settings: MakeSettings, tmp_path: Path, new_database: str
) -> None:
    settings: Settings = make_settings(min_uid=1000, database_url=new_database)
    config = write_config(settings, tmp_path / "portal.toml")
    made = run(installed, "portal", "migrate", cwd=tmp_path, config=config).stdout
    assert made.startswith("The database was migrated from nothing to ")
    out = tmp_path / "out"
    run(installed, "portal", "system-files", "--out", str(out), cwd=tmp_path, config=config)
    unit = (out / "etc/systemd/system/portal.service").read_text()
    assert f"ExecStart={installed}/bin/python -I -m portal serve" in unit
    assert (out / "etc/systemd/system/portal-hub.service").is_file()
    nginx = (out / "var/lib/portal-nginx/nginx.conf").read_text()
    assert f'root "{installed}/lib/' in nginx


def test_the_client_is_a_wheel_of_its_own_that_needs_no_portal(wheel: Path, tmp_path: Path) -> None:
    (found,) = wheel.parent.glob("data_scientist_portal_client-*.whl")
    names = zipfile.ZipFile(found).namelist()
    assert {"dsp_client/app.py", "dsp_client/commands/run.py"} <= set(names)
    program = "portal/downloads/portal_ssh.py"  # a link in the checkout
    packed = zipfile.ZipFile(found).read("dsp_client/ssh/portal_ssh.py")
    assert packed == (CHECKOUT / program).read_bytes()
    assert all(name.startswith(("dsp_client/", "data_scientist_portal_client-")) for name in names)
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONPATH": str(found)}
    program = "import sys; from dsp_client.app import main; sys.exit(main(['--version']))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "dsp 0.1.0\n"), done.stderr

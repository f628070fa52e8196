"""The catalog: the shipped one is valid, and errors name the file and the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from spawner.catalog.environment import (
    SCHEMA,
    SHIPPED,
    Catalog,
    CatalogError,
    CatalogFolders,
    Environment,
    availability,
)
from spawner.catalog.environment import load_environment as load
from spawner.containers.kernels import KernelContext, kernel_env
from spawner.containers.runtimes import Container
from spawner.slurm.model import Resources

SOUND: dict[str, Any] = {
    "title": "Mine",
    "language": "python",
    "version": "3.10",
    "runtime": "apptainer",
    "image": "mine.sif",
    "kernel": {"argv": ["python3", "-m", "ipykernel_launcher", "-f", "{connection_file}"]},
}


def load_environment(path: Path, image_dir: Path) -> Environment:
    return load(path, CatalogFolders((image_dir,)))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "environments").mkdir()
    return tmp_path


def put(site: Path, name: str = "mine", **changes: Any) -> Path:
    path = site / "environments" / f"{name}.yaml"
    fields = {field: value for field, value in (SOUND | changes).items() if value is not ...}
    path.write_text(yaml.safe_dump(fields))
    return path


def test_what_is_shipped_loads(tmp_path: Path) -> None:
    python3 = Catalog.load(image_dir=tmp_path).environments["python3"]
    assert python3.has_kernel
    assert python3.runtime == Container(tmp_path / "python3.sif")
    assert python3.user_site == "lib/python3.11/site-packages"
    assert python3.resources() == Resources(cpus=2, memory_gb=4, time_limit_minutes=120)


def test_every_shipped_environment_has_a_definition_or_a_public_image(tmp_path: Path) -> None:
    for environment in Catalog.load(image_dir=tmp_path).environments.values():
        runtime = environment.runtime
        assert isinstance(runtime, Container)
        defined = (SHIPPED / "images" / f"{runtime.image.stem}.toml").is_file()
        assert defined == (runtime.public_image is None), environment.name


def test_every_shipped_kernel_has_a_starter_notebook_of_its_language(tmp_path: Path) -> None:
    environments = Catalog.load(image_dir=tmp_path).environments
    kernels = {name: e.language for name, e in environments.items() if e.has_kernel}
    del kernels["desktop"]  # it is for programs with windows
    found = {
        path.stem: json.loads(path.read_text()) for path in (SHIPPED / "starters").glob("*.ipynb")
    }
    specs = {name: notebook["metadata"]["kernelspec"] for name, notebook in found.items()}
    assert {name: spec["language"] for name, spec in specs.items()} == kernels
    assert {spec["name"] for spec in specs.values()} == kernels.keys()
    for notebook in found.values():
        assert not any(cell.get("outputs") for cell in notebook["cells"])


@pytest.mark.parametrize(
    ("language", "version", "expected"),
    [
        ("python", "2.7", "lib/python2.7/site-packages"),
        ("R", "4.2", "lib/R/4.2"),
        ("lua", "5.1", "share/lua/5.1"),
    ],
)
def test_each_language_has_its_own_place_for_packages(
    site: Path, language: str, version: str, expected: str
) -> None:
    environment = load_environment(put(site, language=language, version=version), site)
    assert environment.user_site == expected


def test_each_language_gets_its_package_folder(site: Path) -> None:
    place = KernelContext("/run", "/apptainer", "/home/ann", "/tmp/p", "/home/ann/runs", gpus=False)
    base = "/home/ann/.local/share/portal/packages/mine"

    def env(language: str) -> dict[str, str]:
        return kernel_env(load_environment(put(site, language=language), site), place)

    assert env("python")["PYTHONUSERBASE"] == base
    assert env("R")["R_LIBS_USER"] == f"{base}/lib/R/3.10"
    assert env("lua")["LUA_PATH"] == f"{base}/share/lua/3.10/?.lua;;"
    assert not {"PYTHONUSERBASE", "PIP_USER"} & (env("R") | env("lua")).keys()


def test_the_schema_is_one_and_every_field_is_described() -> None:
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    undescribed = [n for n, field in schema["properties"].items() if "description" not in field]
    assert undescribed == []


def test_a_site_adds_and_replaces(site: Path) -> None:
    put(site)
    put(site, "python3", title="Our Python")
    catalog = Catalog.load(site_dir=site, image_dir=Path("/images"))
    assert list(catalog.environments) == sorted(catalog.environments)
    assert catalog.environments["mine"].title == "Mine"
    assert catalog.environments["python3"].title == "Our Python"
    assert catalog.environments["python3"].packages == ()


def test_an_absolute_image_stays_where_it_is(site: Path) -> None:
    path = put(site, image="/shared/images/mine.sif")
    found = load_environment(path, Path("/images"))
    assert found.runtime == Container(Path("/shared/images/mine.sif"))


def test_an_environment_may_have_no_kernel(site: Path) -> None:
    assert not load_environment(put(site, kernel=None), Path("/images")).has_kernel


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("runtime", {"runtime": "docker"}),
        ("runtime", {"runtime": "module"}),
        ("language", {"language": "cobol"}),
        ("version", {"version": 3.1}),
        ("version", {"version": "three"}),
        ("image", {"image": "a:b.sif"}),
        ("image", {"image": "a.sif\n"}),
        ("version", {"version": "3.11\n"}),
        ("gpu", {"gpu": "maybe"}),
        ("title", {"title": ""}),
        ("public_image", {"public_image": "nvidia/digits"}),
        ("needs", {"needs": ""}),
        ("kernel.argv", {"kernel": {"argv": ["python3"]}}),
        ("kernel.argv", {"kernel": {"argv": "python3 -f {connection_file}"}}),
        ("env", {"env": {"APPTAINERENV_X": "1"}}),
        ("env", {"env": {"LD_PRELOAD": "x.so"}}),
        ("env.X", {"env": {"X": 1}}),
        ("binds.0", {"binds": ["relative"]}),
        ("binds.0", {"binds": ["/a,/etc"]}),
        ("user_site", {"user_site": "../../../etc"}),
        ("user_site", {"user_site": "/etc"}),
        ("default_resources.gpus", {"default_resources": {"gpus": -1}}),
        ("default_resources.cpus", {"default_resources": {"cpus": "two"}}),
        ("default_resources", {"default_resources": {"gpu": 1}}),
    ],
)
def test_a_bad_field_is_named_with_its_file(
    site: Path, field: str, changes: dict[str, Any]
) -> None:
    path = put(site, **changes)
    with pytest.raises(CatalogError) as caught:
        Catalog.load(site_dir=site, image_dir=Path("/images"))
    assert caught.value.problems[0].startswith(f"{path}: {field}: ")


@pytest.mark.parametrize("field", ["title", "language", "version", "image"])
def test_a_missing_field_is_named(site: Path, field: str) -> None:
    changes: dict[str, Any] = {field: ...}
    path = put(site, **changes)
    with pytest.raises(CatalogError, match=f"^{path}: '{field}' is a required property$"):
        load_environment(path, Path("/images"))


def test_an_unknown_field_is_named(site: Path) -> None:
    with pytest.raises(CatalogError, match="'titel' was unexpected"):
        load_environment(put(site, titel="x"), Path("/images"))


def test_all_problems_are_reported_at_once(site: Path) -> None:
    put(site, "one", runtime="docker", gpu="maybe")
    put(site, "two", version="x")
    with pytest.raises(CatalogError) as caught:
        Catalog.load(site_dir=site, image_dir=Path("/images"))
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize("text", ["a: [", "- 1", "", "\x00"])
def test_what_is_not_a_mapping_is_refused(site: Path, text: str) -> None:
    path = site / "environments" / "broken.yaml"
    path.write_text(text)
    with pytest.raises(CatalogError, match=str(path)):
        load_environment(path, Path("/images"))


@pytest.mark.parametrize("name", ["Mine", "my-own", "1st", "a" * 33])
def test_a_name_must_do_for_kernels_and_terminals(site: Path, name: str) -> None:
    with pytest.raises(CatalogError, match="the file's name"):
        load_environment(put(site, name), Path("/images"))


def test_a_site_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="there is no such folder"):
        Catalog.load(site_dir=tmp_path / "nowhere", image_dir=tmp_path)


def test_unavailability_is_explained_in_a_sentence(site: Path) -> None:
    environment = load_environment(put(site), site)
    there, reason = availability(environment)
    assert not there
    assert reason is not None
    assert "mine.sif" in reason
    assert reason.endswith(".")
    (site / "mine.sif").write_bytes(b"")
    assert availability(environment) == (True, None)


def test_missing_public_image_is_reported_with_name_and_needs(site: Path) -> None:
    reference = "docker://nvidia/digits:6.0"
    path = put(site, public_image=reference, needs="an old NVIDIA GPU")
    environment = load_environment(path, site)
    there, reason = availability(environment)
    assert not there
    assert reason is not None
    assert reference in reason
    assert "It needs an old NVIDIA GPU." in reason
    assert "as mine.sif" in reason
    (site / "mine.sif").write_bytes(b"")
    assert availability(environment) == (True, None)

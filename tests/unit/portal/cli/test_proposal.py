"""`portal init`: from the detected facts to a settings file that the portal accepts."""

import json
import re
import tomllib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from portal.cli.detection import (
    Detected,
    DetectedEnvironments,
    DetectionOptions,
    SlurmFound,
    find_client_address,
    find_directory,
    find_modules,
    find_slurm,
    find_virtualenvs,
    parse_module_names,
)
from portal.cli.main import app
from portal.cli.proposal import render_settings_file
from portal.config.settings import Settings, SettingsError, read_settings
from portal.directory import discovery
from portal.directory.discovery import Address, DirectoryFound, GroupFound
from portal.directory.groups import ACTIVE_DIRECTORY
from spawner.slurm.model import PartitionInfo
from spawner.slurm.parse_accounting import parse_associations, parse_facts
from spawner.slurm.parse_nodes import parse_nodes, parse_partitions
from tests.paths import TESTS

RECORDED = TESTS / "data" / "slurm" / "versions"
VERSIONS = sorted(folder.name for folder in RECORDED.iterdir())


def recorded(version: str) -> SlurmFound:
    """Return the facts as a cluster with this version of Slurm reported them."""
    folder = RECORDED / version

    def text(name: str) -> str:
        return (folder / f"{name}.txt").read_text()

    facts = parse_facts(text("config"), text("tres"), text("qos"))
    rows = parse_associations(text("associations")).items()
    accounts = {account: figures for (account, user, part), figures in rows if not (user or part)}
    return SlurmFound(
        Path("/opt/slurm/bin"),
        Path("/opt/slurm/etc/slurm.conf"),
        version,
        facts.cluster,
        parse_partitions(text("partitions")),
        parse_nodes(text("nodes")),
        accounts,
        facts.qos,
        facts.enforces,
    )


@pytest.fixture
def found(tmp_path: Path) -> Detected:
    ca = tmp_path / "ca.pem"
    ca.touch()
    return Detected(
        host="head.example.org",
        slurm=recorded(VERSIONS[0]),
        address=Address("ldap://ldap.example.org", ca_file=ca),
        address_source="/etc/nslcd.conf",
        directory=DirectoryFound(
            kind="openldap",
            suffix="dc=example,dc=org",
            user_base="ou=people,dc=example,dc=org",
            group_base="ou=groups,dc=example,dc=org",
            users=12,
            groups=(GroupFound("hpc-admins", 2), GroupFound("physics", 40)),
            member_attribute="member",
            lowest_uid=10001,
        ),
        environments=DetectedEnvironments(
            image_dir=Path("/apps/images"),
            images=("pytorch.sif",),
            modules_init=Path("/etc/profile.d/lmod.sh"),
            modules=("cuda/12.4",),
            virtualenvs=(Path("/apps/venvs/stats"),),
        ),
        programs={"apptainer": Path("/usr/bin/apptainer")},
    )


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load settings as the portal does, except for the secrets, which do not exist yet."""

    def load(text: str) -> Settings:
        file = tmp_path / "proposed.toml"
        file.write_text(text)
        monkeypatch.setenv("PORTAL_CONFIG", str(file))
        return read_settings()

    return load


def test_the_portal_reads_it(found: Detected, load: Any) -> None:
    settings = load(render_settings_file(found))
    assert settings.public_url == "https://head.example.org"
    assert settings.node_url == "http://head.example.org:8002"
    assert settings.ldap_urls == ["ldap://ldap.example.org"]
    assert settings.ldap_user_base == "ou=people,dc=example,dc=org"
    assert settings.ldap_group_filter == "(member={dn})"
    assert settings.image_dir == Path("/apps/images")
    assert settings.modules_init == Path("/etc/profile.d/lmod.sh")
    assert settings.slurm_conf == Path("/opt/slurm/etc/slurm.conf")


def test_proposal_names_no_administrators(found: Detected, load: Any) -> None:
    text = render_settings_file(found)
    assert "hpc-admins (2)" in " ".join(text.replace("\n#", "").split())
    assert "physics (40" not in text
    assert load(text).ldap_admin_groups == []


def test_what_wants_a_decision_has_its_line(found: Detected, load: Any) -> None:
    """Above the presets: a line added below them would be part of a preset."""
    text = render_settings_file(found)
    decided = {
        "certificate_file": "/tls/name.pem",
        "certificate_key_file": "/tls/name.key",
        "ldap_user_groups": ["staff"],
        "min_uid": 20000,
    }
    chosen = text
    for name, value in decided.items():
        line = rf"(?m)^(?:# )?{name} = .*$"
        chosen, count = re.subn(line, f"{name} = {json.dumps(value)}", chosen)
        assert count == 1
    settings = load(chosen)
    assert json.loads(settings.model_dump_json(include=set(decided))) == decided
    assert settings.presets
    assert "the lowest UID found is 10001" in " ".join(text.replace("\n#", "").split())
    assert (load(text).ldap_user_groups, load(text).min_uid) == ([], 1000)


def test_runtime_of_the_command_line_replaces_the_default(found: Detected, load: Any) -> None:
    assert load(render_settings_file(found)).runtime_dir == Path("/opt/portal/runtime")
    chosen = replace(found.environments, runtime_dir=Path("/shared/portal/runtime"))
    text = render_settings_file(replace(found, environments=chosen))
    assert "# from the command line; at the same path on all nodes\nruntime_dir" in text
    assert load(text).runtime_dir == Path("/shared/portal/runtime")


def test_init_takes_a_runtime_that_does_not_exist_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("portal.cli.detection.LDAP_CLIENT_FILES", ())
    options = ["--host", "head.example.org", "--slurm-bin-dir", str(tmp_path)]
    run = CliRunner().invoke(app, ["init", *options, "--runtime", "shared/runtime"])
    structlog.reset_defaults()  # a command disables the logging of its process
    assert run.exit_code == 0, run.output
    assert f'\nruntime_dir = "{tmp_path}/shared/runtime"\n' in run.stdout


@pytest.mark.parametrize("version", VERSIONS)
def test_of_every_slurm_recorded(version: str, found: Detected, load: Any) -> None:
    slurm = recorded(version)
    settings = load(render_settings_file(replace(found, slurm=slurm)))
    assert settings.cluster_name == slurm.cluster
    names = {part.name for part in slurm.partitions}
    gpus = {node.name for node in slurm.nodes if node.gpus}
    assert settings.default_partition in names
    for name in (settings.default_gpu_partition, *(["gpu"] if "gpu" in names and gpus else [])):
        (partition,) = [part for part in slurm.partitions if part.name == name]
        assert gpus & set(partition.nodes)
    (service,) = [part for part in slurm.partitions if part.name == settings.service_partition]
    assert not gpus & set(service.nodes)
    types = {kind for node in slurm.nodes for kind in node.gpus}
    assert {preset.name for preset in settings.presets} == {f"one-{kind}" for kind in types}
    for preset in settings.presets:
        assert preset.resources.gpus == 1
        assert preset.resources.cpus


def test_gpu_partition_says_whether_it_has_only_gpu_nodes(found: Detected) -> None:
    recorded_slurm = found.slurm
    assert recorded_slurm is not None
    node = recorded_slurm.nodes[0]
    nodes = (replace(node, name="n1", gpus={"v100": 4}), replace(node, name="n2", gpus={}))

    def propose(names: tuple[str, ...]) -> str:
        partition = PartitionInfo("all", default=True, max_time_minutes=None, nodes=names)
        slurm = replace(recorded_slurm, nodes=nodes, partitions=(partition,))
        text = render_settings_file(replace(found, slurm=slurm))
        return text.partition('default_gpu_partition = "all"')[0].rpartition("\n#")[2]

    assert "only GPU nodes" in propose(("n1",))
    assert "only GPU nodes" not in propose(("n1", "n2"))


def test_new_users_get_the_only_account(found: Detected, load: Any) -> None:
    assert found.slurm is not None
    one = replace(found.slurm, accounts={"root": {}, "research": {}})
    text = render_settings_file(replace(found, slurm=one))
    assert load(text).default_slurm_account == "research"
    assert load(text).default_login_group is None, "which group is a decision"
    assert '# default_login_group = "physics"' in text
    two = replace(one, accounts={"root": {}, "research": {}, "teaching": {}})
    text = render_settings_file(replace(found, slurm=two))
    assert load(text).default_slurm_account is None
    assert '# default_slurm_account = "research"' in text


def test_every_value_has_a_note_of_its_source(found: Detected) -> None:
    lines = render_settings_file(found).splitlines()
    notes = [
        before
        for before, line in pairwise(lines)
        if line.partition(" = ")[0] in Settings.model_fields
    ]
    assert len(notes) > 15
    assert all(before.startswith("# ") for before in notes)


def test_what_was_not_found_is_to_be_filled_in(load: Any) -> None:
    text = render_settings_file(Detected(host=None, missing=("Slurm: nothing there.",)))
    assert "# NOT FOUND. Slurm: nothing there." in text
    assert "# ldap_urls = " in text
    with pytest.raises(SettingsError) as refused:
        load(text)
    assert {field for field, _ in refused.value.problems} == {"public_url", "node_url", "ldap_urls"}
    filled = [line.removeprefix("# ") if " = " in line else line for line in text.splitlines()]
    assert load("\n".join(filled)).ldap_user_base == "ou=people,dc=example,dc=org"


def test_a_slurm_without_accounting_and_without_limits(found: Detected, load: Any) -> None:
    assert found.slurm is not None
    bare = SlurmFound(Path("/usr/bin"), None, "22.05.8", "", (), ())
    text = render_settings_file(replace(found, slurm=bare))
    assert "# cluster_name = " in text
    assert load(text).default_partition is None
    long = PartitionInfo("all", default=True, max_time_minutes=30, nodes=("n1",))
    short = load(render_settings_file(replace(found, slurm=replace(bare, partitions=(long,)))))
    assert short.default_time_limit_minutes == 30


@given(text=st.text())
def test_whatever_others_call_their_things_it_is_toml(text: str) -> None:
    slurm = SlurmFound(
        Path("/usr/bin"),
        None,
        text,
        text or "x",
        (PartitionInfo(text, default=True, nodes=("n",)),),
        (),
        {text: {text: text}},
        frozenset([text]),
    )
    directory = DirectoryFound(
        "other", text, text, text or "x", 1, (GroupFound(f"admin{text}", 1),), "member", 1
    )
    found = Detected(
        "head.example.org",
        slurm,
        Address(f"ldap://{text}"),
        text,
        directory,
        DetectedEnvironments(Path("/r"), Path("/i"), (text,), Path("/m"), (text,), (Path("/v"),)),
        missing=(text,),
    )
    # no surrogate can be written to a file, and none is read from one
    proposed = render_settings_file(found).encode(errors="replace").decode()
    values = tomllib.loads(proposed)
    assert set(values) <= set(Settings.model_fields)
    assert values["ldap_admin_groups"] == []


# --- detection ------------------------------------------------------------------------------------


def entry(dn: str, **attributes: list[str]) -> dict[str, Any]:
    raw = {name: [text.encode() for text in texts] for name, texts in attributes.items()}
    return {"dn": dn, "raw_attributes": raw, "type": "searchResEntry"}


@pytest.mark.parametrize(
    ("root", "kind"),
    [
        ({"supportedCapabilities": [ACTIVE_DIRECTORY]}, "active-directory"),
        ({"ipaDomainLevel": ["1"], "vendorName": ["389 Project"]}, "freeipa"),
        ({"objectClass": ["top", "OpenLDAProotDSE"]}, "openldap"),
        ({"vendorName": ["Unknown"]}, "other"),
    ],
)
def test_the_kind_of_directory(root: dict[str, list[str]], kind: str) -> None:
    assert discovery.kind_of(entry("", **root)) == kind


def test_the_tree_is_not_the_servers_own() -> None:
    contexts = ["cn=config", "o=ipaca", "dc=example,dc=org"]
    assert discovery.suffix_of(entry("", namingContexts=contexts)) == "dc=example,dc=org"
    default = entry("", namingContexts=contexts, defaultNamingContext=["dc=ad"])
    assert discovery.suffix_of(default) == "dc=ad"
    assert discovery.suffix_of(entry("")) is None


def test_where_users_and_groups_are() -> None:
    users = [
        entry("uid=a,ou=staff,ou=People,dc=x", uidNumber=["1500"]),
        entry(r"cn=Doe\, Jane,ou=people,dc=x", uidNumber=["1400"]),
    ]
    groups = [
        entry("cn=a,ou=groups,dc=x", cn=["a"], member=["x", "y"]),
        entry("cn=b,ou=groups,dc=x", cn=["b"], memberUid=["x"]),
        entry("cn=c,ou=groups,dc=x", cn=["c"], member=["x"]),
    ]
    found = discovery.summarize("other", "dc=x", users, groups)
    assert found.user_base == "ou=People,dc=x"
    assert found.group_base == "ou=groups,dc=x"
    assert found.member_attribute == "member"
    assert found.lowest_uid == 1400
    assert found.groups[0] == GroupFound("a", 2)
    nothing = discovery.summarize("other", "dc=x", [], [])
    assert (nothing.user_base, nothing.member_attribute, nothing.lowest_uid) == (None, None, None)


def test_the_clients_own_configuration(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.touch()
    nslcd = tmp_path / "nslcd.conf"
    nslcd.write_text(
        f"# uri ldap://wrong\nuid nslcd\nuri ldap://one ldap://two\nbase dc=x\n"
        f"base passwd ou=people,dc=x\nssl start_tls\ntls_cacertfile {ca}\n"
    )
    read = find_client_address((str(tmp_path / "none"), str(nslcd)))
    assert read == (Address("ldap://one", ca_file=ca), "dc=x", str(nslcd))
    nslcd.write_text("base dc=x\n")
    assert find_client_address((str(nslcd),)) is None


MODULES = """\
/opt/modulefiles:
cuda/12.4(default)
cuda/
gcc/13.2
Lmod has detected the following error: x
python/3.11(L,D)
../../etc/passwd
$(reboot)
"""


def test_modules_are_names_and_nothing_else() -> None:
    assert parse_module_names(MODULES) == ("cuda/12.4", "gcc/13.2", "python/3.11")


@pytest.mark.anyio
async def test_modules_of_this_machine(tmp_path: Path) -> None:
    init = tmp_path / "init '$(touch oops)'.sh"
    init.write_text("module() { echo \"$1\" >&2; printf 'a/1\\nb/2\\n' >&2; }\n")
    assert await find_modules(init) == ("a/1", "b/2")
    assert await find_modules(tmp_path / "none.sh") == ()


def test_virtualenvs_are_those_with_a_python(tmp_path: Path) -> None:
    for name, mark in (("venv", "pyvenv.cfg"), ("conda", "conda-meta"), ("other", "README")):
        programs = tmp_path / name / "bin"
        programs.mkdir(parents=True)
        (programs / "python").touch(mode=0o755)
        (tmp_path / name / mark).touch()
    (tmp_path / "file").touch()
    assert find_virtualenvs(tmp_path) == (tmp_path / "conda", tmp_path / "venv")


@pytest.mark.anyio
async def test_what_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    no_slurm, *notes = await find_slurm(DetectionOptions(slurm_bin_dir=tmp_path))
    (note,) = notes
    assert no_slurm is None
    assert f"{tmp_path}/scontrol can't be run" in note
    none, *notes = await find_directory(None, None)
    (note,) = notes
    assert none is None
    assert "--ldap-url" in note
    none, *notes = await find_directory(Address("ldap://127.0.0.1:9"), None)
    (note,) = notes
    assert none is None
    assert note.startswith("The directory: ldap://127.0.0.1:9: no answer")

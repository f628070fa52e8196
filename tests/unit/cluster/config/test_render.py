"""The cluster's description, its rendered files, and the choice of addresses; nothing is
started."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.config.addresses import (
    Addresses,
    Listener,
    UsedAddresses,
    choose,
    dumps,
    is_free,
    loads,
    parse_proc_net_tcp,
)
from cluster.config.description import Layout, expand, parse_layout
from cluster.config.paths import Paths
from cluster.config.render import Abilities, Cluster, base_ldif, private_accounts, render
from cluster.config.render_modules import INIT, render_catalog, render_modules
from cluster.config.render_portal import (
    hub_settings,
    node_table,
    portal_settings,
    render_portal,
    toml,
)
from cluster.errors import LayoutError, NothingFreeError
from cluster.host.confinement import assess, describe
from cluster.host.control import dump_specs, load_specs
from cluster.parts import accounting, directory
from cluster.parts.services import (
    User,
    base_services,
    head_binds,
    node_config,
    portal_services,
    slurmd,
)
from portal.services.cluster.node_table import parse_yaml
from spawner.catalog.environment import CatalogFolders, load_environment
from spawner.containers.runtimes import Modules, Virtualenv
from tests.paths import CHECKOUT

DESCRIPTION = (CHECKOUT / "cluster" / "cluster.toml").read_text(encoding="utf-8")
GPU_NODES = """[[node]]
names = "node[01-02]"
sockets = 2
cores_per_socket = 16
memory_mb = 131072
gpus = 4
gpu_type = "v100"
"""
CPU_NODE = """[[node]]
names = "node03"
sockets = 2
cores_per_socket = 16
memory_mb = 131072
"""
EVERYWHERE = "0.0.0.0"  # noqa: S104  a listener's address
STATE = Path("/srv/x/demo")


def layout_with(nodes: str) -> Layout:
    assert GPU_NODES in DESCRIPTION
    assert CPU_NODE in DESCRIPTION
    return parse_layout(DESCRIPTION.replace(GPU_NODES, nodes).replace(CPU_NODE, ""))


ONE_NODE = layout_with(GPU_NODES.replace("node[01-02]", "node01").replace("gpus = 4", "gpus = 1"))
FIVE_NODES = layout_with(CPU_NODE.replace("node03", "node[1-5]"))
SHIPPED = parse_layout(DESCRIPTION)


def cluster_of(layout: Layout, mode: str = "veth", **abilities: object) -> Cluster:
    addresses = choose(layout, mode, UsedAddresses(), None)
    return Cluster(layout, addresses, Abilities(**abilities), Paths(STATE))  # type: ignore[arg-type]


def slurm_conf(cluster: Cluster) -> dict[str, list[str]]:
    """Parse slurm.conf to key → values in order; NodeName and PartitionName occur repeatedly."""
    found: dict[str, list[str]] = {}
    for line in render(cluster, "secret")["slurm.conf"].text.splitlines():
        if line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def test_the_shipped_layout() -> None:
    conf = slurm_conf(cluster_of(SHIPPED))
    assert [line.split()[0] for line in conf["NodeName"]] == ["node01", "node02", "node03"]
    assert "NodeAddr=10.77.0.11" in conf["NodeName"][0]
    assert "Gres=gpu:v100:4" in conf["NodeName"][1]
    assert "Gres" not in conf["NodeName"][2]
    assert conf["PartitionName"][1].startswith("cpu Nodes=node03 Default=YES")
    assert conf["AccountingStorageTRES"] == ["gres/gpu,gres/gpu:v100"]
    assert conf["AccountingStoreFlags"] == ["job_comment,job_script"]
    assert conf["CommunicationParameters"] == ["NoInAddrAny,NoCtldInAddrAny"]
    assert "PrivateData" not in conf


def test_one_node_with_one_gpu_costs_a_line() -> None:
    cluster = cluster_of(ONE_NODE)
    conf = slurm_conf(cluster)
    assert len(conf["NodeName"]) == 1
    names = [line.split()[0] for line in conf["PartitionName"]]
    assert names == ["gpu", "debug"]
    assert "Default=YES" in conf["PartitionName"][0]
    gres = render(cluster, "secret")["gres.conf"].text
    assert gres == "NodeName=node01 Name=gpu Type=v100 File=/srv/x/demo/dev/nvidia0\n"
    assert [preset.name for preset in ONE_NODE.presets] == ["gpu", "two-gpus"]


def test_five_nodes_without_gpus_cost_a_line() -> None:
    cluster = cluster_of(FIVE_NODES)
    conf = slurm_conf(cluster)
    assert [line.split()[0] for line in conf["NodeName"]] == [f"node{n}" for n in range(1, 6)]
    assert not {"GresTypes", "AccountingStorageTRES"} & set(conf)
    assert [line.split()[0] for line in conf["PartitionName"]] == ["cpu", "debug"]
    assert render(cluster, "secret")["gres.conf"].text == ""
    assert [preset.name for preset in FIVE_NODES.presets] == ["cpu"]
    settings = portal_settings(cluster, with_pages=False)
    assert "default_gpu_partition" not in settings
    assert "notice" not in settings


def test_loopback_gives_each_slurmd_its_port_and_srun_a_way() -> None:
    cluster = cluster_of(SHIPPED, "loopback")
    conf = slurm_conf(cluster)
    assert conf["CommunicationParameters"] == ["NoCtldInAddrAny"]
    ports = [line.split("Port=")[1].split()[0] for line in conf["NodeName"]]
    assert ports == ["17001", "17002", "17003"]
    assert all("NodeAddr=127.0.0.1 " in line for line in conf["NodeName"])
    assert conf["SlurmctldHost"] == ["head(127.77.0.1)"]


def test_fallbacks() -> None:
    cluster = cluster_of(SHIPPED, cgroups=0, mknod=False, fuse="none")
    conf = slurm_conf(cluster)
    assert conf["ProctrackType"] == ["proctrack/linuxproc"]
    assert conf["TaskPlugin"] == ["task/none"]
    assert conf["JobAcctGatherParams"] == ["OverMemoryKill"]
    files = render(cluster, "secret")
    assert "Constrain" not in files["cgroup.conf"].text
    assert "File=/dev/tty[60-63]" in files["gres.conf"].text
    assert node_config(cluster, 0)["private_fuse"] is False


def cgroup_conf(cluster: Cluster) -> dict[str, str]:
    lines = render(cluster, "secret")["cgroup.conf"].text.split()
    return dict(line.split("=") for line in lines)


def test_each_version_of_cgroups_confines() -> None:
    older, newer = (cgroup_conf(cluster_of(SHIPPED, cgroups=version)) for version in (1, 2))
    assert (older["CgroupPlugin"], newer["CgroupPlugin"]) == ("cgroup/v1", "cgroup/v2")
    assert (older.get("IgnoreSystemd"), newer["IgnoreSystemd"]) == (None, "yes")
    for conf in (older, newer):
        assert (conf["ConstrainDevices"], conf["ConstrainRAMSpace"]) == ("yes", "yes")
        assert conf["ConstrainCores"] == "no"
    assert cgroup_conf(cluster_of(SHIPPED, cgroups=2, cores=True))["ConstrainCores"] == "yes"


def test_the_folders_of_ended_jobs_are_removed_in_version_2() -> None:
    assert slurm_conf(cluster_of(SHIPPED, cgroups=2))["Epilog"] == [f"{STATE}/etc/epilog"]
    assert "Epilog" not in slurm_conf(cluster_of(SHIPPED, cgroups=1))


def test_description_lists_what_is_confined_with_reasons() -> None:
    assert describe(cluster_of(SHIPPED, cgroups=2)) == [
        "jobs' GPUs: confined (cgroups v2)",
        "jobs' memory: confined (cgroups v2)",
        "jobs' cores: not confined (a node claims 32 cores, this machine has fewer)",
    ]
    assert describe(cluster_of(FIVE_NODES, cgroups=1, cores=True)) == [
        "jobs' memory: confined (cgroups v1)",
        "jobs' cores: confined (cgroups v1)",
    ]
    refused = cluster_of(SHIPPED, cgroups=0, no_cgroups="read-only")
    assert [item.confined for item in assess(refused)] == [False, False, False]
    assert all("no cgroups: read-only" in line for line in describe(refused))


def test_secrets_are_in_closed_files_only() -> None:
    cluster = cluster_of(SHIPPED)
    files = render(cluster, "the-nslcd-password") | render_portal(cluster, with_pages=True)
    holders = {name for name, file in files.items() if "the-nslcd-password" in file.text}
    assert holders == {"nslcd.conf"}
    assert files["nslcd.conf"].mode == 0o600
    assert files["slurmdbd.conf"].mode == 0o600
    assert files["slurmdbd.conf"].owner == "slurm"


def test_sudo_reaches_the_launcher_never_as_root_and_root_only_for_homes() -> None:
    rule = render(cluster_of(SHIPPED), "secret")["sudoers.d/portal"]
    assert rule.mode == 0o440
    assert 'PORTAL_LAUNCHER = /srv/x/demo/libexec/launcher ""' in rule.text
    assert "PORTAL_HOMES = /srv/x/demo/libexec/home-directory\n" in rule.text
    assert [line for line in rule.text.splitlines() if line.startswith("portal ")] == [
        "portal ALL=(%portal-users, !#0) NOPASSWD:NOSETENV: PORTAL_LAUNCHER",
        "portal ALL=(root) NOPASSWD:NOSETENV: PORTAL_HOMES",
    ]


def test_directory_content() -> None:
    hashes = dict.fromkeys(("cn=portal", "cn=nslcd"), "{CRYPT}x")
    hashes |= {user.name: f"{{CRYPT}}{user.name}" for user in SHIPPED.users}
    ldif = base_ldif(cluster_of(SHIPPED), hashes)
    entries = {entry.splitlines()[0]: entry for entry in ldif.split("\n\n")}
    dave = entries["dn: uid=dave,ou=people,dc=portal,dc=test"]
    assert "pwdAccountLockedTime: 000001010000Z" in dave
    assert ldif.count("pwdAccountLockedTime") == 1
    everyone = entries["dn: cn=portal-users,ou=groups,dc=portal,dc=test"]
    assert [line for line in everyone.splitlines() if line.startswith("memberUid")] == [
        f"memberUid: {name}" for name in ("alice", "bob", "carol", "dave")
    ]
    admins = entries["dn: cn=portal-admins,ou=groups,dc=portal,dc=test"]
    assert "memberUid: carol" in admins
    assert "memberUid: alice" not in admins
    assert "homeDirectory: /srv/x/demo/home/alice" in ldif


def test_only_what_the_tree_lacks_is_added_to_it() -> None:
    wanted = "dn: ou=a\nou: a\n\ndn: ou=b\nou: b\n"
    assert directory.absent(wanted, "dn: ou=a\nou: a\nentryUUID: 1\n") == "dn: ou=b\nou: b\n\n"
    assert directory.absent(wanted, "dn: ou=b\n\ndn: ou=a\n") == ""


def test_service_accounts_are_added_once() -> None:
    machine = {
        "passwd": "root:x:0:0::/root:/bin/sh\nportal:x:1:1::/old:/bin/sh\n",
        "shadow": "root:*:1::::::\n",
        "group": "root:x:0:\n",
    }
    files = private_accounts(cluster_of(SHIPPED), machine)
    lines = files["passwd"].text.splitlines()
    assert lines[0] == "root:x:0:0::/root:/bin/sh"
    assert [line for line in lines if line.startswith("portal:")] == [
        "portal:x:19001:19001::/srv/x/demo/portal:/usr/sbin/nologin"
    ]
    assert "portalhub:!:" in files["shadow"].text  # no password is valid
    assert files["shadow"].mode == 0o600


def test_accounts_and_limits() -> None:
    lines = accounting.commands(SHIPPED)
    assert "add user alice account=research,teaching defaultaccount=research" in lines
    assert "add user portal account=root adminlevel=Operator" in lines
    assert "modify account teaching set GrpTRES=gres/gpu=2" in accounting.limit_commands(SHIPPED)
    assert {"teaching||gres/gpu=2", "teaching|alice|"} <= set(accounting.expected(SHIPPED))


def test_portal_and_hub_settings_agree() -> None:
    cluster = cluster_of(SHIPPED)
    portal = portal_settings(cluster, with_pages=True)
    hub = hub_settings(cluster)
    assert portal["hub_url"] == hub["hub_bind_url"]
    assert hub["portal_url"] == f"http://{portal['listen_host']}:{portal['listen_port']}"
    assert portal["public_url"] == hub["public_url"] == "http://127.0.0.1:8000"
    assert portal["node_url"] == hub["node_url"] == "http://10.77.0.1:8010"
    assert portal["default_gpu_partition"] == "gpu"
    assert portal["service_partition"] == "cpu"


def test_toml_is_read_back_as_it_was_meant() -> None:
    values = {
        "text": 'a "quoted" \\ line\nand more',
        "flag": True,
        "number": 3,
        "list": ["a", "b"],
        "tables": [{"name": "x", "resources": {"gpus": 1, "cpus": 2}}],
    }
    assert tomllib.loads(toml(values)) == values


def test_services_survive_their_file(tmp_path: Path) -> None:
    cluster = cluster_of(SHIPPED)
    users: dict[str, User] = dict.fromkeys(("munge", "mysql", "slurm", "www-data"), (7, 7, (7, 8)))
    users |= dict.fromkeys(("portal", "portalhub"), (9, 9, ()))
    specs = [*base_services(cluster, users), *portal_services(cluster, users)]
    specs += slurmd(cluster, "node01")
    file = tmp_path / "services.json"
    file.write_text(dump_specs(specs))
    assert load_specs(file) == specs
    by_name = {spec.name: spec for spec in specs}
    assert by_name["portal"].user == (9, 9, ())
    assert by_name["slurmdbd"].user == (7, 7, (7, 8))
    assert not by_name["slurmd"].kill_group  # jobs continue without it
    secretive = json.dumps([spec.argv for spec in specs])
    assert "password" not in secretive
    assert "token" not in secretive


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("node03", ("node03",)),
        ("n[8-11]", ("n8", "n9", "n10", "n11")),
        ("gpu-[01-02]", ("gpu-01", "gpu-02")),
    ],
)
def test_host_lists(names: str, expected: tuple[str, ...]) -> None:
    assert expand(names) == expected


@pytest.mark.parametrize("names", ["", "Node", "node[3-1]", "node[a-b]", "node 1", "node[1-2]x"])
def test_bad_host_lists(names: str) -> None:
    with pytest.raises(LayoutError):
        expand(names)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('names = "node03"', 'names = "node01"', "node names must differ"),
        ("uid = 20002", "uid = 20001", "uids must differ"),
        ('accounts = ["research"]', 'accounts = ["physics"]', "unknown account"),
        ('groups = ["portal-admins"]', 'groups = ["wheel"]', "unknown group"),
        ('nodes = "cpu"', 'nodes = "tpu"', "one of all, gpu, cpu"),
        ('name = "bob"', 'name = "Bob;"', "names must match"),
        ("10.77.0.0/24", "10.77.0.0/16", "must be a /24"),
        ("sockets = 2", "socket = 2", "lacks or mistypes"),
    ],
)
def test_a_description_that_contradicts_itself(old: str, new: str, words: str) -> None:
    assert old in DESCRIPTION
    with pytest.raises(LayoutError, match=words):
        parse_layout(DESCRIPTION.replace(old, new))


def test_a_taken_subnet_gives_way_and_the_choice_is_kept() -> None:
    busy = UsedAddresses(networks=frozenset({"10.77.0.0/24", "10.77.1.0/24", "192.168.0.0/16"}))
    first = choose(SHIPPED, "veth", busy, None)
    assert first.subnet == "10.77.2.0/24"
    assert (first.head, first.node(0)) == ("10.77.2.1", "10.77.2.11")
    # also once the other clusters are gone
    assert choose(SHIPPED, "veth", UsedAddresses(), first) == first
    wide = choose(SHIPPED, "veth", UsedAddresses(networks=frozenset({"10.77.0.0/17"})), None)
    assert wide.subnet == "10.77.128.0/24"
    with pytest.raises(NothingFreeError):
        choose(SHIPPED, "veth", UsedAddresses(networks=frozenset({"10.0.0.0/8"})), None)


def test_a_taken_port_gives_way_and_the_choice_is_kept() -> None:
    busy = UsedAddresses(
        listeners=frozenset({Listener("127.0.0.1", 8000), Listener(EVERYWHERE, 8001)})
    )
    first = choose(SHIPPED, "veth", busy, None)
    # 8010, 8020 and 8030 are taken by this cluster itself
    assert first.base_url == "http://127.0.0.1:8040"
    assert first.ports["portal"] == 8011
    assert first.ports["ldap"] == 389
    again = choose(SHIPPED, "veth", UsedAddresses(), first)
    assert again == first
    lost = UsedAddresses(listeners=frozenset({Listener("127.0.0.1", 8040)}))
    assert choose(SHIPPED, "veth", lost, first).ports["public"] == 8050


def test_two_clusters_side_by_side_share_nothing() -> None:
    for mode in ("veth", "loopback"):
        one = choose(SHIPPED, mode, UsedAddresses(), None)
        two = choose(SHIPPED, mode, UsedAddresses(frozenset({one.subnet}), one.listeners()), None)
        assert one.subnet != two.subnet
        assert not one.listeners() & two.listeners()


def test_mariadb_writes_only_below_the_state_folder() -> None:
    """In /tmp, two clusters' temporary tables have the same names."""
    lines = render(cluster_of(SHIPPED), "secret")["my.cnf"].text.splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    for key in ("datadir", "tmpdir", "socket", "pid-file"):
        assert Path(values[key]).is_relative_to(STATE)


def test_a_change_of_mode_forgets_the_other_modes_addresses() -> None:
    veth = choose(SHIPPED, "veth", UsedAddresses(), None)
    assert choose(SHIPPED, "loopback", UsedAddresses(), veth).subnet == "127.77.0.0/24"


def test_ports_are_free_by_address() -> None:
    there = {Listener("10.0.0.1", 389), Listener(EVERYWHERE, 22)}
    assert is_free(389, "10.0.0.2", there)
    assert not is_free(389, "10.0.0.1", there)
    assert not is_free(22, "10.0.0.2", there)
    assert not is_free(389, EVERYWHERE, there)


def test_addresses_survive_their_file() -> None:
    chosen = choose(SHIPPED, "loopback", UsedAddresses(), None)
    assert loads(dumps(chosen)) == chosen
    assert isinstance(loads(dumps(chosen)), Addresses)


def test_proc_net_tcp() -> None:
    head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n"
    listening = "   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 0 0 0 1\n"
    connected = "   1: 0100007F:1F41 0100007F:9999 01 00000000:00000000 00:00000000 0 0 0 1\n"
    six = "   0: 00000000000000000000000000000000:0016 0:0 0A 0:0 00:0 0 0 0 1\n"
    assert parse_proc_net_tcp(head + listening + connected) == {Listener("127.0.0.1", 8000)}
    assert parse_proc_net_tcp(head + six) == {Listener(EVERYWHERE, 22)}


def test_another_release_s_slurm_is_mounted_over_the_machine_s() -> None:
    own = head_binds(cluster_of(SHIPPED))
    added = [bind for bind in head_binds(cluster_of(SHIPPED, slurm="/x")) if bind not in own]
    assert ("/x/usr/bin/srun", "/usr/bin/srun") in added
    assert ("/x/usr/sbin/slurmstepd-wlm", "/usr/sbin/slurmstepd-wlm") in added
    assert {source for source, _ in added} == {f"/x{target}" for _, target in added}
    assert not [target for _, target in own if target.startswith("/usr")]


def test_the_modules_are_those_that_the_site_s_environment_names(tmp_path: Path) -> None:
    cluster = cluster_of(SHIPPED)
    files = render_modules(cluster)
    folder = files["modulespath"].text.strip()
    assert folder == f"{STATE}/etc/modules"
    assert (str(STATE / "etc" / "modulespath"), "/etc/lmod/modulespath") in head_binds(cluster)
    shown = {name.removeprefix("modules/").removesuffix(".lua") for name in files}
    assert {"python/3.11", "threads/1.0"} <= shown
    assert f'"{STATE.parent}/science/bin"' in files["modules/python/3.11.lua"].text
    found = {}
    for name, file in render_catalog(cluster).items():
        path = tmp_path / Path(name).name
        path.write_text(file.text)
        found[path.stem] = load_environment(path, CatalogFolders((tmp_path,), modules_init=INIT))
    assert found["science"].runtime == Modules(("python/3.11", "threads/1.0"), INIT)
    assert found["science_venv"].runtime == Virtualenv(STATE.parent / "science")
    assert str(INIT) in render_portal(cluster, with_pages=False)["portal.toml"].text


@pytest.mark.parametrize("mode", ["veth", "loopback"])
def test_the_portal_can_read_the_table_of_nodes(mode: str) -> None:
    cluster = cluster_of(SHIPPED)
    addresses = replace(cluster.addresses, mode=mode)
    table = parse_yaml(node_table(replace(cluster, addresses=addresses)))
    assert table.problems == ()
    assert list(table.nodes) == [node.name for node in cluster.layout.nodes]
    assert (table.nodes["node01"].in_band is None) == (mode == "loopback")

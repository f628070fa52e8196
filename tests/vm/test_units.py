"""docs/install.md, steps 5 to 8, with the systemd of a stock Debian 12; then a boot.

The machine is the submit host of the demo's Slurm. The tests build on each other, and on
test_demo's machine. Steps 3 and 4, which use PyPI, are replaced by the results of `make prepare`.
"""

from __future__ import annotations

import json
import re
import shlex

import pytest

from cluster.config.description import parse_layout
from tests.install.document import DOCUMENT, Block, blocks
from tests.vm.image import CHECKOUT
from tests.vm.stock import Stock
from tests.vm.test_demo import running

STEPS = [
    block
    for block in blocks(DOCUMENT.read_text(encoding="utf-8"))
    if re.match(r"[5-8]\. ", block.heading)
]
UNITS = ("portal.service", "portal-hub.service", "portal-nginx.service", "portal.socket")
# A unit that failed at first is restarted after three seconds; the boot does not wait for it.
ALL_ACTIVE = f"""
for attempt in $(seq 60); do
    [ "$(systemctl is-active {" ".join(UNITS)} | sort -u)" = active ] && exit
    sleep 1
done
systemctl --no-pager --full status {" ".join(UNITS)}
exit 1
"""
URL = "http://127.0.0.1"
APP, SHARED = "/opt/portal-app-1", "/opt/portal"
PORTAL_CONFIG = "/etc/portal/portal.toml"

# A submit host: the cluster's users, Slurm's commands, and the two accounts of step 2 with the uids
# under which this cluster has them.
SUBMIT_HOST = """
cp {etc}/nslcd.conf /etc/nslcd.conf
cp {etc}/nsswitch.conf /etc/nsswitch.conf
systemctl restart nslcd
mkdir -p /etc/slurm
ln -sf {etc}/slurm.conf /etc/slurm/slurm.conf
cat {etc}/hosts | tail -n +3 >> /etc/hosts
until id alice; do sleep 0.2; done
account() {{ useradd --system --user-group --uid $2 --home-dir $3 -s /usr/sbin/nologin $1; }}
account portal {portal} /var/lib/portal
account portalhub {hub} /var/lib/portal-hub
sinfo
"""
# steps 3 and 4
PACKAGE = """
umask 022
python3 -m venv --without-pip {app}
cp -a {state}/venv/lib/python3.*/site-packages/. {app}/lib/python3.*/site-packages/
{app}/bin/python -m pip install --quiet --no-deps --no-index \
  {state}/wheel/data_scientist_portal-*.whl
ln -sf {app}/bin/portal /usr/local/bin/portal
mkdir -p {shared}/images
cp -a {state}/runtime/. {shared}/runtime
cp -a {state}/images/. {shared}/images
cp -a {app}/lib/python3.*/site-packages/spawner {shared}/runtime/lib/python3.*/site-packages/
"""
# a session with a GPU that continues while the portal restarts
SESSION = """
import asyncio, subprocess, sys
sys.path.insert(0, {checkout!r})
from cluster.client import Client

async def main():
    async with Client({url!r}) as alice:
        await alice.login("alice", sys.argv[1])
        resources = {{"gpus": 1, "cpus": 2, "memory_gb": 2, "time_limit_minutes": 30}}
        made = await alice.start_session(name="first", resources=resources)
        session = await alice.wait_session(made["id"], "running", "ended", timeout_s=600)
        assert session["state"] == "running", session
        await alice.open_lab(session)
        async with alice.kernel(session) as kernel:
            done = await kernel.run("import os; print(os.environ['CUDA_VISIBLE_DEVICES'])", 600)
        assert (done.status, done.text) == ("ok", "0\\n"), done
        subprocess.run(["systemctl", "restart", "portal"], check=True)
        async with alice.kernel(session) as kernel:
            done = await kernel.run("print('goes on')", 600)
        assert done.text == "goes on\\n", done
        await alice.stop_session(made["id"], timeout_s=600)

asyncio.run(main())
"""


def shell(stock: Stock, text: str) -> str:
    """Run commands of the document in a root terminal."""
    values = {
        "APP": APP,
        "SHARED": SHARED,
        "PORTAL_NAME": "portal.example.org",
        "PORTAL_CONFIG": PORTAL_CONFIG,
        "ME": "alice",
        **_directory(stock),
    }
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())
    return stock.guest.shell(f"umask 022\n{exports}{text}")


def _directory(stock: Stock) -> dict[str, str]:
    known = stock.status()["ldap"]
    return {
        "LDAP_URL": known["ldaps_url"],
        "LDAP_CA": known["ca_file"],
        "LDAP_BIND_DN": f"cn=portal,ou=services,{known['suffix']}",
    }


def wait_until_served(stock: Stock) -> None:
    ask = f"import urllib.request as r; r.urlopen('{URL}/healthz', timeout=10)"
    stock.guest.run(f'until python3 -c "{ask}" 2>/dev/null; do sleep 0.5; done')


def test_a_submit_host_of_the_cluster(stock: Stock) -> None:
    stock.cluster("up", "--only-slurm")
    text = (CHECKOUT / "cluster/cluster.toml").read_text(encoding="utf-8")
    accounts = {own.name: own.uid for own in parse_layout(text).service_accounts}
    stock.guest.run(
        SUBMIT_HOST.format(
            etc=stock.demo / "etc", portal=accounts["portal"], hub=accounts["portalhub"]
        )
    )
    stock.guest.run(PACKAGE.format(app=APP, state=stock.state, shared=SHARED))


@pytest.mark.parametrize("block", STEPS, ids=lambda block: f"{block.heading}-{block.name}")
def test_step(stock: Stock, block: Block) -> None:
    """Run each step in order, unchanged; step 8 reports no problems."""
    if block.name == "password":
        secret = stock.demo / "etc/ldap-portal-password"
        shell(stock, f"({block.text}) < {secret}")
        return
    printed = shell(stock, block.text)
    if "portal init" in block.text:
        _decide(stock)
    if block.name == "systemd":
        wait_until_served(stock)
    if "portal check" in block.text:
        assert "FAILED" not in printed, printed
        assert "job as alice" in printed


def _decide(stock: Stock) -> None:
    """Set the lines of step 5's table that need a decision."""
    decided = {
        "public_url": URL,
        "notebook_url": f"{URL}:8443",
        "tensorboard_url": f"{URL}:8444",
        "node_url": f"http://{stock.status()['head']}:8002",
        "runtime_dir": f"{SHARED}/runtime",
        "ldap_user_groups": ["portal-users"],
        "ldap_admin_groups": ["portal-admins"],
        "min_uid": 20000,
    }
    text = stock.guest.shell(f"cat {PORTAL_CONFIG}")
    for name in decided:
        text = re.sub(rf"(?m)^{name} = .*\n", "", text)
    head = "".join(f"{name} = {json.dumps(value)}\n" for name, value in decided.items())
    stock.guest.run(f"cat > {PORTAL_CONFIG} <<'EOF_SETTINGS'\n{head}{text}\nEOF_SETTINGS")


def test_a_session_goes_on_while_the_portal_is_restarted(stock: Stock) -> None:
    program = SESSION.format(checkout=str(CHECKOUT), url=URL)
    password = json.loads(stock.cluster("credentials").output)["users"]["alice"]
    words = [f"{stock.state}/dev/bin/python", "-c", program, password]
    done = stock.in_checkout(words, check=False)
    assert done.code == 0, done.output + done.errors


def test_the_units_are_sound(stock: Stock) -> None:
    states = stock.guest.shell(f"systemctl is-active {' '.join(UNITS)} portal-backup.timer")
    assert set(states.split()) == {"active"}
    assert "portal" not in stock.guest.shell("systemctl --failed --no-legend --plain || true")
    stock.guest.run("systemctl start portal-backup.service")
    found = stock.guest.shell("stat -c '%U %a' /var/backups/portal/*")
    assert found == "portal 600\n"


def test_a_boot_starts_the_portal_and_nothing_of_what_was_prepared(stock: Stock) -> None:
    stock.guest.run("rm /etc/slurm/slurm.conf")  # it is on the disk that is mounted manually
    stock.guest.reboot()
    assert running(stock) == []
    # The cluster was cut off: its cgroups, its bridge and its processes ended with the kernel. The
    # portal's nginx tries again until it has the address of node_url, which is the bridge's.
    stock.attach()
    stock.cluster("up", "--only-slurm")
    wait_until_served(stock)  # on port 80, which Debian's nginx would have taken
    stock.guest.run(ALL_ACTIVE)


def test_the_cluster_works_after_the_boot(stock: Stock) -> None:
    where = stock.cluster("exec", "--user", "alice", "--", "srun", "-p", "gpu", "hostname").output
    assert where.startswith("node")
    stock.cluster("down")

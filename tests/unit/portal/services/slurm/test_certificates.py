"""The certificates issued per program, and connections to rows that have one."""

import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from cryptography import x509
from jupyterhub.spawner import SpawnException

from portal.context import AppContext
from portal.errors import InvalidInput, Unavailable
from portal.models import Session, Tensorboard
from portal.node_ca import open_ca
from portal.services.sessions.servers import build_url
from portal.services.slurm import certificates
from spawner.jupyterhub.internal_client import InternalResponse
from spawner.jupyterhub.spawner import build_server_url
from spawner.node.identity import NodeIdentity
from spawner.slurm.model import JobInfo, JobPhase
from tests.unit.portal.test_node_ca import settings

NAME = "s.session.portal.internal"
INFO = JobInfo(job_id=1, user="alice", name="s1", phase=JobPhase.RUNNING, slurm_state="RUNNING")
HUB = "http://127.0.0.1:8081/hub/"


def context(folder: Path, **changes: Any) -> AppContext:
    chosen = settings(folder, **changes)
    return cast(AppContext, SimpleNamespace(settings=chosen, node_ca=open_ca(chosen)))


def end_of(certificate: str | None) -> datetime:
    assert certificate is not None
    return x509.load_pem_x509_certificate(certificate.encode()).not_valid_after_utc


def near(found: datetime, expected: datetime) -> bool:
    return abs(found - expected) < timedelta(minutes=10)


def test_names_are_of_the_session_and_of_the_run() -> None:
    assert certificates.derive_name(Session(id="s")) == "s.session.portal.internal"
    board = Tensorboard(id="b", run_id="r")
    assert certificates.derive_name(board) == "r.tensorboard.portal.internal"


def test_it_is_good_for_as_long_as_the_job_may_take_and_an_hour_more(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    info = dataclasses.replace(INFO, start_time=now, time_limit_minutes=240)
    end = end_of(certificates.issue_first(context(tmp_path), NAME, NodeIdentity().request, info))
    assert near(end, now + timedelta(hours=5))


@pytest.mark.parametrize("minutes", [None, 60 * 24 * 365])
def test_it_is_never_good_for_long(tmp_path: Path, minutes: int | None) -> None:
    now = datetime.now(UTC)
    info = dataclasses.replace(INFO, start_time=now, time_limit_minutes=minutes)
    end = end_of(certificates.issue_first(context(tmp_path), NAME, NodeIdentity().request, info))
    assert near(end, now + timedelta(days=7, hours=1))


def test_none_for_who_asks_for_none_and_where_none_is_wanted(tmp_path: Path) -> None:
    assert certificates.issue_first(context(tmp_path), NAME, None, INFO) is None
    off = context(tmp_path, node_tls=False)
    assert certificates.issue_first(off, NAME, NodeIdentity().request, INFO) is None
    # certificates that end soon are still renewed: running programs keep using TLS
    assert certificates.sign(off, NAME, NodeIdentity().request, INFO)


def test_what_is_no_request_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        certificates.issue_first(context(tmp_path), NAME, "nonsense", INFO)


def test_a_row_with_a_name_is_never_spoken_to_in_the_clear(tmp_path: Path) -> None:
    there = context(tmp_path)
    assert there.node_ca is not None
    assert certificates.build_connect_arguments(there, None) == {}
    assert certificates.build_connect_arguments(there, NAME) == {
        "ssl": there.node_ca.context,
        "server_hostname": NAME,
    }
    (tmp_path / "lost").mkdir()
    with pytest.raises(Unavailable):
        certificates.build_connect_arguments(context(tmp_path / "lost", node_tls=False), NAME)


def test_the_hub_looks_at_a_plain_server_and_at_itself_for_one_that_proves_its_name() -> None:
    plain = Session(id="s", target_host="10.77.0.11", target_port=40123)
    proven = Session(id="s", target_host="10.77.0.11", target_port=40123, tls_name=NAME)
    assert build_url(plain) == "http://10.77.0.11:40123"
    assert build_url(proven) == "https://10.77.0.11:40123"
    assert (
        build_server_url(InternalResponse(200, {"url": build_url(plain)}), HUB)
        == "http://10.77.0.11:40123"
    )
    assert (
        build_server_url(InternalResponse(200, {"url": build_url(proven)}), HUB)
        == "http://127.0.0.1:8081"
    )
    for status, url in ((404, build_url(proven)), (200, "https://10.77.0.11"), (200, "ftp://x:1")):
        with pytest.raises(SpawnException):
            build_server_url(InternalResponse(status, {"url": url}), HUB)

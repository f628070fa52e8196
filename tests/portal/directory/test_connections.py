"""Limited or replicated servers: without a password policy, read-only replica, unique numbers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from portal.directory.connections import OpenConnection
from portal.directory.contract import Ability, Edit, NewDirectoryUser
from portal.directory.service import LdapDirectory
from portal.errors import DirectoryReadOnly, InvalidInput
from tests.servers.directory import WRITER_DN, OpenHere, content, without_policy
from tests.servers.slapd import PASSWORD, SUFFIX, Content, Slapd, running

pytest_plugins = ["tests.portal.directory_fixtures"]
pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def plain_slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    """A server without a password policy, where slapd itself keeps uid numbers unique."""
    with running(tmp_path_factory.mktemp("plain"), without_policy()) as slapd:
        yield slapd


@pytest.fixture
def plain(plain_slapd: Slapd, open_here: OpenHere) -> LdapDirectory:
    return open_here(ldap_urls=[plain_slapd.ldap_url], ldap_ca_file=plain_slapd.ca)


async def test_users_cannot_be_locked_without_a_policy(plain: LdapDirectory) -> None:
    able = await plain.capabilities()
    assert set(able.missing) == {Ability.LOCK, Ability.DISABLE}
    assert "ppolicy" in able.missing[Ability.LOCK]
    with pytest.raises(DirectoryReadOnly, match="password policy"):
        await plain.disable("alice")
    alice = await plain.find("alice")
    assert alice is not None
    assert not alice.locked


async def test_password_is_not_marked_one_time_without_a_policy(
    plain: LdapDirectory,
) -> None:
    made = await plain.create(NewDirectoryUser("ada", "Ada", "Example"))
    assert not made.password.must_change
    assert (await plain.authenticate("ada", made.password.password)).username == "ada"


async def test_a_policy_that_asks_for_no_change_is_noticed(directory: LdapDirectory) -> None:
    await directory.create(NewDirectoryUser("strictly", "Ada", "Example"))
    policy = f"cn=strict,ou=policies,{SUFFIX}"

    def give_policy(link: OpenConnection) -> None:
        link.bind_writer()
        dn = f"uid=strictly,ou=people,{SUFFIX}"
        change = {"pwdPolicySubentry": [("MODIFY_REPLACE", [policy])]}
        assert link.connection.modify(dn, change), link.result()

    directory.servers.use(give_policy)
    assert not (await directory.set_password("strictly")).must_change


async def test_numbers_that_slapd_refuses_are_stepped_over(
    plain: LdapDirectory, plain_slapd: Slapd, open_here: OpenHere
) -> None:
    """alice and bob, who have 20001 and 20002, are outside this portal's search base."""
    narrow = open_here(
        ldap_urls=[plain_slapd.ldap_url],
        ldap_ca_file=plain_slapd.ca,
        ldap_user_base=f"ou=more,ou=people,{SUFFIX}",
        ldap_uid_range=[20001, 20020],
    )
    made = await narrow.create(NewDirectoryUser("eve", "Eve", "Example"))
    assert made.entry.uid == 20003
    with pytest.raises(InvalidInput) as caught:
        await narrow.create(NewDirectoryUser("eva", "Eva", "Example", uid=20001))
    assert [error.field for error in caught.value.errors] == ["uid"]


@pytest.fixture(scope="module")
def replica(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    """A server with the same content that accepts no changes and is never synchronized."""
    whole = content()
    shadow = (
        'syncrepl rid=001 provider=ldap://127.0.0.1:9 type=refreshOnly retry="3600 +"\n'
        f'  searchbase="{SUFFIX}" bindmethod=simple\nupdateref ldap://127.0.0.1:9\n'
    )
    config = whole.config.replace("overlay ppolicy", f"{shadow}overlay ppolicy", 1)
    with running(tmp_path_factory.mktemp("replica"), Content(config, whole.ldif)) as slapd:
        yield slapd


async def test_a_replica_is_read_and_the_main_server_changed(
    replica: Slapd, directory_slapd: Slapd, open_here: OpenHere, tmp_path: Path
) -> None:
    ca = tmp_path / "both.pem"
    ca.write_text(replica.ca.read_text() + directory_slapd.ca.read_text())
    urls = [replica.ldap_url, directory_slapd.ldap_url]
    both = open_here(ldap_urls=urls, ldap_ca_file=ca)
    main = open_here()
    with capture_logs() as lines:
        made = await both.create(NewDirectoryUser("far", "Far", "Example"))
        assert (await both.authenticate("alice", PASSWORD)).username == "alice"
    assert not [line for line in lines if line["event"] == "directory server failed"]
    assert await main.find("far") == made.entry
    assert await both.find("far") is None  # the replica is used first


async def test_an_account_that_sees_less_edits_all_the_same(
    tmp_path_factory: pytest.TempPathFactory, open_here: OpenHere
) -> None:
    """Mail addresses are hidden from the account that searches, but not from the one that
    writes."""
    whole = without_policy()
    hidden = f'access to attrs=mail by dn.exact="{WRITER_DN}" write by * none\n'
    config = whole.config.replace("access to *\n", f"{hidden}access to *\n", 1)
    with running(tmp_path_factory.mktemp("hidden"), Content(config, whole.ldif)) as slapd:
        directory = open_here(ldap_urls=[slapd.ldap_url], ldap_ca_file=slapd.ca)
        alice = await directory.find("alice")
        assert alice is not None
        assert alice.email is None
        after = await directory.edit("alice", Edit(surname="Other"), alice.version)
        assert (await directory.edit("alice", Edit(), after.version)).surname == "Other"
        directory.close()


async def test_the_policies_that_lock_are_read(directory: LdapDirectory) -> None:
    found = {policy.policy.partition(",")[0]: policy for policy in await directory.lockouts()}
    assert found["cn=strict"].max_failures == 3
    assert found["cn=default"].forgets_after_s == 0
    assert "cn=grace" not in found

"""A slapd for tests of the directory client.

It has an account that writes, 2,000 users, and a tree in Active Directory's structure.
"""

from collections.abc import Callable

from portal.directory.service import LdapDirectory
from tests.servers.slapd import BASE, CONFIG, PASSWORD, SUFFIX, Content, user_entry

OpenHere = Callable[..., LdapDirectory]

WRITER_DN = f"cn=writer,{SUFFIX}"
WRITER_PASSWORD = "the-account-that-writes"
USERS_BASE = f"ou=people,{SUFFIX}"
GROUP_BASE = f"ou=groups,{SUFFIX}"
MANY_BASE = f"ou=many,{SUFFIX}"
AD_BASE = f"ou=ad,{SUFFIX}"
MANY = 2000

# slapd has no Active Directory schema: these are its names with numbers private to the tests
_AD_SCHEMA = """
attributetype ( 1.3.6.1.4.1.99999.1 NAME 'sAMAccountName'
  EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.99999.2 NAME 'memberOf' EQUALITY distinguishedNameMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.12 )
attributetype ( 1.3.6.1.4.1.99999.3 NAME 'userAccountControl' EQUALITY integerMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.99999.4 NAME 'lockoutTime' EQUALITY integerMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.99999.5 NAME 'pwdLastSet' EQUALITY integerMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.99999.6 NAME 'unixHomeDirectory' EQUALITY caseExactIA5Match
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.26 SINGLE-VALUE )
objectclass ( 1.3.6.1.4.1.99999.10 NAME 'user' SUP inetOrgPerson STRUCTURAL
  MAY ( sAMAccountName $ memberOf $ userAccountControl $ lockoutTime $ pwdLastSet $
  unixHomeDirectory $ uidNumber $ gidNumber $ loginShell ) )
objectclass ( 1.3.6.1.4.1.99999.11 NAME 'computer' SUP user STRUCTURAL )
objectclass ( 1.3.6.1.4.1.99999.12 NAME 'group' SUP top STRUCTURAL MUST cn
  MAY ( member $ memberOf $ sAMAccountName $ description $ gidNumber ) )
"""

_LIMITS = 'limits dn.exact="{service}" size=unlimited\n'
_ACCESS = f"""\
access to attrs=userPassword
  by dn.exact="{WRITER_DN}" write by self write by anonymous auth by * none
access to *
  by dn.exact="{WRITER_DN}" write by dn.exact="{{service}}" read by anonymous auth by * none
"""


def _config() -> str:
    text = CONFIG.replace("modulepath", f"{_AD_SCHEMA.strip()}\nmodulepath", 1)
    lines = [line for line in text.splitlines() if not line.startswith("access to")]
    at = lines.index("overlay ppolicy")
    index = "index objectClass,uid,uidNumber,gidNumber,memberUid,member,entryCSN eq"
    lines[at:at] = [index, *_LIMITS.splitlines(), *_ACCESS.splitlines()]
    return "\n".join(lines) + "\n"


def _unit(name: str) -> str:
    return f"\ndn: ou={name},{SUFFIX}\nobjectClass: organizationalUnit\nou: {name}\n"


def many(base: str) -> str:
    """Return LDIF of users whose names contain searchable words."""
    return "".join(
        f"\ndn: uid=p{n:04},{base}\nobjectClass: inetOrgPerson\nobjectClass: posixAccount\n"
        f"uid: p{n:04}\ncn: User {n:04}\nsn: {n:04}\nmail: p{n:04}@many.example\n"
        f"uidNumber: {40000 + n}\ngidNumber: 100\nhomeDirectory: /home/p{n:04}\n"
        for n in range(MANY)
    )


def writer() -> str:
    return (
        f"\ndn: {WRITER_DN}\nobjectClass: device\nobjectClass: simpleSecurityObject\n"
        f"cn: writer\nuserPassword: {WRITER_PASSWORD}\n"
    )


def _ad() -> str:
    """ada is in team, which is in lab, which is in team again and in site; bo is in lab."""
    memberships = {
        "ada": ["team"],
        "bo": ["lab"],
        "cy": [],
        "team": ["lab"],
        "lab": ["site", "team"],
    }
    units = "".join(
        f"\ndn: ou={name},{AD_BASE}\nobjectClass: organizationalUnit\nou: {name}\n"
        for name in ("staff", "roles")
    )
    dn = {name: f"cn={name.title()} Example,ou=staff,{AD_BASE}" for name in ("ada", "bo", "cy")} | {
        name: f"cn={name},ou=roles,{AD_BASE}" for name in ("team", "lab", "site", "empty")
    }
    text = f"\ndn: {AD_BASE}\nobjectClass: organizationalUnit\nou: ad\n{units}"
    states = {
        "ada": "userAccountControl: 512\nlockoutTime: 0\npwdLastSet: 133000000000000000\n",
        "bo": "userAccountControl: 514\nlockoutTime: 133000000000000000\npwdLastSet: 0\n",
        "cy": "",
    }
    for number, name in enumerate(("ada", "bo", "cy"), 60001):
        text += (
            f"\ndn: {dn[name]}\nobjectClass: user\ncn: {name.title()} Example\nsn: Example\n"
            f"sAMAccountName: {name.title()}\nmail: {name}@ad.example\nuidNumber: {number}\n"
            f"unixHomeDirectory: /home/{name}\nuserPassword: {PASSWORD}\n{states[name]}"
        )
        text += "".join(f"memberOf: {dn[group]}\n" for group in memberships[name])
    for name in ("team", "lab", "site", "empty"):
        text += f"\ndn: {dn[name]}\nobjectClass: group\ncn: {name}\n"
        text += "".join(f"memberOf: {dn[group]}\n" for group in memberships.get(name, []))
        inside = [member for member, groups in memberships.items() if name in groups]
        text += "".join(f"member: {dn[member]}\n" for member in inside)
    text += (
        f"\ndn: cn=node01,ou=staff,{AD_BASE}\nobjectClass: computer\ncn: node01\nsn: node01\n"
        "sAMAccountName: node01$\n"
    )
    return text


def content() -> Content:
    some = user_entry("alice", 20001) + user_entry("bob", 20002)
    units = _unit("many")
    return Content(_config(), BASE + writer() + some + units + many(MANY_BASE) + _ad())


def without_policy() -> Content:
    """Return a server without the ppolicy module, with slapd's unique overlay on uid numbers."""
    policy = ("ppolicy_", "moduleload ppolicy", "overlay ppolicy")
    lines = [line for line in _config().splitlines() if not line.startswith(policy)]
    at = lines.index("moduleload back_mdb")
    lines.insert(at + 1, "moduleload unique")
    unique = f"ldap:///{USERS_BASE}?uidNumber?sub"
    config = "\n".join([*lines, "overlay unique", f'unique_uri "{unique}"']) + "\n"
    entries = [block for block in BASE.split("\n\n") if "ou=policies" not in block]
    some = user_entry("alice", 20001) + user_entry("bob", 20002)
    return Content(config, "\n\n".join(entries) + writer() + some)

"""The LDAP directory: lookups, password checks, and changes to users and groups.

    contract                     the interface for the rest of the portal: types and protocols
                                 (`Directory` combines them); errors are in portal.errors
    service                      implementation of that interface, in threads
      login                      password checks and changes as the user
        password_policy          its responses, decoded
      lockout                    lockout policies
      reading, groups            users and groups in pages; group membership
      writing, states            changes to users, in OpenLDAP
      writing_groups             changes to groups
        checks, numbers          validation of new entries; allocation of uid and gid numbers
        changes                  multi-step changes, and a report of a partial failure
      connections                servers, TLS, fail-over
      entries                    one entry by its name
      mapping                    attributes to users, search words to filters
    discovery                    the layout of a directory, before there are settings

Only this package speaks LDAP. It decides nothing about roles and knows no database.
"""

from portal.directory.contract import Directory
from portal.directory.service import open_directory

__all__ = ["Directory", "open_directory"]

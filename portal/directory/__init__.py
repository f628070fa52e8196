"""The directory: who there is, whose password is right, and changes to people and groups.

    contract                     what the rest of the portal may ask: words, protocol, errors
    service                      that contract, in threads
      login                      passwords, as people use them
      reading, groups            people and groups in pages; who is in which group
      writing, states            changes of people, in OpenLDAP
      writing_groups             changes of groups
        checks, numbers          what may be new, and which number it gets
        changes                  one step after another, and what is left when one fails
      connections                servers, TLS, fail-over
      entries                    one entry by its name
      mapping                    attributes to people, words to filters
    discovery                    what a directory is like, before there are settings

Only this package talks LDAP. It decides nothing about roles and knows no database.
"""

from portal.directory.contract import Directory
from portal.directory.service import open_directory

__all__ = ["Directory", "open_directory"]

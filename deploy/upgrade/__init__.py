"""`portal upgrade`: an installation moves to a new version, or stays at the one it has.

docs/decisions/0031-upgrade.md describes the steps, and what a second run does after a kill.
"""


class UpgradeRefused(Exception):
    """The upgrade can't begin or a step failed: the reason, and what to do."""


class UpgradeIncomplete(UpgradeRefused):
    """The portal may not run, and the next run continues: the reason, and what to do."""

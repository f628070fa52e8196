"""The portal's folders below a user's home. Pure."""

from __future__ import annotations

from spawner.launcher.program import JOBS, PORTAL

UPLOADS = (*PORTAL, "uploads")
JOBS_FOLDER = "/".join(JOBS)
"""Parent of the jobs' own folders, which the launcher creates."""
PACKAGES_FOLDER = "/".join((*PORTAL, "packages"))

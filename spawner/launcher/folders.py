"""The portal's folders below a user's home. Pure.

Use only the standard library: `deploy.launcher` appends this file to spawner/launcher/program.py.
"""

from __future__ import annotations

PORTAL = (".local", "share", "portal")
JOBS = (*PORTAL, "jobs")
UPLOADS = (*PORTAL, "uploads")
JOBS_FOLDER = "/".join(JOBS)
"""Parent of the jobs' own folders, which the launcher creates."""
PACKAGES_FOLDER = "/".join((*PORTAL, "packages"))

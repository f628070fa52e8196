"""Patterns of names and ids that several programs check."""

from __future__ import annotations

import re

USERNAME = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
SESSION = re.compile(r"[a-z](?:[a-z0-9]|-(?=[a-z0-9])){0,29}")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
JOB_COMMENT = "portal:"
"""Prefix of the UUID in a job's comment."""

"""Patterns of names that several programs check."""

from __future__ import annotations

import re

USERNAME = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
SESSION = re.compile(r"[a-z](?:[a-z0-9]|-(?=[a-z0-9])){0,29}")

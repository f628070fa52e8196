"""The folders that tests read."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent
CHECKOUT = TESTS.parent

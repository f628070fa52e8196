"""The first line of a user's own script, as the kernel reads it."""

from __future__ import annotations

import pytest

from spawner.catalog.own_script import ScriptRefused, parse_script


@pytest.mark.parametrize(
    ("line", "interpreter"),
    [
        ("echo", ("/bin/bash",)),
        ("#!/bin/sh", ("/bin/sh",)),
        ("#! /bin/bash -l ", ("/bin/bash", "-l")),
        ("#!/bin/bash\t-l", ("/bin/bash", "-l")),
        ("#!\t/usr/bin/env \t -S python3 -u", ("/usr/bin/env", "-S python3 -u")),
    ],
)
def test_interpreter_ends_at_a_space_or_tab(line: str, interpreter: tuple[str, ...]) -> None:
    assert parse_script(f"{line}\nhostname\n", 1000).interpreter == interpreter


@pytest.mark.parametrize("line", ["#!", "#!bash", "#! -l"])
def test_interpreter_that_is_no_path_is_refused(line: str) -> None:
    with pytest.raises(ScriptRefused):
        parse_script(f"{line}\nhostname\n", 1000)

"""Texts of the portal on a terminal."""

import io

import pytest
from rich.console import Console

from client.output import Output


@pytest.mark.parametrize("name", ["[red]a.txt", "\\[/red]", "a[/]b", "[link=https://x.example]y"])
def test_transfer_shows_brackets_of_names_as_they_are(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = io.StringIO()
    output = Output(as_json=False)
    console = Console(file=shown, force_terminal=True, width=200, color_system=None)
    monkeypatch.setattr(output, "_err", console)
    with output.transfer(name, 10) as advance:
        advance(10)
    assert f"{name} " in shown.getvalue()

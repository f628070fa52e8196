"""The program's commands: help, completion and the exit codes of wrong usage."""

from pathlib import Path

import pytest

from client.app import main
from client.errors import ClientError, ExitCode

COMMANDS = {
    "login", "logout", "whoami", "run", "jobs", "logs", "cancel", "cp", "tensorboard", "sessions",
    "ssh", "ssh-config",
}  # fmt: skip


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == ExitCode.OK
    words = set(capsys.readouterr().out.replace("│", " ").split())
    assert words >= COMMANDS


def test_json_after_the_arguments_of_a_program_is_not_ours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("DSP_PORTAL", raising=False)
    assert main(["ssh", "s1", "--", "show", "--json"]) == ExitCode.USAGE
    assert capsys.readouterr().err.startswith("Error: ")


def test_commands_are_completed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_DSP_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "dsp lo")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert main([]) == ExitCode.OK
    assert capsys.readouterr().out.split() == ["login", "logout", "logs"]


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["jobs", "--limit", "0"], ["run", "--x"]])
def test_wrong_usage_has_its_own_exit_code(arguments: list[str]) -> None:
    assert main(arguments) == ExitCode.USAGE


def test_every_error_has_a_documented_exit_code() -> None:
    classes = ClientError.__subclasses__()
    assert len(classes) >= 6
    assert {error.code for error in classes} == set(ExitCode) - {
        ExitCode.OK,
        ExitCode.INTERNAL,
        ExitCode.INTERRUPTED,
    }

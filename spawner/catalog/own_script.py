"""Parser for a user's own batch script: its interpreter and its permitted #SBATCH lines.

Pure.

sbatch never reads the script itself: it is stored beside the portal's, which runs it. Options about
where and how to run are passed on; options for resources that the portal must know and limit are
refused rather than ignored, with a message that names the form's field for them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

FORWARDED = {
    "constraint": "C", "nodelist": "w", "exclude": "x", "begin": "b", "dependency": "d",
    "licenses": "L", "distribution": "m", "deadline": None, "gpu-bind": None, "gpu-freq": None,
    "cpu-freq": None, "hint": None, "mail-type": None, "mail-user": None, "nice": None,
    "reservation": None, "threads-per-core": None, "cores-per-socket": None, "tmp": None,
    "switches": None, "mem-bind": None, "ntasks-per-core": None,
}  # fmt: skip
"""The options that are passed on to sbatch, with their short form."""
# The options that have a field in the form, with the name of the field.
_FIELDS = {
    "partition": "partition", "nodes": "nodes", "gres": "gpus", "gpus": "gpus",
    "gpus-per-node": "gpus", "gpus-per-task": "gpus", "cpus-per-task": "cpus", "mem": "memory_gb",
    "mem-per-cpu": "memory_gb", "mem-per-gpu": "memory_gb", "time": "time_limit_minutes",
    "account": "account", "qos": "qos", "exclusive": "cpus", "ntasks": "cpus",
    "ntasks-per-node": "cpus", "cpus-per-gpu": "cpus",
}  # fmt: skip
SHORT = {letter: name for name, letter in FORWARDED.items() if letter} | {
    "p": "partition", "N": "nodes", "G": "gpus", "c": "cpus-per-task", "t": "time", "n": "ntasks",
    "A": "account", "q": "qos", "J": "job-name", "o": "output", "e": "error", "a": "array",
    "M": "clusters", "D": "chdir", "i": "input",
}  # fmt: skip
"""The options that have a short form, by that form."""
# The reasons why other options are refused.
_REASONS = {
    "output": "the portal saves and shows the script's output",
    "error": "the portal saves and shows the script's output",
    "job-name": "give the job its name in the form",
    "array": "use a template with an array",
    "chdir": "use cd in the script",
}


class ScriptRefused(ValueError):
    """The script cannot be submitted: the field of the request, and a sentence for its user."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


@dataclass(frozen=True)
class OwnScript:
    """Parsed script; `interpreter` is a command, to be followed by the script's path."""

    interpreter: tuple[str, ...]
    sbatch_lines: tuple[str, ...]


def parse_script(script: str, max_bytes: int) -> OwnScript:
    """Parse a script. Raises ScriptRefused if it cannot be run unchanged."""
    check_text(script, max_bytes)
    if "\r\n" in script:
        raise ScriptRefused(
            "script", "The script has Windows line endings (CR LF): save it with LF."
        )
    lines = script.split("\n")
    return OwnScript(_parse_interpreter(lines[0]), tuple(_sbatch_lines(lines)))


def check_text(script: str, max_bytes: int) -> None:
    """Raise ScriptRefused for text that is not a script: empty, binary or too long."""
    try:
        size = len(script.encode())
    except UnicodeEncodeError:
        raise ScriptRefused(
            "script", "The script contains text that can't be encoded in UTF-8."
        ) from None
    if size > max_bytes:
        raise ScriptRefused(
            "script",
            f"The script is {size // 1024} KiB; the limit is {max_bytes // 1024} KiB. Put long "
            "parts into files in your home directory, and refer to them.",
        )
    if not script.strip():
        raise ScriptRefused("script", "The script is empty.")
    if "\0" in script:
        raise ScriptRefused(
            "script", "The script contains a NUL character, so it is not a text file."
        )


def _parse_interpreter(line: str) -> tuple[str, ...]:
    """Parse the first line as the kernel does: a program, and the rest as one argument."""
    if not line.startswith("#!"):
        return ("/bin/bash",)
    program, *rest = re.split(r"[ \t]+", line[2:].strip(" \t"), maxsplit=1)
    if not program.startswith("/"):
        raise ScriptRefused("script", "Line 1: #! must be followed by a path, such as /bin/bash.")
    return (program, *rest)


def _sbatch_lines(lines: list[str]) -> Iterator[str]:
    """Yield the permitted lines before the first command, where sbatch looks for them."""
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            return
        if line.startswith("#SBATCH"):
            for name in _parse_options(number, line):
                _check_option(number, name)
            yield line


def parse_words(number: int, line: str) -> list[str]:
    """Return the words of an #SBATCH line. Raises ScriptRefused if sbatch may read it otherwise.

    sbatch splits words in the same way, except at a backslash, which it interprets even between
    single quotes, and at whitespace other than a space or tab.
    """
    odd = "\\" in line or any(char < " " and char != "\t" for char in line) or "\x7f" in line
    if odd:
        raise ScriptRefused(
            "script",
            f"Line {number}: #SBATCH lines can't have backslashes or control characters.",
        )
    try:
        return shlex.split(line[len("#SBATCH") :], comments=True)
    except ValueError as error:
        raise ScriptRefused("script", f"Line {number}: a quote isn't closed.") from error


def _parse_options(number: int, line: str) -> Iterator[str]:
    """Yield the names of the options."""
    words = parse_words(number, line)
    for index, word in enumerate(words):
        if word.startswith("--"):
            yield word[2:].partition("=")[0]
        elif word.startswith("-") and len(word) > 1:
            yield SHORT.get(word[1], word[1])
        elif index == 0 or not words[index - 1].startswith("-"):
            raise ScriptRefused(
                "script", f"Line {number}: {word[:40]!r} is not an option of sbatch."
            )


def _check_option(number: int, name: str) -> None:
    if name in FORWARDED:
        return
    if name in _FIELDS:
        why = f"set it in the job's resources instead ({_FIELDS[name]})"
    else:
        why = _REASONS.get(name, "the portal doesn't pass it on")
    raise ScriptRefused("script", f"Line {number}: --{name[:40]}: {why}.")

"""Which nginx this machine has: it reads what deploy/nginx.py renders. Standard library only."""

import re
import shutil
import subprocess

# From here on HTTP/2 is a directive of its own; as a word of `listen`, all that nginx knew before,
# it draws a warning.
HTTP2_DIRECTIVE = (1, 25, 1)
_VERSION = re.compile(r"\bnginx/(\d+)\.(\d+)\.(\d+)")


def program() -> str | None:
    """Where it is; an account's PATH may be without it."""
    return shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")


def version_here() -> tuple[int, ...]:
    """Its version; () where there is none, or it doesn't say. Raises OSError."""
    found = program()
    if found is None:
        return ()
    done = subprocess.run([found, "-v"], capture_output=True, text=True, check=False)
    return version_in(done.stderr)


def version_in(said: str) -> tuple[int, ...]:
    """In what `nginx -v` prints; what is built from nginx has other names and numbers there."""
    match = _VERSION.search(said)
    return tuple(int(number) for number in match.groups()) if match else ()

"""The machine's nginx program and its version, for deploy/nginx.py. Standard library only."""

import re
import shutil
import subprocess

# From this version on HTTP/2 has a directive of its own; `http2` as a parameter of `listen`, which
# older versions require, causes a warning.
HTTP2_DIRECTIVE = (1, 25, 1)
_VERSION = re.compile(r"\bnginx/(\d+)\.(\d+)\.(\d+)")


def program() -> str | None:
    """Return nginx's path. The search path is fixed, because an account's PATH may lack
    /usr/sbin."""
    return shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")


def version_here() -> tuple[int, ...]:
    """Return nginx's version; () if there is none, or it cannot be parsed. Raises OSError."""
    path = program()
    if path is None:
        return ()
    done = subprocess.run([path, "-v"], capture_output=True, text=True, check=False)
    return version_in(done.stderr)


def version_in(output: str) -> tuple[int, ...]:
    """Parse the output of `nginx -v`; () for forks, which print other names and numbers."""
    match = _VERSION.search(output)
    return tuple(int(number) for number in match.groups()) if match else ()

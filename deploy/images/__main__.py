"""Builds of the catalog's images: `python3 -m deploy.images build [NAME…] --out FOLDER`.

Standard library only, run as root. No registry is used: an image is a minimal Debian from the
machine's own mirrors, plus packages installed by pip, packed for Apptainer. It is stored in the
folder as NAME-HASH.sif, with NAME.sif as a link to it. The hash is that of the definition, so
existing images are not rebuilt, and a session that runs in an older image keeps it. Where FUSE is
refused, image files cannot be mounted, so the same name refers to a folder, which Apptainer runs as
well.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from deploy.images.builder import Build
from deploy.images.definition import DEFINITIONS, Definition, DefinitionError, load
from deploy.images.programs import BuildError, Programs

_JOBS = min(2, os.cpu_count() or 1)
_NEEDED = ("mmdebstrap", "apptainer", "mksquashfs", "unshare", "setpriv")


def build(definitions: Sequence[Definition], out: Path, jobs: int) -> list[str]:
    """Build missing images, `jobs` at a time. Return a message for each failure."""
    out.mkdir(parents=True, exist_ok=True)
    programs = Programs()
    failed: list[str] = []

    def build_one(definition: Definition) -> None:
        try:
            Build(definition, out, programs).run()
        except (BuildError, OSError) as error:
            failed.append(f"image {definition.name}: {error}")

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: programs.stop())
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(build_one, definitions))
    return failed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python3 -m deploy.images", description=__doc__)
    parser.add_argument("command", choices=["build", "list"])
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: as --all")
    parser.add_argument(
        "--all",
        action="store_true",
        help="regardless of the names given, all but those that are built only by name",
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder of images")
    parser.add_argument("--definitions", type=Path, default=DEFINITIONS)
    parser.add_argument(
        "--jobs", type=int, default=_JOBS, help="number of images to build at the same time"
    )
    args = parser.parse_args(arguments)
    names = [] if args.all else args.names
    try:
        definitions = load(args.definitions, names)
    except DefinitionError as error:
        print(error, file=sys.stderr)
        return 2
    out = args.out.absolute()
    if args.command == "list":
        for definition in definitions:
            exists = (out / definition.file_name).exists()
            print(f"{definition.name}\t{'built' if exists else 'missing'}\t{definition.file_name}")
        return 0
    if os.geteuid() != 0:
        print("only root can build images", file=sys.stderr)
        return 1
    if missing := [program for program in _NEEDED if shutil.which(program) is None]:
        print(f"not installed, but needed to build images: {' '.join(missing)}", file=sys.stderr)
        return 1
    wanted = [each for each in definitions if names or not each.only_by_name]
    failed = build(wanted, out, args.jobs)
    print("\n".join(failed), file=sys.stderr, end="\n" if failed else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

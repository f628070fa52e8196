"""Entry point of each container of docker-compose.yml: python3 -m cluster.compose ROLE."""

from __future__ import annotations

import argparse
import sys

from cluster.compose.roles import ROLES
from cluster.errors import ClusterError


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m cluster.compose", description=__doc__)
    parser.add_argument("role", choices=sorted(ROLES))
    role = parser.parse_args().role
    try:
        ROLES[role]()
    except (ClusterError, OSError) as error:
        sys.exit(f"{role}: {error}")


if __name__ == "__main__":
    main()

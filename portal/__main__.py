"""The program `portal`: the commands of the service, and those that install it.

The only module of `portal` that imports `deploy`, which knows the portal's settings.
"""

from deploy import cli as installation
from portal.cli.main import app

__all__ = ["app", "main"]

app.command()(installation.secrets)
app.command()(installation.runtime)
app.command()(installation.vscode)
app.command()(installation.system_files)
app.command()(installation.upgrade)


def main() -> None:
    app()


if __name__ == "__main__":
    main()

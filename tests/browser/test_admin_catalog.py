"""An image imported from a registry into an environment, used, and deleted, on the admin pages."""

from __future__ import annotations

import re
import secrets
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests import registry as registries
from tests.live import Live
from tests.registry import Relay

LogIn = Callable[[Page, str], None]
ENVIRONMENT = """title: {title}
language: python
version: "3"
runtime: apptainer
image: {image}
kernel:
  argv: [/bin/sh, "{{connection_file}}"]
  display_name: {title}
default_resources: {{cpus: 1, memory_gb: {memory}, time_limit_minutes: 60}}
"""


@pytest.fixture
def host(portal: Live, tmp_path: Path) -> Iterator[str]:
    """A real registry, at the address where this cluster's portal permits plain HTTP."""
    settings = tomllib.loads((portal.state / "etc/portal.toml").read_text())
    (host,) = settings["image_import_plain_registries"]
    with registries.running(tmp_path) as registry:
        registry.push("team/small", "1.0")
        with Relay(registry.port, int(host.rpartition(":")[2])) as relay:
            yield relay.host


@pytest.fixture
def name(portal: Live) -> Iterator[str]:
    """The name of a site's environment and its image, both removed afterwards."""
    name = f"try_{secrets.token_hex(3)}"
    yield name
    (portal.state / f"catalog/environments/{name}.yaml").unlink(missing_ok=True)
    (portal.state / f"imported/{name}.sif").unlink(missing_ok=True)


@pytest.fixture
def admin(context: BrowserContext, log_in: LogIn) -> Page:
    page = context.new_page()
    log_in(page, "carol")
    return page


def test_images_and_catalog(portal: Live, admin: Page, host: str, name: str) -> None:
    title = f"<b>{name}</b>"
    file = portal.state / f"catalog/environments/{name}.yaml"
    file.write_text(ENVIRONMENT.format(title=title, image=f"{name}.sif", memory="much"))
    import_image(portal, admin, f"docker://{host}/team/small:1.0", f"{name}.sif")
    admin.get_by_role("link", name="Catalog", exact=True).click()
    mistake = admin.get_by_role("region", name="Errors in files").get_by_role("listitem")
    expect(mistake.filter(has_text=f"{name}.yaml")).to_contain_text("default_resources.memory_gb")
    expect(environment(admin, title)).to_have_count(0)

    file.write_text(ENVIRONMENT.format(title=title, image=f"{name}.sif", memory=1))
    expect(mistake.filter(has_text=f"{name}.yaml")).to_have_count(0)
    expect(environment(admin, title)).to_contain_text("Available")
    expect(environment(admin, title)).to_contain_text(str(file))

    delete_image(admin, name)
    admin.get_by_role("link", name="Catalog", exact=True).click()
    expect(environment(admin, title)).to_contain_text("Not available")


def environment(admin: Page, title: str) -> Locator:
    table = admin.get_by_role("table", name="Environments")
    return table.get_by_role("row").filter(has_text=title)


def import_image(portal: Live, admin: Page, reference: str, file: str) -> None:
    """An invalid reference is reported at the field; a valid one is imported shortly afterwards."""
    admin.goto(f"{portal.base_url}/admin/images")
    field = admin.get_by_label("Reference")
    field.fill("https://user:secret@example.org/x")
    admin.get_by_role("button", name="Import", exact=True).click()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    field.fill(reference)
    expect(admin.get_by_label("File", exact=True)).to_have_value("small-1.0.sif")
    admin.get_by_label("File", exact=True).fill(file)
    admin.get_by_role("button", name="Import", exact=True).click()
    imported = admin.get_by_role("region", name="Imported images").get_by_role("listitem")
    expect(imported.filter(has_text=file)).to_contain_text(reference)
    expect(imported.filter(has_text=file)).to_contain_text("No environment uses it.")
    earlier = admin.get_by_role("region", name="Earlier imports").get_by_role("listitem")
    expect(earlier.filter(has_text=file)).to_contain_text("Imported")


def delete_image(admin: Page, name: str) -> None:
    """The environments that use it are listed before it is deleted."""
    admin.get_by_role("link", name="Images", exact=True).click()
    row = admin.get_by_role("listitem").filter(has=admin.get_by_text(re.compile("^sha256:")))
    expect(row.filter(has_text=f"{name}.sif")).to_contain_text(f"Used by 1 environment: {name}")
    admin.get_by_role("button", name=f"Delete {name}.sif").click()
    dialog = admin.get_by_role("dialog", name=f"Delete {name}.sif?")
    expect(dialog).to_contain_text(f"{name} can't be started until")
    dialog.get_by_role("button", name="Delete it").click()
    expect(row.filter(has_text=f"{name}.sif")).to_have_count(0)

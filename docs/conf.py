"""Sphinx configuration of the documentation site (`make docs`)."""

project = "Data Scientist Portal"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
language = "en"

html_theme = "furo"
html_title = project
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_static_path: list[str] = []

myst_enable_extensions = ["colon_fence", "deflist"]
# Derive anchors from headings, as repository hosts do: settings.md#e-mail.
myst_heading_anchors = 4

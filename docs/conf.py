"""The documentation as a site: `make docs`. The pages are plain Markdown, readable without it."""

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
# Anchors are those of the headings, as on the page of a repository: settings.md#e-mail.
myst_heading_anchors = 4

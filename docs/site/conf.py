"""Sphinx's settings. The build copies docs/ beside pages that it makes from the code, and runs Sphinx there (`scripts/docs/`)."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SITE_STATIC = REPOSITORY / "platform" / "static" / "podium"

project = "Podium"
html_title = "Podium"
language = "en"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
nitpicky = True
suppress_warnings = ["myst.strikethrough"]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4
highlight_language = "text"

html_theme = "furo"
html_theme_options = {"top_of_page_buttons": []}
templates_path = [str(REPOSITORY / "docs" / "site" / "templates")]
html_static_path = [
    str(REPOSITORY / "docs" / "site" / "static"),
    str(SITE_STATIC / "fonts" / "inter.woff2"),
    str(SITE_STATIC / "fonts" / "source-code-pro.woff2"),
]
html_css_files = ["docs.css"]
html_logo = html_favicon = str(SITE_STATIC / "icon.svg")
html_copy_source = False
html_show_copyright = html_show_sphinx = False
html_use_index = False
html_permalinks_icon = "#"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

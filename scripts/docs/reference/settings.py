"""Settings that the docs leave out."""

import re
from collections.abc import Iterator

from competitions.bundles.reference import settings_page
from scripts.docs.markdown import REPOSITORY


def undocumented_settings() -> Iterator[str]:
    """A sentence for each setting of the site, of a competition or of its parts that no page names."""
    if (REPOSITORY / "docs" / "settings.md").read_text() != settings_page():
        yield "docs/settings.md: a setting of a competition or of its parts was changed since. `make derived` writes it anew."
    named = set(re.findall(r"[A-Z][A-Z_]+", (REPOSITORY / "docs" / "administrators.md").read_text()))
    read = re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', (REPOSITORY / "platform" / "config" / "settings.py").read_text())
    for name in sorted(set(read) - named):
        yield f"docs/administrators.md: the setting {name} of platform/config/settings.py stands in no table."

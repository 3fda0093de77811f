"""Addresses of package mirrors in the site's forms."""

from urllib.parse import urlsplit

from django.core.exceptions import ValidationError


def validate_mirror(value: str) -> None:
    """Validate the address of a simple index: http(s), no password, as receipts would show it."""
    try:
        parts = urlsplit(value)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        is_right = is_right and not parts.query and not parts.fragment and (parts.port or 1) > 0
    except ValueError:
        is_right = False
    if not is_right or not value.isprintable() or " " in value:
        raise ValidationError(
            "“%(value)s” is not an address of a package mirror. Write it as https://mirror.example.org/simple/, without user name or "
            "password.",
            code="mirror",
            params={"value": value[:100]},
        )

"""Names of container images in the site's forms, as every worker reads them."""

import re
from typing import Final

from django.core.exceptions import ValidationError

from workers.protocol.images import ImageNameInvalid, parse_image

PATTERN: Final = re.compile(r"[\w*?\[][\w*?\[\]!./:@-]*", re.ASCII)


def validate_image_name(value: str) -> None:
    """Django's validator for a field that names one image."""
    try:
        parse_image(value)
    except ImageNameInvalid as error:
        raise ValidationError(str(error), code="image_name") from error


def validate_image_patterns(value: str) -> None:
    """Django's validator for a field with a pattern of image names on each line."""
    for pattern in value.split():
        if not PATTERN.fullmatch(pattern):
            raise ValidationError(
                "“%(pattern)s” matches no image name. Write patterns such as podium/* or ghcr.io/lab/*, one a line.",
                code="image_pattern",
                params={"pattern": pattern},
            )


def validate_registries(value: str) -> None:
    """Django's validator for a field with a registry, or a folder of one, on each line."""
    for registry in value.split():
        host = registry.partition("/")[0]
        try:
            name = parse_image(f"{registry.rstrip('/')}/image")
        except ImageNameInvalid as error:
            raise ValidationError(str(error), code="registry") from error
        if name.registry != host:
            raise ValidationError(
                "“%(registry)s” names no registry. Write its host as in an image's name, such as registry.example.org or ghcr.io/lab.",
                code="registry",
                params={"registry": registry},
            )


def is_image(value: str) -> bool:
    """True for the name of an image."""
    try:
        parse_image(value)
    except ImageNameInvalid:
        return False
    return True

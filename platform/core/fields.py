"""Model fields for people's texts: bounded, and on one line where one line is meant.

Forms and `full_clean` say so with Django's own errors; what is written without them is refused when it reaches the database.
Migrations know these fields as Django's: nothing of them is in the database.
"""

from collections.abc import Callable
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.expressions import Combinable

from core.refusals import RefusalKind
from files.text import first_address, first_control_character, first_unprintable

SHORT_TEXT: Final = 10_000  # characters of a description

TEXT_REFUSED: Final = RefusalKind(422, "text_refused", "{detail}")


def one_line(text: str) -> None:
    """Raise `ValidationError` unless the text stands on one line, and every program can show it."""
    if character := first_control_character(text):
        raise ValidationError(
            f"Write it on one line, without control characters: there is {character}.", code="one_line"
        )


def _require(check: Callable[[str], None], text: object, name: str) -> None:
    """Raise `TEXT_REFUSED` for a text that is about to be written, and that no form has checked."""
    if isinstance(text, str):
        try:
            check(text)
        except ValidationError as error:
            raise TEXT_REFUSED(detail=f"{name[:1].upper()}{name[1:]}: {' '.join(error.messages)}") from error


class OneLineField(models.CharField[str | Combinable, str]):
    """A title, a name: no line break, no control character."""

    default_validators = [one_line]

    def get_db_prep_save(self, value: Any, connection: BaseDatabaseWrapper) -> Any:
        _require(one_line, value, str(self.verbose_name))
        return super().get_db_prep_save(value, connection)

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs


# Persian, Hindi and others write names with the joiners, and a copied name may have a blank that does not break.
IN_NAMES: Final = str.maketrans({"\u200c": "-", "\u200d": "-", "\u00a0": " "})


def shown_name(text: str) -> None:
    """Raise `ValidationError` for a name with hidden characters or a link: mails and boards show it."""
    if character := first_unprintable(text.translate(IN_NAMES)):
        raise ValidationError(f"A name has visible characters only: there is {character}.", code="shown_name")
    if address := first_address(text):
        raise ValidationError(f"A name holds no link: leave out {address}.", code="shown_name")


class NameField(OneLineField):
    """The name of a person or an institution."""

    default_validators = [one_line, shown_name]


class LongTextField(models.TextField[str | Combinable, str]):
    """A text of several lines, of `max_length` characters at most."""

    def __init__(self, *args: Any, max_length: int, **kwargs: Any) -> None:
        kwargs["max_length"] = max_length
        super().__init__(*args, **kwargs)
        self._bound = MaxLengthValidator(max_length)
        self.validators.append(self._bound)

    def get_db_prep_save(self, value: Any, connection: BaseDatabaseWrapper) -> Any:
        _require(self._bound, value, str(self.verbose_name))
        return super().get_db_prep_save(value, connection)

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        del kwargs["max_length"]
        return name, "django.db.models.TextField", args, kwargs

    def clone(self) -> Any:
        """Clone the field as Django does for a subclass; what migrations know is not enough."""
        _, _, args, kwargs = super().deconstruct()
        return type(self)(*args, **kwargs)

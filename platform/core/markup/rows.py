"""Rows with a text that is laid out once, when it is saved, and kept beside the text."""

from typing import Any

from django.db import models

from core.markup.bounded import rendered
from files.markup import Rendering, rendering_key


class WrittenRow(models.Model):
    """A row with a text and its HTML; `html_key` says of which text and version of the code."""

    html = models.TextField(default="", editable=False, help_text="Of the text, with marks for its images.")
    html_key = models.CharField(max_length=64, default="", editable=False)
    image_sources = models.JSONField(default=list, editable=False, help_text="Addresses of images that the text gives.")

    class Meta:
        abstract = True

    def text_and_form(self) -> tuple[str, str]:
        """The text, and how it is written."""
        raise NotImplementedError

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save as Django does, with the HTML of the text."""
        if kwargs.get("update_fields") is None:
            self._lay_out()
        super().save(*args, **kwargs)

    @property
    def rendering(self) -> Rendering:
        """The text's HTML and images; one that is stored for another text or version is replaced."""
        if self._lay_out() and self.pk and self.html_key:
            changed = {"html": self.html, "html_key": self.html_key, "image_sources": self.image_sources}
            type(self)._default_manager.filter(pk=self.pk).update(**changed)
        return Rendering(self.html, tuple(self.image_sources), self.html_key)

    def _lay_out(self) -> bool:
        """Make the HTML where it is not that of the text; whether it was made."""
        text, form = self.text_and_form()
        if self.html_key == rendering_key(text, form):
            return False
        laid_out = rendered(text, form)
        self.html, self.html_key, self.image_sources = laid_out.html, laid_out.key, list(laid_out.sources)
        return True

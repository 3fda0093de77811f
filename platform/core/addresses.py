"""`{% url %}` as Django has it, but each address is worked out once a process: a page names some twenty of them."""

from functools import lru_cache
from typing import Any
from uuid import UUID

from django import template
from django.template.base import Parser, Token
from django.template.context import Context
from django.template.defaulttags import URLNode
from django.template.defaulttags import url as plain_url
from django.urls import get_script_prefix, reverse
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString

register = template.Library()
Argument = str | int | UUID


@lru_cache(maxsize=8192)
def _address(prefix: str, name: str, args: tuple[Argument, ...]) -> SafeString:
    """`prefix` is where the site hangs below its host: a part of the key, for `reverse` knows it."""
    return conditional_escape(reverse(name, args=args))


class RememberedURLNode(URLNode):
    """Django's node; what has keywords, a variable to fill or arguments of another kind is left to it."""

    def render(self, context: Context) -> str:
        """The address. Raises `NoReverseMatch`."""
        args: tuple[Any, ...] = tuple(arg.resolve(context) for arg in self.args)
        if self.kwargs or self.asvar or not all(isinstance(arg, Argument) for arg in args):
            return super().render(context)
        return _address(get_script_prefix(), self.view_name.resolve(context), args)


@register.tag
def url(parser: Parser, token: Token) -> RememberedURLNode:
    """`{% url 'name' arg ... %}`."""
    node = plain_url(parser, token)
    return RememberedURLNode(node.view_name, node.args, node.kwargs, node.asvar)

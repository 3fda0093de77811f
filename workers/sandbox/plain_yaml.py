"""YAML from outside, read without surprises."""

from __future__ import annotations

import yaml


class NoAliases(yaml.SafeLoader):
    """Refuses aliases: a few lines of them can stand for gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse an alias where one begins; all else as usual."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not allowed")
        return super().compose_node(parent, index)

"""YAML that a stranger wrote, read within bounds: plain values, a few levels deep, no aliases."""

from typing import Final

import yaml

MAX_CHARACTERS: Final = 64 * 1024
MAX_DEPTH: Final = 8
# A program says in one of these how it is run.
METADATA_NAMES: Final = ("metadata.yaml", "metadata")
MAX_METADATA_BYTES: Final = 64 * 1024


class _Loader(yaml.SafeLoader):
    """Refuses anchors, aliases and merges, of which a few lines can stand for gigabytes, and deep nesting."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.YAMLError("anchors and aliases are not allowed")
        if self.depth >= MAX_DEPTH:
            raise yaml.YAMLError(f"values are nested more than {MAX_DEPTH} levels deep")
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            raise yaml.YAMLError("merges (<<) are not allowed")


class NotPlainYaml(Exception):
    """The text is not YAML, or more than plain values. `str()` says what."""


def read_plain_yaml(text: str, *, max_characters: int = MAX_CHARACTERS) -> object:
    """The value of a YAML text. Raises `NotPlainYaml`."""
    if len(text) > max_characters:
        raise NotPlainYaml(f"it is longer than {max_characters:,} characters")
    loader = None
    try:
        loader = _Loader(text)
        return loader.get_single_data()
    except MemoryError:
        raise
    except Exception as error:  # a value of the wrong kind, such as `!!bool x`, is not an error of the library's own
        raise NotPlainYaml(" ".join(str(error).split())[:300] or type(error).__name__) from error
    finally:
        if loader is not None:
            loader.dispose()

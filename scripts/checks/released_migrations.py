"""Fails where a migration of a released version is gone or edited: sites that ran it never do again.

Help texts and labels of fields and models may be edited: they are in no table.

python scripts/checks/released_migrations.py                    look
python scripts/checks/released_migrations.py --release 0.2.0    note the migrations that no version has yet
"""

import argparse
import ast
import hashlib
import json
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
RELEASED = Path("platform/config/released_migrations.json")  # version -> file -> digest
TEXTS = frozenset(("help_text", "verbose_name", "verbose_name_plural"))


def migrations(root: Path) -> dict[str, str]:
    """Digests of the migrations in a checkout, by path."""
    files = sorted(
        path for folder in ("platform", "competitions") for path in (root / folder).glob("**/migrations/0*.py")
    )
    return {str(path.relative_to(root)): digest(path.read_text()) for path in files}


def digest(source: str) -> str:
    """SHA-256 of a migration's code without its layout, comments, and the texts that are in no table."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [keyword for keyword in node.keywords if keyword.arg not in TEXTS]
        elif isinstance(node, ast.Dict):  # the options of a model
            pairs = zip(node.keys, node.values, strict=True)
            shown = [(key, value) for key, value in pairs if not (isinstance(key, ast.Constant) and key.value in TEXTS)]
            node.keys, node.values = [key for key, _ in shown], [value for _, value in shown]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()


def faults(root: Path) -> list[str]:
    """Sentences on released migrations that are not as they were released."""
    now, sentences = migrations(root), []
    for version, files in json.loads((root / RELEASED).read_text()).items():
        for path, digest in files.items():
            if now.get(path) != digest:
                what = "was edited" if path in now else "is gone"
                sentences.append(
                    f"{path} {what}, but {version} was released with it. Restore it, and write a new migration."
                )
    return sentences


def release(root: Path, version: str) -> None:
    """Note every migration that no version has yet as one of this version."""
    listed = json.loads((root / RELEASED).read_text()) if (root / RELEASED).exists() else {}
    known = {path for files in listed.values() for path in files}
    listed[version] = {path: digest for path, digest in migrations(root).items() if path not in known}
    (root / RELEASED).write_text(json.dumps(listed, indent=1) + "\n")


def main(words: list[str]) -> int:
    """Exit status 1 with every fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", metavar="VERSION")
    chosen = parser.parse_args(words)
    if chosen.release:
        release(REPOSITORY, chosen.release)
    sentences = faults(REPOSITORY)
    print("\n".join(sentences))
    return 1 if sentences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

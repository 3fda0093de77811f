"""Functions and classes of Python, as their modules declare them."""

import ast
import inspect
import re
import textwrap

import scoring
from scripts.docs.markdown import fence, page
from scripts.docs.sources import DocsInvalid


def scoring_page() -> str:
    """Everything that `import scoring` offers. Raises `DocsInvalid` for what has no docstring."""
    names = [name for name in scoring.__all__ if name != "CODES"]
    silent = [name for name in names if not inspect.getdoc(getattr(scoring, name))]
    if silent:
        raise DocsInvalid(f"scoring: {', '.join(silent)} has no docstring.")
    return page(
        "Functions of scoring",
        "What `import scoring` offers; [Scoring](/scoring.md) has the metrics by name, the file formats and the command line.",
        *(_section(name) for name in names),
    )


def _section(name: str) -> str:
    thing = getattr(scoring, name)
    return "\n\n".join([f"## {name}", fence(_signature(name, thing), "python"), docstring(inspect.getdoc(thing) or "")])


def _signature(name: str, thing: object) -> str:
    """The first line as it stands in the code, one argument a line where it is long."""
    is_class = inspect.isclass(thing)
    source = thing.__init__ if is_class else thing  # type: ignore[misc]
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(source)))).body  # type: ignore[arg-type]
    assert isinstance(node, ast.FunctionDef)
    if is_class:
        node.args.args = node.args.args[1:]
        return f"class {name}({ast.unparse(node.args)})"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"def {name}({ast.unparse(node.args)}){returns}"
    if len(line) < 100:
        return line
    arguments = re.split(r", (?=\*|\w+[:=])", ast.unparse(node.args))
    return f"def {name}(\n    " + ",\n    ".join(arguments) + f",\n){returns}"


def docstring(text: str) -> str:
    """A docstring as Markdown: headings in bold, examples as code, arguments as a list."""
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    text = re.sub(r"^(\w[\w ]+)\n-{3,}$", r"**\1**\n", text, flags=re.MULTILINE)
    text = re.sub(r"^(>>> .*\n?(?:.+\n?)*)", lambda row: f"{fence(row[1], 'pycon')}\n", text, flags=re.MULTILINE)
    return re.sub(r"^(\w[\w, ]*(?: : [^\n]+)?)\n    (?=\S)", r"* `\1`: ", text, flags=re.MULTILINE)

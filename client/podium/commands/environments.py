"""Weights and container images that your team brings for its code."""

from pathlib import Path
from typing import Annotated

import typer

from podium.commands.options import AsJson, Profile, Slug, client, require_consent
from podium.errors import InvalidInput
from podium.models import EnvironmentKind
from podium.output import transfer_bar, write_list, write_result

FileArgument = Annotated[Path, typer.Argument(help="The file to send.")]
Name = Annotated[str, typer.Option("--name", help="Its name; the same name again makes the next version.")]
Reference = Annotated[str, typer.Argument(metavar="NAME@VERSION", help="As the list shows it.")]
Yes = Annotated[bool, typer.Option("--yes", help="Without being asked.")]


def make_commands(kind: EnvironmentKind, what: str) -> typer.Typer:
    """`list`, `upload` and `delete` for one kind of file."""
    app = typer.Typer(help=f"Your team's {what}: list, upload, delete.", no_args_is_help=True)

    @app.command("list")
    def list_files(slug: Slug, profile: Profile = "", as_json: AsJson = False) -> None:
        """List what your team has uploaded."""
        write_list(
            client(profile).environment_files(slug, kind),
            ["name", "state", "bytes", "sha256", ""],
            lambda file: (file.reference, file.state, file.size_bytes, file.sha256[:12], file.detail),
            as_json=as_json,
        )

    @app.command()
    def upload(slug: Slug, file: FileArgument, name: Name, profile: Profile = "", as_json: AsJson = False) -> None:
        """Send a file, and wait for the site's check.

        It goes on where a connection breaks. Exit status 1 where it is refused.
        """
        me = client(profile)
        with transfer_bar(file.name) as progress:
            sent = me.environment_file_upload(slug, kind, file, name=name, progress=progress)
        environment_file = me.environment_file_wait(sent)
        text = f"{environment_file.reference} is {environment_file.state}. {environment_file.detail}".strip()
        write_result(environment_file, text, as_json=as_json)
        if environment_file.state != "ready":
            raise typer.Exit(1)

    @app.command()
    def delete(
        slug: Slug, reference: Reference, yes: Yes = False, profile: Profile = "", as_json: AsJson = False
    ) -> None:
        """Remove a file from the site; submissions that named it cannot be run again."""
        me = client(profile)
        matches = [file for file in me.environment_files(slug, kind) if file.reference == reference]
        if not matches:
            raise InvalidInput(f"Your team has no {reference} in {slug}.", code="unknown_environment_file")
        require_consent(f"Remove {reference}?", yes=yes, option="--yes")
        me.environment_file_delete(matches[0].key)
        write_result(matches[0], f"{reference} is removed.", as_json=as_json)

    return app


weights = make_commands("weights", "weights")
images = make_commands("image", "container images")

"""Signing in to sites, and out."""

import sys
import webbrowser
from typing import Annotated
from urllib.parse import urlsplit

import typer

from podium.client import Client
from podium.commands.options import AsJson, answering, client
from podium.commands.options import Profile as ProfileName
from podium.errors import InvalidInput
from podium.output import say, write_json, write_result, write_table
from podium.profiles import Profile, profile_remove, profile_save, profiles
from podium.site import checked_url

app = typer.Typer()


@app.command()
def login(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the site.")],
    name: Annotated[str, typer.Option(help="What to call the site here; its host, if not given.")] = "",
    token_stdin: Annotated[bool, typer.Option(help="Read the API token from standard input.")] = False,
    as_json: AsJson = False,
) -> None:
    """Sign in to a site with an API token, which your profile there makes. It is kept for you alone."""
    site = checked_url(url)
    token = sys.stdin.readline().strip() if token_stdin else _ask(site)
    if not token:
        raise InvalidInput("There was no token to read.")
    account = Client(site, token, patience_s=10).account()
    name = name or urlsplit(site).netloc
    profile_save(Profile(name, site, token))
    answer = {"name": name, "site": site, **account.model_dump(mode="json")}
    write_result(answer, f"Signed in to {site} as {account.username}.", as_json=as_json)


def _ask(site: str) -> str:
    page = f"{site}/profile/"
    if not sys.stdin.isatty():
        raise InvalidInput(f"There is nobody to ask here: make a token on {page} and use --token-stdin.")
    say(f"Make an API token on {page}, with the rights that you want to use here.")
    webbrowser.open(page)
    with answering():
        return str(typer.prompt("Token", hide_input=True, err=True)).strip()


@app.command()
def whoami(profile: ProfileName = "", as_json: AsJson = False) -> None:
    """Show whom commands go by: site, account, and the rights of the token, with where it is from."""
    me = client(profile)
    account, origin = me.account(), me.sign_in.origin
    if as_json:
        write_json({"site": me.site.url, "origin": origin, **account.model_dump(mode="json")})
        return
    rows: list[tuple[str, object]] = [("site", me.site.url), ("token from", origin)]
    if account.token is not None:
        rows += [("it may", ", ".join(account.token.scopes)), ("it ends (UTC)", account.token.expires_at)]
        if agent := account.token.agent:
            rows.append(("agent", f"{agent.model} {agent.harness}".strip()))
    write_table(["account", account.username], rows)


@app.command()
def logout(
    name: Annotated[str, typer.Argument(help="The site, as `podium sites` lists it.")], as_json: AsJson = False
) -> None:
    """Forget a site and its token. The token stays valid until you revoke it in your profile there."""
    profile_remove(name)
    write_result({"name": name}, f"{name} is forgotten.", as_json=as_json)


@app.command()
def sites(as_json: AsJson = False) -> None:
    """List the sites that you are signed in to; the first is used where none is named."""
    if as_json:
        write_json([{"name": profile.name, "site": profile.site} for profile in profiles()])
        return
    write_table(["name", "site"], [(profile.name, profile.site) for profile in profiles()])

"""Looks in the OSV database (https://osv.dev) for vulnerabilities of versions in `constraints.txt`.

Exit status 0: none is known, or the database cannot be reached from here, which is said; with --require the latter is 2.
1: some are known; each is printed with its id.
"""

import argparse
import json
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

URL = "https://api.osv.dev/v1/querybatch"
TIMEOUT_S = 10


def pinned(constraints: str) -> Iterator[tuple[str, str]]:
    """Name and version of each `name==version` line."""
    for line in constraints.splitlines():
        name, separator, version = line.partition("#")[0].strip().partition("==")
        if separator:
            yield name.strip(), version.strip()


def known_vulnerabilities(packages: list[tuple[str, str]], url: str) -> dict[str, list[str]]:
    """Ids of vulnerabilities by `name==version`. Raises `OSError` or `ValueError` without an answer."""
    queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in packages]
    body = json.dumps({"queries": queries}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        results = json.load(answer)["results"]
    named = zip(packages, results, strict=True)
    return {
        f"{name}=={version}": [v["id"] for v in result["vulns"]]
        for (name, version), result in named
        if result.get("vulns")
    }


def main(argv: list[str] | None = None) -> int:
    """Print one line for each vulnerable package, or what could not be done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constraints", type=Path, default=Path("constraints.txt"))
    parser.add_argument("--url", default=URL)
    parser.add_argument("--require", action="store_true", help="fail when the database cannot be reached")
    chosen = parser.parse_args(argv)
    packages = list(pinned(chosen.constraints.read_text()))
    try:
        vulnerabilities = known_vulnerabilities(packages, chosen.url)
    except (OSError, ValueError, KeyError) as error:
        print(f"{len(packages)} packages were NOT audited: {chosen.url} cannot be asked from here ({error})")
        return 2 if chosen.require else 0
    for package, ids in vulnerabilities.items():
        print(f"{package}: {', '.join(ids)}")
    print(f"{len(packages)} packages audited, {len(vulnerabilities)} with known vulnerabilities")
    return 1 if vulnerabilities else 0


if __name__ == "__main__":
    sys.exit(main())

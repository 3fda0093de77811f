"""SMILES, reading and writing: organic atoms, rings, branches, charges, aromatic rings in lower case.

Left out on purpose, because nothing here makes them: stereochemistry, isotopes, several fragments in one string.
"""

import random
import re
from dataclasses import dataclass, field

from .molecule import AROMATIC, Atom, Molecule, SmilesError

BOND_ORDERS = {"-": 1, "=": 2, "#": 3, ":": AROMATIC}
BOND_SIGNS = {1: "", 2: "=", 3: "#", AROMATIC: ""}
TOKEN = re.compile(
    r"\[(?P<bracket>Cl|[CNOSFcnos])(?:H(?P<hydrogens>\d?))?(?P<charge>[+-]?)\]"
    r"|(?P<plain>Cl|[CNOSFcnos])|(?P<bond>[-=#:])|(?P<ring>\d|%\d\d)|(?P<open>\()|(?P<close>\))"
)


@dataclass
class _Reader:
    """The open parts while a string is read."""

    molecule: Molecule = field(default_factory=Molecule)
    last: int | None = None
    order: int | None = None
    branches: list[int | None] = field(default_factory=list)
    rings: dict[str, tuple[int, int | None]] = field(default_factory=dict)

    def take(self, token: re.Match[str]) -> None:
        match token.lastgroup:
            case "bond":
                self.order = BOND_ORDERS[token[0]]
            case "ring":
                self._ring(token[0])
            case "open":
                self.branches.append(self.last)
            case "close":
                if not self.branches:
                    raise SmilesError("a branch is closed that was not opened")
                self.last = self.branches.pop()
            case _:
                self._atom(_read_atom(token))

    def _atom(self, atom: Atom) -> None:
        index = self.molecule.add_atom(atom)
        if self.last is not None:
            self._bond(self.last, index, self.order)
        self.last, self.order = index, None

    def _ring(self, name: str) -> None:
        if self.last is None:
            raise SmilesError("a ring number stands before the first atom")
        if name not in self.rings:
            self.rings[name] = (self.last, self.order)
        else:
            start, order = self.rings.pop(name)
            self._bond(start, self.last, self.order or order)
        self.order = None

    def _bond(self, first: int, second: int, order: int | None) -> None:
        atoms = self.molecule.atoms
        plain = AROMATIC if atoms[first].aromatic and atoms[second].aromatic else 1
        self.molecule.add_bond(first, second, order or plain)


def _read_atom(token: re.Match[str]) -> Atom:
    symbol = token["plain"] or token["bracket"]
    aromatic = symbol.islower()
    if token["plain"]:
        return Atom(symbol.capitalize(), aromatic)
    hydrogens = int(token["hydrogens"] or 1) if token["hydrogens"] is not None else 0
    charge = {"": 0, "+": 1, "-": -1}[token["charge"]]
    return Atom(symbol.capitalize(), aromatic, charge, hydrogens)


def parse(smiles: str) -> Molecule:
    """Read one SMILES string.

    Raises `SmilesError` for characters outside the subset, unpaired branches or rings, a bond without an atom.

    >>> len(parse("Oc1ccccc1"))
    7
    """
    reader, position = _Reader(), 0
    while position < len(smiles):
        token = TOKEN.match(smiles, position)
        if token is None:
            raise SmilesError(f"{smiles!r}: nothing readable at character {position + 1}")
        reader.take(token)
        position = token.end()
    if reader.branches or reader.rings or reader.order or not smiles:
        raise SmilesError(f"{smiles!r}: ends with an open branch, ring or bond, or is empty")
    return reader.molecule


def write(molecule: Molecule, rng: random.Random | None = None) -> str:
    """The SMILES string of a connected molecule, canonical, or with `rng` another spelling.

    >>> write(parse("c1ccccc1O"))
    'Oc1ccccc1'
    """
    ranks = molecule.canonical_ranks() if rng is None else rng.sample(range(len(molecule)), len(molecule))
    return _Writer(molecule, ranks).text()


class _Writer:
    """One depth-first walk finds the rings, a second one writes."""

    def __init__(self, molecule: Molecule, ranks: list[int]) -> None:
        self.molecule, self.ranks = molecule, ranks
        self.closures: dict[int, list[int]] = {i: [] for i in range(len(molecule))}
        self.children: dict[int, list[int]] = {i: [] for i in range(len(molecule))}
        self.seen: set[int] = set()
        self.open: dict[tuple[int, int], int] = {}

    def text(self) -> str:
        start = min(range(len(self.molecule)), key=self._preference)
        self._find_rings(start, None)
        return "".join(self._written(start))

    def _preference(self, index: int) -> tuple[int, int]:
        return len(self.molecule.bonds[index]), self.ranks[index]  # an end of a chain first: fewer brackets to read

    def _find_rings(self, index: int, parent: int | None) -> None:
        self.seen.add(index)
        for other in sorted(self.molecule.bonds[index], key=self.ranks.__getitem__):
            if other == parent:
                continue
            if other not in self.seen:
                self.children[index].append(other)
                self._find_rings(other, index)
            elif other not in self.closures[index]:
                self.closures[index].append(other)
                self.closures[other].append(index)

    def _written(self, index: int) -> list[str]:
        parts = [_symbol(self.molecule.atoms[index])]
        parts += [self._ring_number(index, other) for other in self.closures[index]]
        branches, last = self.children[index][:-1], self.children[index][-1:]
        for child in branches:
            parts += ["(", self._sign(index, child), *self._written(child), ")"]
        for child in last:
            parts += [self._sign(index, child), *self._written(child)]
        return parts

    def _ring_number(self, index: int, other: int) -> str:
        pair = (min(index, other), max(index, other))
        if pair in self.open:
            return _digits(self.open.pop(pair))
        number = next(n for n in range(1, 100) if n not in self.open.values())
        self.open[pair] = number
        return self._sign(index, other) + _digits(number)

    def _sign(self, first: int, second: int) -> str:
        order = self.molecule.bonds[first][second]
        between_rings = order == 1 and self.molecule.atoms[first].aromatic and self.molecule.atoms[second].aromatic
        return "-" if between_rings else BOND_SIGNS[order]


def _digits(number: int) -> str:
    return str(number) if number < 10 else f"%{number}"


def _symbol(atom: Atom) -> str:
    symbol = atom.element.lower() if atom.aromatic else atom.element
    if atom.hydrogens is None and not atom.charge:
        return symbol
    hydrogens = {0: "", 1: "H"}.get(atom.hydrogens or 0, f"H{atom.hydrogens}")
    return f"[{symbol}{hydrogens}{'+' * (atom.charge > 0)}{'-' * (atom.charge < 0)}]"

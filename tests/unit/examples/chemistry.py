"""Validity checks independent of the generator: valences and Kekulé structures of aromatic rings."""

from __future__ import annotations

import re

from examples.pcqm4mv2_small.molecule import AROMATIC, Molecule

ALLOWED_BONDS = {
    ("C", 0): {4},
    ("N", 0): {3},
    ("N", 1): {4},
    ("O", 0): {2},
    ("O", -1): {1},
    ("S", 0): {2, 4, 6},
    ("F", 0): {1},
    ("Cl", 0): {1},
}


def faults(molecule: Molecule) -> list[str]:
    """A chemist's objections; empty for a valid molecule."""
    doubles = kekule(molecule)
    if doubles is None:
        return ["the aromatic rings have no Kekulé structure"]
    problems = []
    for i, atom in enumerate(molecule.atoms):
        orders = [1 if order == AROMATIC else order for order in molecule.bonds[i].values()]
        bonds = sum(orders) + molecule.hydrogens(i) + (i in doubles)
        if bonds not in ALLOWED_BONDS[atom.element, atom.charge]:
            problems.append(f"atom {i}: {atom.element} with charge {atom.charge} has {bonds} bonds")
    if sum(atom.charge for atom in molecule.atoms):
        problems.append("the molecule is charged")
    return problems


def kekule(molecule: Molecule) -> set[int] | None:
    """Aromatic atoms that get a double bond, or None where they cannot be paired: a maximum matching."""
    needy = {i for i in range(len(molecule)) if needs_double_bond(molecule, i)}
    partner: dict[int, int] = {}
    colour = two_colours(molecule, needy)
    if colour is None:
        return None
    for start in [i for i in needy if not colour[i]]:
        if not augment(molecule, start, needy, partner, set()):
            return None
    return needy if len(partner) * 2 == len(needy) else None


def needs_double_bond(molecule: Molecule, index: int) -> bool:
    """A carbon without a double bond outside the ring, or a pyridine-like nitrogen."""
    atom, bonds = molecule.atoms[index], molecule.bonds[index]
    if not atom.aromatic:
        return False
    if atom.element == "C":
        return 2 not in bonds.values()
    return atom.element == "N" and len(bonds) == 2 and not molecule.hydrogens(index)


def two_colours(molecule: Molecule, nodes: set[int]) -> dict[int, bool] | None:
    """Alternate colours along aromatic bonds; None for an odd ring, which the generator never makes."""
    colour: dict[int, bool] = {}
    for root in nodes:
        border = [root] if root not in colour else []
        colour.setdefault(root, False)
        while border:
            here = border.pop()
            for there in aromatic_neighbours(molecule, here, nodes):
                if there not in colour:
                    colour[there] = not colour[here]
                    border.append(there)
                elif colour[there] == colour[here]:
                    return None
    return colour


def aromatic_neighbours(molecule: Molecule, index: int, nodes: set[int]) -> list[int]:
    return [j for j, order in molecule.bonds[index].items() if order == AROMATIC and j in nodes]


def augment(molecule: Molecule, index: int, nodes: set[int], partner: dict[int, int], tried: set[int]) -> bool:
    """One step of the Hungarian method: find a partner for `index`, moving others where that helps."""
    for other in aromatic_neighbours(molecule, index, nodes):
        if other not in tried:
            tried.add(other)
            if other not in partner or augment(molecule, partner[other], nodes, partner, tried):
                partner[other] = index
                return True
    return False


def balanced(smiles: str) -> bool:
    """True if brackets close and every ring number occurs an even number of times, by counting."""
    plain = re.sub(r"\[[^\]]*\]", "", smiles)
    rings = re.findall(r"%\d\d|\d", plain)
    return plain.count("(") == plain.count(")") and all(rings.count(number) % 2 == 0 for number in rings)

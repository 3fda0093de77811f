"""The target: a stand-in for the HOMO-LUMO gap, computed from the structure alone.

It imitates the trends that chemists know, so that structure can be learned from; it is not quantum chemistry. In eV:

    gap = max(1.0, min(saturated, each pi system)) - 0.015 * (heavy atoms - 14)

*Saturated limit*: 9.0, less 2.0 if the molecule has S, else 1.4 if N, else 0.7 if O, else 0.5 if Cl (only
non-aromatic atoms without a charge and without a pi bond: the lone pair that is easiest to excite).

*Pi system*: atoms connected by bonds between atoms that each have a pi bond (double, triple or aromatic; double
bonds of non-aromatic sulphur do not count). With n atoms, a of them aromatic:

    2.2 + 22 / (n + 2.3) + 1.3 * a / n                     larger systems have smaller gaps; aromatic ones are stabler
    - 0.55, 0.30, 0.45, 0.08, 0.06                         per neighbour N, O, S, Cl, C by a single bond from outside
    - 0.70 per nitro group, 0.35 per C=O, 0.15 per C#N     acceptors inside the system
    - 0.10 per aromatic N or O, 0.20 per aromatic S        heteroatoms inside rings
    - 0.20 * min(donors, acceptors)                        push-pull; donors are the N, O, S neighbours above

The value that is published adds Gaussian noise of 0.1 eV (`NOISE_EV`).
"""

from collections.abc import Iterator

from .molecule import AROMATIC, Molecule

NOISE_EV = 0.1
DONATION_EV = {"N": 0.55, "O": 0.30, "S": 0.45, "Cl": 0.08, "C": 0.06, "F": 0.0}
ACCEPTANCE_EV = {"nitro": 0.70, "carbonyl": 0.35, "nitrile": 0.15}
RING_HETERO_EV = {"N": 0.10, "O": 0.10, "S": 0.20, "C": 0.0}
LONE_PAIR_EV = {"S": 2.0, "N": 1.4, "O": 0.7, "Cl": 0.5}
DONORS = frozenset({"N", "O", "S"})


def homo_lumo_gap(molecule: Molecule) -> float:
    """The gap in eV, without noise.

    >>> from .smiles import parse
    >>> round(homo_lumo_gap(parse("CC")), 3), round(homo_lumo_gap(parse("c1ccccc1")), 3)
    (9.18, 6.271)
    """
    systems = [pi_system_gap(molecule, system) for system in pi_systems(molecule)]
    return max(1.0, min([saturated_gap(molecule), *systems])) - 0.015 * (len(molecule) - 14)


def saturated_gap(molecule: Molecule) -> float:
    """The limit that sigma bonds and lone pairs set, in eV."""
    lone = {atom.element for i, atom in enumerate(molecule.atoms) if not atom.charge and not _has_pi_bond(molecule, i)}
    return 9.0 - max(LONE_PAIR_EV.get(element, 0.0) for element in lone | {"C"})


def pi_systems(molecule: Molecule) -> Iterator[set[int]]:
    """Sets of atom indices: the connected parts of the atoms that have a pi bond."""
    left = {i for i in range(len(molecule)) if _has_pi_bond(molecule, i)}
    while left:
        system, border = set[int](), [left.pop()]
        while border:
            index = border.pop()
            system.add(index)
            reached = left & molecule.bonds[index].keys()
            left -= reached
            border += sorted(reached)
        yield system


def pi_system_gap(molecule: Molecule, system: set[int]) -> float:
    """The gap of one pi system in eV, by the formula above."""
    atoms = [molecule.atoms[i] for i in system]
    aromatic = [atom for atom in atoms if atom.aromatic]
    donors = [
        molecule.atoms[j].element
        for i in system
        for j, order in molecule.bonds[i].items()
        if j not in system and order == 1 and not molecule.atoms[j].charge
    ]
    acceptors = _acceptors(molecule, system)
    gap = 2.2 + 22 / (len(system) + 2.3) + 1.3 * len(aromatic) / len(system)
    gap -= sum(DONATION_EV[element] for element in donors)
    gap -= sum(ACCEPTANCE_EV[group] * count for group, count in acceptors.items())
    gap -= sum(RING_HETERO_EV[atom.element] for atom in aromatic)
    return gap - 0.20 * min(sum(element in DONORS for element in donors), sum(acceptors.values()))


def _acceptors(molecule: Molecule, system: set[int]) -> dict[str, int]:
    """The number of groups of each kind that pull electrons out of a pi system."""
    bonds = [
        (molecule.atoms[i].element, molecule.atoms[i].charge, molecule.atoms[j].element, order)
        for i in system
        for j, order in molecule.bonds[i].items()
        if j in system
    ]
    return {
        "nitro": sum(
            element == "N" and charge > 0 and other == "O" and order == 2 for element, charge, other, order in bonds
        ),
        "carbonyl": sum(element == "C" and other == "O" and order == 2 for element, _, other, order in bonds),
        "nitrile": sum(element == "C" and other == "N" and order == 3 for element, _, other, order in bonds),
    }


def _has_pi_bond(molecule: Molecule, index: int) -> bool:
    return any(
        order == AROMATIC or (order > 1 and not _is_sulfonyl(molecule, index) and not _is_sulfonyl(molecule, j))
        for j, order in molecule.bonds[index].items()
    )


def _is_sulfonyl(molecule: Molecule, index: int) -> bool:
    atom = molecule.atoms[index]
    return atom.element == "S" and not atom.aromatic

"""Molecular graphs: atoms, bonds, hydrogens, a canonical order of the atoms."""

from dataclasses import dataclass, field

AROMATIC = 4  # a bond's order is 1, 2, 3 or AROMATIC
# Valences of uncharged atoms, smallest first; hydrogens fill up to the first that is large enough.
VALENCES = {"C": (4,), "N": (3,), "O": (2,), "S": (2, 4, 6), "F": (1,), "Cl": (1,)}


class SmilesError(ValueError):
    """A molecule or SMILES string that cannot be; the message names the place."""


@dataclass
class Atom:
    """One heavy atom. `hydrogens` is None where the valence decides, a number for atoms in brackets."""

    element: str
    aromatic: bool = False
    charge: int = 0
    hydrogens: int | None = None


@dataclass
class Molecule:
    """Atoms and, per atom, the bonds to its neighbours (index to order)."""

    atoms: list[Atom] = field(default_factory=list)
    bonds: list[dict[int, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.atoms)

    def add_atom(self, atom: Atom) -> int:
        """Append an atom without bonds and return its index."""
        self.atoms.append(atom)
        self.bonds.append({})
        return len(self.atoms) - 1

    def add_bond(self, first: int, second: int, order: int) -> None:
        """Join two atoms that are not joined yet."""
        if first == second or second in self.bonds[first]:
            raise SmilesError(f"atoms {first} and {second} cannot be joined, or are joined already")
        self.bonds[first][second] = order
        self.bonds[second][first] = order

    def hydrogens(self, index: int) -> int:
        """Number of hydrogens on an atom; 0 for an atom whose valence is full or exceeded."""
        atom = self.atoms[index]
        if atom.hydrogens is not None:
            return atom.hydrogens
        used = sum(1 if order == AROMATIC else order for order in self.bonds[index].values())
        if atom.aromatic:  # the fourth valence is in the ring; for n, o and s the lone pair or a bond takes the rest
            return max(0, 3 - used) if atom.element == "C" else 0
        return next((valence - used for valence in VALENCES[atom.element] if valence >= used), 0)

    def graft(self, other: "Molecule", site: int, order: int = 1) -> None:
        """Append `other` and join its first atom to `site`; an explicit hydrogen at the joint gives way."""
        offset = len(self)
        for atom in other.atoms:
            self.add_atom(Atom(atom.element, atom.aromatic, atom.charge, atom.hydrogens))
        for first, neighbours in enumerate(other.bonds):
            self.bonds[offset + first] = {offset + second: kind for second, kind in neighbours.items()}
        for end in (site, offset):
            if self.atoms[end].hydrogens:
                self.atoms[end].hydrogens = None  # [nH] becomes n
        self.add_bond(site, offset, order)

    def canonical_ranks(self) -> list[int]:
        """A rank per atom, 0 to n-1, that does not depend on the order in which the atoms were added.

        Weisfeiler-Leman refinement with ties broken one at a time. Atoms that refinement cannot tell apart are
        taken for symmetric, which holds for the ring systems made here.
        """
        keys = [
            (atom.element, atom.aromatic, atom.charge, self.hydrogens(i), len(self.bonds[i]))
            for i, atom in enumerate(self.atoms)
        ]
        numbers = {key: number for number, key in enumerate(sorted(set(keys)))}
        ranks = self._refined([numbers[key] for key in keys])
        while max(ranks, default=-1) < len(self) - 1:
            tied = min(rank for rank in ranks if ranks.count(rank) > 1)
            chosen = ranks.index(tied)
            ranks = self._refined([2 * rank + (rank == tied and i != chosen) for i, rank in enumerate(ranks)])
        return ranks

    def _refined(self, ranks: list[int]) -> list[int]:
        """Split classes of equal rank by their neighbours until no class splits any more."""
        classes = 0
        while True:
            keys = [
                (ranks[i], sorted([(order, ranks[j]) for j, order in neighbours.items()]))
                for i, neighbours in enumerate(self.bonds)
            ]
            order_of_atoms = sorted(range(len(keys)), key=keys.__getitem__)
            ranks = ranks.copy()
            count, previous = -1, None
            for i in order_of_atoms:
                if keys[i] != previous:
                    count, previous = count + 1, keys[i]
                ranks[i] = count
            if count + 1 == classes:
                return ranks
            classes = count + 1

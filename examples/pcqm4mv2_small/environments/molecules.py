"""Molecules as graphs: arrays of atoms and bonds, for many at once. RDKit and numpy alone."""

import csv
import gzip
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rdkit import Chem

ELEMENTS = ("C", "N", "O", "S", "F", "Cl")
FEATURES = len(ELEMENTS) + 5
BONDS = 4  # single, double, triple, aromatic
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Batch:
    """Molecules side by side: `atoms` of (n_atoms, FEATURES), the `owner` of each, each bond twice."""

    atoms: Floats
    source: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    kind: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    count: int


def read_smiles(path: Path) -> list[str]:
    """The column `smiles` of a CSV file."""
    with path.open(newline="") as file:
        return [row["smiles"] for row in csv.DictReader(file)]


def read_labelled(path: Path) -> tuple[list[str], Floats]:
    """SMILES and gaps (eV) of the training file."""
    with gzip.open(path, "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    gap = next(name for name in rows[0] if name != "smiles" and "gap" in name.lower())
    return [row["smiles"] for row in rows], np.array([float(row[gap]) for row in rows], dtype=np.float32)


def batches(smiles: Sequence[str], size: int) -> Iterator[Batch]:
    """The molecules in order, `size` at a time."""
    for begin in range(0, len(smiles), size):
        yield make_batch(smiles[begin : begin + size])


def make_batch(smiles: Sequence[str]) -> Batch:
    """These molecules as one graph with as many parts."""
    atoms: list[list[float]] = []
    bonds: list[tuple[int, int, int]] = []
    owner: list[int] = []
    for number, text in enumerate(smiles):
        molecule: Any = Chem.MolFromSmiles(text)
        first = len(atoms)
        for atom in molecule.GetAtoms():
            atoms.append(_features(atom))
            owner.append(number)
        for bond in molecule.GetBonds():
            ends = first + bond.GetBeginAtomIdx(), first + bond.GetEndAtomIdx()
            kind = 3 if bond.GetIsAromatic() else int(bond.GetBondTypeAsDouble()) - 1
            bonds += [(ends[0], ends[1], kind), (ends[1], ends[0], kind)]
    edges = np.array(bonds, dtype=np.int64).reshape(-1, 3)
    return Batch(
        atoms=np.array(atoms, dtype=np.float32),
        source=edges[:, 0],
        target=edges[:, 1],
        kind=edges[:, 2],
        owner=np.array(owner, dtype=np.int64),
        count=len(smiles),
    )


def _features(atom: Any) -> list[float]:
    element = [float(atom.GetSymbol() == symbol) for symbol in ELEMENTS]
    rest = (atom.GetDegree(), atom.GetTotalNumHs(), atom.GetFormalCharge(), atom.GetIsAromatic(), atom.IsInRing())
    return element + [float(value) for value in rest]

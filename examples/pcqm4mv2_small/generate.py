"""Generates the data: unique, valid organic molecules as SMILES, and their target with noise.

    python -m examples.pcqm4mv2_small.generate DEST [--train N --valid N --test-dev N --test-challenge N] [--seed N]

Standard library and numpy alone; the same seed gives the same molecules and targets on every machine.
"""

import argparse
import csv
import gzip
import io
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .molecule import Molecule
from .smiles import parse, write
from .target import NOISE_EV, homo_lumo_gap

DEFAULT_SEED = 20221129
MAX_HEAVY_ATOMS = 51  # the largest molecule of PCQM4Mv2
MEAN_HEAVY_ATOMS, SPREAD_HEAVY_ATOMS = 14.1, 4.2  # 14.14 on average there
FORMAT_DECIMALS = 6

# Where a molecule starts: rings in aromatic and saturated kinds, and short chains; numbers are weights.
CORES = {
    "c1ccccc1": 12, "c1ccncc1": 5, "c1cncnc1": 3, "c1ccoc1": 3, "c1ccsc1": 4, "c1cc[nH]c1": 3, "c1cnc[nH]1": 2,
    "c1cscn1": 2, "c1cocn1": 1, "c1ccc2ccccc2c1": 3, "c1ccc2[nH]ccc2c1": 2, "c1ccc2ncccc2c1": 2, "c1ccc2occc2c1": 1,
    "c1ccc2sccc2c1": 1, "c1ccc2nc[nH]c2c1": 1, "C1CCCCC1": 4, "C1CCCC1": 4, "C1CC1": 2, "C1CCC1": 1, "C1CCNCC1": 4,
    "C1CCNC1": 3, "C1COCCN1": 3, "C1CCOC1": 2, "C1CCOCC1": 2, "C1CNCCN1": 2, "C1CCSC1": 1, "C1CC2CCC1C2": 1,
    "CCC": 6, "CCCC": 6, "CC(C)C": 4, "C=CC": 4, "C=CC=C": 2, "CC#C": 1, "CC(C)=O": 4, "CC(=O)O": 3, "CC(N)=O": 3,
    "CCO": 3, "CCN": 3, "COC": 2, "CSC": 2,
}  # fmt: skip
# What is added, joined by its first atom.
GROUPS = {
    "C": 16, "CC": 8, "C(C)C": 4, "C(C)(C)C": 1, "O": 9, "OC": 6, "N": 7, "NC": 3, "N(C)C": 3, "F": 5, "Cl": 4,
    "C#N": 3, "[N+](=O)[O-]": 2, "C=O": 2, "C(C)=O": 3, "C(=O)O": 4, "C(=O)OC": 3, "C(N)=O": 3, "NC(C)=O": 3, "C=C": 3,
    "C#C": 1, "S": 1, "SC": 2, "S(C)(=O)=O": 1, "S(N)(=O)=O": 1, "C(F)(F)F": 2, "CO": 4, "CN": 3, "CCO": 2, "OCC": 2,
    "C=CC(=O)O": 1, "C=CC#N": 1, "N=C": 1,
}  # fmt: skip
RINGS = {smiles: weight for smiles, weight in CORES.items() if any(sign.isdigit() for sign in smiles)}
RING_SHARE = 0.14  # of the additions that are a ring
HETERO = frozenset({"N", "O", "S", "F", "Cl"})


@dataclass(frozen=True)
class Sizes:
    """Number of molecules per split."""

    train: int
    valid: int
    test_dev: int
    test_challenge: int

    def by_split(self) -> dict[str, int]:
        """Sizes under the names of the splits, in their order."""
        return {
            "train": self.train,
            "valid": self.valid,
            "test-dev": self.test_dev,
            "test-challenge": self.test_challenge,
        }


SMALL = Sizes(train=2000, valid=300, test_dev=400, test_challenge=400)
# Test splits of the true size; the true 3.4 million training molecules would only make the download longer.
FULL_TEST = Sizes(train=200_000, valid=73_545, test_dev=147_037, test_challenge=147_432)


@dataclass(frozen=True)
class Split:
    """Molecules of one split in their official order, with targets in eV."""

    name: str
    smiles: tuple[str, ...]
    gaps: npt.NDArray[np.float64]


def random_molecule(rng: random.Random) -> Molecule:
    """One molecule: a core, then groups and rings on free hydrogens until the drawn size is reached."""
    size = min(MAX_HEAVY_ATOMS, max(4, round(rng.gauss(MEAN_HEAVY_ATOMS, SPREAD_HEAVY_ATOMS))))
    molecule = parse(_drawn(rng, CORES))
    while len(molecule) < size:
        group = parse(_drawn(rng, RINGS if rng.random() < RING_SHARE else GROUPS))
        sites = [i for i in range(len(molecule)) if _may_join(molecule, i, group)]
        if not sites or len(molecule) + len(group) > MAX_HEAVY_ATOMS:
            break
        molecule.graft(group, rng.choice(sites))
    return molecule


def _drawn(rng: random.Random, weights: dict[str, int]) -> str:
    return rng.choices(list(weights), weights=list(weights.values()))[0]


def _may_join(molecule: Molecule, site: int, group: Molecule) -> bool:
    """True if a stable molecule results: hydrogens on both sides, no chains of heteroatoms."""
    if not molecule.hydrogens(site) or not (group.hydrogens(0) or group.atoms[0].charge):
        return False
    here, there = molecule.atoms[site], group.atoms[0]
    if there.element not in HETERO:
        return here.element != "O" or len(molecule.bonds[site]) == 1
    if here.element in HETERO:
        return False
    neighbours = [molecule.atoms[j].element for j in molecule.bonds[site]]
    return here.aromatic or not HETERO & set(neighbours)


def unique_smiles(rng: random.Random) -> Iterator[str]:
    """SMILES strings without end, none of them twice."""
    seen: set[str] = set()
    while True:
        smiles = write(random_molecule(rng))
        if smiles not in seen:
            seen.add(smiles)
            yield smiles


def generate(sizes: Sizes = SMALL, *, seed: int = DEFAULT_SEED, noise_ev: float = NOISE_EV) -> dict[str, Split]:
    """All splits, disjoint; targets in eV, rounded to the decimals that the files show.

    Raises `ValueError` for a size below 1.
    """
    too_small = [name for name, size in sizes.by_split().items() if size < 1]
    if too_small:
        raise ValueError(f"each split needs at least one molecule; too small: {', '.join(too_small)}")
    rng = random.Random(seed)
    source, splits = unique_smiles(rng), {}
    for name, size in sizes.by_split().items():
        smiles = tuple(next(source) for _ in range(size))
        noise = random.Random(f"{seed} {name}")
        gaps = [round(homo_lumo_gap(parse(text)) + noise.gauss(0.0, noise_ev), FORMAT_DECIMALS) for text in smiles]
        splits[name] = Split(name, smiles, np.array(gaps))
    return splits


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A CSV table with LF line ends."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(header)
    table.writerows(rows)
    return text.getvalue()


def write_gzip(path: Path, text: str) -> None:
    """Write compressed text; no time and no name in the header, so that equal data are equal files."""
    with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
        packed.write(text.encode())


def write_labelled(split: Split, path: Path) -> None:
    """Write `smiles,homolumogap` as .csv.gz."""
    rows = ((smiles, f"{gap:.{FORMAT_DECIMALS}f}") for smiles, gap in zip(split.smiles, split.gaps, strict=True))
    write_gzip(path, csv_text(["smiles", "homolumogap"], rows))


def write_smiles(split: Split, path: Path) -> None:
    """Write the column `smiles` alone: what participants and their programs may see of a test split."""
    path.write_text(csv_text(["smiles"], ([smiles] for smiles in split.smiles)))


def main(argv: Sequence[str] | None = None) -> int:
    """Write the public files of all splits into a folder; the test targets beside them, for the organizer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dest", type=Path)
    for name, size in SMALL.by_split().items():
        parser.add_argument(f"--{name}", type=int, default=size, metavar="N")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
    chosen = parser.parse_args(argv)
    sizes = Sizes(chosen.train, chosen.valid, chosen.test_dev, chosen.test_challenge)
    chosen.dest.mkdir(parents=True, exist_ok=True)
    for name, split in generate(sizes, seed=chosen.seed).items():
        write_labelled(split, chosen.dest / f"{name}.csv.gz")
        spread = math.sqrt(float(np.var(split.gaps)))
        print(f"{name}: {len(split.smiles)} molecules, gap {split.gaps.mean():.3f} eV on average, spread {spread:.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

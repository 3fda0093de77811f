"""The generator's molecules, read back from their strings alone."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from examples.pcqm4mv2_small.generate import MAX_HEAVY_ATOMS, Sizes, Split, generate
from examples.pcqm4mv2_small.molecule import Atom, Molecule, SmilesError
from examples.pcqm4mv2_small.smiles import parse, write
from examples.pcqm4mv2_small.target import NOISE_EV, homo_lumo_gap
from tests.unit.examples.chemistry import balanced, faults

SIZES = Sizes(train=1200, valid=100, test_dev=100, test_challenge=100)


@pytest.fixture(scope="module")
def splits() -> dict[str, Split]:
    return generate(SIZES)


@pytest.fixture(scope="module")
def molecules(splits: dict[str, Split]) -> dict[str, Molecule]:
    return {smiles: parse(smiles) for split in splits.values() for smiles in split.smiles}


def shuffled(molecule: Molecule, rng: random.Random) -> Molecule:
    """The same molecule with its atoms in another order."""
    order = list(range(len(molecule)))
    rng.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    other = Molecule()
    for old in order:
        atom = molecule.atoms[old]
        other.add_atom(Atom(atom.element, atom.aromatic, atom.charge, atom.hydrogens))
    for old, bonds in enumerate(molecule.bonds):
        for neighbour, kind in bonds.items():
            if old < neighbour:
                other.add_bond(place[old], place[neighbour], kind)
    return other


def test_every_split_has_the_size_asked_for(splits: dict[str, Split]) -> None:
    assert {name: (len(split.smiles), len(split.gaps)) for name, split in splits.items()} == {
        name: (size, size) for name, size in SIZES.by_split().items()
    }


def test_every_molecule_satisfies_valences_and_has_a_kekule_structure(molecules: dict[str, Molecule]) -> None:
    assert {smiles: faults(molecule) for smiles, molecule in molecules.items() if faults(molecule)} == {}
    assert [smiles for smiles in molecules if not balanced(smiles)] == []


@pytest.mark.parametrize(
    "wrong", ["CC(C)(C)(C)C", "C=C=C=C(C)(C)C", "OO(C)C", "c1ccccc1=C", "c1cccc1", "C[N+](=O)O", "FCF(C)"]
)
def test_the_validity_check_objects_to_impossible_molecules(wrong: str) -> None:
    assert faults(parse(wrong))


def test_no_molecule_occurs_twice_however_its_atoms_are_ordered(molecules: dict[str, Molecule]) -> None:
    rng = random.Random(1)
    rewritten = Counter(write(shuffled(molecule, rng)) for molecule in molecules.values())
    assert len(molecules) == sum(SIZES.by_split().values())
    assert [smiles for smiles, times in rewritten.items() if times > 1] == []


def test_a_molecule_is_written_the_same_whatever_the_order_of_its_atoms(molecules: dict[str, Molecule]) -> None:
    rng = random.Random(2)
    for smiles, molecule in list(molecules.items())[:300]:
        assert write(shuffled(molecule, rng)) == smiles


def test_molecules_are_small_organic_and_varied(molecules: dict[str, Molecule]) -> None:
    sizes = [len(molecule) for molecule in molecules.values()]
    elements = Counter(atom.element for molecule in molecules.values() for atom in molecule.atoms)
    assert max(sizes) <= MAX_HEAVY_ATOMS
    assert 12 < np.mean(sizes) < 18
    assert set(elements) == {"C", "N", "O", "S", "F", "Cl"}
    aromatic = sum(any(atom.aromatic for atom in molecule.atoms) for molecule in molecules.values())
    assert 0.3 < aromatic / len(molecules) < 0.9


def test_targets_are_the_documented_formula_up_to_the_noise(splits: dict[str, Split]) -> None:
    train = splits["train"]
    noise = train.gaps - np.array([homo_lumo_gap(parse(smiles)) for smiles in train.smiles])
    assert np.abs(noise).max() < 5 * NOISE_EV
    assert abs(noise.mean()) < 4 * NOISE_EV / np.sqrt(len(noise))
    assert noise.std() == pytest.approx(NOISE_EV, rel=0.1)


def test_without_noise_targets_are_the_formula_itself() -> None:
    split = generate(Sizes(50, 1, 1, 1), noise_ev=0)["train"]
    assert split.gaps.tolist() == pytest.approx([homo_lumo_gap(parse(smiles)) for smiles in split.smiles], abs=1e-6)


@pytest.mark.parametrize(
    ("smiles", "gap_ev"),
    [
        ("CCO", 9.0 - 0.7 + 0.015 * 11),  # no pi system: the lone pair of O
        ("C=C", 2.2 + 22 / 4.3 + 0.015 * 12),
        ("C=CC=C", 2.2 + 22 / 6.3 + 0.015 * 10),
        ("c1ccccc1", 2.2 + 22 / 8.3 + 1.3 + 0.015 * 8),
        ("Nc1ccccc1", 2.2 + 22 / 8.3 + 1.3 - 0.55 + 0.015 * 7),
        ("O=[N+]([O-])c1ccc(N)cc1", 2.2 + 22 / 10.3 + 1.3 * 6 / 8 - 0.55 - 0.70 - 0.20 + 0.015 * 4),
        ("CC(C)=O", 2.2 + 22 / 4.3 - 0.12 - 0.35 + 0.015 * 10),
        ("c1ccsc1", 2.2 + 22 / 7.3 + 1.3 - 0.20 + 0.015 * 9),
        ("CS(C)(=O)=O", 9.0 - 2.0 + 0.015 * 9),  # the double bonds of sulphur are no pi system
    ],
)
def test_the_formula_gives_what_its_documentation_says(smiles: str, gap_ev: float) -> None:
    assert homo_lumo_gap(parse(smiles)) == pytest.approx(gap_ev)


def test_the_same_seed_gives_the_same_data_and_another_seed_others() -> None:
    sizes = Sizes(20, 5, 5, 5)
    first, again, other = generate(sizes, seed=3), generate(sizes, seed=3), generate(sizes, seed=4)
    assert [split.smiles for split in first.values()] == [split.smiles for split in again.values()]
    assert all(np.array_equal(first[name].gaps, again[name].gaps) for name in first)
    assert first["train"].smiles != other["train"].smiles


def test_the_default_seed_gives_these_molecules_on_every_machine() -> None:
    train = generate(Sizes(3, 1, 1, 1))["train"]
    assert train.smiles == ("CC1C(C(CN1)Cl)(c1cc[nH]c1)F", "Cc1c(-c2c(C#N)c(c(cc2)N)OC)c(co1)Cl", "CC(C(CC)(CSC)OC)C")
    assert train.gaps.tolist() == [6.251875, 3.368653, 6.972561]


def test_an_empty_split_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="too small: valid, test-dev"):
        generate(Sizes(10, 0, -1, 5))


@pytest.mark.parametrize("text", ["", "C(", "C)", "C1CC", "C=", "1CC", "[Xx]", "C$", "C11", "[C@H](C)O"])
def test_unreadable_smiles_are_refused(text: str) -> None:
    with pytest.raises(SmilesError):
        parse(text)

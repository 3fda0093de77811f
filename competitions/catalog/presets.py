"""Ready settings of phases: the rules of well-known challenges as numbers, in one place."""

from dataclasses import asdict, dataclass, field
from typing import Final

from competitions.catalog.models import GIB, Budget, Phase, Quota, Week


@dataclass(frozen=True)
class PhasePreset:
    """A phase's settings by name."""

    title: str
    budget: Budget
    prediction_format: dict[str, object]
    visibility: str
    quota: Quota = field(default_factory=Quota)

    def fields(self) -> dict[str, object]:
        """The settings of the preset, by the names of `Phase`."""
        own = {"visibility": self.visibility, "prediction_format": dict(self.prediction_format)}
        return asdict(self.budget) | own | asdict(self.quota)


# OGB-LSC, rules of NeurIPS 2022: raw SMILES to predictions in 4 hours on one GPU and one CPU; all cores of that CPU
# may be used, so `cpus` is a usual socket's core count and an organizer sets it to that of the official host.
PCQM4MV2_BUDGET: Final = Budget(time_limit_s=4 * 3600, gpus=1, cpus=20, memory_bytes=64 * GIB, output_bytes=1 * GIB)

PRESETS: Final[dict[str, PhasePreset]] = {
    "pcqm4mv2-test-dev": PhasePreset(
        title="PCQM4Mv2 test-dev: 147,037 molecules, public, one submission a week",
        budget=PCQM4MV2_BUDGET,
        prediction_format={"dataset": "lsc-pcqm4mv2", "split": "test-dev", "rows": 147_037},
        visibility=Phase.Visibility.PUBLIC,
        quota=Quota(max_submissions_per_week=1, quota_week=Week.SLIDING),
    ),
    "pcqm4mv2-test-challenge": PhasePreset(
        title="PCQM4Mv2 test-challenge: 147,432 molecules, sealed until the reveal",
        budget=PCQM4MV2_BUDGET,
        prediction_format={"dataset": "lsc-pcqm4mv2", "split": "test-challenge", "rows": 147_432},
        visibility=Phase.Visibility.SEALED,
    ),
}

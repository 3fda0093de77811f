"""Names of the files that `writing` makes, for those who read no tables themselves."""

from typing import Final

SAMPLE_ROLE: Final = "sample_submission"
SAMPLE: Final = "sample_submission.csv"
BASELINE: Final = "constant_baseline.csv"

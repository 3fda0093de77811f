"""PCQM4Mv2 in small: a competition on generated molecules, from its data to its baselines."""

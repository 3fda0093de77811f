"""The host's parts that runs share: GPUs, slots, the cache of input files, and the janitor."""

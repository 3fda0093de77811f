"""What runs share on this host: GPUs, slots, the cache of input files, and what is swept up behind them."""

"""From a draft's answers to a competition: a bundle is written and imported, and its sample is scored on trial."""

"""Which part of a pipeline is to blame: retrieval measures and verdicts of each case, read together by rules."""

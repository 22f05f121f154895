"""Experiments: variants of an application tried on one dataset, each a run, each a row of a file that only grows."""

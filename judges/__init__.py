"""Judges: grade the answers of language models, and know how far the grade can be trusted."""

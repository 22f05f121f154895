"""Plans, runs and records judgements."""

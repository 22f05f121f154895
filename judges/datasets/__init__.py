"""Reads case files of several formats; checks each record once, at this door."""

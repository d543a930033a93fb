"""Faults, one per file; the folder is the link that breaks and the file's name is the fault's."""

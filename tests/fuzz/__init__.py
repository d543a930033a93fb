"""Mutated files against every reader: whatever the bytes are, a reader returns a Recording or raises Unreadable."""

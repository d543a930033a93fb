"""Is what firstbreak says of a run right, and does it contradict itself? `make bench-judgement` (see `__main__`)."""

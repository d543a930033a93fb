"""What `firstbreak.recorder()` is worth in scripts of TRL's users: faults planted through the script alone."""

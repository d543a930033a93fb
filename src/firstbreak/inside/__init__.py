"""What runs inside the trainer's process: this folder is put before its PYTHONPATH.

The trainer's interpreter need not have firstbreak: the files here use the standard library and numpy, and of a trainer's own
libraries only what it has imported itself.
"""

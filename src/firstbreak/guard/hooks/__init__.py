"""Code that runs inside the trainer's process. An experiment puts this folder first in PYTHONPATH.

The trainer's environment does not need firstbreak. The files use the standard library, numpy, and libraries that the trainer
has already imported.
"""

"""What runs in a trainer's process.

guard/      stops or saves a live run: cheap rules at every step, the detectors at scheduled checks
recorder/   measures in every update what must hold in a sound one
hooks/      changes and measures a trainer without a change to its code; put first in PYTHONPATH
"""

"""Identities: what must hold in every update of a sound training run, measured inside the trainer.

A curve is evidence; a failed identity is proof. `recorder()` goes into a trainer's callbacks (TRL), or is called in a loop of
one's own (`record.batch`). Each identity is one file of identities/: a function `measure` whose parameters name what it needs
and whose result is numbers, each perhaps with the place of the worst one. The numbers are written beside the run as signals
`proof.<name>`, and detectors judge them as they judge any other curve.
"""

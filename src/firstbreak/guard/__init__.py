"""Guards a live run: cheap invariants on every step, the detectors of `diagnose` every so often, and the evidence kept.

guard.py        Guard: what a training loop talks to
history.py      every metric over the whole run, in bounded memory
invariants.py   what is asked of every single step
looks.py        when the detectors look, and for how long at most
decision.py     what may be done, and what is to be done
bundle.py       the evidence of one incident, written whole or not at all
replay.py       the same update again, from a bundle
notify.py       telling people: webhook, Slack, Discord, e-mail, trackio
adapters/       one framework's hook each
"""

"""Guards a live run: cheap rules at every step, the detectors of `diagnose` at scheduled checks, and bundles of evidence.

guard.py        Guard: the class that a training loop calls
history.py      every metric over the whole run, in limited memory
invariants.py   the rules for every single step
schedule.py     when the detectors run, and how long training waits for them
decision.py     the actions, the policies, and a decision of the guard
evidence.py     the files of a bundle
bundle.py       writes the evidence of one incident, completely or not at all
replay.py       runs the update of a bundle again
synchronous.py  settings for synchronous training
notify.py       messages to people: webhook, Slack, Discord, e-mail, trackio
view.py         the screen of `firstbreak watch`
adapters/       one file per framework
"""

"""Finds and runs the smallest experiment that separates the causes of a diagnosis, on the user's own trainer.

plan         which experiment gives the most information per minute, for the ranking of causes
settings     how the user's training is started
overrides    canonical options in the trainer's own syntax
resume       whether a trial starts from the beginning or from a checkpoint
conduct      prepares and runs the arms, reads their logs, answers the questions, updates the diagnosis
reproduce    the run small and short: five questions about its parts
runner       runs one trial on this machine; supervisor: the process beside each trainer; ray: trials on a cluster

The catalogue of experiments is in knowledge/experiments, the questions in engine/questions.py, and the tests that allow
interim analyses in engine/stats/sequential.py.
"""

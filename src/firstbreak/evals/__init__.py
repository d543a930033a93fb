"""Evaluation that stays clean: what is measured, who looked at which split, and what the training data gave away."""

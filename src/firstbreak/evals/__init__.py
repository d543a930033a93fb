"""Evaluation: how scores are measured (protocol), who evaluated on which split (ledger), and test data in training data."""

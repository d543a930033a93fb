"""A compact trainer for a tiny language model: warm it up on demonstrations, then reinforce it on tasks that verify."""

"""Compare runs: which settings differ, where the curves first differ, and whether the difference is real.

read runs -> arms (runs that differ only in seed and task) -> differences, first_differences, judgement
"""

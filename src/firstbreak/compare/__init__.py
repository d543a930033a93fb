"""Runs side by side: what differs, where the curves part first, and whether the difference is real.

read runs -> arms (runs that differ in nothing but seed and task) -> differences, partings, evidence
"""

"""Diagnosis -> what people and programs read. A report sees nothing but a Diagnosis, and decides nothing about the run.

`content` decides what a report says, in which order and in which words. `terminal`, `html` and `markdown` are three ways to
show it, `json` is the same content for programs, and `inspection` shows a Run before any diagnosis.
"""

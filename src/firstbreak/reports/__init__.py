"""Diagnosis -> what people and programs read. A report sees nothing but a Diagnosis, and decides nothing about the run.

`story` says what is told, in which order and in which words; `terminal`, `html` and `markdown` are three ways of telling
it, `json` is the same for programs, and `inspection` shows a Run before any diagnosis.
"""

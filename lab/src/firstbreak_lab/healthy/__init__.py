"""Healthy variants, one per file: runs that look unusual and must not be called broken."""

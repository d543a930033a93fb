"""Healthy variants, one per file: runs that must not be accused of anything, the awkward ones first of all."""

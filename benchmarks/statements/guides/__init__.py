"""The statements of the guides, one file for each part of a guide."""

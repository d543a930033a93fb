"""The generators: one module for each part of a guide, found by walking this folder. There is no list to edit."""

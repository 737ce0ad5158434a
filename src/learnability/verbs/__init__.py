"""The stages of the workflow, one module a verb: files in, files out. ``cli.py`` calls them."""

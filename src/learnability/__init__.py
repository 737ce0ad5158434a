"""Four deep-learning-theory papers as one reproducible workflow."""

__version__ = "0.1.0"

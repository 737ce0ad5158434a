"""The papers' constants, bounds and complexities as plain functions, named after their equation."""

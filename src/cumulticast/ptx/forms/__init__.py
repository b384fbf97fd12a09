"""Which forms of instructions exist: a table, one row a form, and the checker that reads it."""

from .check import check

__all__ = ["check"]

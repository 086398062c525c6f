"""A step as elementary operations, and what is derived of it."""

from dynlab.program.program import NoProgram, Operation, Program

__all__ = ["NoProgram", "Operation", "Program"]

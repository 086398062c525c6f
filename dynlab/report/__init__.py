"""The report on trained networks: one self-contained HTML page, which checks its own proofs in the browser."""

from dynlab.report.forgetting import memory
from dynlab.report.page import described, report_page
from dynlab.report.parts import Part

__all__ = ["memory", "Part", "described", "report_page"]

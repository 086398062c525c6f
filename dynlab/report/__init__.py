"""The report on trained networks: one self-contained HTML page, which checks its own proofs in the browser."""

from dynlab.report.page import report_page
from dynlab.report.parts import Left, Network, Part

__all__ = ["Left", "Network", "Part", "report_page"]

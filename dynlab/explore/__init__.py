"""The phase-plane explorer: one self-contained HTML page, of plain JavaScript modules in the folder `page`."""

from dynlab.explore.page import explorer_page

__all__ = ["explorer_page"]

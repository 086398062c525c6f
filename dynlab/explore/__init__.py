"""The phase-plane explorer: one self-contained HTML page, of plain JavaScript modules in the folder `page`."""

from dynlab.explore.network import embedded
from dynlab.explore.page import explorer_page

__all__ = ["embedded", "explorer_page"]

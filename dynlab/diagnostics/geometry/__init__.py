"""Where a network's states lie, the fixed points among them, and how far the linear map holds around one."""

from dynlab.diagnostics.geometry.geometry import geometry as geometry

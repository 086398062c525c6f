"""The space that a system's states take up, the fixed points in it, and the reach of the linear map around one."""

from dynlab.diagnostics.geometry.geometry import geometry as geometry

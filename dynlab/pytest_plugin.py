"""The fixture that dynlab gives to every pytest suite. Nothing but pytest is imported until a test asks for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import xarray as xr


@pytest.fixture
def eigenvalue_bounds(
    request: pytest.FixtureRequest, record_testsuite_property: Callable[[str, object], None]
) -> Callable[..., xr.Dataset]:
    """Call it as dynlab.testing.assert_eigenvalue_bounds; what was measured goes into the JUnit report too."""

    def hold_to(network: Any, inputs: Any = None, *, strict: bool = False, **bounds: Any) -> xr.Dataset:
        from dynlab import testing

        measured = testing.measure_bounds(network, inputs, **bounds)
        for name, value in zip(measured["bound"].values, measured["measured"].values, strict=True):
            # of the suite: properties of a single test are against the schema of pytest's reports
            record_testsuite_property(f"{request.node.nodeid} {name}", float(value))
        testing.hold(measured, strict=strict)
        return measured

    return hold_to

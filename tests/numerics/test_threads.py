"""Work in threads: what it leaves behind in torch."""

import json
import os
import subprocess
import sys

LONG = 300  # seconds for what takes a hundredth of one

AFTERWARDS = """
import json, torch
from threadpoolctl import threadpool_info
from dynlab.numerics.threads import one_thread_each, one_torch_thread
with one_torch_thread(), one_thread_each():
    pass
matrices = torch.randn(3, 256, 256, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
right = torch.ones(3, 256, 1, dtype=torch.float64)
found = torch.linalg.solve_ex(matrices, right)[0]
import scipy.linalg
with one_thread_each():
    counts = [each["num_threads"] for each in threadpool_info()]
print(json.dumps([float((matrices @ found - right).abs().max()), counts]))
"""


def test_after_a_block_of_one_thread_factorisations_end_and_libraries_loaded_later_have_one():
    """MKL would else take several threads inside of each of torch's own and hang, SciPy's BLAS one for every core."""
    ran = subprocess.run(
        [sys.executable, "-c", AFTERWARDS],
        env=os.environ | {"OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=LONG,
        check=True,
    )
    residual, counts = json.loads(ran.stdout)
    assert residual < 1e-9
    assert set(counts) == {1}

"""Work in threads: what it leaves behind in torch."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from dynlab.numerics.threads import in_threads, one_torch_thread, torch_threads

LONG = 300  # seconds for what takes a hundredth of one

AFTERWARDS = """
import torch
from dynlab.numerics.threads import one_torch_thread
with one_torch_thread():
    pass
matrices = torch.randn(3, 256, 256, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
right = torch.ones(3, 256, 1, dtype=torch.float64)
found = torch.linalg.solve_ex(matrices, right)[0]
print(float((matrices @ found - right).abs().max()))
"""

LATER = """
from dynlab.numerics.threads import one_thread_each
with one_thread_each():
    pass
import scipy.linalg
from threadpoolctl import threadpool_info
with one_thread_each():
    print([each["num_threads"] for each in threadpool_info()])
"""


def test_a_library_that_is_loaded_later_has_one_thread_too():
    """SciPy's own BLAS would else take as many threads as there are cores inside of each thread of a pool."""
    ran = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, timeout=LONG, check=True)
    assert set(json.loads(ran.stdout)) == {1}, ran.stdout


def test_factorisations_in_several_threads_come_to_an_end_after_a_block_of_one():
    """MKL would else take several threads inside of each of torch's own, and print errors or hang."""
    ran = subprocess.run(
        [sys.executable, "-c", AFTERWARDS],
        env=os.environ | {"OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=LONG,
        check=True,
    )
    assert float(ran.stdout) < 1e-9, ran.stdout


@pytest.mark.parametrize("count", [1, 2])
def test_so_many_threads_inside_a_block_and_as_before_outside(count):
    before = torch.get_num_threads()
    with torch_threads(count):
        assert torch.get_num_threads() == count
        with one_torch_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == count
    assert torch.get_num_threads() == before


def test_each_thread_of_a_pool_has_one_of_torch():
    def work(rows):
        return (np.full(rows.stop - rows.start, torch.get_num_threads()),)

    with torch_threads(2):
        (found,) = in_threads(work, 64)
        assert torch.get_num_threads() == 2
    assert (found == 1).all()

"""The kernels that run all steps of a sequence, against the steps: their source is run here thread by thread."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
import torch

from dynlab.systems import create, from_function
from dynlab.training import fused_kernels, unitwise_sequence
from dynlab.training.recorded import Recorded

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

# What the processor lacks of CUDA: a block's threads are threads here, and blocks take turns.
SHIM = """
#include <barrier>
#include <cmath>
#include <thread>
#include <vector>
struct float4 { float x, y, z, w; };
struct Place { int x; };
static thread_local Place threadIdx, blockIdx;
static std::barrier<>* together;
#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __shared__ static
#define __syncthreads() together->arrive_and_wait()
"""
RUN = """
template <class Kernel, class... Arguments>
static void run(Kernel kernel, int blocks, Arguments... arguments) {
    for (int block = 0; block < blocks; ++block) {
        std::barrier<> meeting(THREADS);
        together = &meeting;
        std::vector<std::thread> threads;
        for (int i = 0; i < THREADS; ++i)
            threads.emplace_back([=] { threadIdx.x = i; blockIdx.x = block; kernel(arguments...); });
        for (auto& one : threads) one.join();
    }
}
extern "C" void run_forward(int blocks, float* a, float* b, float* c, float* d, float* e, int row, int steps) {
    run(forward, blocks, a, b, c, d, e, row, steps);
}
extern "C" void run_backward(int blocks, float* a, float* b, float* c, float* d, float* e, float* f, float* g, float* h,
                             int row, int steps) {
    run(backward, blocks, a, b, c, d, e, f, g, h, row, steps);
}
"""


class OnProcessor:
    """A compiled kernel that is called as torch's are."""

    def __init__(self, text: str, name: str, folder) -> None:
        source, library = folder / f"{name}.cpp", folder / f"{name}.so"
        source.write_text(SHIM + text.replace("extern __shared__ float memory[];", "float memory[1 << 16];") + RUN)
        flags = ["-std=c++20", "-O0", "-shared", "-fPIC", "-pthread", "-Wno-unknown-pragmas"]
        subprocess.run(["g++", *flags, "-o", library, source], check=True)
        self.function = getattr(ctypes.CDLL(str(library)), f"run_{name}")

    def __call__(self, grid, block, args, shared_mem) -> None:
        assert shared_mem <= 4 << 16
        assert block[0] % 32 == 0
        given = [ctypes.c_void_p(one.data_ptr()) if isinstance(one, torch.Tensor) else one for one in args]
        self.function(grid[0], *given)


def gradients(system, inputs, start, every_step):
    """h_1 … h_T or h_T, and the gradients of a function of them by the start and every parameter."""
    start = start.clone().requires_grad_()
    system.zero_grad()
    form = unitwise_sequence.unitwise(system, inputs)
    shown, last = unitwise_sequence.unitwise_states(form, inputs, start, every_step, Recorded())
    weights = torch.linspace(0.5, 2, shown.numel(), dtype=shown.dtype, device=shown.device).view_as(shown)
    ((shown * weights).sum() + last.square().sum()).backward()
    return [shown, last, start.grad, *(one.grad for one in system.parameters() if one.grad is not None)]


def compare(name, n, every_step, device="cpu"):
    """Hold what kernels give to what automatic differentiation of the plain sequence gives in float64."""
    found = []
    for dtype, place in ((torch.float64, "cpu"), (torch.float32, device)):
        torch.manual_seed(0)
        extra = {"length": 6, "rank": 4, "eta": 0.4} if name == "ernn" else {}
        system = create(name, input_size=2, state_size=n, **extra).to(place, dtype)
        torch.manual_seed(1)
        inputs, start = (drawn.to(place, dtype) for drawn in (torch.randn(6, 3, 2), torch.randn(3, n) / 2))
        found.append([one.detach().cpu().numpy() for one in gradients(system, inputs, start, every_step)])
    for exact, one in zip(*found, strict=True):
        atol = TOLERANCES.get(name, 2e-5) * max(np.abs(exact).max(), 1e-3)
        np.testing.assert_allclose(one, exact, rtol=0, atol=atol)


CELLS = ("vanilla", "antisymmetric", "antisymmetric-gated", "fastrnn", "fastgrnn", "modrelu", "asrnn", "ernn")
# asRNN's coordinates W_f h are ill-conditioned at its start.
TOLERANCES = {"asrnn": 1e-3}
SMALL, LARGE = 6, 132  # of less than a warp; of more than registers hold
HERE = [("modrelu", SMALL, True), ("ernn", SMALL, True), ("antisymmetric-gated", LARGE, False)]


@needs_compiler
@pytest.mark.parametrize("name, n, every_step", HERE)
def test_kernels_give_what_the_steps_give(name, n, every_step, monkeypatch, tmp_path):
    compiled = {}

    def compile_here(text, kernel, memory, device):
        compiled[kernel] = OnProcessor(text, kernel, tmp_path)
        return compiled[kernel]

    monkeypatch.setattr(unitwise_sequence, "at_hand", lambda drive: drive.dtype == torch.float32)
    monkeypatch.setattr(fused_kernels, "compiled", compile_here)
    compare(name, n, every_step)
    assert sorted(compiled) == ["backward", "forward"]


@needs_gpu
@pytest.mark.parametrize("every_step", [False, True])
@pytest.mark.parametrize("n", [SMALL, LARGE, 256])
@pytest.mark.parametrize("name", CELLS)
def test_a_gpu_gives_what_the_steps_give(name, n, every_step):
    compare(name, n, every_step, "cuda")


@pytest.mark.parametrize("f", [torch.erf, lambda p: torch.cat([torch.tanh(p[..., :1]), p[..., 1:]], dim=-1)])
def test_what_has_no_text_in_c_or_several_functions_has_no_kernel(f):
    system = from_function(lambda h, x: f(h @ torch.eye(2).to(h) + x), 2, 2)
    form = unitwise_sequence.unitwise(system, torch.zeros(1, dtype=torch.float64))
    assert form is None or fused_kernels.unit_of(form, []) is None

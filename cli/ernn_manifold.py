"""`dynlab ernn-manifold`: an ERNN's motion on its equilibrium manifold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .network import Network
from .options import output_options
from .output import Output

if TYPE_CHECKING:
    import xarray as xr

SOLVING = "Solving for the equilibria"


@click.command()
@click.argument("checkpoint", metavar="[CKPT]", required=False)
@click.option("--layer", help="With CKPT: which recurrent layer.")
@click.option("--inputs", metavar="SPEC", help="With CKPT: what drives it.  [default: the checkpoint's task]")
@click.option("--samples", type=click.IntRange(min=1), default=1, show_default=True, help="With CKPT: sequences.")
@click.option("--steps", type=click.IntRange(min=1), help="Length of the walk, or of made-up inputs.  [default: 1000]")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Of all that is drawn at random.  [default: 172; with CKPT: 0]",
)
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, mps.")
@click.option(
    "--dtype", type=click.Choice(["float64", "float32"]), default="float64", show_default=True, help="Precision."
)
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where data sets lie. [default: $DYNLAB_DATA]")
@output_options
def ernn_manifold(output: Output, checkpoint: str | None, **chosen: Any) -> None:
    """Show an ERNN's motion on its equilibrium manifold, beside an RNN and a FastRNN.

    Without CKPT: Figure 1 of the ERNN paper, random planar networks driven by a random walk of variance 10, and how
    exactly h_k = z*(x_k) − h_{k−1} holds. With the checkpoint of an ERNN: the same for that network on its inputs.

    \b
    dynlab ernn-manifold
    dynlab ernn-manifold ernn-k5.pt
    """
    from dynlab.plots.ernn_manifold import plot_ernn_manifold

    ds = _trained(output, checkpoint, **chosen) if checkpoint else _random(output, **chosen)
    output.emit(ds, plot_ernn_manifold, Path(checkpoint).stem if checkpoint else "random-walk")


def _random(output: Output, steps: int | None, seed: int | None, device: str, dtype: str, **other: Any) -> xr.Dataset:
    from dynlab.diagnostics.ernn.manifold import ernn_manifold as measure
    from dynlab.diagnostics.ernn.manifold_example import SEED, STEPS, random_planar_networks
    from dynlab.errors import UserError

    given = [f"--{name}" for name in ("layer", "inputs", "data_dir") if other[name] is not None]
    if given:
        raise UserError(f"{given[0].replace('_', '-')} needs a checkpoint of an ERNN: dynlab ernn-manifold CKPT.")
    example = random_planar_networks(SEED if seed is None else seed, steps or STEPS)
    with output.working(SOLVING):
        return measure(
            example.system,
            example.inputs,
            beside=example.beside,
            initial_state=example.initial_state,
            dtype=dtype,
            device=device,
        )


def _trained(
    output: Output,
    checkpoint: str,
    layer: str | None,
    inputs: str | None,
    samples: int,
    steps: int | None,
    seed: int | None,
    device: str,
    dtype: str,
    data_dir: Path | None,
) -> xr.Dataset:
    from dynlab import zoo
    from dynlab.checkpoints import read
    from dynlab.diagnostics.ernn.manifold import ernn_manifold as measure
    from dynlab.diagnostics.ernn.manifold_example import STEPS

    found = read(zoo.locate(checkpoint), layer=layer)
    name = Path(checkpoint).stem
    network = Network(
        found, name, inputs, samples, steps or STEPS, seed or 0, device, dtype, data_dir, quiet=output.quiet
    )
    output.log(f"Driven by {network.driving.description}.")
    with output.working(SOLVING):
        return measure(network.system, network.driving.inputs, dtype=dtype, device=device, seed=network.seed)

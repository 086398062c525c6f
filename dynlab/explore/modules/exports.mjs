// What makes the same picture elsewhere: Python lines, and the `dynlab` command.

import { toFragment } from "./state.mjs";

const FUNCTIONS = { tanh: "torch.tanh", relu: "torch.relu", sigmoid: "torch.sigmoid", identity: "" };
const DECIMALS = 12; // of W − γ I as a decimal: the difference of two decimals, without the rounding of floats

const difference = (entry, gamma) => Number((entry - gamma).toFixed(DECIMALS));
const matrixOf = ({ W, gamma }) => [difference(W[0], gamma), W[1], W[2], difference(W[3], gamma)];
const driveOf = ({ bias, input }) => bias.map((each, i) => each + input[i]);

export function pythonLines(state) {
  const [a, b, c, d] = matrixOf(state);
  const drive = driveOf(state);
  const candidate = `${FUNCTIONS[state.activation]}(state @ self.M.mT + self.q)`;
  const gate = state.gated ? `torch.sigmoid(state @ self.M.mT + self.q + ${state.gateBias}) * ` : "";
  const kept = state.leak === 0 ? "" : ` - ${state.leak} * state`;
  const starts = state.starts.length ? state.starts : [[0, 0.5]];
  return `import torch
import dynlab as dl

class Cell(dl.Flow):
    """h' = ${state.gated ? "σ(M h + q + b_z) " : ""}φ(M h + q) − κ h with M = W − γ I and q = x + b."""

    def __init__(self):
        super().__init__(2, 0)
        self.register_buffer("M", torch.tensor([[${a}, ${b}], [${c}, ${d}]], dtype=torch.float64))
        self.register_buffer("q", torch.tensor([${drive.join(", ")}], dtype=torch.float64))

    def velocity(self, state, input, t=0):
        return ${gate}${candidate}${kept}

starts = [${starts.map((start) => `[${start.join(", ")}]`).join(", ")}]
ds = dl.phase_plane(dl.Euler(Cell(), ${state.step}), starts=starts, steps=${state.steps}, extent=${state.half})
print(ds.attrs["verdict"])
dl.plot_phase_plane(ds).figure.savefig("phase-plane.png")
`;
}

/** `dynlab phase` where it has the system; else the command that writes this page in this state. */
export function commandLine(state) {
  const driven = driveOf(state).some((each) => each !== 0);
  const vanilla = state.leak === 1 && state.step === 1;
  if (state.activation === "tanh" && !state.gated && !driven && (vanilla || state.leak === 0) && state.starts.length) {
    const [a, b, c, d] = matrixOf(state);
    const how = vanilla ? "--kind vanilla" : `--step ${state.step}`;
    const starts = state.starts.map((start) => ` --start=${start.join(",")}`).join("");
    return `dynlab phase --matrix="${a},${b};${c},${d}" ${how} --steps ${state.steps}${starts}`;
  }
  return `dynlab explore --state "${toFragment(state)}"`;
}

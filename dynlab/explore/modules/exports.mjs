// What makes the same picture elsewhere: Python lines, and the `dynlab` command.

import { overOne, rational } from "./kinds.mjs";
import { toFragment } from "./state.mjs";

const FUNCTIONS = { tanh: "torch.tanh", relu: "torch.relu", sigmoid: "torch.sigmoid", identity: "" };
const CLASSES = { midpoint: "ExplicitMidpoint", rk4: "RungeKutta4", "implicit-midpoint": "ImplicitMidpoint", "exponential-euler": "ExponentialEuler" };

/** The difference of two decimals, without the rounding that a difference of doubles has before it is one. */
function difference(entry, gamma) {
  const [[upper, lower], below] = overOne([rational(entry), rational(gamma)]);
  return Number(`${upper - lower}e${1 - String(below).length}`); // the denominator is a power of ten
}

const matrixOf = ({ W, gamma }) => [difference(W[0], gamma), W[1], W[2], difference(W[3], gamma)];
const driveOf = ({ bias, input }) => bias.map((each, i) => each + input[i]);

export function pythonLines(state) {
  const made = CLASSES[state.integrator];
  return `import torch
import dynlab as dl
${state.starts.length ? "" : PARTS}${made ? `from dynlab.systems import ${made}\n` : ""}
${state.flow ? equationLines(state) : cellLines(state)}
system = ${made ?? "dl.Euler"}(flow, ${state.step})
${state.starts.length ? withOrbits(state) : withoutOrbits(state)}`;
}

const equationLines = ({ flow, set }) => `flow = dl.EquationFlow(${[JSON.stringify(flow), ...Object.entries(set).map((pair) => pair.join("="))].join(", ")})`;

function cellLines(state) {
  const [a, b, c, d] = matrixOf(state);
  const drive = driveOf(state);
  const candidate = `${FUNCTIONS[state.activation]}(state @ self.M.mT + self.q)`;
  const gate = state.gated ? `torch.sigmoid(state @ self.M.mT + self.q + ${state.gateBias}) * ` : "";
  const kept = state.leak === 0 ? "" : ` - ${state.leak} * state`;
  return `class Cell(dl.Flow):
    """h' = ${state.gated ? "σ(M h + q + b_z) " : ""}φ(M h + q) − κ h with M = W − γ I and q = x + b."""

    def __init__(self):
        super().__init__(2, 0)
        self.register_buffer("M", torch.tensor([[${a}, ${b}], [${c}, ${d}]], dtype=torch.float64))
        self.register_buffer("q", torch.tensor([${drive.join(", ")}], dtype=torch.float64))

    def velocity(self, state, input, t=0):
        return ${gate}${candidate}${kept}


flow = Cell()`;
}

const withOrbits = ({ starts, steps, half }) => `starts = [${starts.map((start) => `[${start.join(", ")}]`).join(", ")}]
ds = dl.phase_plane(system, starts=starts, steps=${steps}, window=${half})
print(ds.attrs["verdict"])
dl.plot_phase_plane(ds).figure.savefig("phase-plane.png")
`;

const PARTS = `import matplotlib.pyplot as plt
from dynlab.plots.phase_portrait import draw_conserved, draw_equilibria, draw_field, draw_nullclines, draw_separatrices
`;

const withoutOrbits = ({ half }) => `# phase_plane needs a start: the orbit from the origin is neither drawn nor told
ds = dl.phase_plane(system, starts=[[0, 0]], steps=1, window=${half})
for place, of_flow, of_map in zip(ds["equilibrium"].values, ds["flow_kind"].values, ds["map_kind"].values):
    print(f"At ({place[0]:.4g}, {place[1]:.4g}) the flow has: {of_flow}; the map: {of_map}.")
figure, ax = plt.subplots()
for draw in (draw_field, draw_conserved, draw_nullclines, draw_separatrices, draw_equilibria):
    draw(ds, ax)
ax.set(aspect="equal", xlim=(-${half}, ${half}), ylim=(-${half}, ${half}), xlabel="h₁", ylabel="h₂")
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
figure.savefig("phase-plane.png", bbox_inches="tight")
`;

/** `dynlab phase` where it has the system; else the command that writes this page in this state. */
export function commandLine(state) {
  const starts = state.starts.map((start) => ` --start=${start.join(",")}`).join("");
  if (state.flow && state.integrator === "euler" && starts) {
    const set = Object.entries(state.set).map((pair) => ` --set ${pair.join("=")}`).join("");
    return `dynlab phase --flow "${state.flow}"${set} --step-size ${state.step} --steps ${state.steps}${starts}`;
  }
  const driven = driveOf(state).some((each) => each !== 0);
  const vanilla = state.leak === 1 && state.step === 1;
  if (!state.flow && state.integrator === "euler" && state.activation === "tanh" && !state.gated && !driven && (vanilla || state.leak === 0) && state.starts.length) {
    const [a, b, c, d] = matrixOf(state);
    const how = vanilla ? "--kind vanilla" : `--step-size ${state.step}`;
    return `dynlab phase --matrix="${a},${b};${c},${d}" ${how} --steps ${state.steps}${starts}`;
  }
  return `dynlab explore --state "${toFragment(state)}"`;
}

/** What makes a page with a trained network in this state: the `dynlab` command that made it, or a line of Python. */
export function networkCommand(state, command) {
  const fragment = toFragment(state);
  return command ? `${command} --state "${fragment}"` : `# in Python, where this page's network was made\nexplorer_page("${fragment}", network)`;
}

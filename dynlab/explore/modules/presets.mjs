// What the page can open with: the eight panels of the AntisymmetricRNN paper's Figure 1, FastRNN and ERNN.

const STARTS = [[0, 0.5], [-0.5, -0.5], [0.5, -0.75]];
const FEEDBACK = { flow: "", set: {}, gamma: 0, leak: 0, step: 0.1, bias: [0, 0], input: [0, 0], gated: false, gateBias: 0, steps: 50, half: 1.5, activation: "tanh", integrator: "euler", past: false, textbook: ["logistic", 3.7], starts: STARTS };
const VANILLA = { ...FEEDBACK, leak: 1, step: 1 };

// The random matrices are those of dynlab's panels (a), (c) and (d).
export const PRESETS = [
  { name: "a", title: "(a) vanilla, random", state: { ...VANILLA, W: [-0.006826779865523179, 1.0461432923049026, 0.7415884212884828, 0.7239565416499906] } },
  { name: "b", title: "(b) vanilla, identity", state: { ...VANILLA, W: [1, 0, 0, 1] } },
  { name: "c", title: "(c) vanilla, rotation", state: { ...VANILLA, W: [0.19264633241404086, -0.9812682561906396, 0.9812682561906396, 0.19264633241404086] } },
  { name: "d", title: "(d) vanilla, reflection", state: { ...VANILLA, W: [0.7227690004350709, 0.6910896989610599, 0.6910896989610599, -0.7227690004350709] } },
  { name: "e", title: "(e) feedback, W₊", state: { ...FEEDBACK, W: [2, -2, 0, 2], half: 6 } },
  { name: "f", title: "(f) feedback, W₋", state: { ...FEEDBACK, W: [-2, 2, 0, -2] } },
  { name: "g", title: "(g) feedback, W₀", state: { ...FEEDBACK, W: [0, -2, 2, 0] } },
  { name: "h", title: "(h) feedback, W₀ − 0.15 I", state: { ...FEEDBACK, W: [0, -2, 2, 0], gamma: 0.15 } },
  { name: "implicit", title: "W₀ by implicit midpoint steps", state: { ...FEEDBACK, W: [0, -2, 2, 0], integrator: "implicit-midpoint", step: 0.5, steps: 200 } },
  { name: "gated", title: "gated AntisymmetricRNN", state: { ...FEEDBACK, W: [0, -2, 2, 0], gamma: 0.15, gated: true, gateBias: -1, steps: 200 } },
  // σ(−3), FastRNN's share of the candidate at its start; its 1 − σ(3) of forgetting is the same, so that κ = 1
  { name: "fastrnn", title: "FastRNN, an invariant curve", state: { ...FEEDBACK, W: [1.5, -1.5, 1.5, 1.5], leak: 1, step: 0.04742587317756678, steps: 200 } },
  { name: "ernn", title: "ERNN’s inner flow, ReLU, η = 0.01", state: { ...FEEDBACK, W: [0.5, -0.8, 0.8, 0.5], bias: [0.5, 0.3], leak: 1, step: 0.01, steps: 500, activation: "relu" } },
  { name: "memories", title: "four memories, divided by separatrices", state: { ...FEEDBACK, W: [3, -1, 1, 3], leak: 1, half: 1.6, starts: [[0.1, 0.05], [-0.1, 0.3], [0.9, -0.1]] } },
];

export const presetNamed = (name) => PRESETS.find((each) => each.name === name);

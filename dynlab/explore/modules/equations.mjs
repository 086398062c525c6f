// Typed equations x′, y′: a recursive parser, and the values and slopes of what it reads. Nothing of a text is run as code.

const LONGEST = 500; // characters of a text
const TOKEN = /\s*(?:((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|([a-z_]\w*)|(\*\*|[-+*/^(),]))/iy;
const NEARBY = 1e-4; // relative: over which a slope is looked at for how fast it changes
const KINKED = 64 * 2 ** -53; // relative to its size: an argument as near to 0 may be at a kink
const VARIABLES = ["x", "y"];
const CONSTANTS = { pi: Math.PI, e: Math.E };

const sigmoid = (p) => 1 / (1 + Math.exp(-p));

/** By name the value and the slope: the functions of dynlab.systems.equations. */
export const FUNCTIONS = {
  sin: [Math.sin, Math.cos],
  cos: [Math.cos, (p) => -Math.sin(p)],
  tan: [Math.tan, (p) => 1 / Math.cos(p) ** 2],
  atan: [Math.atan, (p) => 1 / (1 + p * p)],
  tanh: [Math.tanh, (p) => 1 / Math.cosh(p) ** 2],
  exp: [Math.exp, Math.exp],
  log: [Math.log, (p) => 1 / p],
  sqrt: [Math.sqrt, (p) => 0.5 / Math.sqrt(p)],
  abs: [Math.abs, Math.sign],
  sigmoid: [sigmoid, (p) => sigmoid(p) * sigmoid(-p)],
  relu: [(p) => (p > 0 ? p : 0), (p) => (p > 0 ? 1 : 0)],
  softplus: [(p) => Math.max(p, 0) + Math.log1p(Math.exp(-Math.abs(p))), sigmoid],
};

/** The equations of a text: { trees, texts, names }, `names` those of its parameters. An error says what is not read. */
export function readEquations(text) {
  if (text.length > LONGEST) throw new Error(`the equations have ${text.length} characters, and ${LONGEST} is the most`);
  const tokens = tokensOf(text);
  const names = new Set();
  let at = 0;
  const next = () => tokens[at];
  const take = (...symbols) => (symbols.includes(next().symbol) ? tokens[at++].symbol : null);
  const missing = (what) => new Error(`${what} is missing ${next().symbol === "end" ? "at the end" : `before “${text.slice(next().from)}”`}`);

  /** One level of operators, all of which associate to the left. */
  const chain = (inner, ...symbols) => {
    let left = inner();
    for (let symbol = take(...symbols); symbol; symbol = take(...symbols)) left = { op: symbol, left, right: inner() };
    return left;
  };
  const sum = () => chain(term, "+", "-");
  const term = () => chain(signed, "*", "/");
  const signed = () => {
    const sign = take("+", "-");
    if (!sign) return power();
    return sign === "+" ? signed() : { op: "-", left: { number: 0 }, right: signed() };
  };
  const power = () => {
    const left = atom();
    return take("^", "**") ? { op: "^", left, right: signed() } : left;
  };
  const atom = () => {
    const { number, name } = next();
    if (number === undefined && name === undefined) {
      if (!take("(")) throw missing("a number, a name or a bracket");
      return closed(sum());
    }
    at++;
    if (number !== undefined) return { number };
    if (take("(")) {
      if (!Object.hasOwn(FUNCTIONS, name)) throw new Error(`“${name}” is none of ${Object.keys(FUNCTIONS).join(", ")}`);
      return { call: FUNCTIONS[name], kinked: name === "abs" || name === "relu", of: closed(sum()) };
    }
    if (Object.hasOwn(FUNCTIONS, name)) throw new Error(`${name} needs brackets`);
    if (VARIABLES.includes(name)) return { variable: VARIABLES.indexOf(name) };
    if (Object.hasOwn(CONSTANTS, name)) return { number: CONSTANTS[name] };
    names.add(name);
    return { parameter: name };
  };
  const closed = (inside) => {
    if (!take(")")) throw missing("a closing bracket");
    return inside;
  };

  const [trees, texts] = [[], []];
  do {
    const { from } = next();
    trees.push(sum());
    texts.push(text.slice(from, next().from).trim());
  } while (take(","));
  if (next().symbol !== "end") throw missing("an operator");
  if (trees.length !== 2) throw new Error(`there are two equations, of x′ and y′, and the text has ${trees.length}`);
  return { trees, texts, names: [...names].sort() };
}

function tokensOf(text) {
  const found = [];
  const whole = text.trimEnd();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < whole.length) {
    const from = TOKEN.lastIndex;
    const token = TOKEN.exec(whole);
    if (!token) throw new Error(`“${whole.slice(from).trim()[0]}” is no part of an equation`);
    const [, number, name, symbol] = token;
    found.push({ from, number: number === undefined ? undefined : Number(number), name, symbol });
  }
  return [...found, { from: whole.length, symbol: "end" }];
}

/** The value of a tree at a state, for the numbers of its parameters. */
export function valueOf(tree, h, numbers) {
  if (tree.number !== undefined) return tree.number;
  if (tree.variable !== undefined) return h[tree.variable];
  if (tree.parameter !== undefined) return numbers[tree.parameter];
  if (tree.call) return tree.call[0](valueOf(tree.of, h, numbers));
  const [a, b] = [valueOf(tree.left, h, numbers), valueOf(tree.right, h, numbers)];
  return { "+": a + b, "-": a - b, "*": a * b, "/": a / b, "^": a ** b }[tree.op];
}

/**
 * { value, slopes, size, sizes }: the value and both slopes by the chain rule, and what their terms add up to without
 * their signs, which says how much of them rounding may take.
 */
export function slopesOf(tree, h, numbers) {
  const plain = (value, slopes = [0, 0]) => ({ value, slopes, size: Math.abs(value), sizes: slopes });
  if (tree.number !== undefined) return plain(tree.number);
  if (tree.variable !== undefined) return plain(h[tree.variable], tree.variable ? [0, 1] : [1, 0]);
  if (tree.parameter !== undefined) return plain(numbers[tree.parameter]);
  if (tree.call) return called(tree, slopesOf(tree.of, h, numbers));
  const [a, b] = [slopesOf(tree.left, h, numbers), slopesOf(tree.right, h, numbers)];
  const value = valueOf(tree, h, numbers);
  if (tree.op === "+" || tree.op === "-") return combined(value, a, b, 1, tree.op === "+" ? 1 : -1);
  if (tree.op === "*") return combined(value, a, b, b.value, a.value, b.size, a.size);
  if (tree.op === "/") return combined(value, a, b, 1 / b.value, -value / b.value, b.size / b.value ** 2, (a.size * b.size) / Math.abs(b.value) ** 3);
  const byBase = b.value === 0 ? 0 : b.value * a.value ** (b.value - 1);
  const byExponent = b.slopes.every((each) => each === 0) ? 0 : value * Math.log(a.value);
  const curved = Math.abs(b.value * (b.value - 1)) * Math.abs(a.value) ** (b.value - 2) * a.size;
  return combined(value, a, b, byBase, byExponent, Math.abs(byBase) + (Number.isFinite(curved) ? curved : 0));
}

/** What depends on two parts with these slopes, of these sizes. */
function combined(value, a, b, byA, byB, sizeA = Math.abs(byA), sizeB = Math.abs(byB)) {
  const all = (first, second, p, q) => [0, 1].map((i) => (first ? first * p[i] : 0) + (second ? second * q[i] : 0));
  const size = Math.abs(value) + Math.abs(byA) * a.size + Math.abs(byB) * b.size;
  return { value, slopes: all(byA, byB, a.slopes, b.slopes), size, sizes: all(sizeA, sizeB, a.sizes, b.sizes) };
}

function called({ call: [f, slope], kinked }, p) {
  const by = slope(p.value);
  const near = NEARBY * (1 + Math.abs(p.value));
  const curved = Math.abs(slope(p.value + near) - slope(p.value - near)) / (2 * near);
  const steep = kinked && Math.abs(p.value) <= KINKED * p.size ? Infinity : Math.abs(by) + (curved || 0) * p.size;
  const sizes = p.sizes.map((each) => (each ? steep * each : 0));
  return { value: f(p.value), slopes: p.slopes.map((each) => by * each), size: Math.abs(f(p.value)) + Math.abs(by) * p.size, sizes };
}

/** The numbers of the parameters of a text: those that are given, and 1 for the others. */
export const parametersOf = (text, given) => Object.fromEntries(readEquations(text).names.map((name) => [name, Object.hasOwn(given, name) ? given[name] : 1]));

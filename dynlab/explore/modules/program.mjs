// One step of a trained network, as dynlab writes it out: a short list of elementary operations with stored numbers.

/** Numbers in float64 from base64. */
export function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float64Array(bytes.buffer);
}

/** A function of a number, or two, and a held one from its source in the words of Math. */
function compiled(source) {
  const filled = source.replaceAll("{0}", "a").replaceAll("{1}", "b").replaceAll("{c}", "c");
  return new Function("a", "b", "c", `const { abs, atan, cos, exp, expm1, log, log1p, max, pow, sin, sqrt, tanh } = Math; return ${filled};`);
}

/** The step (state, input) → state of a list of operations, with the sources of their functions. */
export function stepOf(operations, sources) {
  const functions = Object.fromEntries(Object.entries(sources).map(([name, source]) => [name, compiled(source)]));
  const ready = operations.map((operation) => ({ ...operation, values: operation.values === undefined ? null : unpacked(operation.values) }));
  return (state, input) => {
    const results = [];
    for (const operation of ready) results.push(carriedOut(operation, operation.reads.map((read) => results[read]), functions, state, input));
    return results[results.length - 1];
  };
}

function carriedOut({ name, size, values, index, number }, read, functions, state, input) {
  if (name === "state") return state;
  if (name === "input") return input;
  if (name === "constant") return values;
  if (name === "number") return Float64Array.of(number);
  if (name === "take") return Float64Array.from(index, (place) => read[0][place]);
  if (name === "join") return Float64Array.from(read.flatMap((part) => [...part]));
  if (name === "linear") return multiplied(values, read[0], size);
  if (name === "sum") return Float64Array.from({ length: size }, (_, i) => read[0].subarray(i * number, (i + 1) * number).reduce((total, each) => total + each, 0));
  const [first, second, third] = [read[0], read[1] ?? [0], values ?? [number]];
  const at = (vector, i) => vector[vector.length === 1 ? 0 : i]; // one number serves all
  return Float64Array.from({ length: size }, (_, i) => functions[name](at(first, i), at(second, i), at(third, i)));
}

function multiplied(values, vector, size) {
  const result = new Float64Array(size);
  const columns = vector.length;
  for (let row = 0; row < size; row++) {
    let sum = 0;
    for (let column = 0; column < columns; column++) sum += values[row * columns + column] * vector[column];
    result[row] = sum;
  }
  return result;
}

/** The coordinates of a state along the principal directions, and the state at coordinates. */
export function projection(origin, directions) {
  const size = origin.length;
  const count = directions.length / size;
  return {
    count,
    onto: (state) => Array.from({ length: count }, (_, axis) => origin.reduce((sum, centre, i) => sum + (state[i] - centre) * directions[axis * size + i], 0)),
    back: (coordinates) => origin.map((centre, i) => coordinates.reduce((sum, each, axis) => sum + each * directions[axis * size + i], centre)),
  };
}

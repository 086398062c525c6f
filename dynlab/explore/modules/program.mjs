// One step of a trained network, as dynlab writes it out: a short list of elementary operations with stored numbers.

/** Numbers in float64 from base64. */
export function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float64Array(bytes.buffer);
}

const entrywise = (combine) => (first, second) => first.map((each, i) => combine(each, second?.[i]));

const OPERATIONS = {
  add: entrywise((x, y) => x + y),
  subtract: entrywise((x, y) => x - y),
  multiply: entrywise((x, y) => x * y),
  reciprocal: entrywise((x) => 1 / x),
  sqrt: entrywise(Math.sqrt),
  tanh: entrywise(Math.tanh),
  sigmoid: entrywise((x) => 0.5 * (1 + Math.tanh(0.5 * x))),
  relu: entrywise((x) => Math.max(x, 0)),
  join: (...parts) => Float64Array.from(parts.flatMap((part) => [...part])),
};

/** The step (state, input) → state of a list of operations, of which the first is the state and the second the input. */
export function stepOf(operations) {
  const ready = operations.map(({ name, reads, size, values, span }) => ({ name, reads, size, span, values: values === undefined ? null : unpacked(values) }));
  return (state, input) => {
    const results = [];
    ready.forEach((operation, i) => results.push(i === 0 ? state : i === 1 ? input : carriedOut(operation, operation.reads.map((read) => results[read]))));
    return results[results.length - 1];
  };
}

function carriedOut({ name, size, values, span }, read) {
  if (name === "constant") return values;
  if (name === "part") return read[0].slice(...span);
  if (name === "modrelu") return read[0].map((each, i) => Math.sign(each) * Math.max(Math.abs(each) + values[i], 0));
  if (name !== "linear") return OPERATIONS[name](...read);
  const [vector, result] = [read[0], new Float64Array(size)];
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

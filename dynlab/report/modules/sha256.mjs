// SHA-256 of a text in ASCII (FIPS 180-4), for pages that are opened from a file, where browsers may offer none.

const WORDS = 64;

/** The first 32 bits of the fractional parts of the roots of the first primes, of degree 2 or 3, in exact integers. */
function fractions(degree, count) {
  const found = [];
  for (let candidate = 2; found.length < count; candidate++) {
    let divisor = 2;
    while (divisor * divisor <= candidate && candidate % divisor) divisor++;
    if (divisor * divisor > candidate) found.push(Number(BigInt.asUintN(32, rootOf(BigInt(candidate) << BigInt(32 * degree), degree))));
  }
  return found;
}

/** The largest integer whose power is not above `value`, by halving. */
function rootOf(value, degree) {
  let [low, high] = [0n, 1n << 40n];
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** BigInt(degree) <= value) low = middle;
    else high = middle;
  }
  return low;
}

const START = fractions(2, 8);
const ROUND = fractions(3, WORDS);
const turned = (word, by) => (word >>> by) | (word << (32 - by));

/** The digest of a text in ASCII, in hexadecimal digits. */
export function sha256(text) {
  const length = text.length;
  const bytes = new Uint8Array(((length + 8) >> 6 << 6) + 64);
  for (let i = 0; i < length; i++) bytes[i] = text.charCodeAt(i);
  bytes[length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - 8, Math.floor(length / 2 ** 29));
  view.setUint32(bytes.length - 4, (length << 3) >>> 0);
  const state = Int32Array.from(START);
  const words = new Int32Array(WORDS);
  for (let start = 0; start < bytes.length; start += 64) {
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(start + 4 * i);
    for (let i = 16; i < WORDS; i++) {
      const [early, late] = [words[i - 15], words[i - 2]];
      const first = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
      const second = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
      words[i] = words[i - 16] + first + words[i - 7] + second;
    }
    mix(state, words);
  }
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

function mix(state, words) {
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < WORDS; i++) {
    const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[i] + words[i]) | 0;
    const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] += word));
}

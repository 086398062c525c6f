// Numbers as a person or a link writes them: what is taken, and the sentence where one is not.

export const LARGEST = 1e6; // of a number in a field or a link
const DECIMAL = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;

/** What is wrong with a number, as the end of a sentence, or an empty string. */
export function refused({ label, least = -LARGEST, most = LARGEST, whole = false }, text) {
  const value = Number(text);
  if (!DECIMAL.test(text)) return `${label} is “${text}”, which is not a number${/^\s*[+-]?\d+,\d+\s*$/.test(text) ? ": write a point for the comma" : ""}`;
  if (whole && !Number.isInteger(value)) return `${label} is ${text}, which is not a whole number`;
  if (value < least || value > most) return `${label} is ${text}, which is not between ${least} and ${most}`;
  return "";
}

/** The number that a text says which is not refused; there is no −0. */
export const numberOf = (text) => Number(text) + 0;

/** The numbers of a text with commas, one for each row { label, least, most, whole }; an error says what is wrong. */
export function numbersOf(name, text, rows) {
  const found = text.split(",");
  if (found.length !== rows.length) throw new Error(`${name} has ${found.length} numbers in place of ${rows.length}`);
  found.forEach((each, i) => {
    const reason = refused(rows[i], each);
    if (reason) throw new Error(reason);
  });
  return found.map(numberOf);
}

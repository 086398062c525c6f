// What the check of the proofs of a network found.

/** What the check of all proofs found, as a sentence. */
export function outcome(wrong, all) {
  if (all === 1) return wrong ? "The proof does not hold." : "The proof is correct.";
  if (!wrong) return `All ${all} proofs are correct.`;
  return wrong === 1 ? `1 of ${all} proofs does not hold.` : `${wrong} of ${all} proofs do not hold.`;
}

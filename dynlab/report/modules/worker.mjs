// Checks certificates beside the page, so that it stays quick: a text comes in, what it shows goes out.

import { check } from "./certificate_check.mjs";
import { Malformed, Rejected } from "./rejected.mjs";
import { parsed } from "./strict_json.mjs";

/** {holds, sentence} of the text of a certificate. */
function judged(text) {
  try {
    return { holds: true, sentence: check(parsed(text)) };
  } catch (error) {
    if (error instanceof Malformed) return { holds: false, sentence: `No certificate: ${error.message}.` };
    if (error instanceof Rejected) return { holds: false, sentence: `REJECTED: ${error.message}.` };
    return { holds: false, sentence: `It could not be checked: ${error.message}.` };
  }
}

onmessage = ({ data: { number, text } }) => postMessage({ number, ...judged(text) });

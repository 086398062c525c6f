// Checks certificates beside the page, so that it stays quick: a text or bytes come in, what they show goes out.

import { check } from "./certificate_check.mjs";
import { Malformed, Rejected } from "./rejected.mjs";
import { decoded, parsed } from "./strict_json.mjs";

/** {holds, sentence} of a certificate: its text, or the bytes of its file. */
function judged(content) {
  try {
    return { holds: true, sentence: check(parsed(typeof content === "string" ? content : decoded(content))) };
  } catch (error) {
    if (error instanceof Malformed) return { holds: false, sentence: `No certificate: ${error.message}.` };
    if (error instanceof Rejected) return { holds: false, sentence: `REJECTED: ${error.message}.` };
    return { holds: false, sentence: `It could not be checked: ${error.message}.` };
  }
}

onmessage = ({ data: { number, content } }) => postMessage({ number, ...judged(content) });

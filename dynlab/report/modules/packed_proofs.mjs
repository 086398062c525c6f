// The certificates that a page holds, as the files that they are.

/** The texts of the certificates in a packed text: base64 of compressed JSON, in which what they share stands once. */
export async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { program, certificates } = JSON.parse(await new Response(stream).text());
  return certificates.map((each) => JSON.stringify({ ...each, program }));
}

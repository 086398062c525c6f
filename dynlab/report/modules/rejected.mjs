// Why a certificate is not accepted: a sentence about it.

/** The certificate does not show what it claims; the message says what failed. */
export class Rejected extends Error {}

/** The text is no certificate; the message says where it is none. */
export class Malformed extends Rejected {}

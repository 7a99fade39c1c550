/** Where randomness comes from, and the byte-level rules of draws: docs/client-format.md. */
import { number } from "./bytes.js";

/** A function that takes a number of bytes and returns as many new random bytes, as a big-endian number. */
export type Entropy = (size: number) => bigint;

/** The browser's cryptographic randomness. Every client draws from it. */
export const system: Entropy = size => number(crypto.getRandomValues(new Uint8Array(size)));

/** A uniform number below a limit of at most 2^64. Numbers at or above its last multiple are redrawn. */
export function below(limit: bigint, entropy: Entropy): bigint {
  for (;;) {
    const drawn = entropy(8);
    if (drawn < (1n << 64n) - ((1n << 64n) % limit)) return drawn % limit;
  }
}

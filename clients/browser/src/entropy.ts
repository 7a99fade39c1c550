/** Where randomness comes from, and the byte-level rules of draws: docs/client-format.md. */
import { number } from "./bytes.js";

/** A function that takes a number of bytes and returns as many new random bytes, as a big-endian number. */
export type Entropy = (size: number) => bigint;

/** The browser's cryptographic randomness. Every client draws from it. */
export const system: Entropy = size => number(crypto.getRandomValues(new Uint8Array(size)));

/** A uniform number below a limit. Numbers at or above the last multiple of the limit are redrawn. */
export function below(limit: bigint, entropy: Entropy): bigint {
  const size = 8 * Math.ceil((limit - 1n).toString(2).length / 64);
  for (;;) {
    const drawn = entropy(size);
    if (drawn < ((1n << BigInt(8 * size)) / limit) * limit) return drawn % limit;
  }
}

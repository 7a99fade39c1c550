/** Where randomness comes from, and the byte-level rules of draws: docs/client-format.md. */
import { type Bytes, bytesOf, hex, number, utf8 } from "./bytes.js";

/** A function that takes a number of bytes and returns as many new random bytes, as a big-endian number. */
export type Entropy = (size: number) => bigint | Promise<bigint>;

/** The browser's cryptographic randomness. Every client draws from it. */
export const system: Entropy = size => number(crypto.getRandomValues(new Uint8Array(size)));

/** New bytes, as bytes. */
export const fetchBytes = async (size: number, entropy: Entropy): Promise<Bytes> =>
  new Uint8Array(bytesOf(await entropy(size), size));

/** A uniform number below a limit of at most 2^64. Numbers at or above its last multiple are redrawn. */
export async function below(limit: bigint, entropy: Entropy): Promise<bigint> {
  for (;;) {
    const drawn = await entropy(8);
    if (drawn < (1n << 64n) - ((1n << 64n) % limit)) return drawn % limit;
  }
}

/** Bytes for one purpose: HMAC-SHA-256(key, purpose ‖ counter in 8 bytes ‖ fresh) for counter 0, 1, … */
export function drawn(key: Bytes, purpose: string, fresh: Iterable<number> = []): Entropy {
  const secret = crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  let left = "";
  let counter = 0;
  return async size => {
    for (; left.length < 2 * size; counter++) {
      const message = new Uint8Array([...utf8(purpose), ...bytesOf(counter, 8), ...fresh]);
      left += hex(new Uint8Array(await crypto.subtle.sign("HMAC", await secret, message)));
    }
    const taken = left.slice(0, 2 * size);
    left = left.slice(2 * size);
    return BigInt("0x" + taken);
  };
}

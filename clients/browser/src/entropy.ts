/** Where randomness comes from, and the byte-level rules of draws: docs/client-format.md. */
import { bytesOf, hex, number, sha256, utf8, type Bytes } from "./bytes.js";
import type { Fraction } from "./campaign.js";

/** A function that takes a number of bytes and returns as many new random bytes, as a big-endian number. */
export type Entropy = (size: number) => bigint | Promise<bigint>;

/** The browser's cryptographic randomness. Every client draws from it. */
export const system: Entropy = size => number(crypto.getRandomValues(new Uint8Array(size)));

/** A uniform number below a limit. Numbers at or above the last multiple of the limit are redrawn. */
export async function below(limit: bigint, entropy: Entropy): Promise<bigint> {
  const size = 8 * Math.max(1, Math.ceil((limit - 1n).toString(2).length / 64));
  for (;;) {
    const drawn = await entropy(size);
    if (drawn < ((1n << BigInt(8 * size)) / limit) * limit) return drawn % limit;
  }
}

/** A key for every round. Each is made from the one before, which the client then forgets. */
export interface Ratchet {
  key: Bytes;
  round: number;
  /** Drawn when the answer last changed. */
  fresh: Bytes;
}

/** The key of this or of a later round: SHA-256("untrackable/next" ‖ key) as often as needed. */
export async function keyAt({ key, round, fresh }: Ratchet, later: number): Promise<Ratchet> {
  for (; round < later; round++) key = await sha256([...utf8("untrackable/next"), ...key]);
  return { key, round, fresh };
}

/** Bytes for one purpose: HMAC-SHA-256(key, purpose ‖ counter in 8 bytes ‖ fresh) for counter 0, 1, … */
export function drawn(key: Bytes, purpose: string, fresh: Iterable<number> = []): Entropy {
  let left = "";
  let counter = 0;
  return async size => {
    const secret = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    for (; left.length < 2 * size; counter++) {
      const message = new Uint8Array([...utf8(purpose), ...bytesOf(counter, 8), ...fresh]);
      left += hex(new Uint8Array(await crypto.subtle.sign("HMAC", secret, message)));
    }
    const taken = left.slice(0, 2 * size);
    left = left.slice(2 * size);
    return BigInt("0x" + taken);
  };
}

/** Toss the round's secret coin. It depends on the key alone. */
export const answers = async ({ key }: Ratchet, [one, other]: Fraction) =>
  (await below(other, drawn(key, "coin"))) < one;

/** The position of the sending time in the round, from 0 to 1. It depends on the key alone. */
export const moment = async ({ key }: Ratchet) => Number(await drawn(key, "moment")(8)) / 2 ** 64;

/** Bytes, their digests, and the whole numbers that they stand for. All numbers are big-endian here. */
export type Bytes = Uint8Array<ArrayBuffer>;

export const hex = (bytes: Iterable<number>) =>
  [...bytes].map(each => each.toString(16).padStart(2, "0")).join("");
export const number = (bytes: Iterable<number>) => BigInt("0x" + hex(bytes));
/** A number in this many bytes. */
export const bytesOf = (given: bigint | number, size: number): number[] =>
  given
    .toString(16)
    .padStart(2 * size, "0")
    .match(/../g)!
    .map(each => parseInt(each, 16));
export const sha256 = async (bytes: Iterable<number>): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes)));
/** The bytes of a text. */
export const utf8 = (text: string): Bytes => new TextEncoder().encode(text);

/** The fields of each encoding of single values in documents, and its number of values. */

/** The fields, in order; alternatives are separated by a bar. */
const FIELDS: Record<string, string> = {
  bit: "one,type,version,zero",
  "integer-range": "above,below,high,low,type,version",
  buckets: "above,below,edges,type,version|above,below,edges,type,unit,version",
  categories: "names,type,unknown,version",
  "hashed-strings": "bits,longest,salt,too_long,type,version",
};

/** The names of a part's fields, in order. */
export const keys = (part: any) => Object.keys(part ?? {}).join();

/** The number of values of an encoding; nothing if this client does not know it, or no number is in its range. */
export function valuesOf(encoding: any): bigint | undefined {
  const { type, version, bits, names, unknown, edges, high, low, below, above } = encoding ?? {};
  if (version != 1 || !FIELDS[type]?.split("|").includes(keys(encoding))) return;
  if (type == "bit") return 2n;
  if (bits <= 256) return 1n << BigInt(bits);
  if (names) return BigInt(names.length + +(unknown == "other"));
  const [first, last] = edges ? [1, edges.length - 1] : [low, high];
  if ([first, last].every(Number.isSafeInteger) && first <= last)
    return BigInt(last - first + 1 + +(below == "separate") + +(above == "separate"));
}

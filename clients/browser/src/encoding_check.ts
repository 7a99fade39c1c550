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

/** The number of values of an encoding; nothing if this client does not know it. */
export function valuesOf(encoding: any): bigint | undefined {
  const { type, version, below, above } = encoding ?? {};
  if (version != 1 || !FIELDS[type]?.split("|").includes(keys(encoding))) return;
  const ranged = (inside: number) => +(below == "separate") + inside + +(above == "separate");
  return type == "bit"
    ? 2n
    : type == "hashed-strings"
      ? 1n << BigInt(encoding.bits)
      : BigInt(
          type == "categories"
            ? encoding.names.length + +(encoding.unknown == "other")
            : ranged(type == "buckets" ? encoding.edges.length - 1 : encoding.high - encoding.low + 1),
        );
}

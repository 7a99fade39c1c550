/** From what people hold to whole numbers, for every encoding but discovered strings. Errors never show a value. */
import { need } from "./refused.js";
import { number, sha256 } from "./bytes.js";

type Encode = (encoding: any, raw: any) => bigint | number | Promise<bigint>;

/** The fields of each encoding (alternatives are separated by a bar), its number of values, and its rule. */
export const encodings: Record<string, [fields: string, values: (encoding: any) => bigint, encode: Encode]> = {
  bit: [
    "one,type,version,zero",
    () => 2n,
    (_, raw) => {
      need(raw === true || raw === false || raw === 0 || raw === 1, "the answer must be true or false");
      return +raw;
    },
  ],
  "integer-range": [
    "above,below,high,low,type,version",
    given => ranged(given, given.high - given.low + 1),
    (given, raw) => {
      need(Number.isSafeInteger(raw), "the answer must be a whole number");
      return placed(given, raw < given.low, raw > given.high, raw - given.low);
    },
  ],
  buckets: [
    "above,below,edges,type,version|above,below,edges,type,unit,version",
    given => ranged(given, given.edges.length - 1),
    (given, raw) => {
      need(typeof raw == "number" && raw == raw, "the answer must be a number");
      const last = given.edges.length - 1;
      const edge = given.edges.findLastIndex((each: number) => each <= raw);
      return placed(given, edge < 0, raw > given.edges[last], Math.min(edge, last - 1));
    },
  ],
  categories: [
    "names,type,unknown,version",
    ({ names, unknown }) => BigInt(names.length + +(unknown == "other")),
    (given, raw) => {
      const place = given.names.indexOf(text(raw));
      need(place >= 0 || given.unknown == "other", "the answer must be one of the list");
      return place < 0 ? given.names.length : place;
    },
  ],
  "hashed-strings": [
    "bits,longest,salt,too_long,type,version",
    ({ bits }) => 1n << BigInt(bits),
    async (given, raw) => {
      const letters = [...text(raw)];
      need(letters.length <= given.longest || given.too_long == "truncate", "the answer is too long");
      const salt = given.salt.match(/../g).map((each: string) => parseInt(each, 16));
      const cut = new TextEncoder().encode(letters.slice(0, given.longest).join(""));
      return number(await sha256([salt.length, ...salt, ...cut])) >> BigInt(256 - given.bits);
    },
  ],
};

const ranged = ({ below, above }: any, inside: number) =>
  BigInt(+(below == "separate") + inside + +(above == "separate"));

/** The value of a number within the range, or of one outside it. */
function placed(given: any, under: boolean, over: boolean, place: number): number {
  const outside = under ? given.below : over ? given.above : "";
  need(outside != "error", "the answer is out of range");
  return under ? 0 : over ? Number(encodings[given.type][1](given)) - 1 : place + +(given.below == "separate");
}

/** A string in Unicode's composed form. */
function text(raw: any): string {
  need(typeof raw == "string" && !/\p{Cs}/u.test(raw), "the answer must be text");
  return raw.normalize("NFC");
}

/** From what people hold to whole numbers, for encodings of single values. Errors never show a value. */
import { need } from "./refused.js";
import { number, sha256 } from "./bytes.js";

type Encode = (encoding: any, raw: any) => bigint | number | Promise<bigint>;

const rules: Record<string, Encode> = {
  bit(_, raw) {
    need([true, false, 0, 1].includes(raw), "the answer must be true or false");
    return +raw;
  },
  "integer-range"(given, raw) {
    need(Number.isSafeInteger(raw), "the answer must be a whole number");
    return placed(given, given.high - given.low + 1, raw < given.low, raw > given.high, raw - given.low);
  },
  buckets(given, raw) {
    need(typeof raw == "number" && raw == raw, "the answer must be a number");
    const last = given.edges.length - 1;
    const edge = given.edges.findLastIndex((each: number) => each <= raw);
    return placed(given, last, edge < 0, raw > given.edges[last], Math.min(edge, last - 1));
  },
  categories(given, raw) {
    const place = given.names.indexOf(text(raw));
    need(place >= 0 || given.unknown == "other", "the answer must be one of the list");
    return place < 0 ? given.names.length : place;
  },
  async "hashed-strings"(given, raw) {
    const letters = [...text(raw)];
    need(letters.length <= given.longest || given.too_long == "truncate", "the answer is too long");
    const salt = given.salt.match(/../g).map((each: string) => parseInt(each, 16));
    const cut = new TextEncoder().encode(letters.slice(0, given.longest).join(""));
    return number(await sha256([salt.length, ...salt, ...cut])) >> BigInt(256 - given.bits);
  },
};

/** The whole number of an answer. */
export const encode = async (encoding: any, raw: unknown) => BigInt(await rules[encoding.type](encoding, raw));

/** The value of a number within a range of this many values, or of one outside it. */
function placed(given: any, inside: number, under: boolean, over: boolean, place: number): number {
  const outside = under ? given.below : over ? given.above : "";
  need(outside != "error", "the answer is out of range");
  const first = +(given.below == "separate");
  return under ? 0 : over ? first + inside - +(given.above != "separate") : first + place;
}

/** A string in Unicode's composed form. */
export function text(raw: any): string {
  need(typeof raw == "string" && !/\p{Cs}/u.test(raw), "the answer must be text");
  return raw.normalize("NFC");
}

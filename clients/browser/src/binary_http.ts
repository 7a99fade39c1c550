/** Binary HTTP of known length (RFC 9292): the request that is sealed, and the answer to it. */
import { bytesOf, type Bytes, number, utf8 } from "./bytes.js";
import { need } from "./refused.js";

/** The most fields of one section. */
const MOST_FIELDS = 64;
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const VALUE = /^([\x21-\x7e\x80-\xff]([\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;

/** A number below 2^30 in the fewest of 1, 2 or 4 bytes, whose first two bits give its length. */
function written(given: number): number[] {
  const power = given < 1 << 6 ? 0 : given < 1 << 14 ? 1 : 2;
  const bytes = bytesOf(given, 1 << power);
  bytes[0] |= power << 6;
  return bytes;
}

const withLength = (bytes: ArrayLike<number> & Iterable<number>) => [...written(bytes.length), ...bytes];

/** A POST with one field, as bytes without padding. */
export function writtenPost(authority: string, path: string, type: string, content: Bytes): number[] {
  const fields = [...withLength(utf8("content-type")), ...withLength(utf8(type))];
  const start = ["POST", "https", authority, path].flatMap(each => withLength(utf8(each)));
  return [0, ...start, ...withLength(fields), ...withLength(content), 0];
}

/** What is read from bytes, from their beginning. */
class Reader {
  #bytes: Bytes;

  constructor(bytes: Bytes) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length;
  }

  number(): number {
    need(this.left, "binary HTTP is cut off");
    const size = 1 << (this.#bytes[0] >> 6);
    return Number(number(this.#take(size)) & ((1n << BigInt(8 * size - 2)) - 1n));
  }

  text(): Bytes {
    return this.#take(this.number());
  }

  /** A text, or nothing at the end: empty parts there may be missing. */
  part(): Bytes {
    return this.left ? this.text() : new Uint8Array();
  }

  fields(section: Bytes): Map<string, string> {
    const reader = new Reader(section);
    const found = new Map<string, string>();
    const latin = (bytes: Bytes) => String.fromCharCode(...bytes);
    for (let count = 1; reader.left; count++) {
      const name = latin(reader.text());
      const value = latin(reader.text());
      need(NAME.test(name) && VALUE.test(value) && count <= MOST_FIELDS, "binary HTTP has a wrong field");
      found.set(name, value);
    }
    return found;
  }

  /** The bytes after the message are its padding. */
  padding(): void {
    need(
      this.#bytes.every(each => !each),
      "the padding must be zero",
    );
  }

  #take(size: number): Bytes {
    need(size <= this.left, "binary HTTP is cut off");
    const found = this.#bytes.slice(0, size);
    this.#bytes = this.#bytes.slice(size);
    return found;
  }
}

/** The status and the fields of a final response. */
export function readResponse(bytes: Bytes): [status: number, fields: Map<string, string>] {
  const reader = new Reader(bytes);
  need(reader.number() == 1, "this is not a response of known length");
  let status = reader.number();
  for (; status >= 100 && status < 200 && status != 101; status = reader.number()) reader.fields(reader.text());
  need(status >= 200 && status < 600, "a final status is between 200 and 599");
  const fields = reader.fields(reader.part());
  reader.part();
  reader.fields(reader.part());
  reader.padding();
  return [status, fields];
}

/** From other answers to whole numbers: many choices, records of attributes, paths of answers, and presence. */
import { keys, valuesOf } from "./encoding_check.js";
import { encode, text } from "./encodings.js";
import { whole } from "./numbers.js";
import { need } from "./refused.js";

/** The largest width of an encoded value, in bits. */
const LARGEST_BITS = 256;
/** The largest width of a path, in bits. */
const LARGEST_PATH = 16;

interface Attribute {
  name: string;
  encoding: any;
}

/** The number of bits of an encoding of single values. */
export function bitsOf(encoding: any): number {
  const values = valuesOf(encoding);
  need(values && values > 1n, "this client does not know the encoding");
  return (values - 1n).toString(2).length;
}

/** The number of values of any encoding; documents that are not valid are refused. */
export function allValues(encoding: any): bigint {
  const { type, version, names, attributes, tables, of, looks } = encoding ?? {};
  let bits;
  if (version == 1 && type == "presence" && keys(encoding) == "type,version") return 1n;
  if (version == 1 && type == "choices" && keys(encoding) == "names,type,version") {
    bits = names.length;
    need(new Set(names.map(text)).size == bits && bits > 1, "the campaign is not valid");
  } else if (version == 1 && type == "record" && keys(encoding) == "attributes,tables,type,version") {
    const all: Attribute[] = attributes;
    bits = all.reduce((sum, each) => sum + bitsOf(each.encoding), 0);
    need(
      all.length > 1 &&
        all.every(each => keys(each) == "encoding,name") &&
        new Set(all.map(each => text(each.name) && each.name)).size == all.length &&
        Array.isArray(tables),
      "the campaign is not valid",
    );
  } else if (version == 1 && type == "path" && keys(encoding) == "looks,of,type,version") {
    bits = bitsOf(of) * looks;
    need(whole(looks, 2, LARGEST_PATH) && bits <= LARGEST_PATH, "the campaign is not valid");
  } else {
    bitsOf(encoding);
    return valuesOf(encoding)!;
  }
  need(bits <= LARGEST_BITS, "the campaign is not valid");
  return 1n << BigInt(bits);
}

/** The whole number of any answer: a list of names, an object of attributes, or a single value, also in a look. */
export async function encodeAll(encoding: any, raw: any): Promise<bigint> {
  if (encoding.type == "choices") {
    need(Array.isArray(raw) || raw instanceof Set, "the answer must be a list of names");
    let value = 0n;
    for (const name of raw) {
      const place = encoding.names.indexOf(text(name));
      need(place >= 0, "the answer must have names of the list only");
      value |= 1n << BigInt(place);
    }
    return value;
  }
  if (encoding.type == "presence") {
    need(raw === true || raw === 1, "the answer must be true: somebody who is not there sends nothing");
    return 0n;
  }
  if (encoding.type != "record") return encode(encoding.of ?? encoding, raw);
  const all: Attribute[] = encoding.attributes;
  need(
    raw && typeof raw == "object" && !raw[Symbol.iterator],
    "the answer must be an object with a value for each attribute",
  );
  const missing = all.filter(({ name }) => !Object.hasOwn(raw, name)).map(({ name }) => name);
  need(!missing.length, `the answer lacks ${missing.join(", ")}`);
  need(Object.keys(raw).length == all.length, "the answer has attributes that are not asked for");
  let value = 0n;
  let place = 0;
  for (const { name, encoding: own } of all) {
    value |= (await encode(own, raw[name])) << BigInt(place);
    place += bitsOf(own);
  }
  return value;
}

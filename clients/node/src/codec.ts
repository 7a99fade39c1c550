/** The content of a client's file: one line of its format, one of JSON, and the SHA-256 of both. */
import { createHash } from "node:crypto";
import { hex } from "../../browser/src/bytes.js";

const FORMAT = "untrackable node 1\n";
const unhex = (text: string) => new Uint8Array((text.match(/../g) ?? []).map(each => parseInt(each, 16)));
const digest = (text: string) => createHash("sha256").update(text).digest("hex");

/** The text of a file. Whole numbers without limits, and bytes, are objects with one field. */
export function written(content: unknown): string {
  const body =
    FORMAT +
    JSON.stringify(content, (_, each) =>
      typeof each == "bigint"
        ? { number: each.toString() }
        : each instanceof Uint8Array
          ? { bytes: hex(each) }
          : each,
    ) +
    "\n";
  return body + digest(body) + "\n";
}

/** The content of a file, or nothing if it is damaged. */
export function readBack(text: string): any {
  const body = text.slice(0, -65);
  if (!text.startsWith(FORMAT) || text.slice(-65) != digest(body) + "\n") return;
  return JSON.parse(body.slice(FORMAT.length), (_, each) => {
    if (typeof each?.number == "string") return BigInt(each.number);
    if (typeof each?.bytes == "string") return unhex(each.bytes);
    return each;
  });
}

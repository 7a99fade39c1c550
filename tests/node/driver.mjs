/** Uses the installed package as tests ask: one JSON document in, one line for each step out. */
import { webcrypto } from "node:crypto";
import { createInterface } from "node:readline";
import { allow, Client, Refused, used } from "untrackable-node";

const hex = bytes => Buffer.from(bytes).toString("hex");

/** Let random bytes be these as long as there are some. */
function force(entropy) {
  const random = webcrypto.getRandomValues.bind(webcrypto);
  let left = Buffer.from(entropy, "hex");
  webcrypto.getRandomValues = bytes => {
    if (left.length < bytes.length) return random(bytes);
    bytes.set(left.subarray(0, bytes.length));
    left = left.subarray(bytes.length);
    return bytes;
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { options, entropy = "", steps } = JSON.parse(line);
  let now;
  const client = new Client({ consent: () => true, clock: () => now, ...options });
  force(entropy);
  for (const [time, call, ...given] of steps) {
    now = time;
    let found;
    try {
      found = call == "allow" ? await allow(...given, options) : await client[call](...given.map(each => each === "used!" ? used : each));
      if (found instanceof Uint8Array) found = hex(found);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      found = { refused: error.message };
    }
    console.log(JSON.stringify(found ?? null));
  }
}

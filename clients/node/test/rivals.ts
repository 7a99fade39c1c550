/** Uses the storage and the lock as tests ask, one command a line, so that tests decide which process is first. */
import { createInterface } from "node:readline";
import type { Ledger } from "../../browser/src/kept.js";
import { taken } from "../src/lock.js";
import { storageOf } from "../src/storage.js";

const [, , folder] = process.argv;
const { locked, read, write } = storageOf({ folder });
let ledger: Ledger;
let release: () => Promise<void>;

const count = (found: Ledger) => found.policy?.eps ?? 0;
async function changed(by: number): Promise<number> {
  [ledger] = await read("");
  ledger.policy = { ...ledger.policy!, eps: count(ledger) + by };
  await write(ledger, "");
  return count(ledger);
}

const commands: Record<string, (given: any) => unknown> = {
  async take(patience) {
    release = await taken(`${folder}/lock`, patience);
  },
  give: () => release(),
  async read() {
    [ledger] = await read("");
    return count(ledger);
  },
  /** Write what was read last, as if nobody had written since. */
  async write(eps) {
    ledger.policy = { ...ledger.policy!, eps };
    await write(ledger, "");
  },
  /** Add one this often, each time under the lock. */
  async add(times) {
    for (let i = 0; i < times; i++) await locked("", () => changed(1));
  },
  /** Add one this often without a lock, and say how often that went well. */
  async race(times) {
    let done = 0;
    for (let i = 0; i < times; i++)
      await changed(1).then(
        () => done++,
        () => {},
      );
    return done;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [command, given] = JSON.parse(line);
  let found: unknown = null;
  try {
    found = (await commands[command](given)) ?? null;
  } catch (error: any) {
    found = { refused: error.message };
  }
  console.log(JSON.stringify(found));
}

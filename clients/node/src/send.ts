/** The process that sends a report in the background. */
import { join } from "node:path";
import { BACKGROUND, GIVEN } from "./background.js";
import { taken } from "./lock.js";
import { Client } from "./untrackable.js";

const { policy, ...given } = JSON.parse(process.env[GIVEN]!);
// A relay may be away for the whole round. A later run of the program tries again.
setTimeout(() => process.exit(), 600_000).unref();
try {
  const release = await taken(join(given.folder, BACKGROUND), 0);
  try {
    const client = new Client({ ...given, policy, consent: () => true });
    const due = await client.due();
    if (due !== null && due <= Date.now() / 1000) await client.run();
  } finally {
    await release();
  }
} catch {
  // Nobody reads what it says. The next run tries again.
}

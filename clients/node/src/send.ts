/** The process that sends a report in the background. */
import { join } from "node:path";
import { BACKGROUND, GIVEN } from "./background.js";
import { taken } from "./lock.js";
import { Client } from "./untrackable.js";

/** Long enough for a lock that was left over to become free. None is begun while another process sends. */
const PATIENCE = 15_000;
/** A relay may be away for the whole round. A later run of the program tries again. */
const LONGEST = 600_000;

const { policy, ...given } = JSON.parse(process.env[GIVEN]!);
try {
  const release = await taken(join(given.folder, BACKGROUND), PATIENCE);
  try {
    const client = new Client({ ...given, policy, consent: () => true });
    const due = await client.due();
    const over = new Promise(resolve => setTimeout(resolve, LONGEST));
    if (due !== null && due <= Date.now() / 1000) await Promise.race([client.run(), over]);
  } finally {
    await release();
  }
} catch {
  // Nobody reads what it says. The next run tries again.
}
process.exit();

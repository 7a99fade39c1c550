/** Sends a report without keeping a program waiting: in a process of its own, which ends within minutes. */
import { spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, type Options } from "../../browser/src/client.js";

/** The lock of the process that sends, in the folder: there is one at a time. */
export const BACKGROUND = "lock-background";
/** The variable of the environment with the options. Other people on this machine cannot read it. */
export const GIVEN = "UNTRACKABLE_SEND";
const FRESH = 10_000;

/**
 * Let another process send the report if it is due, and say whether one was started. Ask the person before.
 *
 * It waits for a random time of at most a minute first, and makes six attempts within five minutes. With a relay that
 * holds reports, it does not wait, and tries for up to ten minutes. It is told nothing but these options; what is sent
 * is in the folder.
 */
export async function sendInBackground(options: Options): Promise<boolean> {
  const { server, campaign, policy, folder, consent } = options;
  if ((await consent?.(campaign)) !== true) return false;
  const due = await new Client(options).due();
  if (due === null || due > (options.clock?.() ?? Date.now() / 1000)) return false;
  const sending = await stat(join(folder!, BACKGROUND)).then(({ mtimeMs }) => mtimeMs, () => 0);
  if (Date.now() - sending < FRESH) return false;
  const given = JSON.stringify({ server, campaign, policy, folder });
  spawn(process.execPath, [fileURLToPath(new URL("send.js", import.meta.url))], {
    detached: true,
    stdio: "ignore",
    windowsHide: true,
    // Electron is Node.js only if it is told so.
    env: { ...process.env, [GIVEN]: given, ELECTRON_RUN_AS_NODE: "1" },
  }).unref();
  return true;
}

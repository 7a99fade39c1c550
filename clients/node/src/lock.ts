/**
 * A lock that processes respect: a file that only one of them can create. A process that was killed does not keep it.
 *
 * Its holder touches the file every second. It may be taken from a process that is gone, or that has not touched it
 * for some seconds while another one watched. Then two processes may believe that they hold it, so nothing relies on
 * the lock alone: `storage.ts` replaces a version of its file only if nobody else did.
 */
import { randomBytes } from "node:crypto";
import { readlinkSync } from "node:fs";
import { link, open, readFile, rename, stat, unlink, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { Refused } from "../../browser/src/refused.js";

/** A lock that is not touched for this long is free. */
const STALE = 10_000;
const TOUCHED = 1000;
const NAP = 20;

const sleep = (ms: number) => new Promise(resolve => setTimeout(resolve, ms));

/** Where numbers of processes mean the same: this machine, and on Linux this namespace. */
function here(): string {
  try {
    return `${hostname()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

/** Whether the process that wrote this into its lock is gone for certain. */
function isGone(found: string): boolean {
  const [pid, , where] = found.split("\n");
  if (where != here()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error: any) {
    return error.code == "ESRCH";
  }
}

/** What a lock says, or nothing if there is none. */
const content = (path: string) =>
  readFile(path, "utf8").catch((error: any) => {
    if (error.code == "ENOENT") return null;
    throw error;
  });

/** Whether a lock is certainly this one. */
const isStill = (path: string, found: string) => content(path).then(each => each == found, () => false);

/** Remove a lock if it is still this one. Another process may have taken it in the meantime. */
async function removed(path: string, found: string): Promise<void> {
  const aside = `${path}.${randomBytes(8).toString("hex")}.part`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  if (!(await isStill(aside, found))) await link(aside, path).catch(() => {});
  await unlink(aside).catch(() => {});
}

/** Whether this process created the lock. On a full disk, nothing is left of it. */
async function created(path: string, own: string): Promise<boolean> {
  try {
    const handle = await open(path, "wx", 0o600);
    try {
      await handle.writeFile(own);
    } catch (error) {
      await unlink(path).catch(() => {});
      throw error;
    } finally {
      await handle.close();
    }
    return true;
  } catch (error: any) {
    if (error.code == "EEXIST") return false;
    throw error;
  }
}

/** Take a lock, and return what gives it back. It is refused after this many milliseconds of waiting. */
export async function taken(path: string, patience: number): Promise<() => Promise<void>> {
  const own = [process.pid, randomBytes(16).toString("hex"), here()].join("\n");
  const until = performance.now() + patience;
  for (let seen = "", since = 0; ;) {
    if (await created(path, own)) break;
    const found = await content(path);
    const touched = await stat(path).then(({ mtimeMs }) => mtimeMs, () => 0);
    const now = performance.now();
    const look = `${touched} ${found}`;
    if (seen != look) [seen, since] = [look, now];
    if (found !== null && (isGone(found) || now - since > STALE)) await removed(path, found);
    else if (now > until) throw new Refused("another process uses the folder, so nothing is answered now", true);
    else await sleep(NAP);
  }
  const touching = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, TOUCHED);
  (touching as any).unref(); // It keeps no program alive.
  return async () => {
    clearInterval(touching);
    if (await isStill(path, own)) await unlink(path).catch(() => {});
  };
}

/**
 * Keeps things in one file of a private folder. It is replaced whole: a new version is written, synced and linked to
 * the name of the next number, which fails if another process was first. So of two processes that read the same
 * version, only one goes on, also if the lock did not keep them apart.
 */
import { randomBytes } from "node:crypto";
import { link, mkdir, open, readdir, readFile, stat, unlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Ledger, Place, State, Storage } from "../../browser/src/kept.js";
import { need, Refused } from "../../browser/src/refused.js";
import { readBack, written } from "./codec.js";
import { taken } from "./lock.js";

const LARGEST = 1 << 24;
/** How many milliseconds to wait for another process, and for one that sends. */
const PATIENCE = 30_000;
const PATIENCE_SENDING = 90_000;
/** How often to read again what another process has just replaced. */
const ATTEMPTS = 100;

/** The content that a ledger was read with. */
interface Version {
  number: number;
  states: Record<string, State>;
}

/** The storage in a folder, which is made when something is to be kept. */
export function storageOf({ folder }: Place): Storage {
  need(folder, "folder must be the path of a folder for this person's data");
  const place = resolve(folder);
  const versions = new WeakMap<Ledger, Version>();
  const file = (number: number) => join(place, `kept.${number}`);

  /** The numbers of the versions that are there: one, and older ones if a process was killed. */
  async function numbers(): Promise<number[]> {
    const names = await readdir(place).catch((error: any): string[] => {
      if (error.code == "ENOENT") return [];
      throw error;
    });
    const found = names.flatMap(name => name.match(/^kept\.([1-9]\d{0,14})$/)?.slice(1) ?? []);
    return found.map(Number).sort((a, b) => a - b);
  }

  async function read(id: string): Promise<[Ledger, State?]> {
    return plainly(async () => {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const number = (await numbers()).at(-1) ?? 0;
        const found = number ? await content(number) : { ledger: { accounts: {} }, states: {} };
        if (!found) continue;
        versions.set(found.ledger, { number, states: found.states });
        return [found.ledger, found.states[id]];
      }
      throw new Refused("another process changes the folder all the time", true);
    });
  }

  /** What a version has; nothing if it was replaced meanwhile. */
  async function content(number: number): Promise<any> {
    await checkPrivate();
    try {
      need((await stat(file(number))).size <= LARGEST, `${file(number)} is too large, so it is not read`);
      const found = readBack(await readFile(file(number), "utf8"));
      need(found, `${file(number)} is damaged, so it is not known what was answered, and nothing is`);
      return found;
    } catch (error: any) {
      if (error.code != "ENOENT") throw error;
    }
  }

  async function write(ledger: Ledger, id: string, state?: State): Promise<void> {
    const { number, states: before } = versions.get(ledger)!;
    const { [id]: _, ...states } = before;
    if (state) states[id] = state;
    const text = written({ ledger, states });
    need(text.length <= LARGEST, "there is too much to keep");
    await plainly(async () => {
      await made();
      const part = join(place, `${randomBytes(8).toString("hex")}.part`);
      try {
        const handle = await open(part, "wx", 0o600);
        try {
          await handle.writeFile(text);
          await handle.sync();
        } finally {
          await handle.close();
        }
        await link(part, file(number + 1));
      } catch (error: any) {
        if (error.code != "EEXIST" && error.code != "ENOENT") throw error;
        throw overtaken();
      } finally {
        await unlink(part).catch(() => {});
      }
      // The number was free, too, if others have replaced this version several times and removed those between.
      if ((await numbers()).at(-1) != number + 1) {
        await unlink(file(number + 1)).catch(() => {});
        throw overtaken();
      }
      await synced();
      await tidy(number);
      versions.set(ledger, { number: number + 1, states });
    });
  }

  /** Remove older versions, and what killed processes left. */
  async function tidy(last: number): Promise<void> {
    const names = await readdir(place);
    const isOld = (name: string) => +(name.match(/^kept\.(\d+)$/)?.[1] ?? Infinity) <= last;
    const old = names.filter(name => name.endsWith(".part") || isOld(name));
    await Promise.all(old.map(name => unlink(join(place, name)).catch(() => {})));
    await synced();
  }

  /** Make the folder, for its owner alone. */
  async function made(): Promise<void> {
    await mkdir(place, { recursive: true, mode: 0o700 });
    await checkPrivate();
  }

  async function checkPrivate(): Promise<void> {
    const found = await stat(place);
    need(found.isDirectory(), `${place} must be a folder`);
    if (process.platform == "win32") return;
    need(found.uid == process.getuid(), `${place} must belong to the account that runs this`);
    need(!(found.mode & 0o077), `${place} must be for its owner alone: run chmod 700 on it`);
  }

  /** Wait until the names of the folder are on disk. Windows has no such call. */
  async function synced(): Promise<void> {
    if (process.platform == "win32") return;
    const handle = await open(place, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** Do something with errors in words. */
  async function plainly<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error: any) {
      if (error instanceof Refused) throw error;
      const why = error?.code ?? error?.name;
      throw new Refused(`the folder ${place} cannot be used (${why}), so nothing is answered`, true);
    }
  }

  return {
    async locked(name, work) {
      const release = await plainly(async () => {
        await made();
        return taken(join(place, "lock" + name.replace("/", "-")), name ? PATIENCE_SENDING : PATIENCE);
      });
      try {
        return await work();
      } finally {
        await release();
      }
    },
    read,
    write,
  };
}

const overtaken = () => new Refused("another process was faster; try again", true);

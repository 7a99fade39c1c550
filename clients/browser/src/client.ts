/** The client: it joins a campaign for a person, within their policy, and answers for them. */
import type { Bytes } from "./bytes.js";
import { type Allowed, begins, type Campaign, lastBegun, type Limits } from "./campaign.js";
import { keyAt, type Ratchet, system } from "./entropy.js";
import { type Post, post, type Reply } from "./http.js";
import { answered, answerTime, changed, encoded, ended, joined, open, over, parse } from "./life.js";
import { crowd, joining, views } from "./load_chunk.js";
import { need, Refused } from "./refused.js";
import { type Ledger, locked, read, type State, stored, write } from "./storage.js";
import { webAddress } from "./web_address.js";

export { Refused };
export type { Limits, Post, Reply };

/** The result of sending. */
export type Outcome = "nothing" | "no consent" | "offline" | "accepted" | "refused" | "given up";
/** What a person allows, all campaigns of the origin together. */
export type Policy = Pick<Limits, "eps" | "delta"> & Partial<Allowed>;

export interface Options {
  /** The collector's address, with https. */
  server: string;
  /** The pinned campaign: the SHA-256 of its document, in hexadecimal. */
  campaign: string;
  policy: Policy;
  /** Whether the person agrees, asked before anything is kept or sent. Without it, the client does nothing. */
  consent?: () => boolean | Promise<boolean>;
  /** Take part even if the browser says that the person does not want to be tracked. */
  ignoreGlobalPrivacyControl?: boolean;
  post?: Post;
  /** Seconds since 1970. */
  clock?: () => number;
}

/** The number of rounds in which the next answered one is looked for. */
const SEARCHED = 2 ** 12;
/** Further attempts may follow within this many seconds after the first one. */
const WINDOW = 300;
const TRIES = 6;
/** A report whose time passed while no page was open is sent after a random delay of at most this many seconds. */
const LATE = 60;
const DAY = 86400;
const DAYS = 28;

const sleep = (seconds: number) => new Promise(resolve => setTimeout(resolve, 1000 * Math.max(0, seconds)));
const random = () => Number(system(6)) / 2 ** 48;
/** A client of one campaign. Every method may be called at any time, in any tab, in any order. */
export class Client {
  #options: Options & { policy: Allowed; post: Post; clock: () => number };
  #id: string;
  #address: string;

  constructor(options: Options) {
    this.#options = {
      post,
      clock: () => Date.now() / 1000,
      ...options,
      policy: checked(options.policy),
    };
    this.#id = options.campaign;
    const server = webAddress("server", options.server);
    need(/^[0-9a-f]{64}$/.test(this.#id), "campaign must be an id: 64 lower-case hexadecimal digits");
    this.#address = `${server.href.replace(/\/$/, "")}/campaigns/${this.#id}`;
  }

  /** Set the person's value. The first one joins the campaign, from the next round on. False without consent. */
  async answer(raw: unknown): Promise<boolean> {
    if (!(await this.#agreed())) return false;
    const document = (await read(this.#id))[0].accounts[this.#id]?.campaign ?? (await this.#fetched());
    const asked = parse(document);
    const value = await encoded(asked, raw);
    await locked("", async () => {
      const [ledger, state] = await read(this.#id);
      const stored = ledger.policy && checked(ledger.policy);
      const { policy, clock } = this.#options;
      need(
        !stored ||
          Object.entries(policy).every(([name, limit]) =>
            name == "relays"
              ? limit.every((relay: string) => stored.relays.includes(relay))
              : limit <= (stored as any)[name],
          ),
        "this policy allows more than the stored one: call allow(policy) first if the person means it",
      );
      ledger.policy = policy;
      const next =
        !state || over(ledger.accounts[this.#id]?.lives.at(-1))
          ? await this.#joined(ledger, document, asked, value, clock())
          : value == state.value
            ? state
            : await changed(asked, state, value, system);
      if (next != state || JSON.stringify(stored) != JSON.stringify(policy)) await write(ledger, this.#id, next);
    });
    return true;
  }

  /** Note a use, and answer on how many of the last 28 days there was one. The days stay on the device. */
  async used(): Promise<boolean> {
    if (!(await this.#agreed())) return false;
    const today = Math.floor(this.#options.clock() / DAY);
    const key = this.#id + "/days";
    const days = await locked("", async () => {
      const before: number[] = (await stored("readonly", store => store.get(key))).result ?? [];
      const found = [...new Set([...before.filter(day => day > today - DAYS && day <= today), today])];
      await stored("readwrite", store => store.put(found, key));
      return found.length;
    });
    return this.answer(days);
  }

  /** The time at which the next report is sent, random in each round; null if there is no further report. */
  async due(): Promise<number | null> {
    return (await this.#next())[0];
  }

  /** The report of this round, on disk before it is returned; null if it is not due or already sent. */
  async report(): Promise<Bytes | null> {
    need(!(await this.#relayed()), "reports for a crowd are sent through a relay only");
    return locked("", async () => (await this.#prepared())[1]?.sealed?.body ?? null);
  }

  /** Send this round's report if it is due. A retry has the same bytes, and follows within minutes. */
  async send(): Promise<Outcome> {
    let moved = false;
    const notice = () => {
      moved = true;
    };
    const changes: [any, string][] = [
      [globalThis, "offline"],
      [(navigator as any).connection, "change"],
    ];
    changes.forEach(([target, event]) => target?.addEventListener?.(event, notice));
    try {
      for (let next: Outcome | number = 0; ;) {
        if (!(await this.#agreed())) return "no consent";
        next = await locked("/" + this.#id, () => this.#attempt(moved));
        if (typeof next == "string") return next;
        await sleep(next);
      }
    } finally {
      changes.forEach(([target, event]) => target?.removeEventListener?.(event, notice));
    }
  }

  /** Send reports at their times as long as this page is open, and tell the outcomes. */
  async run(told: (outcome: Outcome) => void = () => {}): Promise<void> {
    for (let planned = 0; ;) {
      const [due, left] = await this.#next();
      const now = this.#options.clock();
      if (due === null) return;
      if (due > now) planned = due;
      else if (planned < now - LATE / 2 || planned > now + LATE)
        planned = now + Math.min(LATE, left / 2) * random();
      if (planned > now) await sleep(Math.min(planned - now, 3600));
      else (told(await this.send()), (planned = 0));
    }
  }

  /** Leave the campaign: answers, days and states are forgotten, and only what was spent is kept. */
  async leave(): Promise<void> {
    await locked("/" + this.#id, () =>
      locked("", async () => {
        const [ledger] = await read(this.#id);
        const account = ledger.accounts[this.#id];
        if (account) account.lives = ended(account, this.#options.clock());
        await write(ledger, this.#id);
        await stored("readwrite", store => store.delete(this.#id + "/days"));
      }),
    );
  }

  /** The time of the next report, and the seconds that are left of the present round. */
  async #next(): Promise<[due: number | null, left: number]> {
    const now = this.#options.clock();
    const [ledger, state] = await locked("", () => read(this.#id));
    const account = ledger.accounts[this.#id];
    const life = account?.lives.at(-1);
    if (!state || !life) return [null, 0];
    const asked = parse(account.campaign);
    const current = lastBegun(asked, now);
    const left = begins(asked, current + 1) - now;
    if (state.sealed?.round == current) return [now, left];
    const first = Math.max(current, life[0], life[2] + 1, state.round);
    let key: Ratchet = state;
    for (let round = first; open(life, state, round); round++) {
      if (round - first == SEARCHED) return [begins(asked, round), left];
      key = await keyAt(key, round);
      const time = await answerTime(asked, key, now);
      if (time) return [time, left];
    }
    return [null, left];
  }

  async #agreed(): Promise<boolean> {
    const { consent, ignoreGlobalPrivacyControl } = this.#options;
    return (
      (ignoreGlobalPrivacyControl || !(navigator as any).globalPrivacyControl) && (await consent?.()) === true
    );
  }

  /** The campaign's document, if it is the pinned one and valid. */
  async #fetched(): Promise<string> {
    const [document, problem] = await (await joining()).fetched(this.#address, this.#id, { crowd, views });
    need(!problem, problem!);
    return document;
  }

  /** The way of reports through a relay; nothing if the campaign does not rely on a crowd. */
  async #relayed(): Promise<Post | undefined> {
    const [{ accounts, policy }] = await read(this.#id);
    const account = accounts[this.#id];
    const asked = account && parse(account.campaign);
    if (!asked?.gateway) return;
    const found = await (await crowd()).relayed(asked, checked(policy!), this.#address);
    need(typeof found != "string", found as string);
    return found;
  }

  async #joined(ledger: Ledger, document: string, asked: Campaign, value: bigint, now: number): Promise<State> {
    const [first, problem] = await (
      await joining()
    ).entered(ledger, this.#id, document, now, this.#address, { crowd, views });
    need(!problem, problem!);
    // Some browsers ask the person, who may take long.
    navigator.storage?.persist?.().catch(() => {});
    return joined(asked, value, first, system);
  }

  /** The ledger, and the state with this round's report: the one on disk, or a new one if it is time to send it. */
  async #prepared(): Promise<[Ledger, State | undefined]> {
    const now = this.#options.clock();
    const [ledger, state] = await read(this.#id);
    const account = ledger.accounts[this.#id];
    const life = account?.lives.at(-1);
    if (!state || !life) return [ledger, undefined];
    const asked = parse(account.campaign);
    const round = lastBegun(asked, now);
    if (state.sealed && state.sealed.round != round) state.sealed = null;
    if (state.sealed || !open(life, state, round)) return [ledger, state];
    const key = await keyAt(state, round);
    const time = await answerTime(asked, key, now);
    if (!time || now < time) return [ledger, state];
    life[2] = round;
    const made = await answered(asked, state, key);
    // In a crowd, a report is tried when it is made, or soon afterwards, or never.
    if (asked.gateway) made.sealed!.since = now;
    await write(ledger, this.#id, made);
    return [ledger, made];
  }

  /** One attempt to send: an outcome, or the seconds until the next attempt. */
  async #attempt(moved: boolean): Promise<Outcome | number> {
    if (navigator.onLine === false) return "offline";
    const { post, clock } = this.#options;
    // Reports for a crowd are never sent in another way.
    const way = (await this.#relayed()) ?? post;
    const progress = (change: (state: State) => void) =>
      locked("", async () => {
        const [ledger, state] = await this.#prepared();
        if (!state?.sealed) return;
        change(state);
        await write(ledger, this.#id, state);
        return state.sealed;
      });
    let late = false;
    const sealed = await progress(state => {
      const { since, tries } = state.sealed!,
        now = clock();
      late = since !== null && (moved || now < since || now > since + WINDOW || tries >= TRIES);
      state.sealed = late ? null : { ...state.sealed!, since: since ?? now, tries: tries + 1 };
    });
    if (!sealed) return late ? "given up" : "nothing";
    const { status, retryAfter = 0 } = await way(this.#address + "/reports", sealed.body);
    const again = status === null || status >= 500 || [408, 425, 429].includes(status);
    const wait = Math.max(Math.min(60, 2 ** sealed.tries) * (0.5 + random()), retryAfter);
    if (again && sealed.tries < TRIES && clock() + wait <= sealed.since! + WINDOW) return wait;
    // Meanwhile the next round may have begun, with a report of its own.
    await progress(state => {
      if (state.sealed!.round == sealed.round) state.sealed = null;
    });
    return again ? "given up" : status >= 200 && status < 300 ? "accepted" : "refused";
  }
}

/** Store a policy that may also allow more than the one before. It limits what is joined from now on. */
export const allow = (policy: Policy): Promise<unknown> =>
  locked("", async () => {
    const ledger = (await read(""))[0];
    ledger.policy = checked(policy);
    await stored("readwrite", store => store.put(ledger, "ledger"));
  });

/** The limits of a policy, with those that it does not name. */
function checked(policy: Policy): Allowed {
  const { relays = [], ...limits } = {
    gamma: 0,
    tracking_delta: 0,
    recognition: 0.01,
    crowd_eps: 1,
    crowd_delta: 1e-6,
    ...policy,
  };
  need(
    limits.eps > 0 && limits.crowd_eps > 0 && Object.values(limits).every(each => each >= 0),
    "a policy has limits of 0 or more, and an eps above 0",
  );
  return { ...limits, relays };
}

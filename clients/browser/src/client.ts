/** The client: it joins a campaign for a person, within their policy, and answers once for them. */
import type { Bytes } from "./bytes.js";
import { begins, type Campaign, parse, roundAt } from "./campaign.js";
import { checked } from "./campaign_check.js";
import { fetchBytes, system } from "./entropy.js";
import { objects, offline, persist, program, watchNetwork } from "./environment.js";
import { type Post, post } from "./http.js";
import { fetched, opened } from "./joining.js";
import { ballots, crowd, views, words } from "./load_chunk.js";
import type { Preview } from "./preview.js";
import { need, Refused, told } from "./refused.js";
import type { Account, Allowed, Ledger, Place, Sealed, State, Storage } from "./kept.js";
import { storageOf } from "./storage.js";
import { drawTurn, encoded, presentValue, report, sendingTime, type Turn } from "./turn.js";
import { webAddress } from "./web_address.js";

/** In place of an answer: it was used today. */
export const used = Symbol("used");
/** What became of an answer: kept until the turn, if there is one; not yet, as nothing is remembered; or too late. */
export type Answered = "no consent" | "not yet" | "kept" | "done";
/** The result of sending. "later" is for a relay that holds reports: the report is sent with a later visit. */
export type Outcome = "nothing" | "no consent" | "offline" | "later" | "accepted" | "refused" | "given up";
/** What a person allows, all campaigns of the origin together. */
export type Policy = Pick<Allowed, "eps"> & Partial<Allowed>;

export interface Options extends Place {
  /** The collector's address, with https. */
  server: string;
  /** The pinned campaign: the SHA-256 of its document, in hexadecimal. */
  campaign: string;
  policy: Policy;
  /** Whether the person agrees, asked before anything is kept or sent. Without it, the client does nothing. */
  consent?: (campaign: string) => boolean | Promise<boolean>;
  /** What entitles the person to a ballot, if the campaign has ballots: a code, or a new token of an account. */
  enrolment?: string;
  post?: Post;
  /** Seconds since 1970. */
  clock?: () => number;
}

/** Further attempts may follow within this many seconds after the first one. */
const WINDOW = 300;
const TRIES = 6;
/** A report whose time passed while no page was open is sent after a random delay of at most this many seconds. */
const LATE = 60;
/** With a relay that holds reports, an open page sends within so many seconds after the start of its round. */
const SPREAD = 600;
/** In a crowd, a report counts as late this many seconds after its time, and is not sent: who visited then is known. */
const GRACE = 30;

const sleep = (seconds: number) => new Promise(resolve => setTimeout(resolve, 1000 * Math.max(0, seconds)));
const random = () => Number(system(6)) / 2 ** 48;

/** A client of one campaign. Every method may be called at any time, in any tab, in any order. */
export class Client {
  #options: Options & { policy: Allowed; post: Post; clock: () => number };
  #storage: Storage;
  #id: string;
  #address: string;

  constructor(options: Options) {
    this.#options = {
      post,
      clock: () => Date.now() / 1000,
      ...options,
      policy: complete(options.policy),
    };
    this.#storage = storageOf(options);
    this.#id = options.campaign;
    const server = webAddress("server", options.server);
    need(/^[0-9a-f]{64}$/.test(this.#id), "campaign must be an id: 64 lower-case hexadecimal digits");
    this.#address = `${server.href.replace(/\/$/, "")}/campaigns/${this.#id}`;
  }

  /**
   * Set the person's value. The client joins once it has remembered an earlier round, and draws its turn then. If the
   * campaign has ballots, it gets one from the issuer before.
   */
  async answer(given: unknown): Promise<Answered> {
    if (!(await this.#agreed())) return "no consent";
    const { policy, clock } = this.#options;
    const [{ accounts }, known] = await this.#storage.read(this.#id);
    if (accounts[this.#id]?.done) return "done";
    // Another policy, client or browser may accept what was refused.
    const page = JSON.stringify([policy, program()]);
    need(known?.page != page, known?.refused!);
    const document = known?.campaign || (await fetched(this.#address, this.#id));
    // Nobody is enrolled for a campaign that does not fit any more.
    const fits = known?.secret && opened({ accounts }, policy, parse(document));
    const ballot = fits && told(await (await ballots()).fetched(known, this.#options));
    return this.#storage.locked("", async () => {
      const [ledger, state] = await this.#kept();
      const account = ledger.accounts[this.#id];
      if (account && (account.done || !state)) return "done";
      const raised = ledger.policy && !isWithin(policy, ledger.policy);
      // What was joined before goes on, within the stored policy.
      need(
        !raised || account,
        "this policy allows more than the stored one; call allow(policy) if the person means it",
      );
      const joined = account ?? (await this.#opened(ledger, document, state, page));
      const asked = parse(document);
      const now = clock();
      const round = roundAt(asked, now);
      const [raw, days] = await this.#given(given, asked, state);
      const value = await encoded(asked, raw, now, state);
      const same = raised || (ledger.policy && isWithin(ledger.policy, policy));
      if (!raised) ledger.policy = policy;
      if (account) {
        if (value == state!.value && !asked.encoding.looks && !days && same) return "kept";
        const fresh = value == state!.value ? state!.fresh : await fetchBytes(32, system);
        const changed = { ...state!, value, fresh, round: asked.encoding.looks && round, days };
        await this.#storage.write(ledger, this.#id, changed);
        return "kept";
      }
      const seen = Math.min(state?.seen ?? round, round);
      const secret = asked.ballots && (state?.secret ?? (await fetchBytes(32, system)));
      if (seen == round || (secret && !ballot)) {
        await this.#storage.write(ledger, this.#id, { campaign: document, seen, days, secret });
        return "not yet";
      }
      persist();
      const drawn = await drawTurn(asked, system);
      ledger.accounts[this.#id] = joined;
      joined.done = !drawn.turn || drawn.turn <= round;
      const begun = joined.done ? undefined : { campaign: document, ...drawn, value, days, ballot };
      await this.#storage.write(ledger, this.#id, begun);
      return joined.done ? "done" : "kept";
    });
  }

  /** Note a use, and answer on how many of the last 28 days there was one, or only that somebody is there. */
  used(): Promise<Answered> {
    return this.answer(used);
  }

  /** What would be sent for an answer, or for the one that is kept; null if nothing more is sent. It changes nothing. */
  async preview(raw?: unknown): Promise<Preview | null> {
    if (objects()) return null;
    const [ledger, state] = await this.#storage.read(this.#id);
    if (ledger.accounts[this.#id]?.done) return null;
    const { policy, clock } = this.#options;
    const asked = await checked(state?.campaign || (await fetched(this.#address, this.#id)));
    if (roundAt(asked, clock()) >= asked.rounds + +!!state?.turn) return null;
    const value =
      raw === undefined && state?.value !== undefined
        ? await presentValue(asked, state, clock())
        : await encoded(asked, (await this.#given(raw, asked, state))[0], clock(), state);
    // Neither the turn nor the noise of the report that will be sent.
    const drawn = await drawTurn(asked, system);
    const body = await report(asked, { ...drawn, turn: drawn.turn || 1 }, value);
    return (await words()).preview(asked, body, ledger, policy, this.#id);
  }

  /** The time at which the report is sent; null if there is no turn to come. */
  async due(): Promise<number | null> {
    return (await this.#next())[0];
  }

  /** The report, on disk before it is returned; null if it is not due or already sent. */
  async report(): Promise<Bytes | null> {
    if (!(await this.#waiting())) return null;
    return this.#storage.locked("", async () => {
      const [, state] = await this.#kept();
      need(!state?.turn || !parse(state.campaign).gateway, "reports for a crowd are sent through a relay only");
      return (await this.#prepared())[1]?.sealed?.body ?? null;
    });
  }

  /** Send the report if it is due. A retry has the same bytes, and follows within minutes. */
  async send(): Promise<Outcome> {
    let moved = false;
    let unwatch: (() => void) | undefined;
    try {
      for (let next: Outcome | number = 0; ;) {
        if (!(await this.#agreed())) return "no consent";
        if (!(await this.#waiting())) return "nothing";
        unwatch ??= watchNetwork(() => {
          moved = true;
        });
        next = await this.#storage.locked("/" + this.#id, () => this.#attempt(moved));
        if (typeof next == "string") return next;
        await sleep(next);
      }
    } finally {
      unwatch?.();
    }
  }

  /** Send the report at its time if this page is open then, and tell the outcomes. It ends at "no consent". */
  async run(told: (outcome: Outcome) => void = () => {}): Promise<void> {
    for (let planned = 0; ;) {
      const [due, left, held] = await this.#next();
      const now = this.#options.clock();
      if (due === null) return;
      if (due > now) planned = due + (held ? Math.min(SPREAD, left / 2) * random() : 0);
      else if (planned < now - LATE / 2 || planned > now + LATE)
        planned = held ? now : now + Math.min(LATE, left / 2) * random();
      if (planned > now) await sleep(Math.min(planned - now, 3600));
      else {
        const outcome = await this.send();
        planned = held && /^(offline|later)$/.test(outcome) ? this.#options.clock() + LATE : 0;
        told(outcome);
        if (outcome == "no consent") return;
      }
    }
  }

  /** Leave the campaign: the answer and the turn are forgotten. That it was joined is kept: nobody answers twice. */
  async leave(): Promise<void> {
    const [{ accounts }, state] = await this.#storage.read(this.#id);
    if (!state && !accounts[this.#id]) return;
    await this.#storage.locked("/" + this.#id, () => this.#leave());
  }

  /** An answer, and the days of use that it is made of. */
  async #given(raw: unknown, asked: Campaign, state?: State): Promise<[raw: unknown, days?: number[]]> {
    return raw === used ? (await views()).answerOfUse(asked, state?.days ?? [], this.#options.clock()) : [raw];
  }

  /** The account of a campaign that may be joined. A refusal is kept, so that not every visit fetches the document. */
  async #opened(ledger: Ledger, document: string, state: State | undefined, page: string): Promise<Account> {
    const { policy, clock } = this.#options;
    try {
      const asked = await checked(document);
      need(roundAt(asked, clock()) < asked.rounds, "the campaign is over: no later round is left");
      const account = opened(ledger, policy, asked);
      await this.#way(asked, policy);
      return account;
    } catch (error) {
      if (error instanceof Refused && !error.passing) {
        const kept = { campaign: "", ...state, refused: error.message, page };
        await this.#storage.write(ledger, this.#id, kept);
      }
      throw error;
    }
  }

  /** The time of the report, the seconds until its round is over, and whether a relay holds it. */
  async #next(): Promise<[due: number | null, left: number, held?: boolean]> {
    const [, state] = (await this.#waiting()) ? await this.#storage.locked("", () => this.#kept()) : [];
    if (!state?.turn) return [null, 0];
    const asked = parse(state.campaign);
    const now = this.#options.clock();
    return [state.sealed ? now : await sendingTime(asked, state as Turn), begins(asked, state.turn + 1) - now, !!asked.gateway?.relay];
  }

  /** Whether a report may be sent or is to be forgotten. Without a turn, one look tells, and no lock is needed. */
  async #waiting(): Promise<boolean> {
    return !objects() && !!(await this.#storage.read(this.#id))[1]?.turn;
  }

  #leave(): Promise<unknown> {
    return this.#storage.locked("", async () => this.#end((await this.#storage.read(this.#id))[0]));
  }

  /** Forget everything but that the campaign, if it was joined, is done. */
  #end(ledger: Ledger): Promise<unknown> {
    const account = ledger.accounts[this.#id];
    if (account) account.done = true;
    return this.#storage.write(ledger, this.#id);
  }

  /** The ledger and the state. A turn whose round is over is forgotten, and a report that was made for it. */
  async #kept(): Promise<[Ledger, State?]> {
    const [ledger, state] = await this.#storage.read(this.#id);
    if (!state?.turn) return [ledger, state];
    const { sealed, turn } = state;
    const asked = parse(state.campaign);
    const now = this.#options.clock();
    const round = roundAt(asked, now);
    const late = mustBeOnTime(asked) && !sealed && now > (await sendingTime(asked, state as Turn)) + GRACE;
    if (!late && (sealed ? round == turn : round <= turn)) return [ledger, state];
    await this.#end(ledger);
    return [ledger];
  }

  /** The ledger and the state, with the report if it is due: the one on disk, or a new one. */
  async #prepared(): Promise<[Ledger, State?]> {
    const [ledger, state] = await this.#kept();
    const { campaign, sealed, turn } = state ?? {};
    if (!turn || sealed) return [ledger, state];
    const asked = parse(campaign!);
    const now = this.#options.clock();
    if (roundAt(asked, now) < turn || now < (await sendingTime(asked, state as Turn))) return [ledger, state];
    const body = await report(asked, state as Turn, await presentValue(asked, state!, now));
    const made = { campaign: campaign!, turn, sealed: { body, since: mustBeOnTime(asked) ? now : null, tries: 0 } };
    ledger.accounts[this.#id].done = true;
    await this.#storage.write(ledger, this.#id, made);
    return [ledger, made];
  }

  async #agreed(): Promise<boolean> {
    return !objects() && (await this.#options.consent?.(this.#id)) === true;
  }

  /** The way of reports: through a relay and never otherwise if the campaign relies on a crowd. */
  async #way(asked: Campaign, policy: Allowed): Promise<Post> {
    if (!asked.gateway) return this.#options.post;
    return told(await (await crowd()).relayed(asked, policy.relays, this.#address));
  }

  /** One attempt to send: an outcome, or the seconds until the next attempt. */
  async #attempt(moved: boolean): Promise<Outcome | number> {
    const [{ policy }, state] = await this.#storage.locked("", () => this.#prepared());
    if (!state?.sealed) return "nothing";
    const asked = parse(state.campaign);
    if (offline()) {
      // In a crowd, the report would leave with a later visit.
      if (mustBeOnTime(asked)) await this.#leave();
      return "offline";
    }
    const way = await this.#way(asked, policy!);
    const { clock } = this.#options;
    const held = asked.gateway?.relay;
    const progress = (change: (sealed: Sealed) => Sealed | undefined) =>
      this.#storage.locked("", async () => {
        const [ledger, state] = await this.#kept();
        const sealed = state?.sealed && change(state.sealed);
        if (state) await this.#storage.write(ledger, this.#id, sealed && { ...state, sealed });
        return sealed;
      });
    const sealed = await progress(({ body, since, tries }) => {
      const now = clock();
      const late = since !== null && ((!held && moved) || now < since || now > since + WINDOW || tries >= TRIES);
      // A relay that holds reports and the collector each see too little to link attempts of several visits.
      if (late && held) return { body, since: now, tries: 1 };
      return late ? undefined : { body, since: since ?? now, tries: tries + 1 };
    });
    if (!sealed) return "given up";
    const { status, retryAfter = 0 } = await way(this.#address + "/reports", sealed.body);
    const again = status === null || status >= 500 || [408, 425, 429].includes(status);
    const wait = Math.max(Math.min(60, 2 ** sealed.tries) * (0.5 + random()), retryAfter);
    if (again && sealed.tries < TRIES && clock() + wait <= sealed.since! + WINDOW) return wait;
    if (again && held) return "later";
    await progress(() => undefined);
    return again ? "given up" : status >= 200 && status < 300 ? "accepted" : "refused";
  }
}

/** Whether a report is sent at its moment or never: in a crowd, unless a relay holds reports. */
const mustBeOnTime = ({ gateway }: Campaign) => gateway && !gateway.relay;

/** Store a policy that may also allow more than the one before. It limits what is joined from now on. */
export async function allow(policy: Policy, place: Place = {}): Promise<void> {
  const limits = complete(policy);
  if (objects()) return;
  const { locked, read, write } = storageOf(place);
  await locked("", async () => {
    const [ledger] = await read("");
    ledger.policy = limits;
    await write(ledger, "");
  });
}

/** Whether a policy allows at most what another one allows. */
const isWithin = (policy: Allowed, { relays, ...limits }: Allowed) =>
  Object.entries(limits).every(([name, limit]) => (policy as any)[name] <= limit) &&
  policy.relays.every(relay => relays.includes(relay));

/** A policy with the limits that it does not name. */
function complete({ eps, delta = 0, turns_a_year = 4, relays = [], ...others }: Policy): Allowed {
  need(
    eps >= 0 && delta >= 0 && turns_a_year >= 0 && Number.isInteger(turns_a_year) && !Object.keys(others).length,
    "a policy has an eps of 0 or more, and perhaps delta, turns_a_year and relays",
  );
  return { eps, delta, turns_a_year, relays };
}

/** Answers questions of the Python tests, one JSON document a line: what this client makes of given entropy. */
import { webcrypto } from "node:crypto";
import { createInterface } from "node:readline";
import { hex, type Bytes } from "../src/bytes.js";
import { ballotOf, drawRequest, toIssuer } from "../src/ballots.js";
import { readResponse, writtenPost } from "../src/binary_http.js";
import { parse, roundAt } from "../src/campaign.js";
import { checked } from "../src/campaign_check.js";
import { canonical } from "../src/canonical_json.js";
import * as crowd from "../src/crowd.js";
import { partsOf } from "../src/divided_reports.js";
import { type Entropy, fetchBytes, system } from "../src/entropy.js";
import { opened } from "../src/joining.js";
import { lieOf } from "../src/local_reports.js";
import { preview } from "../src/preview.js";
import { keyConfig, sealed, sealedAsIs, sender } from "../src/sealing.js";
import { type Answers, drawTurn, encoded, presentValue, report, sendingTime } from "../src/turn.js";
import { basesOf, draw, missOf } from "../src/view_reports.js";
import { wire } from "../src/wire.js";

// Node.js 18 has no global one.
globalThis.crypto ??= webcrypto as Crypto;

const unhex = (text: string): Bytes => new Uint8Array((text.match(/../g) ?? []).map(each => parseInt(each, 16)));

/** Entropy from given bytes; running out of them is an error. */
function recorded(text: string): Entropy & { used: () => number } {
  let at = 0;
  const take = (size: number) => {
    if (at + 2 * size > text.length) throw new Error("more entropy is needed");
    at += 2 * size;
    return BigInt("0x" + text.slice(at - 2 * size, at));
  };
  return Object.assign(take, { used: () => at / 2 });
}

/** A key pair of X25519 with given bytes. */
async function pairOf(secret: string, open: string): Promise<CryptoKeyPair> {
  const curve = { name: "X25519" };
  const wrapped = unhex("302e020100300506032b656e04220420" + secret);
  return {
    privateKey: await crypto.subtle.importKey("pkcs8", wrapped, curve, false, ["deriveBits"]),
    publicKey: await crypto.subtle.importKey("raw", unhex(open), curve, true, []),
  };
}

/** The words of a refusal, or what was found. */
async function told(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error: any) {
    return { refused: error.message };
  }
}

/** The probabilities of lies, over 2^64. */
const thresholds = (base: any) =>
  base.size
    ? { miss: missOf(base) }
    : base.views
      ? Object.fromEntries(basesOf(base).map(each => [`flip ${each.width}`, lieOf(each)]))
      : base.sizes
        ? Object.fromEntries(partsOf(base).map((each, i) => [`flip ${i}`, lieOf(each)]))
        : { flip: lieOf(base) };

const tasks: Record<string, (given: any) => unknown> = {
  /** The request for a ballot, from given entropy, and the ballots from some answers. */
  async ballot({ key, campaign, entropy, answers }) {
    const source = recorded(entropy);
    return told(async () => {
      const drawn = await drawRequest(key, campaign, source);
      const ballots = answers.map((answer: string) => told(() => hex(ballotOf(drawn, answer))));
      return { request: hex(toIssuer(drawn)), used: source.used(), ballots: await Promise.all(ballots) };
    });
  },

  /** Reports of a base, from given entropy. */
  async mechanism({ base, entropy, value, changes }) {
    const source = recorded(entropy);
    const reports = [];
    let held = value;
    for (const changed of changes) {
      held = changed ?? held;
      reports.push(String(await draw(base, BigInt(held), source)));
    }
    return { thresholds: thresholds(base), reports, used: source.used() };
  },

  /** A turn with its sending time and its report, and the report after the value has changed. */
  async turn({ campaign, entropy, value, changed }) {
    const asked = await checked(campaign);
    const source = recorded(entropy);
    const own = await drawTurn(asked, source);
    const found: unknown[] = [own.life.toString(16).padStart(32, "0"), hex(own.key)];
    const body = async (held: number) => hex(await report(asked, own, BigInt(held)));
    if (own.turn) {
      found.push(own.turn, await sendingTime(asked, own), await body(value));
      own.fresh = await fetchBytes(32, source);
      found.push(await body(changed.value));
    } else found.push(null, null, null, null);
    return [...found, source.used()];
  },

  /** The turns of many new clients, and the reports of others, from this machine's randomness. */
  turns: ({ campaign, clients }) =>
    Promise.all(Array.from({ length: clients }, async () => (await drawTurn(parse(campaign), system)).turn)),
  async streams({ campaign, value, clients, reports }) {
    const asked = await checked(campaign);
    const held = await encoded(asked, value, 0);
    const one = async () => {
      const own = { ...(await drawTurn(asked, system)), turn: 1 };
      return BigInt("0x" + hex((await report(asked, own, held)).slice(21).reverse()));
    };
    return Promise.all(Array.from({ length: clients }, () => Promise.all(Array.from({ length: reports }, one))));
  },

  /** A report of given bytes, as a person is shown it. */
  preview: ({ campaign, body, accounts, policy }) =>
    preview(parse(campaign), unhex(body), { accounts }, { turns_a_year: 4, relays: [], delta: 0, ...policy }, "this"),

  wire: ({ round, nonce, report, report_bits }) =>
    hex(wire(round, unhex(nonce), BigInt("0x" + report), report_bits)),

  /** An encoded value, or the words of the refusal. */
  encode({ encoding, raw }) {
    const given = typeof raw == "string" && raw.startsWith("#") ? Number(raw.slice(1)) : raw;
    const base = { mechanism: "randomized-response" };
    return told(async () => String(await encoded({ encoding, mechanism: { base } } as any, given, 0)));
  },

  /** The path and the sending time of a round, from what was said when. */
  async path({ campaign, answers, round, key }) {
    const asked = await checked(campaign);
    const kept: Answers = {};
    for (const [now, raw] of answers)
      Object.assign(kept, { value: await encoded(asked, raw, now, kept), round: roundAt(asked, now) });
    const sent = await sendingTime(asked, { turn: round, key: unhex(key) });
    return [Number(await presentValue(asked, kept, sent)), sent];
  },

  canonical: ({ text }) => canonical(JSON.parse(text)),

  /** Why a document is refused, or null. */
  problem: async ({ campaign }) => ((await told(() => checked(campaign))) as any).refused ?? null,

  /** Why the last of these campaigns may not be joined after the others, or null. */
  policy({ campaigns, policy }) {
    const accounts: Record<string, any> = {};
    return told(() => {
      campaigns.forEach((each: string, i: number) => {
        accounts[i] = opened({ accounts }, { turns_a_year: 4, relays: [], delta: 0, ...policy }, parse(each));
      });
      return null;
    });
  },

  /** The sender's side of HPKE with a given pair: the encapsulated key, one sealed text, and what is exported. */
  async hpke({ publicKey, info, secret, open, text, associated, exported }) {
    const found = await sender(unhex(publicKey), unhex(info), await pairOf(secret, open));
    const key = await crypto.subtle.importKey("raw", found.key, "AES-GCM", false, ["encrypt"]);
    const how = { name: "AES-GCM", iv: found.nonce, additionalData: unhex(associated) };
    return [
      hex(found.encapsulated),
      hex(new Uint8Array(await crypto.subtle.encrypt(how, key, unhex(text)))),
      ...(await Promise.all(exported.map(async (each: string) => hex(await found.exported(unhex(each), 32))))),
    ];
  },

  /** A request that is sealed as it is with a given pair; and answers, opened or null. */
  async sealed({ config, request, secret, open, answers: given }) {
    const found = await sealedAsIs(keyConfig(config), unhex(request), await pairOf(secret, open));
    const opened = given.map((each: string) => found.open(unhex(each)).then(hex, () => null));
    return [hex(found.body), ...(await Promise.all(opened))];
  },

  /** A key configuration, or the words of the refusal. */
  config({ config }) {
    try {
      const { id, publicKey } = keyConfig(config);
      return [id, hex(publicKey)];
    } catch (error: any) {
      return error.message;
    }
  },

  binaryPost: ({ authority, path, type, content }) => hex(writtenPost(authority, path, type, unhex(content))),

  tooLong: async ({ config, size }) =>
    (await sealed(keyConfig(config), Array(size).fill(0)).catch(error => error)).message ?? "sealed",

  /** A response's status and its Retry-After, or null if it is none. */
  binaryAnswer({ content }) {
    try {
      const [status, fields] = readResponse(unhex(content));
      return [status, fields.get("retry-after") ?? ""];
    } catch {
      return null;
    }
  },

  /** The replies to bodies that are sent through the first relay that may be used, or why there is none. */
  async relayed({ campaign, relays, address, bodies }) {
    const way = await crowd.relayed(parse(campaign), relays, address);
    if (typeof way == "string") return way;
    const replies = [];
    for (const body of bodies) replies.push(await way(address + "/reports", unhex(body)));
    return replies;
  },

  /** The refusal by an environment without X25519. */
  async withoutCurve({ campaign }) {
    const generate = crypto.subtle.generateKey;
    crypto.subtle.generateKey = async () => {
      throw new DOMException("", "NotSupportedError");
    };
    try {
      return await tasks.problem({ campaign });
    } finally {
      crypto.subtle.generateKey = generate;
    }
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { task, ...given } = JSON.parse(line);
  let found;
  try {
    found = await tasks[task](given);
  } catch (error: any) {
    found = { failed: String(error?.stack ?? error) };
  }
  console.log(JSON.stringify(found, (_, each) => (typeof each == "bigint" ? String(each) : each)));
}

/** Answers questions of the Python tests, one JSON document a line: what this client makes of given entropy. */
import { webcrypto } from "node:crypto";
import { createInterface } from "node:readline";
import { bytesOf, hex, sha256, utf8, type Bytes } from "../src/bytes.js";
import { fraction } from "../src/campaign.js";
import { parsed } from "../src/campaign_check.js";
import { readResponse, writtenPost } from "../src/binary_http.js";
import { canonical } from "../src/canonical_json.js";
import * as crowd from "../src/crowd.js";
import { answered, changed, encoded, joined, sendingTime } from "../src/life.js";
import { encode } from "../src/encodings.js";
import { answers, type Entropy, keyAt, system } from "../src/entropy.js";
import { charge, privacyDelta, recognised, trackingDelta } from "../src/guarantee.js";
import { campaignProblem, known, policyProblem } from "../src/joining.js";
import * as mechanisms from "../src/mechanisms.js";
import type { Kept } from "../src/mechanisms.js";
import { erfc, quantile } from "../src/normal.js";
import type { State } from "../src/storage.js";
import { keyConfig, sealed, sealedAsIs, sender } from "../src/sealing.js";
import { capacity } from "../src/view_check.js";
import { basesOf } from "../src/view_reports.js";
import * as views from "../src/views.js";
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

/** The loaders of chunks, which are in this file. */
const chunks = { crowd: async () => crowd, views: async () => views };
const partsOf = (made: any) => (made.eps_report ? mechanisms : views);
const reportBits = (made: any) => partsOf(made).reportBits(made);

/** A key pair of X25519 with given bytes. */
async function pairOf(secret: string, open: string): Promise<CryptoKeyPair> {
  const curve = { name: "X25519" };
  const wrapped = unhex("302e020100300506032b656e04220420" + secret);
  return {
    privateKey: await crypto.subtle.importKey("pkcs8", wrapped, curve, false, ["deriveBits"]),
    publicKey: await crypto.subtle.importKey("raw", unhex(open), curve, true, []),
  };
}

function crc32(bytes: Iterable<number>): number {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let i = 8; i; i--) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

const head = async (made: any) => [0x55, 0x54, 0x53, 2, ...(await sha256(utf8(canonical(made)))).slice(0, 8)];
const flagBytes = (made: any) => (made.when_empty ? Math.ceil(made.slots / 8) : 0);
const cardBytes = (made: any) => Math.ceil(reportBits(made) / 8);
/** The bytes of the last round, the value and the last report, for reports that fade. */
const fadedSizes = (made: any) => [
  8,
  Math.ceil((capacity(made.local) - 1n).toString(2).length / 8),
  cardBytes(made),
];

/** A mechanism's state as the bytes of docs/client-format.md. */
async function packed(made: any, { cards, sent }: Kept): Promise<string> {
  const sizes = cards.map((_, i) => (made.local ? fadedSizes(made)[i] : cardBytes(made)));
  const ordered = made.local ? [cards[1], cards[0], cards[2]] : cards;
  const flags = Array.from({ length: flagBytes(made) }, (_, i) =>
    [...Array(8).keys()].reduce((byte, j) => byte | (sent[8 * i + j] ? 128 >> j : 0), 0),
  );
  const body = [...(await head(made)), ...flags, ...ordered.flatMap((card, i) => bytesOf(card, sizes[i]))];
  return hex([...body, ...bytesOf(crc32(body), 4)]);
}

/** The state of these bytes. */
async function unpacked(made: any, text: string): Promise<Kept> {
  const bytes = unhex(text);
  const body = bytes.slice(12, -4);
  const flags = flagBytes(made);
  const size = cardBytes(made);
  const whole = hex(bytes.slice(0, -4));
  const count = made.slots ?? 1;
  if (made.local) {
    const [ends, middle] = [8, 8 + fadedSizes(made)[1]];
    const [round, value, report] = [body.slice(0, ends), body.slice(ends, middle), body.slice(middle)].map(
      each => BigInt("0x" + hex(each)),
    );
    return { cards: [value, round, report], sent: [] };
  }
  if (
    hex(bytes.slice(0, 12)) != hex(await head(made)) ||
    hex(bytesOf(crc32(unhex(whole)), 4)) != hex(bytes.slice(-4))
  ) {
    throw new Error("not a state of this mechanism");
  }
  const sent = Array.from({ length: flags ? count : 0 }, (_, i) => (body[i >> 3] & (128 >> (i % 8))) > 0);
  const cards = Array.from({ length: count }, (_, i) =>
    BigInt("0x" + hex(body.slice(flags + i * size, flags + (i + 1) * size))),
  );
  return { cards, sent };
}

/** A state as the Python client's file. */
async function file(id: string, made: any, state: State): Promise<string> {
  const { key, round, fresh, life, sealed } = state;
  const kept = await Promise.all(
    Object.entries(state.kept).map(async ([value, each]) => [Number(value), await packed(made, each)]),
  );
  const content = {
    campaign: id,
    fresh: hex(fresh),
    kept,
    key: hex(key),
    life: life.toString(16).padStart(32, "0"),
    round,
    sealed: sealed && {
      attachment: null,
      body: hex(sealed.body),
      round: sealed.round,
      since: sealed.since,
      tries: sealed.tries,
    },
    value: Number(state.value),
    version: 2,
  };
  const bytes = [0x55, 0x54, 0x46, 1, ...utf8(canonical(content))];
  return hex([...bytes, ...(await sha256(bytes))]);
}

/** The state of such a file. */
async function fromFile(made: any, text: string): Promise<State> {
  const content = JSON.parse(new TextDecoder().decode(unhex(text).slice(4, -32)));
  const kept: State["kept"] = {};
  for (const [value, each] of content.kept) kept[value] = await unpacked(made, each);
  return {
    kept,
    value: BigInt(content.value),
    key: unhex(content.key),
    fresh: unhex(content.fresh),
    round: content.round,
    life: BigInt("0x" + content.life),
    sealed: content.sealed && { ...content.sealed, body: unhex(content.sealed.body) },
  };
}

/** Campaigns with the rounds of their lives, as a ledger charges them. */
const charges = (campaigns: [string, (number | null)[]][]) =>
  Promise.all(campaigns.map(async ([text, rounds]) => charge(await known(text, chunks), rounds)));

/** The probabilities of lies, over 2^64. */
function thresholds(made: any) {
  const { lieOf } = mechanisms;
  if (made.eps_state) return { state_flip: lieOf(made, "eps_state"), report_flip: lieOf(made) };
  if (made.local) return {};
  if (made.base?.views) {
    return Object.fromEntries(basesOf(made.base).map(each => [`flip ${each.width}`, lieOf(each)]));
  }
  return { flip: lieOf({ ...made, eps_report: made.eps_report ?? made.base.eps }) };
}

const tasks: Record<string, (given: any) => unknown> = {
  /** Reports of a mechanism, from a new state or from given state bytes. */
  async mechanism({ mechanism: text, entropy, value, state, rounds, changes }) {
    const made = JSON.parse(text);
    const source = recorded(entropy);
    const { newState, makeReport } = partsOf(made);
    const fresh = await newState(made, BigInt(value), source);
    let kept = state ? await unpacked(made, state) : fresh;
    const reports = [];
    for (const [i, round] of rounds.entries()) {
      if (changes[i] !== null) kept = await newState(made, BigInt(changes[i]), source, kept);
      const [report, after] = await makeReport(made, kept, round, source);
      kept = after;
      reports.push(String(report));
    }
    return {
      thresholds: thresholds(made),
      state: await packed(made, fresh),
      reports,
      state_after: await packed(made, kept),
      used: source.used(),
    };
  },

  /** A life: the file as it is made, what is sent and kept in each round, and the file after a change. */
  async life({ campaign, id, value, entropy, steps, made: given, changed: change }) {
    const asked = await parsed(campaign, chunks.views);
    const source = recorded(entropy);
    const made = asked.mechanism;
    let state = await joined(asked, BigInt(value), 1, source);
    const found: any = { made: await file(id, made, state), steps: [] };
    for (const reading of [false, true]) {
      if (reading) state = await fromFile(made, given);
      found.steps.push([]);
      for (const { round } of steps) {
        const key = await keyAt(state, round);
        const moment = await sendingTime(asked, key);
        state = await answered(asked, state, key);
        found.steps
          .at(-1)
          .push({ round, moment, body: hex(state.sealed!.body), file: await file(id, made, state) });
      }
    }
    found.changed = change && (await file(id, made, await changed(asked, state, 2n, source)));
    return found;
  },

  /** The reports of many new clients with this value, each over some rounds, from this machine's randomness. */
  async streams({ campaign, value, clients, rounds }) {
    const asked = await parsed(campaign, chunks.views);
    const found = [];
    const held = await encoded(asked, value);
    for (let i = 0; i < clients; i++) {
      let state = await joined(asked, held, 1, system);
      const reports = [];
      for (let round = 1; round <= rounds; round++) {
        state = await answered(asked, state, await keyAt(state, round));
        reports.push(BigInt("0x" + hex(state.sealed!.body.slice(21).reverse())));
      }
      found.push(reports);
    }
    return found;
  },

  async coins({ participation, key, rounds }) {
    const found = [];
    for (let round = 1, at = { key: unhex(key), round, fresh: unhex("") }; round <= rounds; round++) {
      at = await keyAt(at, round);
      if (await answers(at, fraction(participation))) found.push(round);
    }
    return found;
  },

  wire: ({ round, nonce, report, report_bits }) =>
    hex(wire(round, BigInt("0x" + nonce), BigInt("0x" + report), report_bits)),

  /** An encoded value, or the words of the refusal. */
  async encode({ encoding, raw }) {
    const given = typeof raw == "string" && raw.startsWith("#") ? Number(raw.slice(1)) : raw;
    const found = await views.encode(encoding, given);
    if (typeof found == "string") return { refused: found };
    if (/choices|record/.test(encoding.type)) return String(found);
    try {
      return String(await encode(encoding, given));
    } catch (error: any) {
      return { refused: error.message };
    }
  },

  normal: ({ numbers, chances }) => [numbers.map(erfc), chances.map(quantile)],

  canonical: ({ text }) => canonical(JSON.parse(text)),

  problem: async ({ campaign }) => (await campaignProblem(campaign, chunks)) ?? null,

  /** Delta, tracking delta and recognition of campaigns with some rounds, at an eps and a gamma. */
  async revealed({ campaigns, eps, gamma }) {
    const charged = await charges(campaigns);
    return [privacyDelta(charged, eps), trackingDelta(charged, gamma), recognised(charged)];
  },

  /** Delta of campaigns with some rounds at an eps, to an observer who does not know who sent which report. */
  async hidden({ campaigns, eps }) {
    return privacyDelta(await charges(campaigns), eps, crowd.crowdLaw);
  },

  policy: async ({ campaigns, policy }) =>
    (await policyProblem(await charges(campaigns), policy, chunks)) ?? null,

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
    const way = await crowd.relayed(JSON.parse(campaign), { relays } as any, address);
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
      return await campaignProblem(campaign, chunks);
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

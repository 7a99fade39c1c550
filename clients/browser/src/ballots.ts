/**
 * What only campaigns with ballots need: blind signatures (RFC 9474, RSABSSA-SHA384-PSS-Randomized, 2048 bits). The
 * issuer signs a blinded request, and cannot recognise the ballot later.
 */
import { type Bytes, bytesOf, hex, number, sha256, utf8 } from "./bytes.js";
import { type Campaign, parse, roundAt } from "./campaign.js";
import { keys } from "./encoding_check.js";
import { drawn, type Entropy, fetchBytes } from "./entropy.js";
import { request } from "./http.js";
import type { State } from "./kept.js";
import { whole } from "./numbers.js";
import { need, Refused } from "./refused.js";
import { webAddress } from "./web_address.js";

/** The number of bytes of a key, of a request and of a signature. */
const KEY = 256;
const NUMBER = 32;
const SALT = 48;
const HASH = 48;

/** Why what a campaign says of its ballots is refused, in words, or nothing. */
export function ballotsProblem(given: NonNullable<Campaign["ballots"]>): string | undefined {
  try {
    webAddress("the issuer's address", given.issuer);
  } catch (error: any) {
    return error.message;
  }
  const known =
    keys(given) == "expires,issuer,key" &&
    whole(given.expires, 1, 2 ** 40) &&
    /^[89a-f][0-9a-f]{510}[13579bdf]$/.test(given.key);
  return known ? undefined : "the campaign is not valid";
}

/** How an issuer refuses, by the status of its answer. */
const REFUSALS: Record<number, string> = {
  400: "the issuer of ballots does not understand the request",
  403: "the issuer of ballots says that this does not entitle to a ballot",
  404: "the issuer of ballots does not know this campaign's key",
  409: "the issuer of ballots says that this person's ballot was issued before",
  410: "no more ballots are issued for this campaign",
};

/** A person's side of one ballot, until the issuer has signed. It is secret: it connects both. */
export interface BallotRequest {
  modulus: bigint;
  number: Bytes;
  encoded: bigint;
  inverse: bigint;
}

const sha384 = async (...parts: Iterable<number>[]): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest("SHA-384", new Uint8Array(parts.flatMap(part => [...part]))));
const unhex = (text: string): Bytes => new Uint8Array(bytesOf(BigInt("0x" + text), text.length / 2));

/** A number to the power of 65537, the exponent of every key. */
function power(base: bigint, modulus: bigint): bigint {
  let result = base;
  for (let i = 0; i < 16; i++) result = (result * result) % modulus;
  return (result * base) % modulus;
}

/** The inverse modulo another number, or nothing if they have a common factor. */
function inverseOf(given: bigint, modulus: bigint): bigint | undefined {
  let [a, b, x, y] = [modulus, given % modulus, 0n, 1n];
  while (b) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  return a == 1n ? ((x % modulus) + modulus) % modulus : undefined;
}

/** EMSA-PSS-ENCODE of RFC 8017 with SHA-384 and MGF1, for 2047 bits. */
async function encode(message: Iterable<number>, salt: Bytes): Promise<bigint> {
  const digest = await sha384(new Uint8Array(8), await sha384(message), salt);
  const block = new Uint8Array(KEY - HASH - 1);
  block.set([1, ...salt], block.length - SALT - 1);
  for (let at = 0; at < block.length; at += HASH)
    (await sha384(digest, bytesOf(at / HASH, 4))).forEach((byte, i) => (block[at + i] ^= byte));
  block[0] &= 0x7f;
  return number([...block, ...digest, 0xbc]);
}

/** A new request for a key and a campaign. The same entropy makes the same one, which an issuer signs again. */
export async function drawRequest(key: string, campaign: string, source: Entropy): Promise<BallotRequest> {
  const modulus = BigInt("0x" + key);
  const name = await fetchBytes(NUMBER, source);
  const salt = await fetchBytes(SALT, source);
  const encoded = await encode([...name, ...unhex(campaign)], salt);
  need(inverseOf(encoded, modulus), "the ballot key cannot be used: it has a small factor");
  for (;;) {
    const inverse = await source(KEY);
    if (inverse < modulus && inverseOf(inverse, modulus)) return { modulus, number: name, encoded, inverse };
  }
}

/** What the issuer signs. */
export const toIssuer = ({ modulus, encoded, inverse }: BallotRequest): Bytes =>
  new Uint8Array(bytesOf((encoded * power(inverseOf(inverse, modulus)!, modulus)) % modulus, KEY));

/** The ballot, if the issuer's answer is a signature with the pinned key. */
export function ballotOf({ modulus, number: name, encoded, inverse }: BallotRequest, signed: string): Bytes {
  const answer = /^[0-9a-f]{512}$/.test(signed) ? BigInt("0x" + signed) : modulus;
  need(answer < modulus, "the issuer's answer is not a signature");
  const signature = (answer * inverse) % modulus;
  need(power(signature, modulus) == encoded, "the issuer's answer is not a signature with the campaign's key");
  return new Uint8Array([...name, ...bytesOf(signature, KEY)]);
}

/**
 * A ballot from the issuer, or why there is none; nothing while the round lasts in which the person was first asked.
 * The secret makes the same request again, so a lost answer costs nothing.
 */
export async function fetched(
  { campaign: document, secret, seen }: State,
  { campaign, enrolment = "", clock }: { campaign: string; enrolment?: string; clock: () => number },
): Promise<Bytes | string | undefined> {
  const joining = parse(document);
  if (roundAt(joining, clock()) <= seen!) return;
  const { issuer, key } = joining.ballots!;
  try {
    const asked = await drawRequest(key, campaign, drawn(secret!, "ballot"));
    const answer = await request(`${issuer.replace(/\/+$/, "")}/ballots/${hex(await sha256(unhex(key)))}`, {
      method: "POST",
      body: utf8(JSON.stringify({ blinded: hex(toIssuer(asked)), enrolment })),
      headers: { "content-type": "application/json" },
    });
    need(answer.ok, REFUSALS[answer.status] ?? "the issuer of ballots is busy");
    return ballotOf(asked, String((await answer.json()).signature));
  } catch (error) {
    // This file's class of refusals is not the one that pages know.
    return error instanceof Refused ? error.message : "the issuer of ballots cannot be reached";
  }
}

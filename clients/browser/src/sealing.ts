/**
 * Sealed requests and answers (RFC 9458) with HPKE (RFC 9180): X25519, HKDF-SHA256 and AES-128-GCM. All arithmetic
 * is the browser's own.
 */
import { bytesOf, type Bytes, number, utf8 } from "./bytes.js";
import { need, Refused } from "./refused.js";

/** How everything is sealed: X25519, HKDF-SHA256 and AES-128-GCM, by their numbers. */
const SUITE = [0, 0x20, 0, 1, 0, 1];
const AES_128_GCM = 1;
const CHACHA20_POLY1305 = 3;
const CURVE = { name: "X25519" };
/** The number of bytes of a request before it is sealed, so that all sealed requests have one length. */
export const REQUEST_LENGTH = 1024;
const PUBLIC_KEY = 32;
const KEY = 16;
const NONCE = 12;

type Part = ArrayLike<number> & Iterable<number>;
const joined = (...parts: (Part | string)[]): Bytes =>
  new Uint8Array(parts.flatMap(part => [...(typeof part == "string" ? utf8(part) : part)]));

/** A gateway's public key, and its number. */
export interface KeyConfig {
  id: number;
  publicKey: Bytes;
}

/** Read a key configuration (RFC 9458, section 3.1) in hexadecimal. Others than everybody's are refused. */
export function keyConfig(text: string): KeyConfig {
  need(/^([0-9a-f]{2})+$/.test(text), "a gateway key is not hexadecimal");
  const bytes = new Uint8Array(bytesOf(BigInt("0x" + text), text.length / 2));
  const at = 3 + PUBLIC_KEY;
  const size = bytes.length - at - 2;
  need(
    bytes[1] == SUITE[0] && bytes[2] == SUITE[1] && size > 0 && size % 4 == 0 && size <= 32,
    "a gateway key is not one for X25519",
  );
  need(Number(number(bytes.slice(at, at + 2))) == size, "a gateway key is cut off or has leftover bytes");
  // Everybody uses the first suite that is known. Another choice would mark this client.
  const ciphers = [];
  for (let i = at + 2; i < bytes.length; i += 4)
    if (number(bytes.slice(i, i + 2)) == 1n) ciphers.push(Number(number(bytes.slice(i + 2, i + 4))));
  const first = ciphers.find(each => each == AES_128_GCM || each == CHACHA20_POLY1305);
  need(first == AES_128_GCM, "a gateway key is for a cipher that browsers do not have");
  return { id: bytes[0], publicKey: bytes.slice(3, at) };
}

/** A key pair for one request, as the browser draws it. */
export async function newPair(): Promise<CryptoKeyPair> {
  try {
    return (await crypto.subtle.generateKey(CURVE, false, ["deriveBits"])) as CryptoKeyPair;
  } catch {
    throw new Refused("this browser has no X25519, with which reports for a crowd are sealed");
  }
}

/** HMAC-SHA-256. Keys are padded with zeros, so an empty one is 32 of them. */
async function hmac(key: Part, ...parts: (Part | string)[]): Promise<Bytes> {
  const hash = { name: "HMAC", hash: "SHA-256" };
  const bytes = key.length ? joined(key) : new Uint8Array(32);
  const secret = await crypto.subtle.importKey("raw", bytes, hash, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", secret, joined(...parts)));
}

/** HKDF-Expand to at most 32 bytes. */
const expanded = async (key: Bytes, size: number, ...info: (Part | string)[]) =>
  (await hmac(key, ...info, [1])).slice(0, size);

/** The labelled functions of HPKE for a suite. */
const labelled = (suite: Bytes) => ({
  extract: (salt: Part, label: string, secret: Part) => hmac(salt, "HPKE-v1", suite, label, secret),
  expand: (key: Bytes, label: string, info: Part, size: number) =>
    expanded(key, size, bytesOf(size, 2), "HPKE-v1", suite, label, info),
});

/** A sender's side of HPKE: the encapsulated key, key and nonce of the first message, and what is exported. */
export interface Sender {
  encapsulated: Bytes;
  key: Bytes;
  nonce: Bytes;
  exported: (what: Part, size: number) => Promise<Bytes>;
}

/** HPKE in base mode, as a sender, with a key pair that is drawn for this alone. */
export async function sender(publicKey: Bytes, info: Bytes, pair: CryptoKeyPair): Promise<Sender> {
  const encapsulated = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  const receiver = await crypto.subtle.importKey("raw", publicKey, CURVE, false, []);
  const agreed = await crypto.subtle.deriveBits({ ...CURVE, public: receiver }, pair.privateKey, 256);
  const kem = labelled(joined("KEM", SUITE.slice(0, 2)));
  const shared = await kem.expand(
    await kem.extract([], "eae_prk", new Uint8Array(agreed)),
    "shared_secret",
    joined(encapsulated, publicKey),
    32,
  );
  const { extract, expand } = labelled(joined("HPKE", SUITE));
  const context = joined(
    [0],
    await extract([], "psk_id_hash", []),
    await extract([], "info_hash", info),
  );
  const secret = await extract(shared, "secret", []);
  const exporter = await expand(secret, "exp", context, 32);
  return {
    encapsulated,
    key: await expand(secret, "key", context, KEY),
    nonce: await expand(secret, "base_nonce", context, NONCE),
    exported: (what, size) => expand(exporter, "sec", what, size),
  };
}

const cipherKey = (key: Bytes, use: KeyUsage) => crypto.subtle.importKey("raw", key, "AES-GCM", false, [use]);

/** A sealed request, and what opens the answer to it. */
export interface SealedRequest {
  body: Bytes;
  /** The answer as binary HTTP with its padding; an error if it is not the answer to this request. */
  open: (answer: Bytes) => Promise<Bytes>;
}

/** Seal a request as it is. */
export async function sealedAsIs(
  { id, publicKey }: KeyConfig,
  request: Bytes,
  pair: CryptoKeyPair,
): Promise<SealedRequest> {
  const head = [id, ...SUITE];
  const { encapsulated, key, nonce, exported } = await sender(
    publicKey,
    joined("message/bhttp request", [0], head),
    pair,
  );
  const content = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv: nonce },
    await cipherKey(key, "encrypt"),
    request,
  );
  return {
    body: joined(head, encapsulated, new Uint8Array(content)),
    open: async answer => {
      const salt = answer.slice(0, KEY);
      const secret = await hmac(
        joined(encapsulated, salt),
        await exported(utf8("message/bhttp response"), KEY),
      );
      const opened = await crypto.subtle.decrypt(
        { name: "AES-GCM", iv: await expanded(secret, NONCE, "nonce") },
        await cipherKey(await expanded(secret, KEY, "key"), "decrypt"),
        answer.slice(KEY),
      );
      return new Uint8Array(opened);
    },
  };
}

/** Seal a request with its padding, so that all sealed requests have one length. */
export async function sealed(config: KeyConfig, request: number[]): Promise<SealedRequest> {
  need(request.length <= REQUEST_LENGTH, "the report is too long to be sealed");
  const padded = new Uint8Array(REQUEST_LENGTH);
  padded.set(request);
  return sealedAsIs(config, padded, await newPair());
}

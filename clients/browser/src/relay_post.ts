/** Sends sealed reports through a relay. It cannot read them, and the collector does not see who sent them. */
import { writtenPost, readResponse } from "./binary_http.js";
import { type Bytes, hex, number } from "./bytes.js";
import { begins, type Campaign } from "./campaign.js";
import { type Post, type Reply, request } from "./http.js";
import { need, Refused } from "./refused.js";
import { keyConfig, sealed } from "./sealing.js";
import { isLocal, webAddress } from "./web_address.js";

/** The collector's name in every sealed request. Its real name could have been made for one person. */
const AUTHORITY = "collector.invalid";
/** The problem type of a gateway that does not have the key (RFC 9458, section 5.3). */
const UNKNOWN_KEY = "https://iana.org/assignments/http-problem-types#ohttp-key";
const LARGEST_ANSWER = 1 << 14;

/** The address of a relay, which must not be at the collector's host. */
export function relayAddress(relay: string, collector: URL): URL {
  const found = webAddress("relay", relay);
  need(!found.hostname.endsWith("."), "relay must have a host of plain characters");
  need(
    found.hostname != collector.hostname.replace(/\.$/, "") || (isLocal(found) && found.port != collector.port),
    "relay must not be the collector: whoever runs both knows who sent which report",
  );
  return found;
}

/** The relay that may be used. There is an error if there is none: nothing is ever sent directly. */
export function firstRelay({ gateway }: Campaign, relays: string[], collector: URL): URL {
  const held = gateway!.relay?.address;
  need(
    !held || relays.includes(held),
    `the campaign is answered through the relay ${held} alone, which holds reports, and the policy does not name it`,
  );
  need(
    relays.length,
    "the campaign relies on a crowd, so its reports go through a relay and never directly; the policy names none",
  );
  const reasons: string[] = [];
  for (const relay of held ? [held] : relays) {
    try {
      return relayAddress(relay, collector);
    } catch (error: any) {
      reasons.push(`${relay}: ${error.message}`);
    }
  }
  throw new Refused(`no relay of the policy can be used (${reasons.join("; ")})`);
}

/** For reports whose key the gateway did not have: the number of their keys that were refused. */
const refusals = new Map<string, number>();

/** What a relay that holds reports answers once it has one on disk. That is all that the sender ever gets. */
const HELD = 202;

/** The way of a campaign's reports to this relay. Each attempt seals the report anew. */
export const relayPost =
  (asked: Campaign, relay: URL): Post =>
  async (address, body) => {
    const name = hex(body);
    const refused = refusals.get(name) ?? 0;
    const round = Number(number(body.slice(1, 5).reverse()));
    const { keys, relay: held } = asked.gateway!;
    const to = relay.href.replace(/\/$/, "");
    const serving = keys.findLastIndex(key => key.first_round <= round);
    const { config } = keys[Math.min(serving + refused, keys.length - 1)];
    const path = new URL(address).pathname.match(/\/campaigns\/[0-9a-f]{64}\/reports$/)![0];
    const { body: content, open } = await sealed(
      keyConfig(config),
      writtenPost(AUTHORITY, path, "application/octet-stream", body),
    );
    try {
      const found = await request(held ? `${to}/releases/${begins(asked, round + 1) + held.delay}` : relay.href, {
        method: "POST",
        body: content,
        headers: { "content-type": "message/ohttp-req" },
      });
      const answer = await taken(found);
      const type = found.headers.get("content-type")?.split(";")[0].trim().toLowerCase();
      if (held && found.status == HELD) return { status: HELD };
      if (!held && type == "message/ohttp-res") return await opened(open, answer);
      if (!held && type == "application/problem+json" && isUnknownKey(answer)) refusals.set(name, refused + 1);
      // A relay may ask for a delay. Anything else that it says by itself is ignored.
      const delay = [429, 503].includes(found.status) ? found.headers.get("retry-after") : null;
      return { status: null, retryAfter: seconds(delay) };
    } catch {
      return { status: null };
    }
  };

/** The body of an answer, unless it is too large. */
async function taken({ body }: Response): Promise<Bytes> {
  const parts: number[] = [];
  for (const reader = body?.getReader(); reader;) {
    const { done, value } = await reader.read();
    if (done) break;
    need(parts.length + value.length <= LARGEST_ANSWER, "the answer is too large");
    parts.push(...value);
  }
  return new Uint8Array(parts);
}

/** The collector's reply. If this is not its answer to this request, there is an error. */
async function opened(open: (answer: Bytes) => Promise<Bytes>, answer: Bytes): Promise<Reply> {
  const [status, fields] = readResponse(await open(answer));
  return { status, retryAfter: seconds(fields.get("retry-after")) };
}

/** Whether the gateway does not have the key. A relay could claim it too; every listed key is the gateway's. */
function isUnknownKey(answer: Bytes): boolean {
  try {
    return JSON.parse(new TextDecoder().decode(answer))?.type == UNKNOWN_KEY;
  } catch {
    return false;
  }
}

/** Retry-After in seconds. A date is ignored. */
const seconds = (given?: string | null) => (given && /^\d{1,7}$/.test(given) ? +given : 0);
